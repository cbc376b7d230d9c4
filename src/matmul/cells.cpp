#include "matmul/cells.hpp"

#include "base/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace recount::matmul {
namespace {

struct Filled {
  std::vector<std::string> cells;
  std::set<std::string> witnesses;
};

/// The numbers of a measure; if they are not all by one witness, each cell names its witness.
Filled fill(const Measure& measure, const std::vector<Product>& products) {
  Filled filled;
  std::vector<std::optional<Quantity>> all;
  for (const Product& product : products) {
    all.push_back(measure.of(product));
    if (all.back()) filled.witnesses.insert(all.back()->witness);
  }
  for (const auto& quantity : all) {
    std::string cell = quantity ? measure.show(quantity->value) : "-";
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
            return matmul::mean(at->second, metric, witness);
          },
          show};
}

Measure derived_measure(const Products& group, std::string label, const std::string& name,
                        std::string (*show)(double), const std::string& witness) {
  return {std::move(label),
          [&group, name, witness](const Product& product) {
            return matmul::derived(group, product, name, witness);
          },
          show};
}

std::vector<document::Block> across(const std::string& caption, const std::vector<Product>& products,
                                    const std::vector<Measure>& measures) {
  document::Table table{caption, {{"", false}}, {}};
  for (const Product& product : products)
    table.columns.push_back({matmul::loops_name(product)});
  table.columns.push_back({"witness", false});
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    std::vector<std::string> row{measure.label};
    row.insert(row.end(), filled.cells.begin(), filled.cells.end());
    row.push_back(said_by(filled));
    table.rows.push_back(std::move(row));
  }
  if (table.rows.empty()) return {};
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
    table.columns.push_back({lead.head});
    for (std::size_t i = 0; i < products.size(); ++i)
      table.rows[i].push_back(lead.of(products[i]));
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> said; // who, and which columns
  for (const Measure& measure : measures) {
    const Filled filled = fill(measure, products);
    if (filled.witnesses.empty()) continue;
    table.columns.push_back({measure.label});
    for (std::size_t i = 0; i < products.size(); ++i)
      table.rows[i].push_back(filled.cells[i]);
    const std::string who = said_by(filled);
    auto at = std::ranges::find(said, who, &std::pair<std::string, std::vector<std::string>>::first);
    if (at == said.end()) at = said.insert(said.end(), {who, {}});
    at->second.push_back(measure.label);
  }
  if (said.empty()) return {};
  for (const auto& [who, columns] : said)
    table.notes.push_back(said.size() == 1 ? fmt::format("All values {}.", who)
                                           : fmt::format("{}: {}.", fmt::join(columns, "; "), who));
  // What has no number at all has no row.
  std::erase_if(table.rows, [&](const std::vector<std::string>& row) {
    return std::all_of(row.begin() + static_cast<std::ptrdiff_t>(leads.size()), row.end(),
                       [](const std::string& cell) { return cell == "-"; });
  });
  std::vector<document::Block> made;
  made.emplace_back(std::move(table));
  return made;
}

} // namespace recount::matmul
