// The engine with real processes: crashes, hangs, noise, stops; every run accounted for.
#include "base/process/temporary_folder.hpp"
#include "kernels.hpp"
#include "run/batch.hpp"
#include "run/engine.hpp"
#include "run/result/observation.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace recount;
using namespace recount::sweep;

BOOST_AUTO_TEST_SUITE(engine)

namespace {

struct Gathered {
  std::vector<result::Observation> observations;
  std::vector<result::Failure> failures;
  Outcome outcome;
};

Plan plan(const std::string& n, const std::string& fault, const std::string& how,
          std::vector<Witness> witnesses = {"clock"}, int repeat = 2) {
  const auto& kernel = test::steps_kernel();
  Plan plan;
  plan.kernel = "steps";
  plan.axes = {parse_axis(kernel, "n", n), parse_axis(kernel, "fault", fault),
               parse_axis(kernel, "how", how)};
  plan.witnesses = std::move(witnesses);
  plan.repeat = repeat;
  return plan;
}

Gathered make(const Plan& plan, Execution how = {}, Listener listener = {}) {
  how.program = {SWEEP_RUNNER, "run-point"};
  how.run = "R";
  if (how.limit == Execution().limit) how.limit = std::chrono::milliseconds(20'000);
  Gathered gathered;
  listener.observation = [&](const result::Observation& o) { gathered.observations.push_back(o); };
  listener.failure = [&](const result::Failure& f) { gathered.failures.push_back(f); };
  const auto jobs = schedule(plan, expand(plan, test::steps_kernel()));
  gathered.outcome = execute(jobs, how, listener);
  return gathered;
}

std::int64_t n_of(const result::Params& point) {
  return std::get<std::int64_t>(point.at("n"));
}

/// Which points came through, and what was said of n = 2.
void check_only_two_failed(const Gathered& gathered, const std::string& reason, std::size_t repeat = 2) {
  BOOST_TEST(gathered.failures.size() == repeat);
  for (const auto& failure : gathered.failures) {
    BOOST_TEST(n_of(failure.params) == 2);
    BOOST_TEST(failure.run == "R");
    BOOST_TEST(failure.witness == "clock");
    BOOST_TEST(failure.reason.text().find(reason) != std::string::npos, failure.reason.text());
  }
  std::multiset<std::int64_t> points;
  for (const auto& o : gathered.observations)
    points.insert(n_of(o.params));
  for (const std::int64_t n : {1, 3})
    BOOST_TEST(points.count(n) == 2 * repeat); // seconds and tsc_cycles
  BOOST_TEST(points.count(2) == 0U);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_point_is_observed_once_a_repetition) {
  const Gathered gathered = make(plan("1:4:1", "0", "segv", {"clock", "model:i7-9700"}, 3));
  std::set<std::string> seen;
  for (const auto& o : gathered.observations) {
    BOOST_TEST(o.run.get() == "R");
    seen.insert(result::make_json(o.params).dump() + o.witness.name() + o.metric +
                std::to_string(o.repetition));
  }
  BOOST_TEST(seen.size() == gathered.observations.size());
  BOOST_TEST(seen.size() == 4U * 3 * 2 + 4U * 2); // the model is asked once a point
  BOOST_TEST(gathered.outcome.runs == 4U * 3 + 4);
  BOOST_TEST(gathered.outcome.overheads.size() == gathered.outcome.runs);
  BOOST_TEST(gathered.failures.empty());
}

/// How a run goes wrong, and what is said of it.
const std::vector<std::pair<std::string, std::vector<std::string>>> faults{
    {"segv", {"killed by signal 11 (SIGSEGV)"}}, {"words", {"SIGABRT", "last message: last words"}},
    {"exit", {"ended without an answer"}},       {"throw", {"steps: refused by the test"}},
    {"noise", {"is not a line of an answer"}},
};

BOOST_AUTO_TEST_CASE(a_failure_is_told_with_its_reason_and_the_sweep_goes_on) {
  for (const auto& [how, reasons] : faults)
    BOOST_TEST_CONTEXT(how) {
      const Gathered gathered = make(plan("1:3:1", "2", how));
      for (const auto& reason : reasons)
        check_only_two_failed(gathered, reason);
    }
}

BOOST_AUTO_TEST_CASE(a_hang_is_killed_at_its_limit_with_open_and_with_closed_outputs) {
  Execution how;
  how.limit = std::chrono::milliseconds(5000);
  for (const char* hang : {"hang", "closed"})
    BOOST_TEST_CONTEXT(hang) {
      check_only_two_failed(make(plan("1:3:1", "2", hang, {"clock"}, 1), how), "still running after 5 s", 1);
    }
}

BOOST_AUTO_TEST_CASE(a_model_run_is_limited_by_its_cpu_time_and_tells_how_far_it_came) {
  Execution how;
  how.model_limit = std::chrono::milliseconds(500);
  how.limit = std::chrono::milliseconds(400); // of timed runs alone
  const Gathered spun = make(plan("1:3:1", "2", "spin", {"model:i7-9700"}, 1), how);
  BOOST_REQUIRE(spun.failures.size() == 1U);
  BOOST_TEST(n_of(spun.failures[0].params) == 2);
  BOOST_TEST(spun.failures[0].reason.cause == "stopped after 0.5 s of CPU time (--timeout)");
  BOOST_TEST(spun.failures[0].reason.setting == "41 % simulated");
  const Gathered slept = make(plan("1:3:1", "2", "sleep", {"model:i7-9700"}, 1), how); // 2.4 s of wall time
  BOOST_TEST(slept.failures.empty());
}

BOOST_AUTO_TEST_CASE(a_stopped_model_run_tells_how_far_it_came) {
  bool reported = false;
  Listener listener;
  listener.progress = [&](const Progress& p) {
    reported = reported || (p.simulated && p.job);
    BOOST_TEST(p.remaining.has_value() == p.simulated.has_value()); // no run has ended: by its share of 41 %
    if (p.remaining && p.done == 0) BOOST_TEST((*p.remaining > p.elapsed && *p.remaining < 2 * p.elapsed));
  };
  listener.stop = [&] { return reported; };
  const Gathered gathered = make(plan("2", "2", "hang", {"model:i7-9700"}, 1), {}, listener);
  BOOST_TEST(gathered.outcome.stopped);
  BOOST_REQUIRE(gathered.outcome.unfinished.size() == 1U);
  BOOST_TEST(gathered.outcome.unfinished[0].simulated == 0.41, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(gathered.outcome.unfinished[0].job.witness == "model:i7-9700");
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_run_in_flight_and_keeps_the_rest) {
  std::size_t done = 0;
  Listener listener;
  listener.progress = [&](const Progress& p) {
    done = p.done;
    BOOST_TEST(p.total == 40U);
    BOOST_TEST(p.remaining.has_value());
  };
  listener.stop = [&] { return done >= 5; };
  const Gathered gathered = make(plan("1:20:1", "0", "segv"), {}, listener);
  BOOST_TEST(gathered.outcome.stopped);
  BOOST_TEST(gathered.outcome.runs == 5U);
  BOOST_TEST(gathered.observations.size() == 10U);
}

BOOST_AUTO_TEST_CASE(a_listener_that_fails_ends_the_sweep) {
  Execution how;
  how.program = {SWEEP_RUNNER, "run-point"};
  Listener listener;
  listener.observation = [](const result::Observation&) { throw unavailable("disk", "full"); };
  const Plan p = plan("1:3:1", "0", "segv");
  const auto jobs = schedule(p, expand(p, test::steps_kernel()));
  BOOST_CHECK_THROW(execute(jobs, how, listener), Error);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error) {
  Execution how;
  how.program = {"/no/such/program"};
  const Plan p = plan("1", "0", "segv");
  const auto jobs = schedule(p, expand(p, test::steps_kernel()));
  BOOST_CHECK_THROW(execute(jobs, how, {}), Error);
}

namespace {

/// Two planned repetitions, then rounds that take `seconds` each by their estimate while `wanted` of them
/// are called for. `file`: of the results; it may hold some already.
BatchResult decide(int wanted, double seconds, const std::string& file = {}, const std::string& fault = "0",
                   Listener listener = {}) {
  const Plan p = plan("1:2:1", fault, "exit");
  Batch batch;
  batch.jobs = schedule(p, expand(p, test::steps_kernel()));
  batch.execution.program = {SWEEP_RUNNER, "run-point"};
  batch.header.id = "R";
  batch.file = file;
  batch.resume = true;
  batch.until_decided.next = [&, round = 0](const result::Results& results) mutable {
    Further further;
    if (round++ < wanted)
      further = repeat_again(batch.jobs, results, 1, [](const Job& job) { return n_of(job.point) == 2; });
    further.undecided = 1;
    further.seconds = seconds;
    return further;
  };
  batch.until_decided.announced = 1000;
  batch.until_decided.most = 300;
  if (!listener.observation) listener.observation = [](const result::Observation&) {};
  return run_missing(batch, listener);
}

} // namespace

BOOST_AUTO_TEST_CASE(undecided_points_are_repeated_until_decided_or_the_budget) {
  std::string why;
  Listener listener;
  listener.further = [&](const std::string& text) { why += text; };
  const BatchResult ended = decide(3, 1, {}, "0", listener);
  BOOST_TEST(ended.planned == 4U + 2 + 4 + 8);
  BOOST_TEST(ended.outcome.runs == 18U);
  BOOST_TEST(ended.results.observations.back().repetition == 15);
  BOOST_TEST(n_of(ended.results.observations.back().params) == 2);
  BOOST_TEST(why ==
             "1 comparison not decided after 2 repetitions: up to 5 min 0 s more (-r fixes their number)");
  BOOST_TEST(decide(0, 1).planned == 4U);
  BOOST_TEST(decide(3, 301).planned == 4U);
  BOOST_TEST(decide(3, 1, {}, "2").planned == 4U + 2); // a failure is no reason to try again
}

BOOST_AUTO_TEST_CASE(further_runs_are_kept_when_stopped_and_not_begun_anew) {
  const process::TemporaryFolder folder("recount-decide");
  const std::string file = folder.path() + "/r.jsonl";
  bool stop = false;
  Listener listener;
  listener.observation = [&](const result::Observation& o) { stop = o.repetition == 2; };
  listener.stop = [&] { return stop; };
  const BatchResult stopped = decide(9, 1, file, "0", listener);
  BOOST_TEST(stopped.outcome.stopped);
  BOOST_TEST(stopped.outcome.runs == 5U);
  BOOST_TEST(result::read(file).observations.size() == 10U);
  const BatchResult again = decide(9, 1, file);
  BOOST_TEST(again.outcome.runs == 0U);
  BOOST_TEST(again.results.observations.size() == 10U);
}

BOOST_AUTO_TEST_CASE(timed_runs_are_alone_on_their_cpu) {
  Execution how;
  how.cpu = 0;
  const Gathered gathered = make(plan("1", "0", "segv", {"clock"}, 1), how);
  BOOST_REQUIRE(gathered.observations.size() == 2U);
  for (const auto& o : gathered.observations)
    for (const auto& flag : o.flags)
      BOOST_TEST((flag.kind != Flag::Kind::migrated));
}

BOOST_AUTO_TEST_SUITE_END()
