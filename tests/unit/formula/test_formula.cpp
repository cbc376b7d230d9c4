// Formulas as text, as arithmetic, as algebra.
#include "formula/algebra.hpp"
#include "formula/expression.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <random>

using namespace recount::formula;

namespace {

const std::vector<std::string> abc = {"a", "b", "c"};
const std::vector<Variable> three = {0, 1, 2};

std::string school(const std::string& postfix) {
  return to_infix(parse_rpn(postfix), abc);
}
Outcome run(const std::string& postfix, const std::vector<long long>& counts) {
  return evaluate(parse_rpn(postfix), counts, {8, 1000});
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

BOOST_AUTO_TEST_CASE(values_and_ends) {
  BOOST_TEST(run("N0|N1|*|7|/|", {320, 322}).value == 14720);
  BOOST_TEST(run("N0|#|*|", {2}).value == 2000000000);
  BOOST_TEST((run("N0|N1|", {1, 2}).ending == Ending::dies));
  BOOST_TEST((run("N|", {1}).ending == Ending::dies));
  BOOST_TEST((run("1234567890123456|", {1}).ending == Ending::dies));
  BOOST_TEST((run("1|1|1|1|1|1|1|1|1|", {1}).ending == Ending::dies));
  BOOST_TEST((run("N3|", {1}).ending == Ending::undefined));
  const Outcome cut = run("N0|7|^|", {5});
  BOOST_TEST(cut.unreadable);
  BOOST_TEST(cut.value == 5);
  BOOST_TEST(run("N0|N1|/|", {1, 0}).out_of_range);
  BOOST_TEST(run("99999999999|", {1}).value == 1215752191); // atoi() keeps the low 32 bits
}

BOOST_AUTO_TEST_CASE(truncation_at_the_edges) {
  BOOST_TEST(truncate(-1.9) == -1);
  BOOST_TEST(fits(-9223372036854775808.0));
  BOOST_TEST(!fits(9223372036854775808.0));
  BOOST_TEST(!fits(std::numeric_limits<double>::quiet_NaN()));
}

BOOST_AUTO_TEST_CASE(what_is_linear_is_a_vector) {
  const auto form = linear(*meaning(parse_rpn("N0|N1|+|2|*|N1|-|4|+|"), std::span<const Variable>(three)));
  BOOST_TEST_REQUIRE(form.has_value());
  BOOST_TEST(form->of.at(0) == 2);
  BOOST_TEST(form->of.at(1) == 1);
  BOOST_TEST(form->constant == 4);
  BOOST_TEST(to_text(*form, abc) == "2*a + b + 4");
  BOOST_TEST(!linear(*meaning(parse_rpn("N0|N1|*|"), std::span<const Variable>(three))).has_value());
  BOOST_TEST(to_text({}, abc) == "0");
}

BOOST_AUTO_TEST_CASE(quotients_are_equal_when_they_mean_the_same) {
  const auto of = [](const char* text) {
    return *meaning(parse_rpn(text), std::span<const Variable>(three));
  };
  BOOST_TEST(*equal(of("N0|N1|/|N2|+|"), of("N0|N1|N2|*|+|N1|/|")));
  BOOST_TEST(!*equal(of("N0|N1|/|"), of("N1|N0|/|")));
  BOOST_TEST(!meaning(parse_rpn("N0|N1|N1|-|/|"), std::span<const Variable>(three)).has_value());
}

BOOST_AUTO_TEST_CASE(hostile_formulas_end_soon) {
  std::string text = "N0|N1|+|N2|+|1|+|";
  for (int i = 0; i < 30; ++i)
    text += "N0|N1|+|N2|+|1|+|*|";
  BOOST_TEST(!meaning(parse_rpn(text), std::span<const Variable>(three)).has_value());
  std::string square = "N0|";
  for (int i = 0; i < 2000; ++i)
    square += "N0|*|";
  BOOST_TEST(!meaning(parse_rpn(square), std::span<const Variable>(three)).has_value());
}

BOOST_AUTO_TEST_CASE(algebra_and_arithmetic_agree) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    int depth = 0;
    for (int n = below(7) + 1; n > 0; --n) {
      const bool push = depth < 2 || below(2) == 0;
      text += push ? (below(3) > 0 ? "N" + std::to_string(below(3)) : std::to_string(below(5)))
                   : std::string(1, "+-*"[below(3)]);
      text += "|";
      depth += push ? 1 : -1;
    }
    for (; depth > 1; --depth)
      text += "+|";
    const std::vector<long long> counts = {below(100), below(100), below(100)};
    const auto form = linear(*meaning(parse_rpn(text), std::span<const Variable>(three)));
    if (!form) continue;
    long long value = form->constant;
    for (const auto& [v, c] : form->of)
      value += c * counts[static_cast<std::size_t>(v)];
    BOOST_TEST(run(text, counts).value == value, text);
    ++compared;
  }
  BOOST_TEST(compared > 500);
}
