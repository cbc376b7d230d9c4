// How well the descriptions of machines predict counts that strangers published, group by group
// (tests/data/field/bounds.txt).
#include "base/data_rows.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "explain/explanation.hpp"
#include "matmul/published.hpp"
#include "model/machine.hpp"
#include "statistics/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

using namespace recount;
using namespace recount::explain;

BOOST_AUTO_TEST_SUITE(published_bounds)

namespace {

/// Percent, by loops as people call them.
using Bounds = std::map<std::string, double>;

struct Promise {
  Bounds bounds;
  std::map<std::string, Bounds> exceptions; ///< by group
  std::set<std::string> virtual_machines;
};

Promise read_promise() {
  Promise promise;
  const std::string file = RECOUNT_FIELD "/bounds.txt", text = base::read_file(file).value();
  for (const base::DataRow& row : base::data_rows(text, file)) {
    const auto& cells = row.cells;
    const auto number = [&](std::size_t at) { return base::parse<double>(cells.at(at)).value(); };
    if (cells.at(0) == "bound")
      promise.bounds[std::string(cells.at(1))] = number(2);
    else if (cells.at(0) == "except" && cells.size() == 5)
      promise.exceptions[std::string(cells.at(1))][std::string(cells.at(2))] = number(3);
    else if (cells.at(0) == "virtual")
      promise.virtual_machines.emplace(cells.at(1));
    else
      BOOST_FAIL(row.where + ": unknown row");
  }
  return promise;
}

struct Loops {
  const char *name, *variant, *order;
};
constexpr Loops all_loops[] = {{"simple", "ijk", "ijk"}, {"line", "ikj", "ikj"}, {"block", "blocked", "ikj"}};

/// The description of the table's machine, for loops that prefetchers change the one with prefetchers.
std::string description(const result::Run& run, const std::string& loops) {
  const std::string stated = run.versions.at("machine"), name = stated.substr(0, stated.find('~'));
  const auto names = model::machine_names();
  const bool prefetches = loops != "simple" && std::ranges::find(names, name + "-prefetch") != names.end();
  return name + (prefetches ? "-prefetch" : "") + stated.substr(name.size());
}

/// Median of |predicted / measured - 1| in percent; nothing without cells.
std::optional<double> deviation(Predictor& predictor, const Column& column, const Loops& loops,
                                const std::string& machine) {
  constexpr std::int64_t block_products[] = {4096, 6144}; // others have the same law
  std::vector<double> all;
  for (const auto& [cell, values] : column) {
    if (cell.loops != loops.variant ||
        (cell.block > 0 && std::ranges::find(block_products, cell.n) == std::end(block_products)))
      continue;
    const double predicted = predictor.l1_misses(machine, loops.order, cell.n, cell.block).value;
    all.push_back(100 * std::abs(predicted / values.median - 1));
  }
  return all.empty() ? std::nullopt : std::optional(statistics::median(all));
}

} // namespace

BOOST_AUTO_TEST_CASE(descriptions_meet_their_bounds_in_every_group) {
  const Promise promise = read_promise();
  Predictor predictor;
  const auto groups = read_measured(RECOUNT_FIELD "/field.csv");
  std::size_t compared = 0, excepted = 0;
  for (const auto& table : matmul::read_published(RECOUNT_FIELD "/field.csv", {}, matmul::Duplicates::keep)) {
    const auto& versions = table.run.versions;
    const std::string name = versions.at("group");
    if (versions.at("cpu").starts_with("?") || promise.virtual_machines.contains(name)) continue;
    const auto group =
        std::ranges::find_if(groups, [&](const Group& one) { return one.name.ends_with(" " + name); });
    Column column = group->column(l1_metric);
    static_cast<void>(sort_moved_rows(column));
    const auto found = promise.exceptions.find(name);
    for (const Loops& loops : all_loops) {
      const auto off = deviation(predictor, column, loops, description(table.run, loops.name));
      if (!off) continue;
      ++compared;
      const double bound = promise.bounds.at(loops.name);
      const bool excused = found != promise.exceptions.end() && found->second.contains(loops.name);
      BOOST_TEST_CONTEXT(name << " " << loops.name) {
        if (excused) {
          ++excepted;
          BOOST_TEST(*off > bound); // else the exception is out of date
          BOOST_TEST(*off < found->second.at(loops.name));
        } else {
          BOOST_TEST(*off < bound);
        }
      }
    }
  }
  BOOST_TEST(compared == 58U);
  BOOST_TEST(excepted == 10U);
}

BOOST_AUTO_TEST_SUITE_END()
