// Random results files, and the tables of their reports.
#pragma once

#include "commands/report/build_report.hpp"
#include "observed.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <variant>
#include <vector>

namespace recount::test {

/// Files: RECOUNT_CASES, or 500.
inline int cases() {
  const char* const requested = std::getenv("RECOUNT_CASES");
  return requested ? std::max(1, std::atoi(requested)) : 500;
}

using Random = std::mt19937_64;

inline double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<>(low, high)(random);
}

inline bool chance(Random& random, double probability) {
  return uniform(random, 0, 1) < probability;
}

/// A run without observations.
inline result::Results one_run() {
  result::Results results;
  result::Run& run = results.runs.emplace_back();
  run.id = "R";
  run.cpu = "Some CPU";
  run.host = "box";
  return results;
}
/// The same of the kernel stride.
inline result::Results stride_run() {
  result::Results results = one_run();
  results.runs.front().plan = {{"kernel", "stride"}, {"repeat", "1"}};
  return results;
}

/// A value of such a run: of a million accesses.
inline result::Observation walk_at(std::int64_t size, std::int64_t stride, Witness witness,
                                   std::string metric, double value) {
  auto o = observed("stride", {{"size", size}, {"stride", stride}, {"rounds", std::int64_t{10}}},
                    std::move(witness), std::move(metric), value);
  o.accesses = 1000000;
  return o;
}

inline std::vector<const show::Table*> tables_in(const document::Document& document) {
  std::vector<const show::Table*> all;
  for (const auto& block : document.blocks)
    if (const auto* const table = std::get_if<show::Table>(&block)) all.push_back(table);
  return all;
}

/// Those of its files as well, at the end.
inline std::vector<const show::Table*> tables_in(const report::Report& report) {
  std::vector<const show::Table*> all = tables_in(report.document);
  for (const show::Table& table : report.files)
    all.push_back(&table);
  return all;
}

} // namespace recount::test
