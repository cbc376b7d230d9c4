// Grids, conditions, orders, CPUs: what a sweep will do, before it does anything.
#include "../../host/sweep/kernels.hpp"
#include "base/host/pmu.hpp"
#include "observed.hpp"
#include "run/batch.hpp"
#include "run/sweep_plan.hpp"
#include "show/document/groups.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

namespace recount::sweep {

BOOST_AUTO_TEST_SUITE(planning)

namespace {
const kernel::Kernel& steps() {
  return test::steps_kernel();
}

Plan plan() {
  Plan p;
  p.kernel = "steps";
  p.axes = {parse_axis(steps(), "n", "1:4:1"), parse_axis(steps(), "m", "1,2")};
  p.witnesses = {"clock"};
  p.seed = 42;
  return p;
}

std::int64_t get(const result::Params& point, const char* name) {
  return std::get<std::int64_t>(point.at(name));
}

template <class Body>
std::string complaint(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
bool holds(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}

std::string text(const Job& job) {
  return result::describe(job.point) + ' ' + std::to_string(job.repetition) + ' ' + job.witness.name();
}
} // namespace

BOOST_AUTO_TEST_CASE(a_grid_has_every_combination_once_and_says_what_it_skips) {
  const Grid grid = expand(plan(), steps());
  BOOST_TEST(grid.points.size() == 7U);
  BOOST_REQUIRE(grid.skipped.size() == 1U);
  BOOST_TEST(grid.skipped[0].problem.cause == "m is over n");
  BOOST_TEST(get(grid.points[0], "n") == 1);
  BOOST_TEST(get(grid.points[1], "n") == 2); // the last axis is the fastest
  BOOST_TEST(get(grid.points[2], "m") == 2);
  BOOST_TEST(std::get<std::string>(grid.points[0].at("how")) == "segv"); // defaults are filled in
}

BOOST_AUTO_TEST_CASE(a_grid_may_have_any_number_of_axes) {
  Plan p = plan();
  p.axes.clear();
  BOOST_TEST(expand(p, steps()).points.size() == 1U);
  p.axes = {parse_axis(steps(), "n", "5:9:1"), parse_axis(steps(), "m", "1:3:1"),
            parse_axis(steps(), "fault", "1,2"), parse_axis(steps(), "how", "segv,hang")};
  const Grid grid = expand(p, steps());
  std::set<result::Params> distinct(grid.points.begin(), grid.points.end());
  BOOST_TEST(distinct.size() == 5U * 3 * 2 * 2);
}

BOOST_AUTO_TEST_CASE(bad_axes_are_refused) {
  BOOST_TEST(holds(complaint([] { static_cast<void>(parse_axis(steps(), "nn", "1")); }), "did you mean --n"));
  BOOST_TEST(holds(complaint([] { static_cast<void>(parse_axis(steps(), "n", "0")); }), "0 is less than 1"));
  BOOST_TEST(
      holds(complaint([] { static_cast<void>(parse_axis(steps(), "n", "2M")); }), "is more than 1000000"));
  BOOST_TEST(
      holds(complaint([] { static_cast<void>(parse_axis(steps(), "how", "hank")); }), "did you mean hang"));
  BOOST_TEST(holds(complaint([] { static_cast<void>(parse_axis(steps(), "how", "segv,")); }), "is none of"));
  Plan p = plan();
  p.axes = {parse_axis(steps(), "n", "1"), parse_axis(steps(), "m", "2,3")};
  BOOST_TEST(
      holds(complaint([&] { static_cast<void>(expand(p, steps())); }), "no point of 2 can be executed"));
  p.axes = {parse_axis(steps(), "n", "1:9999:1"), parse_axis(steps(), "m", "1:9999:1")};
  BOOST_TEST(holds(complaint([&] { static_cast<void>(expand(p, steps())); }), "more than 1000000 points"));
}

BOOST_AUTO_TEST_CASE(conditions_leave_points_out) {
  Plan p = plan();
  p.axes[0] = parse_axis(steps(), "n", "1:8:1");
  const auto count = [&](const char* condition) {
    p.conditions = {parse_condition(steps(), condition)};
    return expand(p, steps()).points.size();
  };
  BOOST_TEST(count("m<=n/2") == 7U + 5U);
  BOOST_TEST(count("m <= n / 3") == 6U + 3U); // exact: 2 <= 5/3 does not hold
  BOOST_TEST(count("m*2=n") == 2U);
  BOOST_TEST(count("n>6") == 4U);
  BOOST_TEST(count("n!=m") == 7U + 6U);
  BOOST_TEST(count("2>m") == 8U);
  BOOST_TEST(count("n<1K") == 15U);
  for (const char* bad : {"n", "n<", "q<1", "n<how", "n/0<1", "<="})
    BOOST_TEST(!complaint([&] { static_cast<void>(parse_condition(steps(), bad)); }).empty(), bad);
}

BOOST_AUTO_TEST_CASE(the_order_is_shuffled_by_the_seed_alone_and_repetitions_are_interleaved) {
  Plan p = plan();
  p.witnesses = {"clock", "model:i7-9700", "perf"};
  p.repeat = 3;
  const Grid grid = expand(p, steps());
  const auto jobs = schedule(p, grid);
  BOOST_TEST(jobs.size() == 7U * 2 * 3 + 7);
  std::vector<std::string> once, again, other;
  for (const auto& job : jobs)
    once.push_back(text(job));
  for (const auto& job : schedule(p, grid))
    again.push_back(text(job));
  p.seed = 43;
  for (const auto& job : schedule(p, grid))
    other.push_back(text(job));
  BOOST_TEST((once == again));
  BOOST_TEST((once != other));
  BOOST_TEST((std::multiset(once.begin(), once.end()) == std::multiset(other.begin(), other.end())));
  BOOST_TEST(std::set(once.begin(), once.end()).size() == once.size());
  for (std::size_t i = 0; i < 42; ++i)
    BOOST_TEST(jobs[i].repetition == static_cast<int>(i / 14)); // every point before any point again
  for (std::size_t i = 42; i < jobs.size(); ++i)
    BOOST_TEST(jobs[i].witness == "model:i7-9700"); // never beside a timed run
  p.repeat = 2'000'000;
  BOOST_TEST(holds(complaint([&] { static_cast<void>(schedule(p, grid)); }), "more than 5000000 runs"));
}

BOOST_AUTO_TEST_CASE(metrics_go_to_the_witnesses_of_their_kind) {
  Plan p = plan();
  using Names = std::vector<std::string>;
  BOOST_TEST((list_metrics(p, "clock") == Names{"seconds", "tsc_cycles"}));
  BOOST_TEST((list_metrics(p, "model:i7-9700") == Names{"PAPI_L1_DCM", "PAPI_L2_DCM"}));
  p.metrics = {"PAPI_L1_DCA", "seconds"};
  BOOST_TEST((list_metrics(p, "clock") == Names{"seconds"}));
  BOOST_TEST((list_metrics(p, "perf") == Names{"PAPI_L1_DCA"}));
  p.metrics = {"PAPI_L1_DCA"};
  BOOST_TEST((list_metrics(p, "clock") == Names{"PAPI_L1_DCA"})); // asked by name, it says why not
}

BOOST_AUTO_TEST_CASE(plans_differ_by_name) {
  const Plan a = plan();
  Plan b = plan();
  BOOST_TEST(difference(settings(a), settings(b)).empty());
  b.seed = 1;
  BOOST_TEST(difference(settings(a), settings(b)).empty()); // the order does not change what is measured
  b.metrics = {"PAPI_L1_DCM"};
  BOOST_TEST(difference(settings(a), settings(b)) ==
             "metric is PAPI_L1_DCM now and was not given in the file");
  BOOST_TEST(difference(settings(b), settings(a)) ==
             "metric was PAPI_L1_DCM in the file and is not given now");
  b = plan();
  b.axes[0] = parse_axis(steps(), "n", "1:1000:1");
  BOOST_TEST(holds(difference(settings(a), settings(b)), "--n was 1,2,3,4 in the file and is 1,2,3"));
  b = plan();
  b.conditions = {parse_condition(steps(), "m < n")};
  BOOST_TEST(holds(difference(settings(a), settings(b)), "where is m<n now"));
}

BOOST_AUTO_TEST_CASE(the_best_cpu_is_isolated_then_large_then_far_from_cpu_0) {
  BOOST_TEST(host::best_cpu({}) == -1);
  BOOST_TEST(host::best_cpu({{0, false, 0}}) == 0);
  BOOST_TEST(host::best_cpu({{0, false, 0}, {1, false, 0}}) == 1);
  BOOST_TEST(host::best_cpu({{0, false, 4000}, {1, false, 4000}, {2, false, 2000}}) == 1);
  BOOST_TEST(host::best_cpu({{0, false, 4000}, {1, true, 1000}, {2, false, 4000}}) == 1);
}

BOOST_AUTO_TEST_CASE(a_grid_over_the_memory_is_refused_before_it_starts) {
  const auto job = [](const Witness& witness) {
    const auto& stride = kernel::find("stride");
    return Job{"stride", kernel::complete(stride, {{"size", std::int64_t{256}}}), 0, witness, {}};
  };
  const std::vector jobs{job(Witness::clock)};
  BOOST_TEST(complaint([&] { check_memory(jobs, 256, "x"); }).empty());
  const std::string said = complaint([&] { check_memory(jobs, 255, "--max-memory 255"); });
  for (const char* part : {"size=256", "needs 256 bytes", "--max-memory 255"})
    BOOST_TEST(holds(said, part), said);
  BOOST_TEST(complaint([&] { check_memory({job("model:i7-9700")}, 255, "x"); }).empty()); // needs none
}

BOOST_AUTO_TEST_CASE(min_points_may_be_sampled_or_exact) {
  const auto group = [](const char* witness, std::int64_t n, double value) {
    SweepGroup found;
    found.params = {{"n", n}};
    found.witness = witness;
    found.metric = "PAPI_L1_DCM";
    found.summary = statistics::summarise(std::vector{value});
    return found;
  };
  const auto found = least({group("model:x", 1, 8), group("model:x~sample", 2, 2), group("clock", 1, 9)}, 1,
                           {{"n", std::int64_t{1}}});
  BOOST_REQUIRE(found.size() == 2U); // of the clock and of the model
  BOOST_TEST(found.back().witness == "model:x~sample");
  BOOST_TEST(found.back().of_first.value() == 0.25);
}

BOOST_AUTO_TEST_CASE(times_of_neighbours_are_undecided_where_they_overlap_and_differ) {
  // Five repetitions of each point: t - wide ... t + wide, 100 or 200 accesses.
  const auto undecided = [](const std::vector<std::pair<double, double>>& points, const char* witness) {
    result::Results results;
    for (std::int64_t i = 0; const auto& [time, wide] : points) {
      ++i;
      for (int repetition = 0; repetition < 5; ++repetition) {
        const double each = (time + wide * (repetition - 2) / 2) * (1 + static_cast<double>(i % 2));
        results.observations.push_back(
            test::observed("", {{"size", i}}, witness, "seconds", each, repetition));
        results.observations.back().accesses = 100 * (1 + i % 2);
      }
    }
    std::string text;
    for (const auto& point : undecided_points(sweep_groups(results)))
      text += result::text(point.at("size")) + " ";
    return text;
  };
  BOOST_TEST(undecided({{100, 4}, {105, 4}, {120, 4}, {121, 9}}, "clock") == "1 2 ");
  BOOST_TEST(undecided({{100, 2}, {105, 2}, {140, 9}, {150, 9}}, "clock") == "3 4 ");
  BOOST_TEST(undecided({{100, 9}, {105, 9}, {100, 9}}, "clock") == "1 2 2 3 ");
  BOOST_TEST(undecided({{100, 9}, {105, 9}, {100, 9}}, "model") == "");
}

BOOST_AUTO_TEST_CASE(model_runs_are_sampled_and_drawn_as_asked) {
  const auto job = [](const char* name, std::int64_t n, const char* witness) {
    const auto& kernel = kernel::find(name);
    const bool product = kernel.name() == "matmul";
    return Job{name,
               kernel::complete(kernel, product ? result::Params{{"n", n}} : result::Params{}),
               0,
               witness,
               {"PAPI_L1_DCM", "PAPI_L2_DCM"}};
  };
  const auto text_of_jobs = [](const Job& one, const char* sample, long draws) {
    std::string all;
    for (const Job& each : modelled_jobs(one, parse_modes(sample, draws)))
      all += std::to_string(each.repetition) + ' ' + each.witness.name() + ", ";
    return all;
  };
  const Job small = job("matmul", 64, "model:i7-9700"), large = job("matmul", 3000, "model:i7-9700");
  BOOST_TEST(text_of_jobs(small, "", 0) == "0 model:i7-9700, ");
  BOOST_TEST(text_of_jobs(job("matmul", 400, "model:i7-9700"), "", 0) == "0 model:i7-9700~sample, "); // 1.4 s
  BOOST_TEST(text_of_jobs(large, "", 0) == "0 model:i7-9700~sample, "); // completely: far more than a second
  BOOST_TEST(text_of_jobs(large, "never", 0) == "0 model:i7-9700, ");
  BOOST_TEST(text_of_jobs(small, "always", 2) ==
             "0 model:i7-9700~placement=any~sample, 1 model:i7-9700~placement=any~sample, ");
  BOOST_TEST(text_of_jobs(job("matmul", 64, "model:i7-9700~placement=4"), "", 2) ==
             "0 model:i7-9700~placement=4, 1 model:i7-9700~placement=4, ");
  BOOST_TEST(text_of_jobs(job("stride", 0, "model:i7-9700"), "always", 0) ==
             "0 model:i7-9700, "); // no loop nest
  BOOST_TEST(text_of_jobs(job("matmul", 64, "clock"), "always", 9) == "0 clock, ");
  // The first level of 4 KiB per way and no TLB: no draw can differ from another.
  BOOST_TEST(text_of_jobs(job("matmul", 64, "model:i7-9700~l1=32K/8~no-tlb"), "", 9) ==
             "0 model:i7-9700~l1=32K/8~no-tlb, ");
  BOOST_CHECK_THROW((void)parse_modes("allways", 0), recount::Error);
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace recount::sweep
