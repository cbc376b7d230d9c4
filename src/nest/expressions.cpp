#include "nest/expressions.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "nest/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace recount::nest {
namespace {

constexpr std::array words{"param",   "type", "for", "in",           "from", "to",
                           "default", "min",  "ld",  "column_major", "or",   "row_major"};

bool is_word_of_format(const std::string& name) {
  return parse_type(name) || std::find(words.begin(), words.end(), name) != words.end();
}

std::string shown(const Token& token) {
  if (token.kind == Token::Kind::newline) return "the end of the line";
  if (token.kind == Token::Kind::end) return "the end of the file";
  return "\"" + token.text.substr(0, 40) + "\"";
}

} // namespace

bool ExpressionReader::took(std::string_view symbol) {
  if (!is(symbol)) return false;
  take();
  return true;
}

bool ExpressionReader::took_word(std::string_view word) {
  if (!is_word(word)) return false;
  take();
  return true;
}

void ExpressionReader::expect(std::string_view symbol, const char* after) {
  if (!took(symbol))
    fail(next().at, fmt::format("{} where \"{}\" must follow {}", shown(next()), symbol, after));
}

void ExpressionReader::skip_lines() {
  while (next().kind == Token::Kind::newline)
    take();
}

void ExpressionReader::fail(const std::string& cause) const {
  fail(next().at, shown(next()) + ": " + cause);
}

const Symbol* ExpressionReader::find(const std::string& name) const {
  const auto found =
      std::find_if(scope_.rbegin(), scope_.rend(), [&](const auto& entry) { return entry.first == name; });
  return found == scope_.rend() ? nullptr : &found->second;
}

const Symbol& ExpressionReader::known(const Token& token) const {
  if (const Symbol* const symbol = find(token.text)) return *symbol;
  std::vector<std::string> names;
  for (const auto& [name, symbol] : scope_)
    names.push_back(name);
  fail(token.at, fmt::format("unknown name \"{}\"", token.text),
       base::did_you_mean(token.text, names,
                          "declare it before: param NAME = NUMBER, f64 NAME[EXTENT] or f64 NAME = VALUE"));
}

std::string ExpressionReader::define(Symbol symbol) {
  if (next().kind != Token::Kind::name) fail("a name is expected");
  const Token& token = take();
  if (is_word_of_format(token.text))
    fail(token.at, fmt::format("\"{}\" is a word of the format", token.text), "use another name");
  if (find(token.text) != nullptr)
    fail(token.at, fmt::format("\"{}\" is already defined", token.text), "use another name");
  scope_.emplace_back(token.text, symbol);
  return token.text;
}

void ExpressionReader::count_term() {
  if (++terms_ > most_terms) fail(fmt::format("the expression has more than {} terms", most_terms));
}

Index ExpressionReader::joined(Index::Kind kind, Index left, Index right, Spot at) {
  if (kind == Index::Kind::product && left.varies && right.varies)
    fail(at, "a product of loop variables is not affine",
         "use a loop variable times a number or a parameter");
  if (kind == Index::Kind::quotient && (left.varies || right.varies))
    fail(at, "a quotient with a loop variable is not affine", "divide parameters and numbers only");
  Index all;
  all.kind = kind;
  all.varies = left.varies || right.varies;
  all.at = at;
  all.parts.push_back(std::move(left));
  all.parts.push_back(std::move(right));
  return all;
}

Index ExpressionReader::index(bool bound) {
  Index left = bound && is_word("min") ? least() : index_product();
  while (is("+") || is("-")) {
    if (left.kind == Index::Kind::least && left.varies)
      fail(next().at, "min() of loop variables can only be the whole end of a loop",
           "write min(i + b, n) instead of min(i, n - b) + b");
    const Token& token = take();
    const auto kind = token.text == "+" ? Index::Kind::sum : Index::Kind::difference;
    skip_lines();
    left = joined(kind, std::move(left), index_product(), token.at);
  }
  return left;
}

Index ExpressionReader::index_product() {
  Index left = index_part();
  while (is("*") || is("/")) {
    const Token& token = take();
    const auto kind = token.text == "*" ? Index::Kind::product : Index::Kind::quotient;
    skip_lines();
    left = joined(kind, std::move(left), index_part(), token.at);
  }
  return left;
}

Index ExpressionReader::index_part() {
  count_term();
  if (next().kind == Token::Kind::name) return index_name();
  Index part;
  part.at = next().at;
  if (next().kind == Token::Kind::whole) {
    part.number = take().whole;
    return part;
  }
  if (took("-")) return joined(Index::Kind::difference, part, index_part(), part.at);
  if (took("(")) {
    part = index();
    expect(")", "the expression");
    return part;
  }
  fail("a number, a parameter or a loop variable is expected");
}

