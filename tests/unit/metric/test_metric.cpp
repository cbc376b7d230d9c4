#include "base/process/temporary_folder.hpp"
#include "count/metric/metric.hpp"
#include "count/preset/standard.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace recount;
using namespace recount::metric;

BOOST_AUTO_TEST_SUITE(metrics)

namespace {

constexpr auto one =
    "# a comment\n\nmetric hits-per-go\n  unit hits/go\n\tformula 1 - PAPI_L1_DCM / (A:B + seconds)\r\n"
    "  formula \"perf::PAGE-FAULTS\" / 2\n  range 0 1.5\n  prose How many\n  prose there are.\n";

std::string refused(const std::string& text) {
  try {
    (void)parse(text, "f.metrics");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& text, const std::string& part) {
  const bool there = text.find(part) != text.npos;
  if (!there) BOOST_TEST_MESSAGE(text);
  return there;
}

/// A field after a whole metric, so that it is in line 6.
std::string with(const std::string& line) {
  return "metric a\n  unit u\n  formula A / B\n  prose p\n\n" + line + "\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_metric) {
  const Metrics all = parse(one, "f");
  BOOST_TEST_REQUIRE(all.size() == 1U);
  const Metric& m = all[0];
  BOOST_TEST(m.name == "hits-per-go");
  BOOST_TEST(m.unit == "hits/go");
  BOOST_TEST(m.prose == "How many there are.");
  BOOST_TEST(m.line == 3);
  BOOST_TEST_REQUIRE(m.formulas.size() == 2U);
  BOOST_TEST(m.formulas[0].text == "1 - PAPI_L1_DCM / (A:B + seconds)");
  BOOST_TEST((m.formulas[0].events() == std::vector<std::string>{"PAPI_L1_DCM", "A:B"}));
  BOOST_TEST((m.formulas[1].events() == std::vector<std::string>{"perf::PAGE-FAULTS"}));
  BOOST_TEST(m.least.value() == 0);
  BOOST_TEST(m.most.value() == 1.5);
}

BOOST_AUTO_TEST_CASE(values) {
  const Metric m = parse(one, "f")[0];
  const double operands[] = {1, 3, 1}; // PAPI_L1_DCM, A:B, seconds
  BOOST_TEST(evaluate(m, m.formulas[0], operands).value.value() == 0.75);
  BOOST_TEST(!evaluate(m, m.formulas[0], operands).outside);
  const double more[] = {5, 3, 1};
  BOOST_TEST(evaluate(m, m.formulas[0], more).value.value() == -0.25);
  BOOST_TEST(evaluate(m, m.formulas[0], more).outside);
  const double zero[] = {5, 0, 0};
  BOOST_TEST(!evaluate(m, m.formulas[0], zero).value.has_value());
  BOOST_TEST(evaluate(m, m.formulas[0], zero).reason.cause == "division by 0");
  BOOST_TEST(!evaluate(m, m.formulas[0], std::span(zero).first(2)).value.has_value());
}

BOOST_AUTO_TEST_CASE(errors_name_file_line_and_field) {
  BOOST_TEST(says(refused("unit x\n"), "f.metrics:1: unit: appears before the first metric"));
  BOOST_TEST(says(refused(with("metric A")), "f.metrics:6: metric: \"A\" is not a valid name"));
  BOOST_TEST(says(refused(with("metric")), "f.metrics:6: metric: \"\" is not a valid name"));
  BOOST_TEST(says(refused(with("metric a")), "f.metrics:6: metric: a is already defined in line 1"));
  BOOST_TEST(says(refused(with("metric seconds")), "f.metrics:6: metric: the name seconds is reserved"));
  BOOST_TEST(says(refused(with("formulae A/B")), "f.metrics:6: formulae: is not a field"));
  BOOST_TEST(says(refused(with("formulae A/B")), "did you mean formula"));
  BOOST_TEST(says(refused(with("unit v")), "f.metrics:6: unit: is given twice"));
  BOOST_TEST(says(refused(with("prose")), "f.metrics:6: prose: is empty"));
  BOOST_TEST(says(refused(with("formula A B")), "f.metrics:6: formula: an operator is expected"));
  BOOST_TEST(says(refused(with("formula A B")), "column 3"));
  BOOST_TEST(says(refused(with("formula 1 / seconds")), "f.metrics:6: formula: contains no event"));
  BOOST_TEST(says(refused(with("range 1")), "f.metrics:6: range: takes two numbers"));
  BOOST_TEST(says(refused(with("range 1 0")), "f.metrics:6: range: the first number is not less"));
  BOOST_TEST(says(refused(with("range 0 1 2")), "f.metrics:6: range: takes two numbers"));
  BOOST_TEST(says(refused(with("range 0 inf")), "f.metrics:6: range"));
  BOOST_TEST(says(refused(with("metric b")), "f.metrics:6: metric b has no unit"));
  BOOST_TEST(says(refused("metric b\nunit u\nprose p"), "f.metrics:1: metric b has no formula"));
  BOOST_TEST(says(refused(with(std::string(5000, 'x'))), "f.metrics:6: the line: is longer"));
  BOOST_TEST(says(refused(with(std::string("prose a\0b", 9))), "f.metrics:6: the line: contains a NUL"));
}

BOOST_AUTO_TEST_CASE(shipped_metrics_use_known_presets_and_events) {
  // Files of Linux on machines that have them: arch/x86/events/intel/core.c, arch/x86/events/rapl.c.
  const std::set<std::string> of_sysfs{"slots",
                                       "topdown-retiring",
                                       "topdown-bad-spec",
                                       "topdown-fe-bound",
                                       "topdown-be-bound",
                                       "power/energy-pkg/"};
  BOOST_TEST(built_in().size() >= 20U);
  for (const Metric& m : built_in())
    for (const Formula& f : m.formulas)
      for (const std::string& name : f.events()) {
        if (name.starts_with("PAPI_"))
          BOOST_TEST(preset::standard_preset(name), m.name << ": " << name);
        else if (!of_sysfs.contains(name))
          BOOST_CHECK_NO_THROW((void)encode_each(name));
      }
  for (const char* name :
       {"ipc", "instruction-rate", "flop-rate", "flop-per-cycle", "accesses-per-cycle", "loads-per-l1-miss",
        "l1-hit-rate", "l2-hit-rate", "l3-hit-rate", "branch-misprediction-rate", "issued-over-completed",
        "dtlb-miss-rate", "coherence-shared", "coherence-invalidations", "coherence-interventions",
        "page-fault-rate"})
    BOOST_TEST(find(built_in(), name), name);
}

BOOST_AUTO_TEST_CASE(user_files_add_and_replace) {
  const process::TemporaryFolder temporary("recount-metric");
  const std::filesystem::path folder = temporary.path();
  std::ofstream(folder / "b.metrics") << "metric ipc\nunit u\nformula A / B\nprose mine\n";
  std::ofstream(folder / "a.metrics") << "metric own\nunit u\nformula A / B\nprose p\n";
  std::ofstream(folder / "notes.txt") << "not a metric\n";
  std::ofstream(folder / "more") << "metric more\nunit u\nformula A / B\nprose p\n";
  ::setenv("RECOUNT_METRICS", folder.c_str(), 1);
  const Metrics all = metric::load({folder / "more"});
  BOOST_TEST(all.size() == built_in().size() + 2);
  BOOST_TEST(find(all, "ipc")->prose == "mine");
  BOOST_TEST(find(all, "own") != nullptr);
  BOOST_TEST(find(all, "more") != nullptr);
  BOOST_CHECK_THROW((void)metric::load({folder / "nowhere"}), Error);
  BOOST_CHECK_THROW((void)metric::load({folder}), Error);
  ::setenv("RECOUNT_METRICS", (folder / "nowhere.metrics").c_str(), 1);
  BOOST_CHECK_THROW((void)metric::load(), Error);
  ::setenv("RECOUNT_METRICS", "", 1);
  BOOST_TEST(metric::load().size() == built_in().size());
}

BOOST_AUTO_TEST_SUITE_END()
