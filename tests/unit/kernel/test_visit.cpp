// visit: its places, its pointers in memory, and what the model says of them.
#include "kernel/kernel.hpp"
#include "kernel/loops/pattern.hpp"
#include "model/hierarchy.hpp"
#include "model/metrics.hpp"
#include "recount/error.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <random>

using namespace recount;
using kernel::Pattern;

BOOST_AUTO_TEST_SUITE(visit)

namespace {

std::vector<std::uint64_t> sorted(std::vector<std::uint64_t> all) {
  std::ranges::sort(all);
  return all;
}

/// Patterns whose places do not overlap, of every kind.
Pattern random_pattern(std::mt19937_64& engine) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(engine() % n); };
  Pattern p = kernel::dense(1 + below(40), 64 << below(4));
  p.seed = below(1000);
  p.offset = below(4096);
  if (below(2) == 0) {
    p.shift = 8;
    p.wrap = 1 + below(3);
  }
  if (below(2) == 0) {
    p.pair = 24 + below(8);
    p.before = below(2) == 0;
  }
  if (below(3) == 0)
    for (std::int64_t i = 0; i < p.count; ++i)
      p.slots.push_back(p.count - 1 - i);
  return p;
}

std::int64_t l1_misses(const Pattern& pattern, std::int64_t passes) {
  model::Hierarchy caches(model::machine("i7-9700~no-tlb")); // L1: 64 sets of 8 ways, 64-byte lines
  const auto places = kernel::places(pattern);
  kernel::replay(places, kernel::assumed_base, 3, caches);
  caches.reset_counters();
  kernel::replay(places, kernel::assumed_base, passes, caches);
  return model::metrics(caches).at("PAPI_L1_DCM");
}

} // namespace

BOOST_AUTO_TEST_CASE(places_are_where_the_parameters_say) {
  Pattern p = kernel::dense(4, 100);
  BOOST_TEST(sorted(kernel::places(p)) == (std::vector<std::uint64_t>{0, 100, 200, 300}));
  p.shift = 8;
  p.wrap = 3;
  BOOST_TEST(sorted(kernel::places(p)) == (std::vector<std::uint64_t>{0, 108, 216, 300}));
  p.slots = {9, 0, 5, 2};
  BOOST_TEST(sorted(kernel::places(p)) == (std::vector<std::uint64_t>{8, 200, 516, 900}));
  BOOST_TEST(kernel::extent(p) == 908);
  p = kernel::dense(1, 1000);
  p.pair = 64;
  BOOST_TEST(kernel::places(p) == (std::vector<std::uint64_t>{0, 64}));
  p.before = true;
  BOOST_TEST(kernel::places(p) == (std::vector<std::uint64_t>{64, 0}));
}

BOOST_AUTO_TEST_CASE(extent_ends_with_the_last_visited_pointer) {
  std::mt19937_64 engine(5);
  for (int i = 0; i < 500; ++i) {
    Pattern p = random_pattern(engine);
    p.shift = static_cast<std::int64_t>(engine() % 3) * 200; // a group may reach beyond the next one
    const auto last = static_cast<std::int64_t>(std::ranges::max(kernel::places(p)));
    BOOST_TEST(kernel::extent(p) == last + 8);
  }
  BOOST_TEST(kernel::extent(kernel::dense(std::int64_t{1} << 41, 8)) == std::int64_t{1} << 44); // at once
}

BOOST_AUTO_TEST_CASE(a_pattern_survives_being_a_point) {
  std::mt19937_64 engine(3);
  for (int i = 0; i < 200; ++i) {
    const Pattern p = random_pattern(engine);
    const auto point = kernel::to_point(p, 7);
    BOOST_TEST((kernel::to_pattern(point.kernel, point.params) == p));
    BOOST_TEST(point.kernel == (kernel::is_dense(p) ? "chase" : "visit"));
  }
}

BOOST_AUTO_TEST_CASE(a_dense_pattern_is_visited_as_chase_visits_it) {
  const Pattern p = kernel::dense(100, 64);
  model::Hierarchy one(model::machine("i7-9700~no-tlb")), other(model::machine("i7-9700~no-tlb"));
  kernel::replay(kernel::places(p), kernel::assumed_base, 2, one);
  kernel::find("chase").simulate(kernel::to_point(p, 2).params, other);
  BOOST_TEST((one.state() == other.state()));
}

BOOST_AUTO_TEST_CASE(the_pointers_in_memory_lead_through_the_places) {
  std::mt19937_64 engine(4);
  for (int i = 0; i < 100; ++i) {
    Pattern p = random_pattern(engine);
    p.slots.clear(); // for results only: recount sweep has no such parameter
    const auto point = kernel::to_point(p, 3);
    const auto instance = kernel::find(point.kernel).prepare(point.params);
    const std::uint64_t base = instance->placement().base;
    BOOST_TEST(instance->placement().offset == p.offset);
    std::uint64_t at = base + kernel::places(p).front();
    for (const std::uint64_t place : kernel::places(p)) {
      BOOST_TEST(at - base == place);
      std::memcpy(&at, reinterpret_cast<const void*>(at), sizeof at);
    }
    BOOST_TEST(instance->accesses() == 3 * p.visits());
  }
}

BOOST_AUTO_TEST_CASE(ways_and_lines_show_as_they_must) {
  BOOST_TEST(l1_misses(kernel::dense(8, 4096), 10) == 0);
  BOOST_TEST(l1_misses(kernel::dense(9, 4096), 10) == 90);
  Pattern shifted = kernel::dense(16, 4096); // every second line in the next set
  shifted.shift = 64;
  shifted.wrap = 2;
  BOOST_TEST(l1_misses(shifted, 10) == 0);
  shifted.shift = 32; // the same line of the same set
  BOOST_TEST(l1_misses(shifted, 10) == 160);
  Pattern pairs = kernel::dense(2048, 1024); // far more lines than fit
  for (const bool before : {false, true}) {
    pairs.before = before;
    pairs.pair = 56;
    BOOST_TEST(l1_misses(pairs, 1) == 2048);
    pairs.pair = 64;
    BOOST_TEST(l1_misses(pairs, 1) == 4096);
  }
}

BOOST_AUTO_TEST_CASE(pointers_that_would_overlap_are_refused) {
  const auto& kernel = kernel::find("visit");
  const kernel::Params close{{"count", std::int64_t{4}}, {"stride", std::int64_t{7}}};
  BOOST_CHECK_EXCEPTION(static_cast<void>(kernel.bytes(close)), Error, [](const Error& e) {
    return std::string(e.what()).find("are 7 bytes apart") != std::string::npos;
  });
  const kernel::Params far{{"count", std::int64_t{1} << 24}, {"stride", std::int64_t{1} << 44}};
  BOOST_CHECK_THROW(static_cast<void>(kernel.bytes(far)), Error);
  BOOST_CHECK_THROW(static_cast<void>(kernel::to_pattern("stride", {})), Error);
  BOOST_CHECK_THROW(static_cast<void>(kernel::to_pattern("visit", {{"slots", std::string("1,,2")}})), Error);
}

BOOST_AUTO_TEST_SUITE_END()
