// What an incomplete results file lacks.
#include "observed.hpp"
#include "run/result/curves.hpp"
#include "run/result/results_file.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(completeness)

namespace {

const result::Params small{{"n", std::int64_t{600}}}, large{{"n", std::int64_t{1000}}};

/// 5 of small and 5 of large are planned.
result::Results planned() {
  result::Results results;
  result::Run run;
  run.id = "R";
  run.runs_planned = 10;
  run.planned = {{"clock matmul n=600", 5}, {"clock matmul n=1000", 5}};
  results.runs = {run};
  return results;
}

void add(result::Results& results, const result::Params& params, int repetition, const char* run = "R") {
  for (const char* metric : {"seconds", "tsc_cycles"}) { // two lines, one run
    results.observations.push_back(test::observed("matmul", params, "clock", metric, 1.0, repetition));
    results.observations.back().run = run;
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(missing_repetitions_are_named) {
  auto results = planned();
  for (const int i : {0, 1, 2})
    add(results, small, i);
  results.failures.push_back({"R", "matmul", small, 3, "clock", "killed"}); // tried: not missing
  const auto found = result::incomplete(results);
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].done == 4U);
  BOOST_TEST(
      result::describe(found[0]) ==
      "Incomplete: 4 of 10 runs; missing: clock matmul n=1000 (5 of 5); clock matmul n=600 (1 of 5). What "
      "was not run allows no conclusion.");
}

BOOST_AUTO_TEST_CASE(shards_of_one_plan_belong_together) {
  auto results = planned();
  results.runs[0].plan = {{"kernel", "matmul"}, {"shard", "1/2"}};
  results.runs[0].planned = {{"clock matmul n=600", 1}};
  result::Run second = results.runs[0], resumed = results.runs[0];
  second.id = "S";
  second.plan["shard"] = "2/2";
  second.planned = {{"clock matmul n=1000", 1}};
  results.runs.push_back(second);
  add(results, small, 0);
  const auto found = result::incomplete(results); // the second node died
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].done == 1U);
  BOOST_TEST(found[0].planned == 2U);
  BOOST_TEST(result::describe(found[0]).find("clock matmul n=1000 (1 of 1)") != std::string::npos);

  resumed.id = "T"; // of the joined file, without --shard
  resumed.resumes = "R";
  resumed.plan.erase("shard");
  resumed.planned = {{"clock matmul n=600", 1}, {"clock matmul n=1000", 1}};
  results.runs.push_back(resumed);
  add(results, large, 0, "T");
  BOOST_TEST(result::incomplete(results).empty());
}

BOOST_AUTO_TEST_CASE(shards_become_one_run) {
  auto results = planned();
  results.runs[0].plan = {{"kernel", "matmul"}, {"shard", "1/2"}};
  result::Run second = results.runs[0], resumed = results.runs[0], elsewhere = results.runs[0];
  second.id = "S";
  second.plan["shard"] = "2/2";
  resumed.id = "T";
  resumed.resumes = "S";
  elsewhere.id = "U";
  elsewhere.host = "another";
  results.runs = {results.runs[0], second, resumed, elsewhere};
  for (const char* run : {"R", "S", "T", "U"})
    add(results, small, run[0] - 'R', run);
  auto modelled = results;
  result::join_shards(results);
  const auto runs = [](const result::Results& of) {
    std::string text;
    for (const auto& o : of.observations)
      text += o.run.get();
    return text;
  };
  BOOST_TEST(runs(results) == "RRRRRRUU"); // times of another machine stay apart
  for (auto& o : modelled.observations)
    o.witness = "model:i7-9700";
  result::join_shards(modelled);
  BOOST_TEST(runs(modelled) == "RRRRRRRR");
}

BOOST_AUTO_TEST_CASE(what_resumes_a_published_table_is_no_part_of_it) {
  auto results = planned();
  result::Run table = results.runs[0], again = results.runs[0];
  table.id = "P";
  table.versions["published"] = "t.csv";
  results.runs[0].resumes = again.resumes = "P";
  again.id = "S";
  results.runs = {table, results.runs[0], again};
  for (const char* run : {"P", "R", "S"})
    add(results, small, run[0] - 'P', run);
  result::join_shards(results);
  std::string text;
  for (const auto& o : results.observations)
    text += o.run.get();
  BOOST_TEST(text == "PPRRRR");
}

BOOST_AUTO_TEST_CASE(complete_file_has_no_missing_runs) {
  auto results = planned();
  for (int i = 0; i < 5; ++i) {
    add(results, small, i);
    add(results, large, i);
  }
  BOOST_TEST(result::incomplete(results).empty());
  for (auto& run : results.runs)
    run.planned.clear(); // of an older recount: nobody knows
  results.observations.resize(2);
  BOOST_TEST(result::incomplete(results).empty());
}

BOOST_AUTO_TEST_CASE(a_continued_run_completes_the_first_one) {
  auto results = planned();
  result::Run rest = results.runs[0];
  rest.id = "S";
  rest.resumes = "R";
  results.runs.push_back(rest);
  for (int i = 0; i < 5; ++i) {
    add(results, small, i, i < 2 ? "R" : "S");
    add(results, large, i, "S");
  }
  BOOST_TEST(result::incomplete(results).empty());
}

BOOST_AUTO_TEST_CASE(sampled_share_is_written_and_read_back) {
  BOOST_TEST(result::sampled_flag(100, 0).text == "sampled 100 % of the accesses, error 0");
  BOOST_TEST(result::sampled_flag(0.01234, 11.2).text == "sampled 0.012 % of the accesses, error 12");
  result::Observation observation;
  observation.flags.push_back(result::sampled_flag(31.4, 1234567));
  BOOST_TEST(result::sampling_error(observation).value() == 1234567);
}

BOOST_AUTO_TEST_SUITE_END()
