// The whole check over software events: every kind of wrong table and broken witness gets its verdict.
#include "../../skip.hpp"
#include "../witness/obstacle.hpp"
#include "base/process/temporary_folder.hpp"
#include "commands/check/check.hpp"
#include "count/preset/catalogue.hpp"
#include "pages.hpp"
#include "run/batch.hpp"
#include "run/witness/backend.hpp"
#include "show/command/batch.hpp"

#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace recount;
using recount::check::PresetVerdict, recount::check::Verdict;
using test::obstacle;

BOOST_AUTO_TEST_SUITE(study_check)

namespace {

const std::string pf = "perf::PAGE-FAULTS", mf = "perf::MINOR-FAULTS", cs = "perf::CONTEXT-SWITCHES";

/// A folder of its own, with a table that the environment names.
class Surroundings {
public:
  explicit Surroundings(const std::string& rows, const char* lie = nullptr) {
    std::ofstream(file("table.csv")) << "CPU," << preset::default_pmu()->name << "\n" << rows;
    ::setenv("PAPI_CSV_EVENT_FILE", file("table.csv").c_str(), 1);
    if (lie) ::setenv("CHECK_LIE", lie, 1);
  }
  ~Surroundings() {
    ::unsetenv("PAPI_CSV_EVENT_FILE");
    ::unsetenv("CHECK_LIE");
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

private:
  process::TemporaryFolder folder_{"recount-check"};
};

recount::check::CheckContext context(const std::vector<std::string>& presets,
                                     const std::vector<std::string>& proven) {
  recount::check::CheckContext g;
  for (const auto& preset : presets)
    g.presets.push_back({preset, preset});
  for (const auto& metric : proven)
    g.proofs.push_back(
        {metric, &test::pages_kernel(), kernel::complete(test::pages_kernel(), {}), 0, "1 per page"});
  g.identities = preset::identities();
  return g;
}

struct Done {
  std::vector<PresetVerdict> verdicts;
  sweep::BatchResult ended;
  [[nodiscard]] const PresetVerdict& of(const std::string& preset) const {
    for (const auto& v : verdicts)
      if (v.preset == preset) return v;
    throw std::runtime_error("no verdict on " + preset);
  }
};

Done run_check(const recount::check::CheckContext& g, const std::vector<std::string>& requested,
               int repeat = 3, const std::string& file = {}, bool resume = false) {
  recount::check::CheckOptions options;
  options.requested = requested;
  options.repeat = repeat;
  const auto plan = recount::check::plan_check(g, options);
  sweep::Batch batch;
  batch.jobs = plan.jobs;
  batch.execution.program = {CHECK_RUNNER, "run-point"};
  batch.execution.parallel = 2;
  batch.header = result::new_run();
  batch.header.plan = plan.settings;
  batch.file = file;
  batch.resume = resume;
  Done done;
  batch.quiet = true;
  done.ended = command::run_batch(batch);
  done.verdicts = recount::check::conclude(plan, g, options, done.ended.results).verdicts;
  return done;
}

/// One preset, PAPI_TLB_DM, defined by a row and held against as many occurrences as there are pages.
PresetVerdict verdict_on(const std::string& row, const char* lie = nullptr) {
  const Surroundings around("PRESET,PAPI_TLB_DM," + row + "\n", lie);
  return run_check(context({"PAPI_TLB_DM"}, {"PAPI_TLB_DM"}), {}).of("PAPI_TLB_DM");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_right_row_agrees_with_all_the_evidence) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const PresetVerdict v = verdict_on("NOT_DERIVED," + pf);
  BOOST_TEST((v.verdict == Verdict::agrees), v.why);
  BOOST_TEST_REQUIRE(v.trials.size() == 1U);
  const auto& [trial, judgement] = v.trials.front();
  BOOST_TEST(judgement.perf->median == 200);
  BOOST_TEST(judgement.papi->median == 200);
  BOOST_TEST(judgement.perf->n == 12U);
  BOOST_TEST(trial.stated->value == 200);
  BOOST_TEST(recount::check::bias(trial.perf).value() == 0);
  BOOST_TEST(trial.perf.empty.contains(result::Nesting::outer));
  BOOST_TEST(trial.perf.empty.contains(result::Nesting::inner));
  BOOST_TEST(!trial.separate_runs);
}

BOOST_AUTO_TEST_CASE(each_wrong_row_has_its_verdict) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const PresetVerdict twice = verdict_on("DERIVED_ADD," + pf + "," + mf);
  BOOST_TEST((twice.verdict == Verdict::meaning_differs), twice.why);
  BOOST_TEST(twice.trials[0].judgement.factor.value() == 2);
  BOOST_TEST(!twice.trials[0].judgement.causes.empty());

  const PresetVerdict infix = verdict_on("DERIVED_INFIX,N0-N1-N2," + pf + "," + pf + "," + pf);
  BOOST_TEST((infix.verdict == Verdict::mapping_differs), infix.why);
  BOOST_TEST(has(infix.trials[0].judgement.causes.at(0), "differently than written"));

  const PresetVerdict zero = verdict_on("DERIVED_POSTFIX,N0|N1|N1|-|/|," + pf + "," + mf);
  BOOST_TEST((zero.verdict == Verdict::mapping_differs), zero.why);
  BOOST_TEST(has(zero.why, "division by a count of 0"));

