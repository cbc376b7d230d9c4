// How well the descriptions of machines predict counts that strangers published, group by group
// (tests/data/field/bounds.txt).
#include "base/format.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "commands/explain/explanation.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"
#include "run/result/products.hpp"
#include "tables.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

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
  std::map<std::string, Bounds> exceptions;                         ///< by group
  std::map<std::string, std::map<std::string, std::string>> orders; ///< of the loops of a group's program
  std::set<std::string> virtual_machines;
};

Promise read_promise() {
  Promise promise;
  const std::string file = RECOUNT_FIELD "/bounds.txt", text = base::read_file(file).value();
  for (const base::DataRow& row : base::data_rows(text, file)) {
    const auto& cells = row.cells;
    const auto number = [&](std::size_t at) { return base::parse<double>(cells.at(at)).value(); };
    const auto word = [&](std::size_t at) { return std::string(cells.at(at)); };
    if (cells.at(0) == "bound")
      promise.bounds[word(1)] = number(2);
    else if (cells.at(0) == "except" && cells.size() == 5)
      promise.exceptions[word(1)][word(2)] = number(3);
    else if (cells.at(0) == "program" && cells.size() == 5)
      promise.orders[word(1)][word(2)] = word(3);
    else if (cells.at(0) == "virtual")
      promise.virtual_machines.insert(word(1));
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

/// A step of blocks whose program first copies the blocks of a and b into arrays of their own.
model::Nest copied_blocks(std::int64_t n, std::int64_t block) {
  using model::Affine, model::Cause;
  constexpr unsigned bytes = 8;
  model::Recorder nest;
  const auto access = [&](Cause cause, unsigned array, const Affine& row, const Affine& column,
                          std::int64_t width) {
    const auto base = static_cast<std::int64_t>((std::uint64_t{1} << 46) + (std::uint64_t{array} << 41)) + 16;
    nest.access(cause, array, (row * width + column) * bytes + base, bytes);
  };
  nest.loop(0, block, 1, [&](const Affine& row) {
    nest.loop(0, block, 1, [&](const Affine& column) {
      for (const unsigned matrix : {0U, 1U}) {
        access(Cause::load, matrix, row, column, n);
        access(Cause::store, matrix + 3, row, column, block);
      }
    });
  });
  nest.loop(0, block, 1, [&](const Affine& i) {
    nest.loop(0, block, 1, [&](const Affine& k) {
      access(Cause::load, 3, i, k, block);
      nest.loop(0, block, 1, [&](const Affine& j) {
        access(Cause::load, 4, k, j, block);
        access(Cause::load, 2, i, j, n);
        access(Cause::store, 2, i, j, n);
      });
    });
  });
  return nest.nest();
}

double misses_of_copied_blocks(const std::string& machine, const Cell& cell) {
  auto described = model::machine(machine + "~sample~placement=contiguous");
  described.levels.resize(1);
  described.sample_unit = model::SampledReplay::min_window;
  model::Hierarchy caches(described);
  model::simulate_nest(copied_blocks(cell.n, cell.block), caches);
  const auto steps = static_cast<double>(cell.n) / static_cast<double>(cell.block);
  return static_cast<double>(model::metrics(caches).at("PAPI_L1_DCM")) * steps * steps * steps;
}

/// Misses of L1 per step. Rows of line and block that are longer than L1 all have the same: once per kind of
/// rows, of whole pages or not.
double predicted_misses(const std::string& machine, const std::string& order, Cell cell) {
  const double cube = cell.cube();
  if (cell.loops != "ijk") cell.n = std::min<std::int64_t>(cell.n, cell.n % 512 == 0 ? 4096 : 4000);
  const double misses = order == "copied"
                            ? misses_of_copied_blocks(machine, cell)
                            : shared_predictor().l1_misses(machine, order, cell.n, cell.block).value;
  return misses / cell.cube() * cube;
}

/// |predicted / measured - 1| in percent; nothing without cells. Prints a row of the table of all groups.
std::optional<double> deviation(const std::string& group, const Column& column, const Loops& loops,
                                const std::string& order, const std::string& machine) {
  constexpr std::int64_t block_products[] = {4096, 6144}; // others have the same law
  std::vector<double> all;
  Cell worst;
  for (const auto& [cell, values] : column) {
    if (cell.loops != loops.variant ||
        (cell.block > 0 && std::ranges::find(block_products, cell.n) == std::end(block_products)))
      continue;
    all.push_back(100 * std::abs(predicted_misses(machine, order, cell) / values.median - 1));
    if (all.back() == std::ranges::max(all)) worst = cell;
  }
  if (all.empty()) return {};
  const double median = statistics::median(all);
  BOOST_TEST_MESSAGE(fmt::format("{} {:6} {:20} {:2} cells: median {:5.2f} %, worst {:5.2f} % ({})", group,
                                 loops.name, machine, all.size(), median, std::ranges::max(all),
                                 worst.text()));
  return median;
}

} // namespace

BOOST_AUTO_TEST_CASE(descriptions_meet_their_bounds_in_every_group, *boost::unit_test::label("more")) {
  Promise promise = read_promise();
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
      const std::string other = promise.orders[name][loops.name];
      const auto off = deviation(name, column, loops, other.empty() ? loops.order : other,
                                 description(table.run, loops.name));
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
  BOOST_TEST(excepted == 8U);
}

BOOST_AUTO_TEST_SUITE_END()
