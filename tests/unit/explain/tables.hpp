// Published tables for tests of recount explain.
#pragma once

#include "commands/explain/explanation.hpp"
#include "run/result/products.hpp"

#include <boost/test/unit_test.hpp>

namespace recount::explain {

/// Of all tests: a cell is simulated once.
inline Predictor& shared_predictor() {
  static Predictor predictor;
  return predictor;
}

/// The only group of a table with these rows: variant, n, block, repetition, and the columns.
inline Group group_of(const std::string& rows, const std::string& columns = "l1_dcm,l2_dcm") {
  result::Results results;
  for (auto& table : matmul::parse_published("variant,n,block,repetition," + columns + "\n" + rows, "t.csv",
                                             "", matmul::Duplicates::keep)) {
    results.runs.push_back(table.run);
    results.observations.insert(results.observations.end(), table.observations.begin(),
                                table.observations.end());
  }
  const auto groups = measured_groups(matmul::group_products(results));
  BOOST_REQUIRE(groups.size() == 1U);
  return groups.front();
}

#ifdef RECOUNT_FIELD
/// A group of the shipped table, without its largest products: slow to simulate, they decide nothing more.
inline Group published(const std::string& name, std::int64_t most_of_blocks = 0) {
  static const auto all = read_measured(RECOUNT_FIELD "/field.csv");
  Group group = *std::ranges::find_if(all, [&](const Group& one) { return one.name.ends_with(" " + name); });
  for (auto& [metric, column] : group.columns)
    std::erase_if(
        column, [&](const auto& one) { return one.first.n > (one.first.block > 0 ? most_of_blocks : 3000); });
  return group;
}
#endif

} // namespace recount::explain
