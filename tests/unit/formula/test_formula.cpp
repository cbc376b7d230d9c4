// Formulas as text and as algebra.
#include "base/formula/algebra.hpp"
#include "base/formula/expression.hpp"

#include <boost/test/unit_test.hpp>

using namespace recount::formula;

namespace {

const std::vector<std::string> abc = {"a", "b", "c"};
const std::vector<Quotient> three = {variable(0), variable(1), variable(2)};

std::string school(const std::string& postfix) {
  return to_infix(parse_rpn(postfix), abc);
}
} // namespace

BOOST_AUTO_TEST_CASE(infix_is_right_associative) {
  BOOST_TEST(infix_to_postfix("N0-N1-N2").postfix == "N0|N1|N2|-|-|");
  BOOST_TEST(infix_to_postfix_left("N0-N1-N2") == "N0|N1|-|N2|-|");
  BOOST_TEST(infix_to_postfix("(N0+N1)*2").postfix == "N0|N1|+|2|*|");
  BOOST_TEST(infix_to_postfix("N0*N1+N2").postfix == "N0|N1|*|N2|+|");
  BOOST_TEST(infix_to_postfix("N0+1)").crashes);
  BOOST_TEST(infix_to_postfix("-N0").postfix == "|N0|-|");
  BOOST_TEST(infix_to_postfix(std::string(2100, '(')).too_long);
}

BOOST_AUTO_TEST_CASE(printing_keeps_the_meaning_with_few_parentheses) {
  BOOST_TEST(school("N0|N1|+|3|*|") == "(a + b) * 3");
  BOOST_TEST(school("N0|N1|N2|-|-|") == "a - (b - c)");
  BOOST_TEST(school("N0|N1|-|N2|-|") == "a - b - c");
  BOOST_TEST(school("N0|N1|N2|*|/|") == "a / (b * c)");
  BOOST_TEST(school("N0|N1|N2|/|*|") == "a * (b / c)");
  BOOST_TEST(school("N0|#|*|N9|/|") == "a * max_hz / N9");
  BOOST_TEST(school("N0|+|").empty());
}

BOOST_AUTO_TEST_CASE(what_is_linear_is_a_vector) {
  const auto form = linear(*meaning(parse_rpn("N0|N1|+|2|*|N1|-|4|+|"), three));
  BOOST_TEST_REQUIRE(form.has_value());
  BOOST_TEST(form->coefficients.at(0) == 2);
  BOOST_TEST(form->coefficients.at(1) == 1);
  BOOST_TEST(form->constant == 4);
  BOOST_TEST(to_text(*form, abc) == "2*a + b + 4");
  BOOST_TEST(!linear(*meaning(parse_rpn("N0|N1|*|"), three)).has_value());
  BOOST_TEST(to_text({}, abc) == "0");
}

BOOST_AUTO_TEST_CASE(quotients_are_equal_when_they_mean_the_same) {
  const auto of = [](const char* text) { return *meaning(parse_rpn(text), three); };
  BOOST_TEST(*equal(of("N0|N1|/|N2|+|"), of("N0|N1|N2|*|+|N1|/|")));
  BOOST_TEST(!*equal(of("N0|N1|/|"), of("N1|N0|/|")));
  BOOST_TEST(!meaning(parse_rpn("N0|N1|N1|-|/|"), three).has_value());
}

BOOST_AUTO_TEST_CASE(hostile_formulas_end_soon) {
  std::string text = "N0|N1|+|N2|+|1|+|";
  for (int i = 0; i < 30; ++i)
    text += "N0|N1|+|N2|+|1|+|*|";
  BOOST_TEST(!meaning(parse_rpn(text), three).has_value());
  std::string square = "N0|";
  for (int i = 0; i < 2000; ++i)
    square += "N0|*|";
  BOOST_TEST(!meaning(parse_rpn(square), three).has_value());
}
