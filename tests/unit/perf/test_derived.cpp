// Values of formulas over counts, and counts as text.
#include <recount/derived.hpp>
#include <recount/error.hpp>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

using namespace recount;

BOOST_AUTO_TEST_SUITE(derived)

namespace {

const std::vector<std::string> names{"skl::INST_RETIRED", "perf::CYCLES", "perf::PAGE-FAULTS", "zero"};
/// 300, 100 seen half of the time, not counted, 0.
std::vector<Count> counts() {
  return {{300, 1000, 1000, {}},
          {100, 1000, 500, {}},
          {{}, 0, 0, Reason("no PMU \"here\", = bad", ReasonCode::no_pmu)},
          {0, 1000, 1000, {}}};
}

} // namespace

BOOST_AUTO_TEST_CASE(formulas_use_scaled_counts) {
  const DerivedValue ipc = derive("skl::INST_RETIRED / perf::CYCLES", names, counts());
  BOOST_TEST(ipc.value.value() == 1.5);
  BOOST_TEST(ipc.share == 0.5);
  BOOST_TEST(derive("(skl::INST_RETIRED - 100) * 2", names, counts()).value.value() == 400);
  BOOST_TEST(derive("7", names, counts()).value.value() == 7);
}

BOOST_AUTO_TEST_CASE(a_value_that_is_missing_has_a_reason) {
  const DerivedValue missing = derive("\"perf::PAGE-FAULTS\" / perf::CYCLES", names, counts());
  BOOST_TEST(!missing.value.has_value());
  BOOST_TEST(missing.reason.cause == "perf::PAGE-FAULTS: no PMU \"here\", = bad");
  BOOST_TEST((missing.reason.code == ReasonCode::no_pmu));
  const DerivedValue infinite = derive("perf::CYCLES / zero", names, counts());
  BOOST_TEST(!infinite.value.has_value());
  BOOST_TEST(!infinite.reason.cause.empty());
}

BOOST_AUTO_TEST_CASE(almost_no_counting_time_gives_no_value) {
  const std::vector<std::string> both{"a", "b"};
  const std::vector<Count> instant{{5, 400'000'000, 400'000'000, {}}, {0, 400'000'000, 126, {}}};
  const DerivedValue difference = derive("b - a", both, instant);
  BOOST_TEST(!difference.value.has_value());
  BOOST_TEST(difference.reason.cause.starts_with("b: scheduled for 126 ns of 400 ms"));
  const auto all = nlohmann::json::parse(to_json(both, instant));
  BOOST_TEST(all[1]["scaled"].is_null());
  BOOST_TEST_REQUIRE(all[1].contains("reason"));
  BOOST_TEST(all[1]["reason"].get<std::string>().starts_with("scheduled for 126 ns of 400 ms"));
  BOOST_TEST(to_csv(both, instant).find(",\"scheduled for 126 ns of 400 ms, less than") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_formula_that_cannot_be_read_is_bad_input) {
  for (const char* const formula : {"", "skl::INST_RETIRED +", "perf::NO_SUCH", "perf::PAGE-FAULTS", "((1)"})
    BOOST_CHECK_EXCEPTION((void)derive(formula, names, counts()), Error,
                          [](const Error& error) { return error.kind() == ErrorKind::bad_input; });
}

BOOST_AUTO_TEST_CASE(json_has_null_and_a_reason_for_what_was_not_counted) {
  const auto all = nlohmann::json::parse(to_json(names, counts()));
  BOOST_TEST_REQUIRE(all.size() == 4U);
  BOOST_TEST(all[0]["value"] == 300);
  BOOST_TEST(!all[0].contains("reason"));
  BOOST_TEST(all[1]["scaled"] == 200.0);
  BOOST_TEST(all[1]["share"] == 0.5);
  BOOST_TEST(all[1]["running_ns"] == 500);
  BOOST_TEST(all[2]["value"].is_null());
  BOOST_TEST(all[2]["scaled"].is_null());
  BOOST_TEST(all[2]["reason"] == "no PMU \"here\", = bad");
}

BOOST_AUTO_TEST_CASE(csv_quotes_what_must_be) {
  BOOST_TEST(to_csv(names, counts()) == "event,value,scaled,share,enabled_ns,running_ns,reason\n"
                                        "skl::INST_RETIRED,300,300,1,1000,1000,\n"
                                        "perf::CYCLES,100,200,0.5,1000,500,\n"
                                        "perf::PAGE-FAULTS,,,1,0,0,\"no PMU \"\"here\"\", = bad\"\n"
                                        "zero,0,0,1,1000,1000,\n");
}

BOOST_AUTO_TEST_SUITE_END()
