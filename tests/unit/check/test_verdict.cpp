// Relations between presets, and one verdict from all the evidence.
#include "trials.hpp"

#include <cmath>

using namespace recount;

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(invariants)

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

BOOST_AUTO_TEST_CASE(what_holds_is_not_mentioned) {
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 1000}, {"PAPI_L1_TCM", 1010}, {"PAPI_L1_ICM", 20}}).empty()));
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 1000}}).empty()));
}

BOOST_AUTO_TEST_CASE(parts_over_the_whole_are_found) {
  BOOST_TEST((broken_texts({{"PAPI_L1_DCM", 2000}, {"PAPI_L1_TCM", 1000}}) == Texts{"L1_DCM <= L1_TCM"}));
  const auto texts = broken_texts({{"PAPI_L1_DCA", 1000}, {"PAPI_L1_DCH", 900}, {"PAPI_L1_DCM", 400}});
  BOOST_TEST((texts == Texts{"L1_DCA = L1_DCH + L1_DCM"}));
}

BOOST_AUTO_TEST_CASE(prefetches_count_in_some_presets_of_caches) {
  BOOST_TEST((broken_texts({{"PAPI_L2_DCM", 1150}, {"PAPI_L2_DCA", 1000}}).empty()));
  BOOST_TEST((broken_texts({{"PAPI_L2_DCM", 1400}, {"PAPI_L2_DCA", 1000}}) == Texts{"L2_DCM <= L2_DCA"}));
  const Pass stores{{"PAPI_L1_STM", 16000}, {"PAPI_L3_TCR", 2400}, {"PAPI_L3_DCR", 0}, {"PAPI_L3_ICR", 0}};
  BOOST_TEST(broken_texts(stores).empty());
  const Pass more{{"PAPI_L1_STM", 16000}, {"PAPI_L3_TCR", 4000}, {"PAPI_L3_DCR", 0}, {"PAPI_L3_ICR", 0}};
  BOOST_TEST((broken_texts(more) == Texts{"L3_TCR = L3_DCR + L3_ICR"}));
  BOOST_TEST((broken_texts({{"PAPI_BR_CN", 1150}, {"PAPI_BR_INS", 1000}}) == Texts{"BR_CN <= BR_INS"}));
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

const std::vector<check::Broken> total_below_part =
    check::broken(invariants::counted({{"PAPI_L1_DCM", 2000}, {"PAPI_L1_TCM", 1000}}), preset::identities(),
                  preset::CpuKind::any);

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

BOOST_AUTO_TEST_CASE(dead_is_what_counts_nowhere) {
  const auto all_zero =
      check::verdicts(std::vector{of_preset("PAPI_VEC_DP", 0, 1000), of_preset("PAPI_VEC_DP", 0, 500)}, {});
  BOOST_TEST((all_zero[0].verdict == check::Verdict::dead));
  check::Trial wide = of_preset("PAPI_VEC_DP", 0, 1000), narrow = of_preset("PAPI_VEC_DP", 500, 500);
  wide.kernel = "vec128";
  narrow.kernel = "vec256";
  const auto part = check::verdicts(std::vector{narrow, wide, of_preset("PAPI_VEC_DP", 0, 0)}, {});
  BOOST_TEST((part[0].verdict == check::Verdict::meaning_differs));
  BOOST_TEST(part[0].why == "misses a part: 0 in vec128, right in vec256");
}

BOOST_AUTO_TEST_CASE(small_counts_do_not_hide_a_thousandth) {
  std::vector<check::Trial> trials;
  for (const double stated : {1000., 1000., 1000., 100000., 200000.}) {
    trials.push_back(of_preset("PAPI_BR_INS", std::round(stated * 1.001), stated));
    trials.back().tolerance = 0.005;
  }
  const auto all = check::verdicts(trials, {});
  BOOST_TEST((all[0].verdict == check::Verdict::plausible), all[0].why);
  BOOST_TEST(has(all[0].why, "0.1 % more than the expected count in the median of 2 points"), all[0].why);
}

BOOST_AUTO_TEST_CASE(bounds_that_admit_twice_the_count_make_it_plausible) {
  check::Trial wide = of_preset("PAPI_TOT_CYC", 1500, 1000);
  wide.stated->above = 1000;
  BOOST_TEST(!check::tight(wide));
  BOOST_TEST((check::verdicts(std::vector{wide}, {})[0].verdict == check::Verdict::plausible));
  check::Trial low = of_preset("PAPI_TOT_CYC", 1000, 1000);
  low.stated->below = 500;
  BOOST_TEST(!check::tight(low));
  check::Trial just = low;
  just.stated->below = 470;
  BOOST_TEST(check::tight(just));
  const check::Trial exact = of_preset("PAPI_TOT_CYC", 1000, 1000);
  BOOST_TEST((check::verdicts(std::vector{wide, just}, {})[0].verdict == check::Verdict::plausible));
  BOOST_TEST(
      (check::verdicts(std::vector{wide, exact}, {})[0].verdict == check::Verdict::agrees)); // one is enough
  check::Trial compared = of_preset("PAPI_TOT_CYC", 1000, 1000);
  compared.relative = true; // with its own count elsewhere: any unit would do
  BOOST_TEST((check::verdicts(std::vector{wide, compared}, {})[0].verdict == check::Verdict::plausible));
  BOOST_TEST((check::verdicts(std::vector{wide, compared, of_preset("PAPI_TOT_CYC", 7, 0)}, {})[0].verdict ==
              check::Verdict::meaning_differs));
  BOOST_TEST(check::sound(check::Verdict::plausible));
  BOOST_TEST(check::name_of(check::Verdict::plausible) == "plausible");
}

BOOST_AUTO_TEST_CASE(perf_alone_does_not_agree_for_both) {
  check::Trial alone = of_preset("perf::PAGE-FAULTS", 1000, 1000);
  alone.papi.values.clear();
  alone.papi.reason = "no component";
  const auto verdict = check::verdicts(std::vector{alone}, {})[0];
  BOOST_TEST((verdict.verdict == check::Verdict::perf_agrees));
  BOOST_TEST(check::sound(verdict.verdict));
  BOOST_TEST(has(verdict.why, "; PAPI does not count it here: no component"));
}

BOOST_AUTO_TEST_CASE(one_factor_at_all_points_is_no_tolerance) {
  const auto at_points = [](double tolerance, const std::vector<double>& factors) {
    std::vector<check::Trial> trials;
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const double stated = 10'000 * static_cast<double>(i + 1);
      trials.push_back(of_preset("PAPI_L1_DCM", factors[i] * stated, stated));
      trials.back().tolerance = tolerance;
    }
    return check::verdicts(trials, {})[0];
  };
  using check::Verdict;
  BOOST_TEST((at_points(0.2, {1, 1.15, 0.9, 1.02}).verdict == Verdict::agrees)); // median 1.01
  BOOST_TEST((at_points(0.2, {0.85, 0.85, 0.85}).verdict == Verdict::meaning_differs));
  BOOST_TEST((at_points(0.2, {1.15, 1.15, 1.15}).verdict == Verdict::plausible)); // a prefetcher may do so
  BOOST_TEST((at_points(0.2, {0.85, 0.85}).verdict == Verdict::plausible));       // too few to be sure
  BOOST_TEST((at_points(0.2, {0.85, 0.95, 0.9}).verdict == Verdict::plausible));
  BOOST_TEST((at_points(0.2, {1.03, 1.03, 1.03}).verdict == Verdict::agrees));
  BOOST_TEST((at_points(0.005, {1.001, 1.001, 1.001}).verdict == Verdict::meaning_differs));
  BOOST_TEST((at_points(0.005, {1.001, 1, 1.0004}).verdict == Verdict::agrees));
  const double few = 2000; // 1.001 times are 2 more, which may be stray
  std::vector<check::Trial> mixed;
  for (const double stated : {few, 1e5, 1e5, 1e5}) {
    mixed.push_back(of_preset("PAPI_TOT_INS", std::round(1.001 * stated), stated));
    mixed.back().tolerance = 0.005;
  }
  BOOST_TEST((check::verdicts(mixed, {})[0].verdict == Verdict::meaning_differs));
  mixed.pop_back();
  BOOST_TEST((check::verdicts(mixed, {})[0].verdict == Verdict::plausible)); // two points tell
  BOOST_TEST(has(at_points(0.2, {0.85, 0.95, 0.9}).why,
                 "10 % less than the expected count in the median of 3 points"));
}

