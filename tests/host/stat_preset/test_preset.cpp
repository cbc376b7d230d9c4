// Presets of a private table, which is read once in a process: hence a test of its own.
#include "../perf/helpers.hpp"

#include "count/preset/catalogue.hpp"
#include "needs.hpp"
#include "run/stat_run.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace recount::stat {

namespace {

double value(const Slice& slice, const std::string& name) {
  const auto at = std::ranges::find(slice.rows, name, &result::Observation::metric);
  BOOST_TEST_REQUIRE((at != slice.rows.end()));
  const auto number = result::as_double(at->value);
  BOOST_TEST_REQUIRE(number.has_value(), at->reason.get().text());
  return *number;
}

} // namespace

BOOST_AUTO_TEST_CASE(presets_with_their_events_and_metrics,
                     *recount::test::needs(recount::test::no_software_events)) {
  const auto* const cpu = preset::default_pmu();
  if (cpu == nullptr) return skip("libpfm4 does not know this CPU, so no table has rows for it");
  std::string name = (std::filesystem::temp_directory_path() / "recount-table-XXXXXX").string();
  close(mkstemp(name.data()));
  std::ofstream(name) << "CPU," << cpu->name
                      << "\nPRESET,PAPI_TLB_DM,DERIVED_ADD,perf::PAGE-FAULTS,perf::MINOR-FAULTS\n";
  setenv("PAPI_CSV_EVENT_FILE", name.c_str(), 1);
  const auto own = metric::parse("metric own\nunit u\nprose p\nformula PAPI_L1_DCM / PAPI_TLB_DM\n"
                                 "formula PAPI_TLB_DM / \"perf::PAGE-FAULTS\"\n",
                                 "own.metrics");
  const Plan plan =
      make_plan(parse_items({"own,PAPI_TLB_DM,{perf::PAGE-FAULTS,perf::MINOR-FAULTS}"}), own, Domain::all);
  const RunResult ended = run(plan, {{"true"}, {}, 2, std::chrono::milliseconds(0)}, {});
  std::filesystem::remove(name);
  BOOST_TEST(plan.events.size() == 2U); // each is opened once
  BOOST_TEST(plan.groups.size() == 1U);
  BOOST_TEST(plan.rows[0].formula == 1U); // the first has a preset that the table lacks
  for (const Slice& slice : ended.repetitions) {
    const double sum = value(slice, "perf::PAGE-FAULTS") + value(slice, "perf::MINOR-FAULTS");
    BOOST_TEST(value(slice, "PAPI_TLB_DM") == sum);
    BOOST_TEST(value(slice, "own") == sum / value(slice, "perf::PAGE-FAULTS"));
  }
}

} // namespace recount::stat