Index ExpressionReader::index_name() {
  if (is_word("min")) {
    Index part = least();
    if (part.varies)
      fail(part.at, "min() of loop variables can only be the whole end of a loop",
           "for i in ii:min(ii + b, n)");
    return part;
  }
  const Token& token = take();
  const Symbol& symbol = known(token);
  Index part;
  part.at = token.at;
  part.number = static_cast<std::int64_t>(symbol.number);
  part.varies = symbol.kind == Symbol::Kind::variable;
  part.kind = part.varies ? Index::Kind::variable : Index::Kind::parameter;
  if (!part.varies && symbol.kind != Symbol::Kind::parameter)
    fail(token.at, fmt::format("\"{}\" is neither a parameter nor a loop variable", token.text),
         "subscripts and bounds depend on parameters and loop variables only");
  return part;
}

Index ExpressionReader::least() {
  const Spot at = take().at;
  expect("(", "min");
  Index left = index();
  expect(",", "the first value of min");
  Index right = index();
  expect(")", "the second value of min");
  return joined(Index::Kind::least, std::move(left), std::move(right), at);
}

Value ExpressionReader::joined(Value::Kind kind, Value left, Value right, Spot at) {
  if (left.kind == Value::Kind::number && right.kind == Value::Kind::number)
    fail(at, "two numbers are combined, which the compiler would compute", "write the result");
  Value all;
  all.kind = kind;
  all.at = at;
  all.parts.push_back(std::move(left));
  all.parts.push_back(std::move(right));
  return all;
}

Value ExpressionReader::value() {
  Value left = value_product();
  while (is("+") || is("-")) {
    const Token& token = take();
    const auto kind = token.text == "+" ? Value::Kind::sum : Value::Kind::difference;
    skip_lines();
    left = joined(kind, std::move(left), value_product(), token.at);
  }
  return left;
}

Value ExpressionReader::value_product() {
  Value left = value_part();
  while (is("*") || is("/")) {
    const Token& token = take();
    const auto kind = token.text == "*" ? Value::Kind::product : Value::Kind::quotient;
    skip_lines();
    left = joined(kind, std::move(left), value_part(), token.at);
  }
  return left;
}

Value ExpressionReader::value_part() {
  count_term();
  Value part;
  part.at = next().at;
  if (next().kind == Token::Kind::name) return value_name();
  const bool negative = is("-");
  const Token& number = next(negative ? 1 : 0);
  if (number.kind == Token::Kind::whole || number.kind == Token::Kind::decimal) {
    if (negative) take();
    take();
    part.whole = number.kind == Token::Kind::whole;
    part.number = part.whole ? static_cast<double>(number.whole) : number.decimal;
    if (negative) part.number = -part.number;
    if (part.whole && std::abs(part.number) > 1e15) fail(number.at, "a number above 10^15");
    return part;
  }
  if (negative) fail(part.at, "a minus sign before a value", "write 0 - x, which is one operation");
  if (took("(")) {
    part = value();
    expect(")", "the expression");
    return part;
  }
  fail("a number, an array element or a scalar is expected");
}

Value ExpressionReader::value_name() {
  const Token& token = take();
  const Symbol& symbol = known(token);
  Value part;
  part.at = token.at;
  switch (symbol.kind) {
  case Symbol::Kind::array:
    part.kind = Value::Kind::element;
    part.element = element(symbol.number);
    return part;
  case Symbol::Kind::scalar:
    part.kind = Value::Kind::scalar;
    part.scalar = symbol.number;
    return part;
  case Symbol::Kind::type: fail(token.at, fmt::format("\"{}\" is a type, not a value", token.text));
  case Symbol::Kind::parameter:
  case Symbol::Kind::variable: break;
  }
  part.kind = Value::Kind::index;
  part.index.kind = symbol.kind == Symbol::Kind::variable ? Index::Kind::variable : Index::Kind::parameter;
  part.index.number = static_cast<std::int64_t>(symbol.number);
  part.index.varies = symbol.kind == Symbol::Kind::variable;
  part.index.at = token.at;
  return part;
}

Element ExpressionReader::element(std::size_t array) {
  Element element;
  element.array = array;
  element.at = next().at;
  while (took("[")) {
    element.subscripts.push_back(index());
    expect("]", "a subscript");
  }
  const std::size_t dimensions = nest_.arrays[array].extents.size();
  if (element.subscripts.size() != dimensions)
    fail(element.at,
         fmt::format("{} has {}, not {}", nest_.arrays[array].name,
                     base::format_count(dimensions, "dimension"), element.subscripts.size()),
         "write a subscript in brackets for each dimension");
  return element;
}

} // namespace recount::nest
