#include "papi/event_set.hpp"
#include "papi/library.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(probe)

BOOST_AUTO_TEST_CASE(claims_come_back_as_they_went) {
  const auto got = papi::parse_claims("library\t7.0.0.0\tskl\t108\t1\n"
                                      "component\tperf_event\t1\t\n"
                                      "component\tsde\t0\tno sde here\n"
                                      "preset\tPAPI_L1_DCM\tNOT_DERIVED\t\tL1D:REPLACEMENT\n"
                                      "preset\tPAPI_X\tDERIVED_POSTFIX\tN0|N1|-|\tA\tB\n"
                                      "preset\tPAPI_TORN");
  BOOST_TEST(got.version == "7.0.0.0");
  BOOST_TEST(got.core_pmu == "skl");
  BOOST_TEST(got.presets_known == 108);
  BOOST_TEST(got.software_events);
  BOOST_TEST_REQUIRE(got.components.size() == 2U);
  BOOST_TEST(got.components[0].enabled);
  BOOST_TEST(got.components[1].disabled_reason == "no sde here");
  BOOST_TEST_REQUIRE(got.presets.size() == 2U); // a torn last line is no preset
  BOOST_TEST(got.presets[1].formula == "N0|N1|-|");
  BOOST_TEST(got.presets[1].terms.size() == 2U);
  BOOST_TEST(got.presets_counting() == 0); // a claim is no count
}

BOOST_AUTO_TEST_CASE(the_preset_that_ended_the_child_is_known) {
  std::vector<papi::Preset> presets(3);
  presets[0].name = "A", presets[1].name = "B", presets[2].name = "C";
  BOOST_TEST(papi::parse_trials("try\tA\nok\t\t\t\tother\ntry\tB\nno\tno PMU\t\t\tno_pmu\ntry\tC\n",
                                presets) == "C");
  BOOST_TEST(presets[0].counts);
  BOOST_TEST(!presets[1].counts);
  BOOST_TEST((presets[1].reason == Reason("no PMU", ReasonCode::no_pmu)));
  BOOST_TEST(papi::parse_trials("try\tC\nok\t\t\t\tother\n", presets).empty());
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
