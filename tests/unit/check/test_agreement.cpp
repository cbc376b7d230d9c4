// Synthetic observations of each kind, and the verdict that each must get.
#include "run/verdict/verdict.hpp"
#include "trials.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

using namespace recount;

using namespace recount::test;

BOOST_AUTO_TEST_SUITE(agreement)

BOOST_AUTO_TEST_CASE(three_equal_counts_agree) {
  const check::Judgement j = check::judge(trial(always(1000), always(1000)));
  BOOST_TEST((j.verdict == check::Verdict::agrees));
  BOOST_TEST(j.perf->median == 1000);
  BOOST_TEST(!j.factor.has_value());
  BOOST_TEST((of(trial(around(1005), around(1005))) == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(not_significantly_different_is_not_agreement) {
  // The mean is right; the repetitions do not say so within 2 %.
  const statistics::Groups wild{{600, 1400, 1010, 1300}, {900, 1100, 600, 1400}, {1390, 610, 980, 620}};
  BOOST_TEST((of(trial(wild, wild)) == check::Verdict::unstable));
}

BOOST_AUTO_TEST_CASE(noise_widens_the_tolerance) {
  const statistics::Groups wide{{986, 1012, 1004, 991}, {1009, 983, 1001, 1011}, {1016, 985, 997, 1008}};
  const statistics::Groups other{{1010, 984, 1003, 1012}, {989, 1013, 995, 986}, {984, 1014, 1006, 990}};
  check::Trial t = trial(wide, other);
  t.tolerance = 0.005;
  const check::Judgement j = check::judge(t);
  BOOST_TEST((j.verdict == check::Verdict::agrees), j.why);
  BOOST_TEST_REQUIRE(j.widened.has_value());
  BOOST_TEST(*j.widened > 0.005);
  BOOST_TEST(*j.widened <= check::widest_tolerance);
  BOOST_TEST(has(j.why, fmt::format("within {:.1f} %", 100 * *j.widened)), j.why);
  BOOST_TEST(has(j.why, "the repetitions vary too much for 0.5 %"), j.why);
  BOOST_TEST(check::verdicts(std::vector{t}, {})[0].trials[0].trial.tolerance == *j.widened);
  t.fixed_tolerance = true;
  BOOST_TEST((of(t) == check::Verdict::unstable));
  t.fixed_tolerance = false;
  t.tolerance = 0; // exact counts of Linux have no noise
  BOOST_TEST((of(t) == check::Verdict::unstable));
  t.tolerance = 0.005;
  t.stated->value = 960; // no count that is accepted is in the interval
  BOOST_TEST((of(t) == check::Verdict::unstable));
}

BOOST_AUTO_TEST_CASE(witnesses_that_differ_from_one_another) {
  const check::Judgement j = check::judge(trial(always(1000), always(3000)));
  BOOST_TEST((j.verdict == check::Verdict::mapping_differs));
  BOOST_TEST(j.factor.value() == 3);
  BOOST_TEST(has(j.why, "PAPI returns 3000, its row gives 1000"));
  BOOST_TEST(has(j.causes.at(0), "another table"));
  // Also where the model would be content with either.
  check::Trial wide = trial(always(1000), always(1100));
  wide.stated->below = wide.stated->above = 500;
  BOOST_TEST((of(wide) == check::Verdict::mapping_differs));
  // PAPI in another domain.
  BOOST_TEST(has(check::judge(trial(always(1000), always(0))).causes.at(0), "domain"));
  check::Trial reported = trial(always(1000), always(-1000));
  reported.perf.other_value = "PAPI computes -1000 from the same counts";
  BOOST_TEST(has(check::judge(reported).causes.at(0), "differently than written"));
}

BOOST_AUTO_TEST_CASE(differences_are_computed_pass_by_pass) {
  // Both vary by far more than they differ: nested in one region they see the same.
  const statistics::Groups perf{{1000, 1400, 900, 1200}, {1100, 1000, 1300, 900}, {1000, 1200, 1100, 1000}};
  check::Trial t = trial(perf, perf);
  t.stated->below = t.stated->above = 600;
  BOOST_TEST((of(t) == check::Verdict::agrees));
  statistics::Groups papi = perf;
  for (auto& group : papi)
    for (auto& value : group)
      value += 40;
  t.papi = said(papi);
  t.differences = minus(perf, papi);
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
}

BOOST_AUTO_TEST_CASE(intermittent_differences_are_unstable) {
  const statistics::Groups perf = always(1000),
                           papi{{1000, 1040, 1000, 1040}, {1000, 1000, 1040, 1040}, {1040, 1040, 1000, 1000}};
  check::Trial t = trial(perf, papi);
  t.stated->below = t.stated->above = 50; // the model would be content
  const check::Judgement j = check::judge(t);
  BOOST_TEST((j.verdict == check::Verdict::unstable), j.why);
  BOOST_TEST(has(j.why, "the difference of perf and PAPI varies from -40 to 0"), j.why);
}

BOOST_AUTO_TEST_CASE(differences_that_are_small_beside_the_expected_range_are_not_unstable) {
  const statistics::Groups perf{{28, 30, 29, 31}, {2, 30, 29, 31}, {28, 30, 29, 6}},
      papi{{25, 26, 24, 25}, {25, 3, 24, 25}, {800, 26, 24, 25}};
  check::Trial t = trial(perf, papi, 0);
  t.tolerance = 0;
  t.stated->above = 3264;
  BOOST_TEST((of(t) == check::Verdict::agrees), check::judge(t).why);
}

BOOST_AUTO_TEST_CASE(a_count_less_its_bias_may_be_negative_where_none_is_expected) {
  // Branches mispredicted under an emulated machine: 1 or 9 in an empty region, 4 to 16 in this one.
  check::Trial t = trial({{-5}, {7}}, {{0}, {10}}, 0);
  t.stated->above = 404;
  BOOST_TEST((of(t) == check::Verdict::unstable));
  t.perf.empty = {{result::Nesting::inner, {1}}, {result::Nesting::outer, {9}}};
  BOOST_TEST((of(t) == check::Verdict::agrees), check::judge(t).why);
  t.stated->value = 20; // some are expected
  BOOST_TEST((of(t) != check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(noise_of_an_empty_region_is_tolerated) {
  check::Trial t =
      trial(always(1000), always(1015)); // within the 2 %, but the witnesses differ by more than 1 %
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
  t.papi.empty = {{result::Nesting::inner, {160, 165, 190, 161}},
                  {result::Nesting::outer, {600, 601, 600, 602}}};
  BOOST_TEST(check::noise(t.papi) > 15);
  BOOST_TEST(check::noise(t.papi) < 30);
  BOOST_TEST(check::bias(t.papi).value() == 163);
  BOOST_TEST((of(t) == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(two_readings_within_what_is_expected_are_no_other_mapping) {
  // Mispredictions of predictable branches, one execution per order of the witnesses.
  check::Trial t = trial({{-1}, {2}}, {{5}, {8}}, 0);
  t.stated->below = 0;
  t.stated->above = 64;
  BOOST_TEST((of(t) == check::Verdict::agrees));
  t.stated->above = 3; // more than the range has room for
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
  t = trial({{-1}, {2}, {0}}, {{5}, {8}, {6}}, 0);
  t.stated->below = 0;
  t.stated->above = 64;
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
}

BOOST_AUTO_TEST_CASE(an_error_of_the_bias_is_no_other_mapping) {
  check::Trial t = trial({{2.5, 2.5, 2.5, 2.5}}, {{1.5, 1.5, 1.5, 1.5}}, 3);
  t.stated->below = 3;
  t.stated->above = 64;
  BOOST_TEST((of(t) == check::Verdict::agrees));
  t.papi = said({{-4, -4, -4, -4}});
  t.differences = minus(t.perf.values, t.papi.values);
  BOOST_TEST((of(t) == check::Verdict::mapping_differs)); // 6.5, of a bias of 100
  t.papi.empty = {{result::Nesting::inner, {100}}, {result::Nesting::outer, {221}}};
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
  t.papi.empty = {{result::Nesting::inner, {200}},
                  {result::Nesting::outer, {221}}}; // a twentieth of which is 10
  BOOST_TEST((of(t) != check::Verdict::mapping_differs));
  t.fixed_tolerance = true;
  BOOST_TEST((of(t) == check::Verdict::mapping_differs));
  check::Trial none = trial(always(-7), always(-7), 0);
  BOOST_TEST((of(none) == check::Verdict::meaning_differs));
  none.perf.empty = {{result::Nesting::outer, {200}}};
  BOOST_TEST((of(none) == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(equal_counts_far_from_expected_differ_in_meaning) {
  const check::Judgement j = check::judge(trial(always(2000), always(2000)));
  BOOST_TEST((j.verdict == check::Verdict::meaning_differs));
  BOOST_TEST(j.factor.value() == 2);
  const auto preset = check::verdicts(std::vector{trial(always(2000), always(2000))}, {})[0];
  BOOST_TEST(!preset.trials[0].judgement.causes.empty());
  check::Trial none = trial(always(7), always(7), 0);
  BOOST_TEST((of(none) == check::Verdict::meaning_differs));
  BOOST_TEST(has(check::judge(none).why, "expected 0"));
  check::Trial bounded = trial(always(300), always(300));
  bounded.stated->below = 500;
  BOOST_TEST(check::judge(bounded).factor.value() == 0.6); // against the nearer bound
}

BOOST_AUTO_TEST_CASE(a_small_difference_is_a_percentage) {
  BOOST_TEST(check::relative_text(2) == "2 times");
  BOOST_TEST(check::relative_text(0.5) == "0.5 times");
  BOOST_TEST(check::relative_text(1.004) == "0.4 % more than");
  BOOST_TEST(check::relative_text(0.93) == "7 % less than");
  check::Trial t = trial(always(1004), always(1004));
  t.tolerance = 0;
  const check::Judgement j = check::judge(t);
  BOOST_TEST(j.why == "counts 1004, 0.4 % more than the expected 1000");
  BOOST_TEST(!has(j.why, " 1 times"));
}

BOOST_AUTO_TEST_CASE(a_ratio_that_is_far_off_is_not_unstable) {
  // DERIVED_PS: each witness divides by its own small count, so that they differ from one another as well.
  const statistics::Groups perf{{900e3, 915e3, 930e3}, {905e3, 921e3, 910e3}, {899e3, 912e3, 925e3}};
  const statistics::Groups papi{{925e3, 905e3, 912e3}, {900e3, 930e3, 915e3}, {921e3, 899e3, 910e3}};
  const check::Judgement j = check::judge(trial(perf, papi));
  BOOST_TEST((j.verdict == check::Verdict::meaning_differs), j.why);
  BOOST_TEST(j.factor.value() > 900);
  check::Trial near = trial(perf, papi, 912e3);
  near.fixed_tolerance = true;
  BOOST_TEST((of(near) == check::Verdict::unstable)); // near the expected count it is
}

BOOST_AUTO_TEST_CASE(without_a_likely_cause_there_is_none) {
  BOOST_TEST(check::likely_causes("PAPI_CA_SNP", {1.3}).empty());
  BOOST_TEST(check::likely_causes("PAPI_TOT_INS", {16}).empty()); // errata have a table of their own
}

BOOST_AUTO_TEST_CASE(zero_count_is_dead) {
  const check::Judgement j = check::judge(trial(always(0), always(0)));
  BOOST_TEST((j.verdict == check::Verdict::dead));
  check::Trial alone = trial(always(0), {});
  alone.papi = silent("no counter left");
  alone.differences.clear();
  BOOST_TEST((of(alone) == check::Verdict::dead));
  check::Trial may_be = trial(always(0), always(0));
  may_be.stated->below = 1000;
  BOOST_TEST((of(may_be) == check::Verdict::agrees));
  BOOST_TEST((of(trial(always(0), always(0), 0)) == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(zero_is_dead_however_much_is_tolerated) {
  check::Trial rough = trial(always(0), always(0), 316);
  rough.stated->below = 266; // from 50
  rough.stated->above = 1684;
  rough.tolerance = 0.2; // of 316: more than 50
  BOOST_TEST((of(rough) == check::Verdict::dead));
  rough.stated->below = 316; // it may be none
  BOOST_TEST((of(rough) == check::Verdict::agrees));
}

BOOST_AUTO_TEST_CASE(missing_value_has_reason) {
  check::Trial t = trial({}, {});
  t.perf = silent("no such PMU");
  t.papi = silent("no definition");
  const check::Judgement j = check::judge(t);
  BOOST_TEST((j.verdict == check::Verdict::not_counted));
  BOOST_TEST(j.why == "perf: no such PMU; PAPI: no definition");
  check::Trial one = trial(always(1000), {});
  one.papi = silent("PAPI counts events by libpfm4's names only");
  one.differences.clear();
  BOOST_TEST((of(one) == check::Verdict::agrees)); // perf and the model
  check::Trial unknown = trial(always(1000), always(1000));
  unknown.stated.reset();
  unknown.unstated = "no kernel states it";
  BOOST_TEST(has(check::judge(unknown).why, "no kernel states it"));
}

BOOST_AUTO_TEST_CASE(crashing_or_undefined_row_differs_in_mapping) {
  check::Trial dies = trial(always(1000), {});
  dies.papi = silent("PAPI crashes while counting it");
  dies.papi.crashed = true;
  BOOST_TEST((of(dies) == check::Verdict::mapping_differs));
  check::Trial by_zero = trial({}, always(-9e18));
  by_zero.perf = silent("division by a count of 0");
  by_zero.perf.definition_unusable = true;
  by_zero.differences.clear();
  BOOST_TEST((of(by_zero) == check::Verdict::mapping_differs));
  BOOST_TEST(has(check::judge(by_zero).why, "division by a count of 0"));
}

BOOST_AUTO_TEST_CASE(likely_causes_follow_from_factor_and_preset) {
  BOOST_TEST(
      has(check::likely_causes("PAPI_FP_OPS", {0.25}).at(0), "instructions are counted where operations"));
  BOOST_TEST(has(check::likely_causes("PAPI_TLB_DM", {2}).at(0), "repeated"));
  BOOST_TEST(has(check::likely_causes("PAPI_L2_DCM", {1.7}).at(0), "prefetches"));
  BOOST_TEST(has(check::likely_causes("PAPI_TOT_INS", {1.3}).at(0), "micro-operations"));
  BOOST_TEST(has(check::likely_causes("PAPI_BR_NTK", {-0.5}).at(0), "a difference of events is negative"));
  BOOST_TEST(check::likely_causes("PAPI_TOT_INS", {1.3}).size() == 2U);
  BOOST_TEST(check::likely_causes("PAPI_CA_SNP", {0.7}).empty());
  BOOST_TEST(has(check::likely_causes("perf::CONTEXT-SWITCHES", {0}).at(0), "kernel mode"));
}

BOOST_AUTO_TEST_SUITE_END()
