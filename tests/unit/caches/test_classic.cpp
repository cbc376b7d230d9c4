// Sizes and strides of powers of two alone give the laboratory's answers, as read from its figure.
#include "commands/caches/infer/findings.hpp"
#include "kernel/kernel.hpp"
#include "run/witness/backend.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>

using namespace recount;

BOOST_AUTO_TEST_SUITE(classic)

namespace {

/// The misses of a described machine, as a results file holds them.
std::vector<caches::GridRow> modelled_grid(const std::string& machine) {
  result::Results results;
  results.runs.push_back({});
  results.runs[0].id = "R";
  const Witness witness("model:" + machine);
  const auto& model = witness::find(witness);
  const auto& stride = kernel::find("stride");
  for (std::int64_t size = 4096; size <= 4 << 20; size *= 2)
    for (std::int64_t step = 1; step <= size / 2; step *= 2) {
      const auto params =
          kernel::complete(stride, {{"size", size}, {"stride", step}, {"rounds", std::int64_t{200}}});
      for (auto& o :
           model.observe(stride, nullptr, {"R", "stride", params, 0, witness, model.default_metrics}))
        results.observations.push_back(o);
    }
  return caches::grid_rows(results, results.runs).front();
}

/// Times of a chase on a machine whose first cache has 48 KiB in 12 ways, with the odd burst of noise.
std::vector<caches::GridRow> timed_grid() {
  std::vector<caches::GridRow> rows;
  for (std::int64_t size = 4096; size <= 1 << 20; size *= 2)
    for (std::int64_t stride = 8; stride <= size / 2; stride *= 2) {
      const std::int64_t lines_in_set = stride <= 4096 ? size / 4096 : size / stride;
      const double ns = lines_in_set <= 12 ? 1.3 : 4.1;
      rows.push_back({"chase", size, stride, {}, {}, size == 1 << 20 && stride == 256 ? 30 : ns, {}});
    }
  return rows;
}

} // namespace

