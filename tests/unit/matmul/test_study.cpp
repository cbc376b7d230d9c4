// The matrix study: its points, its runs, what is left out.
#include "commands/matmul/matmul_study.hpp"
#include "kernel/kernel.hpp"

#include <boost/test/unit_test.hpp>
#include <recount/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <stdexcept>

using namespace recount;

BOOST_AUTO_TEST_SUITE(matmul_study)

namespace {

matmul::MatmulRequest request(std::vector<std::string> studies, bool quick = false) {
  matmul::MatmulRequest r;
  r.choice.studies = std::move(studies);
  r.choice.quick = quick;
  r.witnesses = {"clock", "model:i7-9700"};
  r.seed = 1;
  return r;
}

std::int64_t n_of(const matmul::MatmulStop& stop) {
  return std::get<std::int64_t>(stop.point.at("n"));
}
std::string variant_of(const matmul::MatmulStop& stop) {
  return std::get<std::string>(stop.point.at("variant"));
}

std::size_t count(const std::vector<matmul::MatmulStop>& stops, const std::string& kernel,
                  const std::string& variant) {
  return static_cast<std::size_t>(std::ranges::count_if(
      stops, [&](const matmul::MatmulStop& s) { return s.kernel == kernel && variant_of(s) == variant; }));
}

} // namespace

BOOST_AUTO_TEST_CASE(the_laboratory_is_whole) {
  matmul::MatmulChoice choice;
  choice.studies = {"lab"};
  choice.line = 128;
  const auto stops = matmul::matmul_points(choice);
  BOOST_TEST(count(stops, "matmul", "ijk-mem") == 1U);
  BOOST_TEST(count(stops, "matmul", "ijk") == 1U);        // the sum in a register
  BOOST_TEST(count(stops, "matmul", "transposed") == 2U); // with and without
  BOOST_TEST(count(stops, "matmul-vectorised", "transposed") == 2U);
  BOOST_TEST(std::ranges::all_of(stops, [](const auto& s) { return n_of(s) == 1024; }));
  for (const auto& stop : stops)
    if (variant_of(stop) == "blocked")
      BOOST_TEST(std::get<std::int64_t>(stop.point.at("block")) == 64); // a line
}

BOOST_AUTO_TEST_CASE(the_report_is_whole) {
  matmul::MatmulChoice choice;
  choice.studies = {"report"};
  auto stops = matmul::matmul_points(choice);
  BOOST_TEST(count(stops, "matmul", "ijk") == 7U);
  BOOST_TEST(count(stops, "matmul", "ikj") == 11U);
  BOOST_TEST(count(stops, "matmul", "blocked") == 4U * 5U);
  choice.quick = true;
  stops = matmul::matmul_points(choice);
  std::set<std::int64_t> sizes;
  for (const auto& stop : stops)
    if (stop.kernel == "matmul") sizes.insert(n_of(stop));
  BOOST_TEST((sizes == std::set<std::int64_t>{600, 1000}));
  choice.sizes = {10, 20};
  choice.blocks = {4, 16};
  stops = matmul::matmul_points(choice);
  BOOST_TEST(count(stops, "matmul", "ijk") == 2U);
  BOOST_TEST(count(stops, "matmul", "blocked") == 4U);
  choice.studies = {"reprot"};
  BOOST_CHECK_THROW((void)matmul::matmul_points(choice), Error);
}

BOOST_AUTO_TEST_CASE(quick_sizes_are_small_in_an_emulation) {
  matmul::MatmulChoice choice;
  choice.studies = {"lab", "report"};
  choice.quick = choice.emulated = true;
  const auto stops = matmul::matmul_points(choice);
  BOOST_TEST(std::ranges::all_of(stops, [](const auto& stop) { return n_of(stop) <= 256; }));
  for (const char* variant : {"ijk", "ikj", "blocked", "ijk-mem", "transposed"})
    BOOST_TEST(count(stops, "matmul", variant) > 0U);
  choice.sizes = {300};
  BOOST_TEST(
      std::ranges::any_of(matmul::matmul_points(choice), [](const auto& stop) { return n_of(stop) == 300; }));
}

BOOST_AUTO_TEST_CASE(commands_run_where_simple_and_line_do) {
  matmul::MatmulChoice choice;
  choice.studies = {"report"};
  choice.commands = {"X=prog --a=b {variant} {n}", "python3 m.py {n}"};
  const auto stops = matmul::command_points(choice);
  BOOST_TEST(stops.size() == 2U * 2U * 7U); // up to 3000
  BOOST_TEST(std::get<std::string>(stops[0].point.at("language")) == "X");
  BOOST_TEST(std::get<std::string>(stops[0].point.at("command")) == "prog --a=b {variant} {n}");
  BOOST_TEST(std::get<std::string>(stops.back().point.at("language")) == "Python");
}

BOOST_AUTO_TEST_CASE(every_repetition_is_a_run_and_the_model_comes_last) {
  auto r = request({"lab"});
  r.java = false;
  const auto plan = matmul::plan_matmul(r, [] { return ""; });
  std::set<int> repetitions;
  bool modelled = false;
  for (const auto& job : plan.jobs) {
    if (job.witness == "clock") {
      BOOST_TEST(!modelled);
      repetitions.insert(job.repetition);
    } else {
      modelled = true;
      BOOST_TEST(job.kernel != "matmul-vectorised"); // its accesses are the compiler's
    }
  }
  BOOST_TEST(modelled);
  BOOST_TEST(repetitions.size() == 5U);
  auto again = matmul::plan_matmul(r, [] { return ""; });
  BOOST_TEST((again.settings == plan.settings));
  r.repeat = 4;
  BOOST_TEST((matmul::plan_matmul(r, [] { return ""; }).settings != plan.settings)); // not the file to resume
}

