// Expected misses of recount check, which the model simulates, against the reference simulator, whose
// accesses follow the pointers in memory and the recurrence as the manual states it.
#include "kernel/proofs.hpp"
#include "model/hierarchy.hpp"
#include "model/metrics.hpp"
#include "reference.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

using namespace recount;

BOOST_AUTO_TEST_SUITE(proofs)

namespace {

using Place = std::pair<const kernel::Kernel*, kernel::Params>;

std::int64_t number_of(const kernel::Params& point, const char* name) {
  return std::get<std::int64_t>(point.at(name));
}

/// Each load reads the address of the next one.
void follow_pointers(const Place& place, reference::Simulator& caches) {
  const auto instance = place.first->prepare(place.second);
  const std::uint64_t start = instance->placement().base;
  const auto offset = static_cast<std::uint64_t>(number_of(place.second, "offset"));
  std::uint64_t at = start;
  for (std::int64_t step = 0; step < instance->accesses(); ++step) {
    caches.load(kernel::assumed_base + offset + (at - start), sizeof at);
    std::memcpy(&at, reinterpret_cast<const void*>(at), sizeof at);
  }
}

/// x becomes 1103515245 x + 12345 modulo the number of places (recount-kernels(7), "scatter").
void follow_recurrence(const kernel::Params& point, reference::Simulator& caches) {
  const std::int64_t stride = number_of(point, "stride"), places = number_of(point, "size") / stride;
  const bool stores = std::get<std::string>(point.at("operation")) == "store";
  std::int64_t x = 0;
  for (std::int64_t pass = 0; pass < number_of(point, "passes"); ++pass)
    for (std::int64_t i = 0; i < places; ++i) {
      x = (1103515245 * x + 12345) % places;
      const std::uint64_t address = kernel::assumed_base + static_cast<std::uint64_t>(x * stride);
      stores ? caches.store(address, 8) : caches.load(address, 8);
    }
}

std::map<std::string, std::int64_t> by_reference(const Place& place,
                                                 const model::MachineDescription& machine) {
  reference::Simulator caches(machine);
  const auto empty = caches.counts;
  for (int warm = 0; warm < 2; ++warm) {
    caches.counts = empty;
    if (place.first->name() == "chase")
      follow_pointers(place, caches);
    else
      follow_recurrence(place.second, caches);
  }
  return model::metrics(caches.counts, machine);
}

/// Points of presets that no closed form states, with the presets; passes that repeat one another left out.
std::map<Place, std::set<std::string>> simulated_places(const model::MachineDescription& machine) {
  std::map<Place, std::set<std::string>> places;
  for (const kernel::Proof& proof : kernel::proofs(machine)) {
    const auto known = proof.kernel->expected(proof.point);
    if (std::ranges::find(known, proof.preset, &kernel::Expectation::metric) != known.end()) continue;
    kernel::Params point = proof.point;
    point["passes"] = std::min<std::int64_t>(number_of(point, "passes"), 2);
    places[{proof.kernel, point}].insert(proof.preset);
  }
  return places;
}

} // namespace

BOOST_DATA_TEST_CASE(expected_misses_are_those_of_another_simulator,
                     boost::unit_test::data::make({"i7-9700-l3", "ryzen-5950x"}), name) {
  const auto machine = model::machine(name);
  const auto places = simulated_places(machine);
  BOOST_TEST(places.size() >= 4U);
  std::size_t compared = 0;
  for (const auto& [place, presets] : places) {
    const auto& [kernel, point] = place;
    BOOST_TEST_REQUIRE((kernel->name() == "chase" || kernel->name() == "scatter"), kernel->name());
    model::Hierarchy caches(machine);
    kernel->simulate_warm(point, caches);
    const auto model = model::metrics(caches), reference = by_reference(place, machine);
    for (const std::string& preset : presets) {
      ++compared;
      BOOST_TEST(model.at(preset) == reference.at(preset),
                 preset << " in " << kernel->name() << " " << kernel::describe(point) << ": "
                        << model.at(preset) << " by the model, " << reference.at(preset) << " by reference");
    }
  }
  BOOST_TEST(compared >= 20U);
}

BOOST_AUTO_TEST_SUITE_END()
