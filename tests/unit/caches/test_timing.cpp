// Machines with a clock only, simulated: what the inference by time states is true.
#include "timing_tally.hpp"

#include "caches/infer/compare.hpp"
#include "caches/infer/conflict_sets.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <sstream>

using namespace recount;

BOOST_AUTO_TEST_SUITE(timing)

namespace {

constexpr std::uint64_t machines = 60; // of thousands: timing-machines 4000

double share(long part, long all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

/// Lines at power-of-two strides of a cache, as a clock has them.
std::vector<caches::StrideReading> strides_of(std::int64_t ways, std::int64_t way_bytes, double noise) {
  std::vector<caches::StrideReading> readings;
  for (std::int64_t stride = 512; stride <= 65536; stride *= 2)
    for (std::int64_t lines = 2; lines <= 65; ++lines) {
      // Counted by hand: lines of set 0 are those whose place is a multiple of a way.
      std::int64_t in_first = 0;
      for (std::int64_t i = 0; i < lines; ++i)
        in_first += i * stride % way_bytes == 0 ? 1 : 0;
      readings.push_back(
          {stride, lines, (in_first > ways ? 0.9 : 0.0) + noise * ((lines * 7 + stride) % 5 == 0 ? 1 : 0)});
    }
  return readings;
}

} // namespace

BOOST_AUTO_TEST_CASE(conflicts_decide_ways_and_way_size_in_spite_of_disturbed_readings) {
  for (const std::int64_t ways : {4, 6, 8, 12, 16})
    for (const std::int64_t way : {2048, 4096, 8192})
      for (const double noise : {0.0, 0.03}) {
        auto readings = strides_of(ways, way, noise);
        for (std::size_t i = 0; i < readings.size(); i += 40) // one in forty is wrong altogether
          readings[i].share = readings[i].share > 0.5 ? 0 : 1.3;
        const auto decision = caches::decide_shape(readings);
        BOOST_TEST_REQUIRE(decision.has_value());
        BOOST_TEST_CONTEXT(ways << " ways of " << way << " bytes, noise " << noise) {
          BOOST_TEST(decision->ways == ways);
          BOOST_TEST(decision->way_bytes == way);
          BOOST_TEST(decision->probability > 0.99);
        }
      }
}

BOOST_AUTO_TEST_CASE(readings_that_tell_nothing_decide_nothing) {
  BOOST_TEST(!caches::decide_shape({}).has_value());
  std::vector<caches::StrideReading> flat;
  for (std::int64_t lines = 2; lines <= 16; ++lines)
    flat.push_back({4096, lines, 0.001});
  BOOST_TEST(caches::decide_shape(flat)->probability < 0.5); // 16 ways or more of 4 KiB, or of any other size
}

BOOST_AUTO_TEST_CASE(an_estimate_is_near_and_does_not_agree) {
  caches::Caches found;
  found.levels.resize(1);
  found.levels[0].name = "L2";
  caches::Property& capacity = found.levels[0].capacity;
  capacity.name = "capacity";
  capacity.unit = "bytes";
  const auto compared = [&](double mebibytes, double tolerance) {
    capacity.value = mebibytes * (1 << 20);
    capacity.tolerance = tolerance;
    caches::compare(found, {"hwloc", {{"L2", 1 << 20, 0, 0}}, {}, {}});
    return caches::to_string(capacity.agreement);
  };
  BOOST_TEST(compared(1.188, 0.2) == "near");
  BOOST_TEST(compared(1.188, 0.1) == "differs");
  BOOST_TEST(compared(1, 0) == "agrees");
}

BOOST_AUTO_TEST_CASE(simulated_machines_are_told_rightly) {
  std::ostringstream log;
  const TimingTallies all = tally_machines(1, machines, log);
  std::cout << all;
  for (const char* property : {"L1d capacity", "L1d ways", "L1d line"}) {
    const TimingTally& t = all.at(property);
    BOOST_TEST(t.wrong == 0, property << "\n" << log.str());
    BOOST_TEST(share(t.exact, t.all()) >= 0.98, property << "\n" << log.str());
  }
  const auto within = [&](const char* property) {
    return share(all.at(property).exact + all.at(property).within, all.at(property).all());
  };
  BOOST_TEST(within("L2 capacity") >= 0.8, log.str());
  const TimingTally& capacity = all.at("L2 capacity");
  BOOST_TEST(share(capacity.wrong, capacity.all()) <= 0.03, log.str());
  BOOST_TEST(within("L2 ways") >= 0.8, log.str());
  for (const auto& [property, t] : all)
    BOOST_TEST(t.wrong_at_high == 0, property << "\n" << log.str());
}

BOOST_AUTO_TEST_SUITE_END()