BOOST_AUTO_TEST_CASE(counted_misses_give_the_classic_answers) {
  const auto rows = modelled_grid("i7-9700");
  const auto readings = caches::classic_readings(rows);
  BOOST_TEST_REQUIRE(readings.size() >= 2U);
  const caches::ClassicReading &first = readings[0], &second = readings[1];
  BOOST_TEST(first.level == "L1d");
  BOOST_TEST(first.capacity.value.value_or(0) == 32 << 10);
  BOOST_TEST(first.capacity.below == 64 << 10);
  BOOST_TEST(first.line.value.value_or(0) == 64);
  BOOST_TEST(first.ways.value.value_or(0) == 8);
  BOOST_TEST(first.ways.below == 16);
  BOOST_TEST(first.words[0].find("are below 0.01 up to 32 KiB at every stride and reach 1.00 at 64 KiB, "
                                 "stride 64 B.") != std::string::npos);
  BOOST_TEST(second.level == "L2");
  BOOST_TEST(second.capacity.value.value_or(0) == 256 << 10);
  BOOST_TEST(second.line.value.value_or(0) == 64);
  // Its 4 ways hide behind the 8 of L1: so few lines never ask it.
  BOOST_TEST(!second.ways.value);
  BOOST_TEST(second.ways.unknown.find("fit the level above") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(ways_below_another_level_are_stated_only_if_half_as_many_give_another_curve) {
  // A first level of 8 ways, and a second one that loses more than `held` lines of one set.
  const auto second_level = [](std::int64_t held) {
    std::vector<caches::GridRow> rows;
    for (std::int64_t size = 4096; size <= 8 << 20; size *= 2)
      for (std::int64_t stride = 8; stride <= size / 2; stride *= 2) {
        const auto share = [&](std::int64_t capacity, std::int64_t ways) {
          const std::int64_t way = capacity / ways, in_set = stride <= way ? size / way : size / stride;
          return in_set <= ways ? 0 : stride < 64 ? static_cast<double>(stride) / 64 : 1;
        };
        rows.push_back(
            {"stride", size, stride, "papi", {share(32 << 10, 8), share(512 << 10, held)}, {}, {}});
      }
    return caches::classic_readings(rows).at(1);
  };
  // Dirty lines that L1 evicts are written to L2, where they become the youngest: 8 ways hold 16 lines, too.
  const auto unknown = second_level(16);
  BOOST_TEST(unknown.capacity.value.value_or(0) == 512 << 10);
  BOOST_TEST(!unknown.ways.value);
  BOOST_TEST(unknown.ways.unknown.find("8 ways under a level of") != std::string::npos);
  BOOST_TEST(second_level(64).ways.value.value_or(0) == 64);
}

BOOST_AUTO_TEST_CASE(ways_below_a_level_that_was_not_counted_are_unknown) {
  std::vector<caches::GridRow> rows;
  for (std::int64_t size = 4096; size <= 2 << 20; size *= 2)
    for (std::int64_t stride = 64; stride <= size / 2; stride *= 2) {
      const double misses = size > 256 << 10 && size / stride > 8 ? 1 : 0;
      rows.push_back({"stride", size, stride, "papi", {std::nullopt, misses}, {}, {}});
    }
  const auto reading = caches::classic_readings(rows).at(0); // 8 lines may fit the first level
  BOOST_TEST(reading.level == "L2");
  BOOST_TEST(reading.capacity.value.value_or(0) == 256 << 10);
  BOOST_TEST(!reading.ways.value);
  BOOST_TEST(reading.ways.unknown == "this reading does not determine those of the level above");
}

BOOST_AUTO_TEST_CASE(the_sizes_of_the_assignment_give_line_and_ways_of_a_cache_of_48_KiB) {
  std::vector<caches::GridRow> rows; // 12 ways of 4 KiB, lines of 64 bytes
  const auto misses = [](std::int64_t size, std::int64_t stride) {
    const std::int64_t in_set = stride <= 4096 ? size / 4096 : size / stride;
    return in_set <= 12 ? 0 : std::min(1.0, static_cast<double>(stride) / 64);
  };
  for (std::int64_t size = 8192; size <= 64 << 10; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2)
      rows.push_back({"stride", size, stride, "papi", {misses(size, stride)}, {}, {}});
  const auto reading = caches::classic_readings(rows).at(0);
  BOOST_TEST(caches::classic_values_text(reading) ==
             "capacity between 32 and 64 KiB, line 64 B, ways 8 to 15");
  // The same line from strides of 8, 32 and 128 bytes; from 8 alone below it, none.
  std::erase_if(rows, [](const caches::GridRow& row) {
    return std::countr_zero(static_cast<unsigned>(row.stride)) % 2 == 0;
  });
  BOOST_TEST(caches::classic_readings(rows).at(0).line.value.value_or(0) == 64);
  std::erase_if(rows, [](const caches::GridRow& row) { return row.stride < 32; });
  BOOST_TEST(!caches::classic_readings(rows).at(0).line.value);
}

BOOST_AUTO_TEST_CASE(the_grid_has_every_size_and_stride) {
  const auto rows = modelled_grid("i7-9700");
  std::size_t expected = 0;
  for (std::int64_t size = 4096; size <= 4 << 20; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2)
      ++expected;
  BOOST_TEST(rows.size() == expected);
  for (const auto& row : rows) {
    BOOST_TEST(row.counted_by == "model:i7-9700");
    BOOST_TEST_REQUIRE(row.misses.size() >= 2U);
    BOOST_TEST(row.misses[0].value_or(-1) >= 0);
    BOOST_TEST(row.misses[0].value_or(2) <= 1);
    BOOST_TEST(!row.ns);
  }
}

BOOST_AUTO_TEST_CASE(times_of_dependent_accesses_bound_what_is_no_power_of_two) {
  const auto readings = caches::classic_readings(timed_grid());
  BOOST_TEST_REQUIRE(readings.size() == 1U);
  const caches::ClassicReading& r = readings[0];
  BOOST_TEST(r.capacity.value.value_or(0) == 32 << 10); // 48 KiB lie between
  BOOST_TEST(r.capacity.below == 64 << 10);
  BOOST_TEST(r.ways.value.value_or(0) == 8); // and 12 here
  BOOST_TEST(r.ways.below == 16);
  BOOST_TEST(r.penalty.value_or(0) == 2.8, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(!r.line.value);
}

BOOST_AUTO_TEST_CASE(bounds_are_printed_once_and_yield_to_what_was_found) {
  caches::ClassicReading r = caches::classic_readings(timed_grid()).at(0);
  BOOST_TEST(caches::classic_values_text(r).starts_with("capacity between 32 and 64 KiB, line unknown"));
  BOOST_TEST(caches::classic_ways_text(r) == "8 to 15");
  caches::Caches found;
  found.levels.resize(1);
  found.levels[0].name = "L1d";
  BOOST_TEST(!caches::contradicts(r, found)); // nothing was found
  found.levels[0].capacity.value = 48 << 10;
  found.levels[0].ways.value = 12;
  BOOST_TEST(!caches::contradicts(r, found));
  found.levels[0].ways.value = 16;
  BOOST_TEST(caches::contradicts(r, found));
  found.levels[0].ways.value = 12;
  r.capacity = {512 << 10, 1 << 20, {}};
  BOOST_TEST(caches::classic_values_text(r).starts_with("capacity between 512 KiB and 1 MiB, "));
  BOOST_TEST(caches::contradicts(r, found));
  r.misses = true; // of another source
  BOOST_TEST(!caches::contradicts(r, found));
}

BOOST_AUTO_TEST_CASE(disturbed_times_decide_nothing) {
  auto rows = timed_grid();
  for (auto& row : rows)
    row.disturbed = true;
  BOOST_TEST(caches::classic_readings(rows).empty());
  rows = timed_grid();
  rows.front().disturbed = true;
  BOOST_TEST(caches::classic_readings(rows).at(0).words.back() ==
             "Left out: 1 cell whose repetitions were all disturbed.");
}

BOOST_AUTO_TEST_CASE(misses_of_one_size_alone_show_no_line) {
  std::vector<caches::GridRow> rows;
  for (std::int64_t size = 4096; size <= 64 << 10; size *= 2)
    for (std::int64_t stride = 8; stride <= 64; stride *= 2)
      rows.push_back({"stride", size, stride, "papi", {size == 8192 ? 1.0 : 0.0}, {}, {}});
  const auto reading = caches::classic_readings(rows).at(0);
  BOOST_TEST(reading.capacity.value.value_or(0) == 4096);
  BOOST_TEST(!reading.line.value);
  BOOST_TEST(reading.line.unknown == "the curves do not rise with the stride");
}

BOOST_AUTO_TEST_CASE(sets_larger_than_those_of_any_cache_are_no_ways) {
  std::vector<caches::GridRow> rows;
  for (std::int64_t size = 1 << 20; size <= 8 << 20; size *= 2)
    for (std::int64_t stride = 8; stride <= size / 2; stride *= 2)
      rows.push_back(
          {"stride", size, stride, "papi", {size > 1 << 20 && size / stride > 4096 ? 1.0 : 0.0}, {}, {}});
  const auto reading = caches::classic_readings(rows).at(0);
  BOOST_TEST(reading.capacity.value.value_or(0) == 1 << 20);
  BOOST_TEST(!reading.ways.value);
  BOOST_TEST(reading.ways.unknown == "no cache has sets of 4096 lines");
}

BOOST_AUTO_TEST_CASE(sizes_beyond_any_memory_are_left_out) {
  result::Results results;
  results.runs.push_back({});
  results.runs[0].id = "R";
  for (const int log2 : {12, 40, 62}) {
    auto& o = results.observations.emplace_back();
    o.run = "R";
    o.kernel = "stride";
    o.params = result::Params{{"size", std::int64_t{1} << log2}, {"stride", std::int64_t{64}}};
    o.metric = "PAPI_L1_DCM";
    o.value = std::int64_t{1};
    o.accesses = 1;
  }
  const auto rows = caches::grid_rows(results, results.runs).front();
  BOOST_TEST_REQUIRE(rows.size() == 2U); // twice the largest must fit a number
  BOOST_TEST(rows.back().size == std::int64_t{1} << 40);
}

BOOST_AUTO_TEST_CASE(flat_or_wild_curves_have_no_answer_but_a_reason) {
  auto rows = timed_grid();
  for (auto& row : rows)
    row.ns = 1.3;
  auto readings = caches::classic_readings(rows);
  BOOST_TEST_REQUIRE(readings.size() == 1U);
  BOOST_TEST(!readings[0].capacity.value);
  BOOST_TEST(readings[0].capacity.unknown.find("every curve is flat") != std::string::npos);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i].ns = i % 2 == 0 ? 1 : 5;
  readings = caches::classic_readings(rows);
  BOOST_TEST(!readings[0].capacity.value);
  BOOST_TEST(!readings[0].ways.value);
  BOOST_TEST(caches::classic_readings({}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
