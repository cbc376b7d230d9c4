// Disturbed rounds, and times that are noise alone.
#include "commands/caches/infer/sampler.hpp"
#include "observed.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(noise)

BOOST_AUTO_TEST_CASE(interrupted_rounds_count_where_there_are_no_others) {
  using recount::caches::TimedRounds;
  const auto small = recount::kernel::dense(64, 64), large = recount::kernel::dense(1 << 18, 64);
  auto reading = recount::caches::make_reading(small, TimedRounds{{3, 1, 2, 1.1}, {0.5, 90}}, {});
  BOOST_TEST(*reading.ns == 1);
  BOOST_TEST(*reading.repeated_ns == 2);
  BOOST_TEST(reading.rounds == 6u);
  BOOST_TEST(reading.disturbed == 2u);
  BOOST_TEST(!reading.time_disturbed());
  reading = recount::caches::make_reading(large, TimedRounds{{}, {400, 1600}}, {});
  BOOST_TEST(*reading.ns == 1000);
  BOOST_TEST(reading.time_disturbed());
}

BOOST_AUTO_TEST_CASE(times_of_noise_are_refused_with_their_reason) {
  using recount::caches::describe_noise;
  const std::vector<recount::caches::SizePoint> curve{{1024, 1, 1, false},
                                                      {2048, 1, 1.1, false},
                                                      {4096, 4, 1.9, false},
                                                      {8192, 4, 2.1, false},
                                                      {16384, 9, 1, true}};
  BOOST_TEST(describe_noise(curve, 0, 2048).empty());
  BOOST_TEST(describe_noise(curve, 4096, 8192).find("factor of 2.0") != std::string::npos);
  BOOST_TEST(describe_noise(curve, 16384, 16384).find("interrupted every round") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(disturbed_observations_of_a_record_are_no_rounds) {
  namespace caches = recount::caches;
  recount::result::Results results;
  auto& run = results.runs.emplace_back();
  run.id = "R";
  caches::Abilities can;
  can.witness = "clock";
  can.times = true;
  run.plan = caches::record_plan(can);
  const auto pattern = caches::survey_pattern(1 << 16);
  const auto at = recount::kernel::to_point(pattern, 1);
  for (const auto& [ns, disturbed] : {std::pair(7.0, false), std::pair(5.0, true)}) {
    auto& o = results.observations.emplace_back(
        recount::test::observed(at.kernel, at.params, "clock", "seconds", ns * 1e-9));
    o.accesses = 1;
    if (disturbed) o.flags = {{recount::Flag::Kind::preempted, "preempted 2 times (40 %)", 40.0}};
  }
  caches::RecordSampler sampler(results, run);
  const auto reading = sampler.read(std::span(&pattern, 1)).front();
  BOOST_TEST(*reading.ns == 7, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(reading.disturbed == 1u);
}

BOOST_AUTO_TEST_CASE(recorded_colours_must_list_their_pages) {
  namespace caches = recount::caches;
  recount::result::Results results;
  auto& run = results.runs.emplace_back();
  run.id = "R";
  run.plan = caches::record_plan({});
  caches::PageColours colours;
  colours.members.push_back({1, 2, 3});
  colours.smallest = colours.members;
  results.observations = caches::colour_observations(colours, 4096);
  for (auto& o : results.observations)
    o.run = "R";
  BOOST_TEST((caches::RecordSampler(results, run).colours()->members == colours.members));
  for (auto& o : results.observations)
    if (o.metric == "page_colour_members") o.params = {{"count", std::int64_t{3}}};
  BOOST_CHECK_EXCEPTION(caches::RecordSampler(results, run), recount::Error, [](const recount::Error& error) {
    return error.problem().cause == "page_colour_members lists no pages";
  });
}

BOOST_AUTO_TEST_SUITE_END()