  const PresetVerdict dies = verdict_on("DERIVED_POSTFIX,N0|N8|+|," + pf);
  BOOST_TEST((dies.verdict == Verdict::mapping_differs), dies.why);
  BOOST_TEST(has(dies.why, "crashes while"));

  const PresetVerdict dead = verdict_on("NOT_DERIVED," + cs); // in user mode nothing switches
  BOOST_TEST((dead.verdict == Verdict::dead), dead.why);

  const PresetVerdict domain = verdict_on("NOT_DERIVED," + cs + ":k"); // which PAPI takes no notice of
  BOOST_TEST((domain.verdict == Verdict::mapping_differs || domain.verdict == Verdict::dead ||
              domain.verdict == Verdict::meaning_differs || domain.verdict == Verdict::unstable),
             domain.why);
}

BOOST_AUTO_TEST_CASE(a_broken_witness_is_caught) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const PresetVerdict doubles = verdict_on("NOT_DERIVED," + pf, "papi-doubles");
  BOOST_TEST((doubles.verdict == Verdict::mapping_differs), doubles.why);
  const PresetVerdict drifts = verdict_on("NOT_DERIVED," + pf, "perf-drifts");
  BOOST_TEST((drifts.verdict == Verdict::unstable), drifts.why); // as noise, which would explain it
  const PresetVerdict wavers = verdict_on("NOT_DERIVED," + pf, "both-waver");
  BOOST_TEST((wavers.verdict == Verdict::unstable), wavers.why);
  const PresetVerdict gone = verdict_on("NOT_DERIVED," + pf, "dies");
  BOOST_TEST((gone.verdict == Verdict::not_counted));
  BOOST_TEST(has(gone.why, "killed by signal 6"), gone.why);
}

BOOST_AUTO_TEST_CASE(violated_relation_is_reported) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const Surroundings around("PRESET,PAPI_L1_DCM,NOT_DERIVED," + pf + "\nPRESET,PAPI_L1_TCM,DERIVED_SUB," +
                            pf + "," + mf + "\n");
  const auto g = context({"PAPI_L1_DCM", "PAPI_L1_TCM"}, {"PAPI_L1_DCM"});
  const Done done = run_check(g, {});
  BOOST_TEST((done.of("PAPI_L1_DCM").verdict == Verdict::agrees));
  const PresetVerdict& total = done.of("PAPI_L1_TCM");
  BOOST_TEST((total.verdict == Verdict::broken_invariant), total.why);
  BOOST_TEST(has(total.why, "L1_DCM <= L1_TCM does not hold: 200 against 0"), total.why);
  BOOST_TEST(total.broken.size() == 2U); // by perf and by PAPI
}

BOOST_AUTO_TEST_CASE(metric_is_compared_with_another) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const Surroundings around("PRESET,PAPI_TLB_IM,NOT_DERIVED," + pf + "\n");
  const auto g = context({"PAPI_TLB_IM", "PAPI_TLB_DM"}, {"PAPI_TLB_DM", pf});
  const Done done = run_check(g, {"PAPI_TLB_IM=PAPI_TLB_DM", mf + "=" + pf, pf + ":u=" + pf, "tlb_im"});
  BOOST_TEST((done.of("PAPI_TLB_IM").verdict == Verdict::agrees));
  BOOST_TEST((done.of(mf).verdict == Verdict::agrees));
  BOOST_TEST((done.of(pf + ":u").verdict == Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(unknown_name_is_rejected_with_suggestion) {
  const auto g = context({"PAPI_TLB_DM", "PAPI_TLB_IM"}, {"PAPI_TLB_DM", pf});
  const auto said = [&](const std::string& requested) -> std::string {
    try {
      recount::check::CheckOptions options;
      options.requested = {requested};
      static_cast<void>(recount::check::plan_check(g, options));
    } catch (const Error& error) {
      BOOST_TEST((error.kind() == ErrorKind::bad_input));
      return error.what();
    }
    return "accepted";
  };
  BOOST_TEST(has(said("PAPI_TLB_DN"), "PAPI_TLB_DM"));
  BOOST_TEST(has(said("perf::PAGE-FAULT"), "PAGE-FAULTS"));
  BOOST_TEST(has(said("PAPI_TLB_IM=PAPI_TLB_TM"), "no kernel has an expected count for PAPI_TLB_TM"));
  BOOST_TEST(said("PAPI_TLB_IM") == "accepted"); // and then not counted: nothing proves it
}

BOOST_AUTO_TEST_CASE(interrupted_check_resumes) {
  if (const std::string why = obstacle(); !why.empty()) return test::skip(why);
  const Surroundings around("PRESET,PAPI_TLB_DM,NOT_DERIVED," + pf + "\n");
  const auto g = context({"PAPI_TLB_DM"}, {"PAPI_TLB_DM"});
  const std::string file = around.file("check.jsonl");
  BOOST_TEST(run_check(g, {}, 3, file).ended.outcome.runs == 3U);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
  const Done again = run_check(g, {}, 3, file, true);
  BOOST_TEST(again.ended.outcome.runs > 0U);
  BOOST_TEST(again.ended.outcome.runs < 3U);
  BOOST_TEST((again.of("PAPI_TLB_DM").verdict == Verdict::agrees));
  BOOST_TEST(again.of("PAPI_TLB_DM").trials[0].judgement.perf->n == 12U);
}

BOOST_AUTO_TEST_SUITE_END()