BOOST_AUTO_TEST_CASE(a_term_that_no_point_tests_is_named) {
  const auto doubted = [](double counted) {
    auto verdict = check::verdicts(std::vector{of_preset("PAPI_VEC_DP", 1000, 1000)}, {})[0];
    check::Term tested, other;
    tested.name = "VECTOR";
    tested.counts = {{verdict.trials[0].trial.kernel, {}, 1000, {}}};
    other.name = "OTHER";
    other.counts = {{verdict.trials[0].trial.kernel, {}, counted, {}}};
    verdict.terms = {tested, other};
    check::doubt_untested_terms(verdict);
    return verdict;
  };
  BOOST_TEST((doubted(0).verdict == check::Verdict::plausible));
  BOOST_TEST(
      has(doubted(0).why, "; no kernel tests OTHER, which counts no more than the tolerance anywhere"));
  BOOST_TEST((doubted(40).verdict == check::Verdict::plausible)); // 2 % to both sides are tolerated
  BOOST_TEST((doubted(41).verdict == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(what_else_would_have_agreed) {
  check::Trial add = of_preset("PAPI_FAD_INS", 1000, 1000), multiply = of_preset("PAPI_FAD_INS", 0, 0);
  add.kernel = "add";
  multiply.kernel = "multiply";
  const auto exact = [](double value) { return check::Stated{value, 0, 0, ""}; };
  check::ExpectedCounts expected{
      {{"add", {}},
       {{"PAPI_FAD_INS", exact(1000)},
        {"PAPI_FP_INS", exact(1000)},
        {"PAPI_FP_OPS", exact(2000)},
        {"PAPI_BR_INS", exact(60)},
        {"PAPI_TOT_CYC", check::Stated{3000, 2500, 9000, ""}}}},
      {{"multiply", {}},
       {{"PAPI_FAD_INS", exact(0)}, {"PAPI_FP_INS", exact(1000)}, {"PAPI_L1_DCM", exact(0)}}}};
  const auto of = [&](const std::vector<check::Trial>& trials) {
    return check::substitutes(check::verdicts(trials, {})[0].trials, expected);
  };
  using Names = std::vector<std::string>;
  BOOST_TEST(
      (of({add}) == Names{"PAPI_FP_INS", "0.5 * PAPI_FP_OPS", "0.125 * PAPI_TOT_CYC", "0.25 * PAPI_TOT_CYC",
                          "0.5 * PAPI_TOT_CYC", "PAPI_TOT_CYC", "2 * PAPI_TOT_CYC"}));
  expected.at({"multiply", {}}).emplace("PAPI_TOT_CYC", exact(5000));
  expected.at({"multiply", {}}).emplace("PAPI_FP_OPS", exact(2000));
  BOOST_TEST(of({add, multiply}).empty()); // zeros separate
  BOOST_TEST(of({multiply}).empty());      // nothing counts
}

BOOST_AUTO_TEST_CASE(terms_are_blamed) {
  auto wrong = check::verdicts(
      std::vector{of_preset("PAPI_VEC_DP", 1000, 0), of_preset("PAPI_VEC_DP", 500, 500)}, {})[0];
  const check::Stated none{0, 0, 0, ""}, some{500, 0, 0, ""};
  check::Term scalar, vector, dead, constant;
  scalar.name = "SCALAR";
  scalar.counts = {{"f", {}, 1000, none}, {"g", {}, 0, some}};
  vector.name = "VECTOR";
  vector.counts = {{"f", {}, 0, none}, {"g", {}, 500, some}};
  dead.name = "DEAD";
  dead.counts = {{"f", {}, 0, none}, {"g", {}, 0, some}};
  constant.name = "CONSTANT";
  constant.counts = {{"f", {}, 7, none}, {"g", {}, 7, some}, {"h", {}, 7, some}};
  wrong.terms = {scalar, vector, dead, constant};
  check::blame_terms(wrong);
  const auto& causes = wrong.trials[0].judgement.causes;
  BOOST_TEST_REQUIRE(causes.size() >= 3U);
  BOOST_TEST(has(causes[0], "the term SCALAR counts only where the expected count is 0 (1000 in f"),
             causes[0]);
  BOOST_TEST(has(causes[1], "the term DEAD counts 0 in every kernel"), causes[1]);
  BOOST_TEST(has(causes[2], "the term CONSTANT counts 7 in every kernel"), causes[2]);
  for (const auto& cause : causes)
    BOOST_TEST(!has(cause, "VECTOR"));
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
