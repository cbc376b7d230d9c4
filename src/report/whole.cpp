#include "report/whole.hpp"

#include "analysis/derived.hpp"
#include "analysis/figures_of_speech.hpp"
#include "report/products.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::report {
namespace {

using namespace analysis;

/// What recount check found, as its figure shows it.
std::vector<Block> checks_section(const std::vector<Part>& parts, Gallery& gallery) {
  std::vector<Block> blocks;
  for (const Part& part : parts)
    if (auto picture = gallery.add("agreement", part)) blocks.emplace_back(std::move(*picture));
  return under("Do the presets count what they say?", std::move(blocks));
}

/// The products of one machine under a heading, with the machine's name where there are several.
void products_section(std::vector<Block>& blocks, const std::string& title, std::vector<Block> tables,
                      const Part& part, bool several) {
  append(blocks, under(several ? title + ": " + part.machine : title, std::move(tables)));
}

/// Every product that something was said of.
void matrices(std::vector<Block>& blocks, const std::vector<Part>& parts, const result::Results& results) {
  const bool several = std::ranges::count(parts, false, &Part::published) > 1;
  for (const Part& part : parts) {
    if (part.published) continue;
    for (const Products& group : products(*part.results)) {
      products_section(blocks, "Products of 16-bit integers", laboratory(group), part, several);
      products_section(blocks, "Products of doubles", doubles(group), part, several);
    }
  }
  const auto groups = products(results);
  append(blocks, under("Published values beside the model", published(groups)));
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
  matrices(body, parts, results);
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
