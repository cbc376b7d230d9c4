#include "explain/measured.hpp"

#include "base/text.hpp"
#include "explain/text_table.hpp"
#include "matmul/published.hpp"
#include "statistics/statistics.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::explain {

std::string Cell::text() const {
  matmul::Product product{loops, "", "f64", n, block};
  return fmt::format("{}, n = {}", matmul::loops_name(product), n);
}

Values::Values(std::vector<double> all) : runs(std::move(all)) {
  // Runs of one program differ by a percent or two; where more do, by more.
  constexpr double usual = 0.03, deviations = 5;
  median = low = high = statistics::median(runs);
  const double most = std::max(usual * median, deviations * statistics::median_absolute_deviation(runs));
  for (const double run : runs) {
    if (std::abs(run - median) > most && runs.size() > 2) {
      outliers.push_back(run);
      continue;
    }
    low = std::min(low, run);
    high = std::max(high, run);
  }
}

const Column& Group::column(const std::string& metric) const {
  static const Column none;
  const auto at = columns.find(metric);
  return at == columns.end() ? none : at->second;
}

std::vector<Group> measured_groups(const std::vector<matmul::ProductGroup>& all) {
  std::vector<Group> groups;
  for (const auto& from : all) {
    Group group{from.published ? from.version("published") : from.machine, from.run ? from.run->cpu : "", {}};
    for (const auto& [product, metrics] : from.products) {
      if (product.element != "f64" || !product.build.empty() || product.transposes) continue;
      for (const auto& [key, repetitions] : metrics) {
        const auto& [witness, metric] = key;
        if (witness.modelled()) continue;
        std::vector<double> runs;
        for (const auto& one : repetitions.values)
          runs.push_back(one.value);
        if (!runs.empty())
          group.columns[metric].try_emplace(Cell{product.variant, product.block, product.n}, std::move(runs));
      }
    }
    if (!group.columns.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

std::vector<matmul::Published> read_tables(const std::string& file) {
  if (file.ends_with(".csv")) return matmul::read_published(file, {}, matmul::Duplicates::keep);
  const auto text = base::read_file(file);
  if (!text) throw bad_input(file, "cannot be read");
  return matmul::parse_published(table_from_text(*text, file), file, {}, matmul::Duplicates::keep);
}

} // namespace

std::vector<Group> read_measured(const std::string& file) {
  result::Results results;
  if (file.ends_with(".csv") || file.ends_with(".txt")) {
    for (auto& table : read_tables(file)) {
      results.runs.push_back(std::move(table.run));
      std::ranges::move(table.observations, std::back_inserter(results.observations));
    }
  } else {
    results = result::read(file);
  }
  auto groups = measured_groups(matmul::group_products(results));
  if (groups.empty())
    throw bad_input(file, "has no counts of products of doubles",
                    "rows of recount-matmul(1), PUBLISHED TABLES, or a results file of recount matmul");
  return groups;
}

} // namespace recount::explain
