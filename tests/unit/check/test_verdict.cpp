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

namespace {

using Words = std::vector<std::string>;

/// A verdict on counts of two points, of which 1000 and 2000 are expected, with the terms' counts there.
check::PresetVerdict at_two_points(double first, double second, const std::vector<check::Term>& terms) {
  std::vector trials{of_preset("PAPI_TOT_INS", first, 1000), of_preset("PAPI_TOT_INS", second, 2000)};
  trials[1].kernel = "vector";
  auto verdict = check::verdicts(trials, {})[0];
  verdict.terms = terms;
  return verdict;
}
check::Term term(const char* name, double weight, double first, double second) {
  return {name, weight, {{"transfer", {}, first}, {"vector", {}, second}}, {}};
}
Words causes(double first, double second, const std::vector<check::Term>& terms) {
  auto verdict = at_two_points(first, second, terms);
  check::blame_terms(verdict);
  return verdict.trials[0].judgement.causes;
}

} // namespace

BOOST_AUTO_TEST_CASE(mistakes_that_every_point_accepts_are_named) {
  auto verdict =
      at_two_points(1000, 2000, {term("A", 1, 1000, 0), term("B", 2, 0, 1000), term("C", 4, 0, 0)});
  BOOST_TEST(check::find_untested_terms(verdict) == Words{"C lost or doubled"});
  const auto of_vectors = [](double count) {
    return [=](const check::Judged& j) { return std::optional(j.trial.kernel == "vector" ? count : 1019); };
  };
  BOOST_TEST(check::passes(verdict, of_vectors(1981)));
  BOOST_TEST(!check::passes(verdict, of_vectors(1019)));
  BOOST_TEST(!check::passes(verdict, [](const auto&) { return std::nullopt; }));
  verdict.trials[1].trial.relative = true;
  BOOST_TEST(check::passes(verdict, of_vectors(1019)));
}

BOOST_AUTO_TEST_CASE(a_term_that_no_point_tests_is_named) {
  const auto doubted = [](double counted, check::Verdict before = check::Verdict::agrees) {
    auto verdict = at_two_points(1000, 2000, {term("A", 1, 1000, 2000), term("OTHER", 2, counted, 0)});
    verdict.verdict = before;
    check::doubt_untested_terms(verdict);
    return verdict;
  };
  BOOST_TEST((doubted(0).verdict == check::Verdict::plausible));
  BOOST_TEST(has(doubted(0, check::Verdict::plausible).why, "; no kernel tests OTHER"));
  BOOST_TEST((doubted(24).verdict == check::Verdict::plausible)); // half: 2 % are tolerated, and 4 stray ones
  BOOST_TEST((doubted(25).verdict == check::Verdict::agrees));
  auto uncounted = at_two_points(1000, 2000, {{"OTHER", 1, {}, "not scheduled"}});
  check::doubt_untested_terms(uncounted);
  BOOST_TEST(has(uncounted.why, "; no kernel tests OTHER"));
}

BOOST_AUTO_TEST_CASE(a_cause_explains_every_wrong_point) {
  BOOST_TEST(causes(1300, 2600, {}).size() == 2U);
  BOOST_TEST(causes(1300, 12000, {}).empty()); // 1.3 and 6 times
  BOOST_TEST(causes(1300, 2000, {term("A", 1, 1000, 2000), term("B", 1, 300, 0)}) ==
             Words{"without the term B, all counts are the expected ones"});
  BOOST_TEST(causes(2000, 4000, {term("A", 2, 1000, 2000)}) ==
             Words{"with half of the term A, all counts are the expected ones"});
  BOOST_TEST(causes(600, 2000, {term("A", 1, 800, 2000), term("B", -1, 200, 0)}) ==
             Words{"with the other sign of the term B, all counts are the expected ones"});
  const auto dead = term("B", 1, 0, 0);
  BOOST_TEST(causes(300, 600, {dead}) == Words{"the term B counts 0 in every kernel"});
  BOOST_TEST(causes(5000, 2000, {dead}).empty()); // would count still more
  auto unstated = at_two_points(300, 600, {dead});
  unstated.trials[1].trial.stated.reset();
  unstated.trials[1].judgement.verdict = check::Verdict::unstable;
  check::blame_terms(unstated);
  BOOST_TEST(unstated.trials[0].judgement.causes.empty()); // nothing is known to be missing there
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
