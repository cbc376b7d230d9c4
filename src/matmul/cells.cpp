#include "matmul/cells.hpp"

#include "base/format.hpp"
#include "base/names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::matmul {
namespace {

struct Filled {
  std::vector<std::string> cells;
  std::set<std::string> witnesses;
  std::set<std::size_t> empty; ///< places of the cells without a number
  bool intervals = false;      ///< whether any cell has one
  bool ranges = false;         ///< whether any cell has that of modelled values
  std::set<std::string> held;  ///< reservations about what is withheld
  std::set<std::string> weak;  ///< those about what is shown
};

/// What stands for a comparison that the values do not support.
constexpr const char* withheld = "n.d.";

std::string cell_of(const Measure& measure, const Quantity& quantity, Filled& filled) {
  if (!quantity.clear()) (quantity.shown() ? filled.weak : filled.held).insert(reservation(quantity));
  if (!quantity.shown()) return withheld;
  std::string cell = measure.show(quantity.value);
  const std::string low = measure.show(quantity.low), high = measure.show(quantity.high);
  if (low == high) return cell;
  (is_modelled(quantity.witness) ? filled.ranges : filled.intervals) = true;
  return fmt::format("{} [{}, {}]", cell, low, high);
}

/// The notes of a table on its intervals and on what it does not state.
class CellNotes {
public:
  void take(const Filled& filled) {
    intervals_ = intervals_ || filled.intervals;
    ranges_ = ranges_ || filled.ranges;
    held_.insert(filled.held.begin(), filled.held.end());
    weak_.insert(filled.weak.begin(), filled.weak.end());
  }
  void write(std::vector<std::string>& notes) const {
    if (intervals_)
      notes.push_back(fmt::format("[low, high]: 95 % interval of the median (range of fewer than {} values).",
                                  statistics::least_for_interval));
    if (ranges_)
      notes.emplace_back(
          "[low, high] of a modelled value: range of its draws of placement; that of a count includes "
          "the error of sampling.");
    for (const auto& why : held_)
      notes.push_back(fmt::format("{}: {}.", withheld, why));
    for (const auto& why : weak_)
      notes.push_back(fmt::format("Comparisons: {}.", why));
  }

private:
  bool intervals_ = false, ranges_ = false;
  std::set<std::string> held_, weak_;
};

/// The numbers of a measure; if they are not all by one witness, each cell names its witness.
Filled fill(const Measure& measure, const std::vector<Product>& products) {
  Filled filled;
  std::vector<std::optional<Quantity>> all;
  for (const Product& product : products) {
    all.push_back(measure.of(product));
    if (all.back()) filled.witnesses.insert(all.back()->witness);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& quantity = all[i];
    std::string cell = quantity      ? cell_of(measure, *quantity, filled)
                       : measure.why ? measure.why(products[i])
                                     : "-";
    if (!quantity) filled.empty.insert(i);
    if (quantity && filled.witnesses.size() > 1)
      cell += fmt::format(" ({})", base::format_witness(quantity->witness));
    filled.cells.push_back(std::move(cell));
  }
  return filled;
}

std::string said_by(const Filled& filled) {
  return filled.witnesses.size() == 1 ? base::format_witness(*filled.witnesses.begin()) : "see the cells";
}

} // namespace

Measure metric_measure(const Products& group, std::string label, const std::string& metric,
                       std::string (*show)(double), const std::string& witness) {
  return {std::move(label),
          [&group, metric, witness](const Product& product) -> std::optional<Quantity> {
            const auto at = group.of.find(product);
            if (at == group.of.end()) return {};
            return matmul::central(at->second, metric, witness);
          },
          show, [&group](const Product& product) { return absence(group, product); }};
}

Measure derived_measure(const Products& group, std::string label, const std::string& name,
                        std::string (*show)(double), const std::string& witness) {
  return {std::move(label),
          [&group, name, witness](const Product& product) {
            return matmul::derived(group, product, name, witness);
          },
          show, [&group](const Product& product) { return absence(group, product); }};
}

std::vector<document::Block> across(const std::string& caption, const std::vector<Product>& products,
                                    const std::vector<Measure>& measures) {
  document::Table table{caption, {{"", false}}, {}};
  for (const Product& product : products)
    table.columns.push_back({matmul::loops_name(product)});
  table.columns.push_back({"witness", false});
  CellNotes notes;
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    notes.take(filled);
    std::vector<std::string> row{measure.label};
    row.insert(row.end(), filled.cells.begin(), filled.cells.end());
    row.push_back(said_by(filled));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return {};
  notes.write(table.notes);
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

std::vector<document::Block> down(const std::string& caption, const std::vector<Lead>& leads,
                                  const std::vector<Product>& products,
                                  const std::vector<Measure>& measures) {
  document::Table table{caption, {}, {}};
  table.rows.resize(products.size());
  for (const Lead& lead : leads) {
    table.columns.push_back({lead.head, true, true});
    for (std::size_t i = 0; i < products.size(); ++i)
      table.rows[i].push_back(lead.of(products[i]));
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> said; // who, and which columns
  CellNotes notes;
  std::vector<bool> numbers(products.size()); // whether a row has any
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    notes.take(filled);
    table.columns.push_back({measure.label});
    for (std::size_t i = 0; i < products.size(); ++i) {
      table.rows[i].push_back(filled.cells[i]);
      numbers[i] = numbers[i] || !filled.empty.contains(i);
    }
    const std::string who = said_by(filled);
    auto at = std::ranges::find(said, who, &std::pair<std::string, std::vector<std::string>>::first);
    if (at == said.end()) at = said.insert(said.end(), {who, {}});
    at->second.push_back(measure.label);
  }
  if (said.empty()) return {};
  for (const auto& [who, columns] : said)
    table.notes.push_back(said.size() == 1 ? fmt::format("All values {}.", who)
                                           : fmt::format("{}: {}.", fmt::join(columns, "; "), who));
  notes.write(table.notes);
  // What has no number at all has no row.
  std::size_t row = 0;
  std::erase_if(table.rows, [&](const auto&) { return !numbers[row++]; });
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

} // namespace recount::matmul
