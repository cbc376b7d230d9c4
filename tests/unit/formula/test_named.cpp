#include "base/formula/named.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount::formula;

BOOST_AUTO_TEST_SUITE(named)

namespace {

/// The value with every name standing for its number in order: 2, 3, 5, 7, 11.
double value(std::string_view text) {
  const Named named = parse_named(text);
  BOOST_TEST_REQUIRE(named.fault.empty(), text << ": " << named.fault);
  constexpr double primes[] = {2, 3, 5, 7, 11};
  std::vector<double> operands;
  std::size_t names = 0;
  for (const Quantity& q : named.quantities)
    operands.push_back(q.name.empty() ? q.number : primes[names++]);
  const Real real = evaluate_real(named.rpn, operands);
  BOOST_TEST_REQUIRE(real.value.has_value(), real.why);
  return *real.value;
}

std::string fault(std::string_view text, std::size_t at) {
  const Named named = parse_named(text);
  BOOST_TEST(named.fault_at == at, text << ": " << named.fault_at);
  return named.fault;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(school_arithmetic) {
  BOOST_TEST(value("a") == 2);
  BOOST_TEST(value("a + b * c") == 17);
  BOOST_TEST(value("(a + b) * c") == 25);
  BOOST_TEST(value("a - b - c") == -6); // left to right, unlike PAPI's
  BOOST_TEST(value("c / a / b") == 2.0 / 3 / 5, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(value("1 - a / b") == 1 - 2.0 / 3, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(value("1000*a") == 2000);
  BOOST_TEST(value("a * 0.5 + 1.5e3") == 1501);
  BOOST_TEST(value("a * a + b") == 7); // a name twice is one quantity
  BOOST_TEST(value("4294967296 * 4294967296") == 18446744073709551616.0);
  BOOST_TEST(value("((((a))))") == 2);
}

BOOST_AUTO_TEST_CASE(names) {
  const Named named = parse_named("skl::L1D:REPLACEMENT:u / \"perf::PAGE-FAULTS\"+\"msr/tsc/\"*PAPI_L1_DCM");
  BOOST_TEST_REQUIRE(named.quantities.size() == 4U);
  BOOST_TEST(named.quantities[0].name == "skl::L1D:REPLACEMENT:u");
  BOOST_TEST(named.quantities[1].name == "perf::PAGE-FAULTS");
  BOOST_TEST(named.quantities[2].name == "msr/tsc/");
  BOOST_TEST(named.quantities[3].name == "PAPI_L1_DCM");
}

BOOST_AUTO_TEST_CASE(what_is_no_formula_is_told_where) {
  BOOST_TEST(says(fault("", 0), "empty"));
  BOOST_TEST(says(fault("a +", 3), "operand"));
  BOOST_TEST(says(fault("+ a", 0), "operand"));
  BOOST_TEST(says(fault("a b", 2), "operator"));
  BOOST_TEST(says(fault("a (b)", 2), "operator"));
  BOOST_TEST(says(fault("(a", 0), "unmatched ("));
  BOOST_TEST(says(fault("a)", 1), "unmatched )"));
  BOOST_TEST(says(fault("()", 1), "operand"));
  BOOST_TEST(says(fault("a / \"b", 4), "unterminated \""));
  BOOST_TEST(says(fault("\"\"", 0), "empty name"));
  BOOST_TEST(says(fault("a % b", 2), "operator"));
  BOOST_TEST(says(fault("% b", 0), "unexpected character"));
  BOOST_TEST(says(fault("3x", 0), "not a number"));
  BOOST_TEST(says(fault("1e999", 0), "not a number"));
}

BOOST_AUTO_TEST_CASE(no_value_has_a_reason) {
  const auto why = [](std::string_view text, const std::vector<double>& operands) {
    const Real real = evaluate_real(parse_named(text).rpn, operands);
    BOOST_TEST(!real.value.has_value());
    return real.why;
  };
  BOOST_TEST(says(why("a / b", {1, 0}), "division by 0"));
  BOOST_TEST(says(why("a / b", {0, 0}), "division by 0"));
  BOOST_TEST(says(why("a * b", {1e300, 1e300}), "not finite"));
  BOOST_TEST(says(why("a * b", {1}), "missing"));
}

BOOST_AUTO_TEST_SUITE_END()