BOOST_AUTO_TEST_CASE(a_machine_without_a_part_runs_once_though_asked_for) {
  auto r = request({"report"}, true);
  r.witnesses = {"model:i7-9700", "model:i7-9700~no-tlb"};
  std::set<std::string> runs;
  for (const auto& job : matmul::plan_matmul(r, [] { return ""; }).jobs)
    BOOST_TEST(runs.insert(job.kernel + result::describe(job.point) + job.witness.name()).second);
  BOOST_TEST(!runs.empty());
}

BOOST_AUTO_TEST_CASE(what_is_left_out_is_told) {
  const auto plan = matmul::plan_matmul(request({"report"}, true), [] { return "there is no javac"; });
  BOOST_TEST(plan.skipped.at("Java").cause == "there is no javac");
  BOOST_TEST(std::ranges::none_of(plan.jobs, [](const auto& job) { return job.kernel == "external"; }));
  auto model_only = request({"report"}, true);
  model_only.witnesses = {"model:i7-9700"};
  for (const auto& job : matmul::plan_matmul(model_only, [] { return ""; }).jobs)
    BOOST_TEST(job.kernel == "matmul"); // nothing that only a clock can time
  BOOST_CHECK_THROW((void)matmul::plan_matmul(request({}), [] { return ""; }), Error);
}

BOOST_AUTO_TEST_CASE(points_of_a_published_table_are_run) {
  auto r = request({});
  r.published = matmul::parse_published("variant,n,l1_dcm\nline,77,5\n", "t.csv");
  const auto plan = matmul::plan_matmul(r, [] { return ""; });
  BOOST_REQUIRE(!plan.jobs.empty());
  for (const auto& job : plan.jobs)
    BOOST_TEST(std::get<std::int64_t>(job.point.at("n")) == 77);
}

BOOST_AUTO_TEST_CASE(time_grows_with_the_jobs) {
  const auto plan = matmul::plan_matmul(request({"report"}), [] { return "no"; });
  auto half = plan.jobs;
  half.resize(half.size() / 2);
  BOOST_TEST(matmul::estimate_matmul(half, 2).count() < matmul::estimate_matmul(plan.jobs, 2).count());
  BOOST_TEST(matmul::estimate_matmul({}, 2).count() == 0);
}

BOOST_AUTO_TEST_CASE(the_quick_study_takes_minutes_in_an_emulation) {
  auto r = request({"lab", "report"}, true);
  r.choice.emulated = true;
  r.repeat = 1;
  r.java = false;
  const auto plan = matmul::plan_matmul(r, [] { return ""; });
  const auto native = matmul::estimate_matmul(plan.jobs, 1);
  ::setenv("RECOUNT_PMU_OPTIONS", "exact 1", 1);
  const auto emulated = matmul::estimate_matmul(plan.jobs, 1);
  ::unsetenv("RECOUNT_PMU_OPTIONS");
  BOOST_TEST((emulated > 10 * native));
  BOOST_TEST((emulated < std::chrono::minutes(10)));
}

BOOST_AUTO_TEST_CASE(the_model_is_announced_by_what_its_machine_allows) {
  const auto seconds = [&](const std::string& variant, std::int64_t n, const std::string& machine,
                           std::size_t times = 1, int parallel = 1) {
    const auto& kernel = kernel::find("matmul");
    const std::string witness = "model:" + machine;
    const sweep::Job job{"matmul", kernel::complete(kernel, {{"variant", variant}, {"n", n}}), 0, witness,
                         matmul::matmul_metrics(witness)};
    return 1e-9 * static_cast<double>(
                      matmul::estimate_matmul(std::vector<sweep::Job>(times, job), parallel).count());
  };
  for (const char* variant : {"ijk", "ijk-mem", "ikj", "transposed", "blocked"}) {
    BOOST_TEST(10 * seconds(variant, 3000, "i7-9700~sample") < seconds(variant, 3000, "i7-9700"));
    BOOST_TEST(seconds(variant, 3000, "i7-9700~no-tlb") < seconds(variant, 3000, "i7-9700"));
    BOOST_TEST(5 * seconds(variant, 3000, "i7-9700") < seconds(variant, 3000, "i7-9700-prefetch"));
    for (const char* machine : {"i7-9700", "i7-9700~no-tlb", "i7-9700-l3"}) {
      for (std::int64_t n = 600; n < 3000; n += 400)
        BOOST_TEST(seconds(variant, n, machine) < seconds(variant, n + 400, machine));
      BOOST_TEST(seconds(variant, 1000, machine) < 1.1 * seconds(variant, 1001, machine));
      BOOST_TEST(seconds(variant, 1024, machine) < 1.1 * seconds(variant, 1032, machine));
    }
    BOOST_TEST(seconds(variant, 1000, "i7-9700", 4, 2) == 2 * seconds(variant, 1000, "i7-9700"),
               boost::test_tools::tolerance(1e-6));
    BOOST_TEST(seconds(variant, 1 << 20, "i7-9700-l3", 9) > 1e9); // and no less than nothing
  }
}

BOOST_AUTO_TEST_SUITE_END()
