// What is left to do, what goes to a run and what comes back.
#include "observed.hpp"
#include "run/batch.hpp"
#include "run/resume.hpp"
#include "run/worker.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

using namespace recount;
using namespace recount::sweep;

BOOST_AUTO_TEST_SUITE(left_over)

namespace {
Job job(std::int64_t n, int repetition) {
  return {"k", {{"n", n}}, repetition, "clock", {"seconds", "tsc_cycles"}};
}
result::Observation seen(const Job& job, const std::string& metric) {
  return test::observed(job.kernel, job.point, job.witness, metric, 1.0, job.repetition);
}
} // namespace

BOOST_AUTO_TEST_CASE(what_is_there_is_left_out_metric_by_metric) {
  const std::vector<Job> jobs{job(1, 0), job(1, 1), job(2, 0), job(2, 1)};
  result::Results there;
  BOOST_TEST(remaining(jobs, there).size() == 4U);
  for (const char* metric : {"seconds", "tsc_cycles"})
    there.observations.push_back(seen(jobs[0], metric));
  there.observations.push_back(seen(jobs[2], "seconds")); // killed between two lines
  there.failures.push_back({"R", "k", jobs[3].point, 1, "clock", "crashed"});
  const auto left = remaining(jobs, there);
  BOOST_REQUIRE(left.size() == 2U);
  BOOST_TEST((left[0].point == jobs[1].point && left[0].repetition == 1));
  BOOST_TEST(left[0].metrics.size() == 2U);
  BOOST_TEST((left[1].metrics == std::vector<std::string>{"tsc_cycles"}));
}

BOOST_AUTO_TEST_CASE(a_run_by_two_witnesses_is_there_when_all_its_passes_are) {
  Job both = job(1, 2);
  both.witness = "both";
  both.metrics = {"x", "y"};
  result::Results there;
  for (int pass = 8; pass < 12; ++pass) // repetition 2 gives the third four
    for (const char* witness : {"perf", "papi"})
      for (const char* metric : {"x", "y"}) {
        const Job voice{"k", both.point, pass, witness, {}};
        there.observations.push_back(seen(voice, metric));
      }
  BOOST_TEST(remaining({both}, there).empty());
  there.observations.pop_back(); // y by papi in the last pass
  BOOST_TEST_REQUIRE(remaining({both}, there).size() == 1U);
  BOOST_TEST((remaining({both}, there)[0].metrics == std::vector<std::string>{"y"}));
}

BOOST_AUTO_TEST_CASE(another_kernel_at_the_same_point_is_another_run) {
  Job other = job(1, 0);
  other.kernel = "other";
  result::Results there;
  for (const char* metric : {"seconds", "tsc_cycles"})
    there.observations.push_back(seen(job(1, 0), metric));
  there.failures.push_back({"R", "k", job(2, 0).point, 0, "clock", "crashed"});
  BOOST_TEST(remaining({job(1, 0), job(2, 0)}, there).empty());
  BOOST_TEST(remaining({other}, there).size() == 1U);
  other.point = job(2, 0).point;
  BOOST_TEST(remaining({other}, there).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_request_survives) {
  const witness::Task task{"R", "k",    {{"n", std::int64_t{3}}, {"how", std::string("a \"b\"")}},
                           7,   "perf", {"x", "y"}};
  const witness::Task back = parse_request(to_request(task));
  BOOST_TEST((back.point == task.point && back.metrics == task.metrics));
  BOOST_TEST((back.run == "R" && back.kernel == "k" && back.repetition == 7 && back.witness == "perf"));
  for (const char* bad : {"", "{}", "[1]", "nonsense", R"({"run":1})"})
    BOOST_CHECK_THROW(static_cast<void>(parse_request(bad)), Error);
}

BOOST_AUTO_TEST_CASE(failures_of_one_cause_are_one_line) {
  const std::vector<result::Failure> failures{
      {"R", "k", job(1, 0).point, 0, "clock", {"killed", "last message: 1", {}}},
      {"R", "k", job(2, 0).point, 0, "clock", {"killed", "last message: 2", {}}},
      {"R", "k", job(2, 0).point, 0, "perf", {"killed"}}};
  BOOST_TEST(failures_text(failures) == "2 runs of clock failed: killed; last message: 1 (n=1; n=2)\n"
                                        "1 run of perf failed: killed (n=2)\n");
}

BOOST_AUTO_TEST_CASE(an_answer_survives) {
  const Answer done = parse_answer(done_line(0.25) + '\n');
  BOOST_TEST(done.kernel_seconds.value() == 0.25);
  const Answer failed = parse_answer(failed_line({"no \"such\" thing", "n = 3", "take another"}));
  BOOST_TEST(failed.failed.text() == "no \"such\" thing; n = 3; take another");
  BOOST_TEST(!failed.kernel_seconds.has_value());
  BOOST_TEST(!parse_answer("").kernel_seconds.has_value());
  for (const char* bad :
       {"\n", "[]", "{}", R"({"type":"observation","type":"run","schema":"recount-results/2","run":"R"})"})
    BOOST_CHECK_THROW(static_cast<void>(parse_answer(bad)), Error);
}

BOOST_AUTO_TEST_SUITE_END()
