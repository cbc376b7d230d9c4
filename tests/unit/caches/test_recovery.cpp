// Random machines are recovered exactly from the model's misses, or called unknown with a reason: never
// wrong.
#include "commands/caches/infer/findings.hpp"
#include "machines.hpp"
#include "unit/caches/model_sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <sstream>

using namespace recount;
using caches::Property;

BOOST_AUTO_TEST_SUITE(recovery)

namespace {

struct Tally {
  long exact = 0, unknown = 0, wrong = 0;
  [[nodiscard]] long all() const { return exact + unknown + wrong; }
};

/// By what kind of level a property is of: "L1 LRU", "L2 exclusive" ...
std::map<std::string, std::map<std::string, Tally>> tallies;

void hold(const Property& found, std::int64_t truth, const std::string& kind,
          const model::MachineDescription& machine) {
  Tally& tally = tallies[kind][found.name];
  if (!found.value) {
    ++tally.unknown;
    BOOST_TEST(!found.unknown.empty(), kind << " " << found.name << " has no reason: " << machine);
  } else if (*found.value == static_cast<double>(truth)) {
    ++tally.exact;
  } else {
    ++tally.wrong;
    BOOST_TEST(*found.value == static_cast<double>(truth), kind << " " << found.name << " of " << machine);
  }
}

void recover(const model::MachineDescription& machine, const std::string& policies) {
  ModelSampler sampler(machine, std::int64_t{1} << 33);
  const caches::Caches found = caches::infer_caches(sampler);
  BOOST_REQUIRE(found.levels.size() == machine.levels.size());
  bool exclusive = false;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const auto& truth = machine.levels[i];
    exclusive = exclusive || truth.inclusion == model::Inclusion::exclusive;
    const std::string kind = "L" + std::to_string(i + 1) + " " + (exclusive ? "exclusive" : policies);
    hold(found.levels[i].line, truth.line, kind, machine);
    hold(found.levels[i].capacity, truth.size, kind, machine);
    hold(found.levels[i].ways, truth.ways, kind, machine);
  }
}

/// Share of a kind's properties that are exact.
double rate(const std::string& kind) {
  long exact = 0, all = 0;
  for (const auto& [property, tally] : tallies[kind]) {
    exact += tally.exact;
    all += tally.all();
  }
  return all == 0 ? 1 : static_cast<double>(exact) / static_cast<double>(all);
}

/// The share asked for, less three standard errors of what so few machines can tell (the properties of one
/// machine hang together: a machine is one trial). With thousands it is the share itself within a percent.
double floor_of(double share, const std::string& kind) {
  long machines = 1;
  for (const auto& [property, tally] : tallies[kind])
    machines = std::max(machines, tally.all());
  return share - 3 * std::sqrt(share * (1 - share) / static_cast<double>(machines));
}

} // namespace

BOOST_AUTO_TEST_CASE(machines_are_recovered_exactly_or_called_unknown) {
  tallies.clear();
  for (std::uint64_t seed = 0; seed < RECOUNT_PROPERTY_CASES / 20; ++seed) {
    Dice dice(seed);
    const bool lru = seed % 2 == 0;
    const auto machine = random_machine(dice, lru);
    BOOST_TEST_CONTEXT("seed " << seed) recover(machine, lru ? "LRU" : "mixed");
  }
  for (const auto& [kind, properties] : tallies)
    for (const auto& [property, tally] : properties)
      std::cout << kind << " " << property << ": " << tally.exact << " exact, " << tally.unknown
                << " unknown, " << tally.wrong << " wrong\n";
  std::cout << "LRU machines: " << 100 * rate("L1 LRU") << " % of the L1 properties exact, "
            << 100 * rate("L2 LRU") << " % of the L2 properties\n";
  BOOST_TEST(rate("L1 LRU") >= floor_of(0.95, "L1 LRU"));
  BOOST_TEST(rate("L2 LRU") >= floor_of(0.90, "L2 LRU"));
}

BOOST_AUTO_TEST_SUITE_END()
