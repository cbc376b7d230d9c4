#include "count/papi/event_set.hpp"
#include "count/papi/library.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(probe)

BOOST_AUTO_TEST_CASE(claims_come_back_as_they_went) {
  const auto got =
      papi::parse_claims(R"({"version": "7.0.0.0", "core_pmu": "skl", "known": 108, "software": true,
    "components": [["perf_event", true, ""], ["sde", false, "no sde here"]],
    "presets": [["PAPI_L1_DCM", "NOT_DERIVED", "", ["L1D:REPLACEMENT"]],
                ["PAPI_X", "DERIVED_POSTFIX", "N0|N1|-|", ["A", "B"]]]})");
  BOOST_TEST(got.version == "7.0.0.0");
  BOOST_TEST(got.core_pmu == "skl");
  BOOST_TEST(got.presets_known == 108);
  BOOST_TEST(got.software_events);
  BOOST_TEST_REQUIRE(got.components.size() == 2U);
  BOOST_TEST(got.components[0].enabled);
  BOOST_TEST(got.components[1].disabled_reason == "no sde here");
  BOOST_TEST_REQUIRE(got.presets.size() == 2U);
  BOOST_TEST(got.presets[1].formula == "N0|N1|-|");
  BOOST_TEST(got.presets[1].terms.size() == 2U);
  BOOST_TEST(got.presets_counting() == 0); // a claim is no count
}

BOOST_AUTO_TEST_CASE(a_trial_that_was_stopped_at_its_limit_accuses_nobody) {
  using How = process::Exit::How;
  BOOST_TEST((papi::unanswered("counting", {How::signalled, 11}).code == ReasonCode::crash));
  const Reason late = papi::unanswered("counting", {How::timed_out, 20'000});
  BOOST_TEST((late.code == ReasonCode::interrupted));
  BOOST_TEST(
      late.text() ==
      "PAPI was not done with counting: a trial child was still running after 20 s, killed; try again on a "
      "machine that is less busy");
}

BOOST_AUTO_TEST_CASE(the_preset_that_ended_the_child_is_known) {
  std::vector<papi::Preset> presets(3);
  presets[0].name = "A", presets[1].name = "B", presets[2].name = "C";
  BOOST_TEST(papi::parse_trials("A\n[\"\",\"\",\"\",\"other\"]\nB\n[\"no PMU\",\"\",\"\",\"no_pmu\"]\nC\n[",
                                presets) == "C");
  BOOST_TEST(presets[0].counts);
  BOOST_TEST(!presets[1].counts);
  BOOST_TEST((presets[1].reason == Reason("no PMU", ReasonCode::no_pmu)));
  BOOST_TEST(papi::parse_trials("C\n[\"\",\"\",\"\",\"other\"]\n", presets).empty());
  BOOST_TEST(presets[2].counts);
}

BOOST_AUTO_TEST_CASE(errors_carry_papis_name_and_text) {
  BOOST_TEST(papi::describe(-7).starts_with("PAPI_ENOEVNT (-7)"));
  BOOST_TEST(papi::describe(-9).starts_with("PAPI_ENOTRUN (-9)"));
  const auto e = papi::error("X", "PAPI_start", -10);
  BOOST_TEST(e.problem().subject == "X");
  BOOST_TEST(e.problem().cause.find("PAPI_start returned PAPI_EISRUN (-10)") == 0U);
  BOOST_TEST(!e.problem().fix.empty());
}

BOOST_AUTO_TEST_SUITE_END()
