// Shards: together they hold every run once, whatever the order of the runs.
#include "base/random.hpp"
#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>
#include <set>

using namespace recount;
using namespace recount::sweep;

BOOST_AUTO_TEST_SUITE(shards)

namespace {

host::Job task(std::size_t task, std::size_t tasks) {
  host::Job job;
  job.task = task;
  job.tasks = tasks;
  return job;
}

std::vector<Job> make_jobs(std::uint64_t seed) {
  std::vector<Job> jobs;
  for (std::int64_t n = 1; n <= 10; ++n)
    for (const char* witness : {"clock", "model:a", "model:b"})
      for (int repetition = 0; repetition < 3; ++repetition)
        jobs.push_back({"k", {{"n", n}}, repetition, witness, {"m"}});
  std::mt19937_64 random(seed);
  base::shuffle(std::span(jobs), random);
  return jobs;
}

} // namespace

BOOST_AUTO_TEST_CASE(texts) {
  BOOST_TEST(parse_shard("", {}).whole());
  BOOST_TEST(parse_shard("2/4", {}).text() == "2/4");
  BOOST_TEST(parse_shard("auto", task(3, 4)).text() == "4/4");
  for (const char* text : {"0/4", "5/4", "4", "/4", "1/", "1/4x", "-1/4", "1/0", "a/b", "auto", "1/1000001"})
    BOOST_CHECK_THROW(static_cast<void>(parse_shard(text, {})), Error);
  BOOST_CHECK_THROW(static_cast<void>(parse_shard("auto", task(3, 0))), Error); // of GNU parallel
}

BOOST_AUTO_TEST_CASE(every_run_is_in_one_shard_and_all_of_a_point_in_the_same) {
  for (const std::size_t of : {1U, 2U, 3U, 4U, 12U}) {
    std::map<std::int64_t, std::set<std::size_t>> shards_of;
    std::size_t runs = 0;
    for (std::size_t number = 1; number <= of; ++number) {
      auto jobs = make_jobs(number); // each task draws its own order
      keep_shard(jobs, {number, of});
      runs += jobs.size();
      for (const Job& job : jobs)
        shards_of[std::get<std::int64_t>(job.point.at("n"))].insert(number);
    }
    BOOST_TEST(runs == 90U);
    BOOST_TEST(shards_of.size() == 10U);
    for (const auto& [n, shards] : shards_of)
      BOOST_TEST(shards.size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(points_are_dealt_in_turn) {
  std::vector<result::Params> points;
  for (std::int64_t n = 0; n < 7; ++n)
    points.push_back({{"n", n}});
  keep_shard(points, {2, 3});
  BOOST_REQUIRE(points.size() == 2U);
  BOOST_TEST(std::get<std::int64_t>(points[0].at("n")) == 1);
  BOOST_TEST(std::get<std::int64_t>(points[1].at("n")) == 4);
}

BOOST_AUTO_TEST_CASE(a_shard_does_not_distinguish_plans) {
  const std::map<std::string, std::string> whole{{"kernel", "k"}}, first{{"kernel", "k"}, {"shard", "1/2"}},
      second{{"kernel", "k"}, {"shard", "2/2"}}, other{{"kernel", "l"}, {"shard", "1/2"}};
  BOOST_TEST(difference(whole, first).empty());
  BOOST_TEST(difference(first, whole).empty());
  BOOST_TEST(difference(first, second).empty());
  BOOST_TEST(!difference(first, other).empty());
}

BOOST_AUTO_TEST_SUITE_END()
