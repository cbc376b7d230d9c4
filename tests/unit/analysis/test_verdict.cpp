// Relations between presets, and one verdict from all the evidence.
#include "trials.hpp"

using namespace recount;

using namespace recount::test;

namespace {

using Pass = std::map<std::string, double>;

check::Counted counted(const Pass& pass) {
  return {"chase", {}, "papi", {{pass, pass, pass, pass}, {pass, pass, pass, pass}}};
}

std::vector<std::string> broken_texts(const Pass& pass, preset::CpuKind kind = preset::CpuKind::any) {
  std::vector<std::string> texts;
  for (const auto& one : check::broken(counted(pass), preset::identities(), kind))
    texts.push_back(one.identity.text);
  return texts;
}

using Texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(invariants)

BOOST_AUTO_TEST_CASE(what_holds_is_not_mentioned) {
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 1000}, {"PAPI_L1_TCM", 1010}, {"PAPI_L1_ICM", 20}}).empty()));
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 1000}}).empty()));
}

BOOST_AUTO_TEST_CASE(parts_over_the_whole_are_found) {
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 2000}, {"PAPI_L1_TCM", 1000}}) == Texts{"L1_DCM <= L1_TCM"}));
  const auto texts = broken_texts({{"PAPI_L1_DCA", 1000}, {"PAPI_L1_DCH", 900}, {"PAPI_L1_DCM", 400}});
  BOOST_TEST((texts == Texts{"L1_DCA = L1_DCH + L1_DCM"}));
}

BOOST_AUTO_TEST_CASE(a_handful_of_occurrences_means_nothing) {
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 40}, {"PAPI_L1_TCM", 2}}).empty()));
}

BOOST_AUTO_TEST_CASE(some_hold_on_some_cpus) {
  const Pass pass{{"PAPI_LST_INS", 1000}, {"PAPI_LD_INS", 800}, {"PAPI_SR_INS", 400}};
  BOOST_TEST((broken_texts(pass, preset::CpuKind::load_store) == Texts{"LST_INS = LD_INS + SR_INS"}));
  BOOST_TEST(broken_texts(pass, preset::CpuKind::cisc).empty());
}

BOOST_AUTO_TEST_CASE(passes_without_all_of_them_are_left_out) {
  check::Counted some = counted({{"PAPI_L1_DCM", 2000}, {"PAPI_L1_TCM", 1000}});
  for (auto& process : some.passes)
    process[0].erase("PAPI_L1_TCM");
  const auto found = check::broken(some, preset::identities(), preset::CpuKind::any);
  BOOST_TEST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found[0].difference.n == 6U);
  BOOST_TEST(
      has(check::describe(found[0]), "L1_DCM <= L1_TCM does not hold: 2000 against 1000 by papi in chase"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(verdict_of_presets)

namespace {

check::Trial of_preset(const std::string& preset, double counts, double stated) {
  check::Trial t = trial(always(counts), always(counts), stated);
  t.preset = t.metric = preset;
  return t;
}

check::Verdict verdict_of(const std::vector<check::PresetVerdict>& all, const std::string& preset) {
  for (const auto& one : all)
    if (one.preset == preset) return one.verdict;
  BOOST_FAIL("no verdict on " << preset);
  return check::Verdict::not_counted;
}

const std::vector<check::Broken> total_below_part = check::broken(
    counted({{"PAPI_L1_DCM", 2000}, {"PAPI_L1_TCM", 1000}}), preset::identities(), preset::CpuKind::any);

} // namespace

BOOST_AUTO_TEST_CASE(the_worst_of_several_trials_stands) {
  const std::vector<check::Trial> trials{of_preset("PAPI_LD_INS", 1000, 1000), of_preset("PAPI_BR_INS", 5, 5),
                                         of_preset("PAPI_LD_INS", 3000, 1000)};
  const auto all = check::verdicts(trials, {});
  BOOST_TEST_REQUIRE(all.size() == 2U);
  BOOST_TEST(all[0].preset == "PAPI_LD_INS");
  BOOST_TEST((all[0].verdict == check::Verdict::meaning_differs));
  BOOST_TEST(all[0].trials[0].judgement.perf->median == 3000);
  BOOST_TEST((all[1].verdict == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(a_broken_relation_is_held_against_the_unproven) {
  const std::vector<check::Trial> proven{of_preset("PAPI_L1_DCM", 2000, 2000)};
  const auto all = check::verdicts(proven, total_below_part);
  BOOST_TEST((verdict_of(all, "PAPI_L1_DCM") == check::Verdict::agrees));
  BOOST_TEST((verdict_of(all, "PAPI_L1_TCM") == check::Verdict::broken_invariant));
}

BOOST_AUTO_TEST_CASE(or_against_those_that_are_wrong_anyway) {
  const std::vector<check::Trial> trials{of_preset("PAPI_L1_DCM", 2000, 2000),
                                         of_preset("PAPI_L1_TCM", 1000, 2000)};
  const auto all = check::verdicts(trials, total_below_part);
  BOOST_TEST((verdict_of(all, "PAPI_L1_DCM") == check::Verdict::agrees));
  BOOST_TEST((verdict_of(all, "PAPI_L1_TCM") == check::Verdict::meaning_differs));
  BOOST_TEST(all[1].broken.size() == 1U);
  BOOST_TEST(all[0].broken.empty());
}

BOOST_AUTO_TEST_CASE(or_against_all) {
  const std::vector<check::Trial> trials{of_preset("PAPI_L1_DCM", 2000, 2000),
                                         of_preset("PAPI_L1_TCM", 1000, 1000)};
  const auto all = check::verdicts(trials, total_below_part);
  BOOST_TEST((verdict_of(all, "PAPI_L1_DCM") == check::Verdict::broken_invariant));
  BOOST_TEST((verdict_of(all, "PAPI_L1_TCM") == check::Verdict::broken_invariant));
  BOOST_TEST(!check::sound(check::Verdict::broken_invariant));
  BOOST_TEST(check::sound(check::Verdict::not_counted));
  BOOST_TEST(check::name_of(check::Verdict::broken_invariant) == "broken invariant");
}

BOOST_AUTO_TEST_SUITE_END()
