#include "report/whole.hpp"

#include "matmul/derived.hpp"
#include "base/format.hpp"
#include "matmul/sections.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::report {
namespace {

using namespace analysis;

struct FigureRow {
  const char *section, *figure;
};
/// Which figures stand in which section, in this order.
constexpr FigureRow figure_rows[] = {
    {"laboratory", "matmul-lab"},      {"doubles", "matmul-time"},         {"doubles", "matmul-gflops"},
    {"doubles", "matmul-misses"},      {"doubles", "matmul-hit-rates"},    {"doubles", "matmul-speed-up"},
    {"doubles", "matmul-blocks"},      {"doubles", "matmul-block-misses"}, {"doubles", "matmul-roofline"},
    {"published", "matmul-published"},
};

void add_figures(std::vector<Block>& blocks, const std::string& section, const Part& part, Gallery& gallery) {
  for (const FigureRow& row : figure_rows)
    if (section == row.section)
      if (auto picture = gallery.add(row.figure, part)) blocks.emplace_back(std::move(*picture));
}

/// What recount check found, as its figure shows it.
std::vector<Block> checks_section(const std::vector<Part>& parts, Gallery& gallery) {
  std::vector<Block> blocks;
  for (const Part& part : parts)
    if (auto picture = gallery.add("agreement", part)) blocks.emplace_back(std::move(*picture));
  return under("Do the presets count what they say?", std::move(blocks));
}

/// A section of tables with their figures behind them.
void products_section(std::vector<Block>& blocks, const std::string& title, const std::string& section,
                      std::vector<Block> tables, const Part& part, Gallery& gallery) {
  if (tables.empty()) return;
  add_figures(tables, section, part, gallery);
  append(blocks, under(title, std::move(tables)));
}

/// Every product that something was said of.
void matrices(std::vector<Block>& blocks, const std::vector<Part>& parts, const result::Results& results,
              Gallery& gallery) {
  const bool several = std::ranges::count(parts, false, &Part::published) > 1;
  for (const Part& part : parts) {
    if (part.published) continue;
    const std::string of = several ? ": " + part.machine : std::string();
    for (const Products& group : products(*part.results)) {
      products_section(blocks, "Products of 16-bit integers" + of, "laboratory", laboratory(group), part,
                       gallery);
      products_section(blocks, "Products of doubles" + of, "doubles", doubles(group), part, gallery);
    }
  }
  const auto groups = products(results);
  const Part everything{"", false, std::make_shared<result::Results>(results)};
  products_section(blocks, "Published values beside the model", "published", published(groups), everything,
                   gallery);
  append(blocks, under("Comments", remarks(groups)));
}

/// All values of all products, last: they are what the rest is made of.
void values(std::vector<Block>& blocks, const result::Results& results) {
  std::vector<Block> tables;
  for (const Products& group : products(results)) {
    auto made = all_values(group);
    for (Block& block : made)
      if (auto* table = std::get_if<Table>(&block)) table->caption += ": " + group.machine;
    append(tables, std::move(made));
  }
  append(blocks, under("All values", std::move(tables)));
}

std::string title_of(const std::vector<Part>& parts, const result::Results& results) {
  std::vector<std::string> machines;
  for (const Part& part : parts)
    if (!part.published) machines.push_back(part.machine);
  if (machines.empty()) return "Published matrix products";
  const bool matrices = !products(results).empty();
  return fmt::format("{} of {}", matrices ? "Caches and matrix products" : "Caches",
                     machines.size() > 2 ? fmt::format("{} machines", machines.size())
                                         : fmt::format("{}", fmt::join(machines, " and ")));
}

} // namespace

Report whole(const result::Results& results, const Origin& origin) {
  const auto parts = by_machine(results);
  Report report;
  Gallery gallery;
  auto& blocks = report.document.blocks;
  report.document.title = title_of(parts, results);
  report.document.subtitle =
      fmt::format("Written by recount {} from {}", origin.version, fmt::join(origin.files, ", "));
  std::vector<Block> body;
  append(body, checks_section(parts, gallery));
  append(body, caches_section(parts, origin.machine, gallery));
  append(body, sweeps_section(parts, gallery));
  matrices(body, parts, results, gallery);
  if (body.empty())
    throw bad_input(
        fmt::format("{}", fmt::join(origin.files, ", ")), "nothing in it makes a table or a figure",
        "recount matmul -o FILE, recount caches -o FILE and recount sweep -o FILE make results for a "
        "report");
  if (auto summary = in_short(parts); !summary.empty()) {
    blocks.emplace_back(Heading{"In short", 1});
    blocks.emplace_back(List{std::move(summary)});
  }
  append(blocks, machines_section(parts));
  append(blocks, method_section(results));
  append(blocks, std::move(body));
  result::Results told = results;
  told.warnings.insert(told.warnings.end(), gallery.warnings().begin(), gallery.warnings().end());
  append(blocks, warnings_section(told));
  values(blocks, results);
  report.pictures = gallery.wanted();
  return report;
}

} // namespace recount::report
