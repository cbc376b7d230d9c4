#include "nest/definition.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/nest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace recount::nest {
namespace {

constexpr std::size_t longest_name = 32, longest_quote = 40;
constexpr const char* see_page = "man recount-nest explains the format";

struct Token {
  enum class Kind { name, whole, decimal, symbol, newline, end };
  Kind kind = Kind::end;
  std::string text; ///< of a newline: the comment before it
  Spot at;
  std::int64_t whole = 0;
  double decimal = 0;
};

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// Splits a text into tokens, `end` last. Line ends within parentheses and brackets are left out.
class Lexer {
public:
  Lexer(const std::string& file, std::string_view text) : file_(file), rest_(text) {}

  std::vector<Token> run() {
    while (!rest_.empty())
      next();
    add(Token::Kind::newline, 0);
    add(Token::Kind::end, 0);
    return std::move(all_);
  }

private:
  void next() {
    const char c = rest_.front();
    if (c == ' ' || c == '\t' || c == '\r') return skip(1);
    if (c == '#' || rest_.starts_with("//")) return comment();
    if (c == '\n') return line_end();
    if (letter(c)) return word();
    if (digit(c)) return number();
    symbol();
  }
  void skip(std::size_t length) {
    rest_.remove_prefix(length);
    at_.column += static_cast<int>(length);
  }
  Token& add(Token::Kind kind, std::size_t length) {
    std::string text = kind == Token::Kind::newline ? comment_ : std::string(rest_.substr(0, length));
    comment_.clear();
    all_.push_back({kind, std::move(text), at_});
    skip(length);
    return all_.back();
  }
  void comment() {
    const std::string_view line = rest_.substr(0, rest_.find('\n'));
    comment_ = base::printable(base::trim(line.substr(line.front() == '#' ? 1 : 2)));
    skip(line.size());
  }
  void line_end() {
    if (open_ == 0) add(Token::Kind::newline, 0);
    rest_.remove_prefix(1);
    ++at_.line;
    at_.column = 1;
  }
  void word() {
    const auto* const end =
        std::find_if_not(rest_.begin(), rest_.end(), [](char c) { return letter(c) || digit(c); });
    const auto length = static_cast<std::size_t>(end - rest_.begin());
    if (length > longest_name)
      refuse(file_, at_, fmt::format("a name of more than {} letters", longest_name), "use a shorter name");
    add(Token::Kind::name, length);
  }
  void number() {
    const char *const begin = rest_.data(), *const end = begin + rest_.size();
    Token number;
    number.kind = Token::Kind::whole;
    auto [last, error] = std::from_chars(begin, end, number.whole);
    if (last != end && std::string_view(".eE").find(*last) != std::string_view::npos) {
      number.kind = Token::Kind::decimal;
      const auto decimal = std::from_chars(begin, end, number.decimal);
      last = decimal.ptr;
      error = decimal.ec;
    }
    if (last != end && letter(*last))
      refuse(file_, at_, "a name begins with a digit", "begin it with a letter");
    const auto length = static_cast<std::size_t>(last - begin);
    if (error != std::errc())
      refuse(
          file_, at_,
          fmt::format("\"{}\" is not a number of 64 bits", rest_.substr(0, std::min(length, longest_quote))),
          "write a number such as 600 or 0.25");
    Token& token = add(number.kind, length);
    token.whole = number.whole;
    token.decimal = number.decimal;
  }
  void symbol() {
    const char c = rest_.front();
    if (std::string_view("+-*/").find(c) != std::string_view::npos && rest_.substr(1).starts_with("=")) {
      add(Token::Kind::symbol, 2);
      return;
    }
    if (std::string_view("()[]{},:;=+-*/").find(c) == std::string_view::npos) {
      std::string_view after = rest_;
      static_cast<void>(base::next_character(after));
      const std::string_view character = rest_.substr(0, rest_.size() - after.size());
      refuse(file_, at_, "unexpected character \"" + base::printable(character) + "\"", see_page);
    }
    if (c == '(' || c == '[') ++open_;
    if ((c == ')' || c == ']') && open_ > 0) --open_;
    if (c == '{' || c == '}') open_ = 0; // a bracket that was left open is reported where the statement ends
    add(Token::Kind::symbol, 1);
  }

  const std::string& file_;
  std::string_view rest_;
  Spot at_;
  int open_ = 0; ///< parentheses and brackets
  std::string comment_;
  std::vector<Token> all_;
};

/// What a name refers to.
struct Symbol {
  enum class Kind { parameter, type, array, variable, scalar };
  Kind kind = Kind::parameter;
  std::size_t number = 0; ///< of its kind; of a variable: the depth of its loop
};

constexpr std::array words{"param",   "type", "for", "in",           "from", "to",
                           "default", "min",  "ld",  "column_major", "or",   "row_major"};

std::string quoted(const Token& token) {
  if (token.kind == Token::Kind::newline) return "the end of the line";
  if (token.kind == Token::Kind::end) return "the end of the file";
  return "\"" + token.text.substr(0, longest_quote) + "\"";
}

/// Of a binary operation.
template <class Expression>
typename Expression::Kind parse_kind(char symbol) {
  using Kind = typename Expression::Kind;
  return symbol == '+'   ? Kind::sum
         : symbol == '-' ? Kind::difference
         : symbol == '*' ? Kind::product
                         : Kind::quotient;
}

class Parser {
public:
  /// Keeps references.
  Parser(Definition& into, const std::vector<Token>& all) : nest_(into), all_(all) {}

  void run() {
    for (skip_lines(); next().kind != Token::Kind::end; skip_lines())
      if (took_word("param"))
        parameter();
      else if (took_word("type"))
        type_parameter();
      else if (starts_type() && is("[", 2))
        arrays();
      else
        node(nest_.body);
    if (statements_ == 0) fail(next().at, "no statement accesses an array", "c[i] = a[i] in a loop");
  }

private:
  // Tokens.

  [[nodiscard]] const Token& next(std::size_t ahead = 0) const {
    return all_[std::min(at_ + ahead, all_.size() - 1)];
  }
  [[nodiscard]] bool is(std::string_view symbol, std::size_t ahead = 0) const {
    return next(ahead).kind == Token::Kind::symbol && next(ahead).text == symbol;
  }
  [[nodiscard]] bool is_word(std::string_view word) const {
    return next().kind == Token::Kind::name && next().text == word;
  }
  const Token& take() { return all_[at_ < all_.size() - 1 ? at_++ : at_]; }
  /// Takes a symbol or a word if it is the next token.
  bool took(std::string_view symbol) { return is(symbol) && (take(), true); }
  bool took_word(std::string_view word) { return is_word(word) && (take(), true); }
  void expect(std::string_view symbol, const char* after) {
    if (!took(symbol))
      fail(next().at, fmt::format("{} where \"{}\" must follow {}", quoted(next()), symbol, after));
  }
  void skip_lines() {
    while (next().kind == Token::Kind::newline)
      take();
  }
  std::int64_t whole() {
    if (next().kind != Token::Kind::whole) fail("a whole number is expected");
    return take().whole;
  }
  /// Ends a statement or declaration; returns the comment behind it.
  std::string expect_end(const char* what) {
    if (is("}") || next().kind == Token::Kind::end) return {};
    if (took(";")) return next().kind == Token::Kind::newline ? next().text : "";
    if (next().kind != Token::Kind::newline) fail(fmt::format("unexpected in {}", what));
    return take().text;
  }

  [[noreturn]] void fail(Spot at, const std::string& cause, const std::string& fix = see_page) const {
    refuse(nest_.file, at, cause, fix);
  }
  /// At the next token.
  [[noreturn]] void fail(const std::string& cause) const { fail(next().at, quoted(next()) + ": " + cause); }
  /// One more must be possible.
  void limit(std::size_t number, std::size_t most, const char* what) const {
    if (number >= most) fail(fmt::format("more than {} {}", most, what));
  }

  // Names.

  [[nodiscard]] const Symbol* find(const std::string& name) const {
    const auto found =
        std::find_if(scope_.rbegin(), scope_.rend(), [&](const auto& entry) { return entry.first == name; });
    return found == scope_.rend() ? nullptr : &found->second;
  }
  [[nodiscard]] const Symbol& known(const Token& token) const {
    if (const Symbol* const symbol = find(token.text)) return *symbol;
    std::vector<std::string> names;
    for (const auto& [name, symbol] : scope_)
      names.push_back(name);
    fail(token.at, fmt::format("unknown name \"{}\"", token.text),
         base::did_you_mean(token.text, names,
                            "declare it before: param NAME = NUMBER, f64 NAME[EXTENT] or f64 NAME = VALUE"));
  }
  /// Takes a new name. Refuses words of the format and names in scope.
  std::string define(Symbol symbol) {
    if (next().kind != Token::Kind::name) fail("a name is expected");
    const Token& token = take();
    if (parse_type(token.text) || std::ranges::find(words, token.text) != words.end())
      fail(token.at, fmt::format("\"{}\" is a word of the format", token.text), "use another name");
    if (find(token.text) != nullptr)
      fail(token.at, fmt::format("\"{}\" is already defined", token.text), "use another name");
    scope_.emplace_back(token.text, symbol);
    return token.text;
  }
  [[nodiscard]] bool starts_type() const {
    if (next().kind != Token::Kind::name) return false;
    const Symbol* const symbol = find(next().text);
    return parse_type(next().text) || (symbol != nullptr && symbol->kind == Symbol::Kind::type);
  }
  TypeName type_name() {
    const Token& token = take();
    if (const auto type = parse_type(token.text)) return {*type, {}};
    return {Type::f64, known(token).number};
  }

  // Declarations.

  void outside_loops(Spot at) const {
    if (depth_ > 0) fail(at, "a declaration within a loop", "move it to the beginning of the file");
  }

  /// param NAME = DEFAULT [from LEAST to MOST]
  void parameter() {
    outside_loops(next().at);
    limit(nest_.parameters.size(), most_parameters, "parameters");
    Parameter p;
    const Spot at = next().at;
    p.name = define({Symbol::Kind::parameter, nest_.parameters.size()});
    expect("=", "the name of a parameter");
    p.fallback = whole();
    p.most = most_value;
    if (took_word("from")) p.least = whole();
    if (took_word("to")) p.most = whole();
    if (p.least > p.fallback || p.fallback > p.most || p.most > most_value)
      fail(at,
           fmt::format("{} = {} is not within {} to {}", p.name, p.fallback, p.least,
                       std::min(p.most, most_value)),
           fmt::format("bounds are at most {}", most_value));
    p.prose = expect_end("a parameter");
    nest_.parameters.push_back(std::move(p));
  }

  /// type NAME = TYPE [or TYPE]...
  void type_parameter() {
    outside_loops(next().at);
    limit(nest_.types.size(), most_parameters, "types");
    TypeParameter p;
    p.name = define({Symbol::Kind::type, nest_.types.size()});
    expect("=", "the name of a type");
    do {
      const auto type = next().kind == Token::Kind::name ? parse_type(next().text) : std::nullopt;
      if (!type) fail("not a type: f64, f32, i64, i32, i16 or i8 is expected");
      if (std::ranges::find(p.choices, *type) != p.choices.end()) fail("is given twice");
      p.choices.push_back(*type);
      take();
    } while (took_word("or"));
    p.prose = expect_end("a type");
    nest_.types.push_back(std::move(p));
  }

  /// TYPE NAME[EXTENT]... [column_major] [ld EXTENT], ...
  void arrays() {
    outside_loops(next().at);
    const TypeName type = type_name();
    do {
      limit(nest_.arrays.size(), model::nest_arrays, "arrays");
      terms_ = 0;
      Array array;
      array.type = type;
      array.at = next().at;
      array.name = define({Symbol::Kind::array, nest_.arrays.size()});
      array.extents = in_brackets("an extent");
      if (array.extents.empty() || array.extents.size() > most_dimensions)
        fail(array.at, fmt::format("{} has {} dimensions", array.name, array.extents.size()),
             fmt::format("an array has 1 to {} extents in brackets", most_dimensions));
      array.column_major = took_word("column_major");
      if (!array.column_major) took_word("row_major");
      if (took_word("ld")) array.leading = index();
      nest_.arrays.push_back(std::move(array));
    } while (took(","));
    expect_end("a declaration");
  }

  // Loops and statements.

  void node(std::vector<Node>& into) {
    if (took_word("for")) return loop(into);
    if (is("{")) fail("a block without a loop");
    if (is_word("param") || is_word("type")) outside_loops(next().at);
    statement(into);
  }

  /// for NAME in FIRST:LAST[:STEP] NODE or { NODES }
  void loop(std::vector<Node>& into) {
    limit(depth_, model::nest_depth, "loops around a statement");
    const std::size_t outside = scope_.size();
    terms_ = 0;
    Loop loop;
    loop.at = next().at;
    loop.variable = depth_;
    loop.name = define({Symbol::Kind::variable, depth_});
    const auto variable = scope_.back();
    scope_.pop_back(); // the bounds do not know it
    if (!took_word("in")) fail("\"in\" must follow the loop variable");
    loop.first = index();
    expect(":", "the first value of a loop");
    loop.last = bound();
    loop.step.number = 1;
    loop.step.at = next().at;
    if (took(":")) loop.step = index();
    if (loop.step.varies) fail(loop.step.at, "the step depends on a loop variable");
    scope_.push_back(variable);
    ++depth_;
    skip_lines();
    if (took("{")) {
      for (skip_lines(); !took("}"); skip_lines()) {
        if (next().kind == Token::Kind::end) fail(loop.at, "the loop is not closed", "add } at its end");
        if (!took(";")) node(loop.body);
      }
    } else {
      node(loop.body);
    }
    --depth_;
    scope_.resize(outside);
    into.emplace_back(std::move(loop));
  }

  void statement(std::vector<Node>& into) {
    limit(statements_++, most_statements, "statements");
    terms_ = 0;
    Statement statement;
    statement.at = next().at;
    if (starts_type()) {
      const TypeName type = type_name();
      limit(nest_.scalars.size(), most_scalars, "scalars");
      statement.declares = true;
      statement.target = nest_.scalars.size();
      if (is("[", 1)) outside_loops(next().at);
      nest_.scalars.push_back({define({Symbol::Kind::scalar, nest_.scalars.size()}), type});
      const auto scalar = scope_.back();
      scope_.pop_back(); // its value does not know it
      assignment(statement);
      scope_.push_back(scalar);
    } else {
      target(statement);
      assignment(statement);
    }
    expect_end("a statement");
    into.emplace_back(std::move(statement));
  }
  void target(Statement& statement) {
    if (next().kind != Token::Kind::name) fail("a loop or a statement is expected");
    const Token& token = take();
    const Symbol& symbol = known(token);
    if (symbol.kind == Symbol::Kind::array)
      statement.target = element(symbol.number);
    else if (symbol.kind == Symbol::Kind::scalar)
      statement.target = symbol.number;
    else
      fail(token.at, fmt::format("\"{}\" cannot be assigned to", token.text),
           "statements assign to array elements and scalars");
  }
  void assignment(Statement& statement) {
    const std::string& symbol = next().text;
    const bool operation = symbol.size() == 2,
               assigns = next().kind == Token::Kind::symbol && symbol.back() == '=';
    if (!assigns || (statement.declares && operation)) fail("\"=\" is expected");
    if (operation) statement.operation = parse_kind<Value>(symbol.front());
    take();
    skip_lines();
    statement.value = value();
  }

  // Expressions.

  void count_term() {
    if (++terms_ > most_terms) fail(fmt::format("the expression has more than {} terms", most_terms));
  }

  /// Operands joined from left to right by either of two operators.
  template <class Expression, class Operand>
  Expression chain(const std::array<std::string_view, 2>& operators, Operand operand) {
    Expression left = operand();
    while (is(operators[0]) || is(operators[1])) {
      const Token& token = take();
      skip_lines();
      left = joined(parse_kind<Expression>(token.text.front()), std::move(left), operand(), token.at);
    }
    return left;
  }
  static constexpr std::array<std::string_view, 2> additive{"+", "-"}, multiplicative{"*", "/"};

  [[nodiscard]] Index joined(Index::Kind kind, Index left, Index right, Spot at) const {
    const bool varies = left.varies || right.varies;
    if (kind == Index::Kind::product && left.varies && right.varies)
      fail(at, "a product of loop variables is not affine",
           "use a loop variable times a number or a parameter");
    if (kind == Index::Kind::quotient && varies)
      fail(at, "a quotient with a loop variable is not affine", "divide parameters and numbers only");
    return {.kind = kind, .parts = {std::move(left), std::move(right)}, .at = at, .varies = varies};
  }
  [[nodiscard]] Value joined(Value::Kind kind, Value left, Value right, Spot at) const {
    if (left.kind == Value::Kind::number && right.kind == Value::Kind::number)
      fail(at, "two numbers are combined, which the compiler would compute", "write the result");
    Value both;
    both.kind = kind;
    both.at = at;
    both.parts = {std::move(left), std::move(right)};
    return both;
  }

  /// Affine in the loop variables.
  Index index() {
    return chain<Index>(additive, [&] { return chain<Index>(multiplicative, [&] { return index_part(); }); });
  }
  /// The end of a loop: an index, or the min() of two.
  Index bound() {
    if (!is_word("min")) return index();
    const std::size_t start = at_, terms = terms_;
    Index least = this->least();
    if (!least.varies) {
      at_ = start;
      terms_ = terms;
      return index();
    }
    if (is("+") || is("-"))
      fail(next().at, "min() of loop variables can only be the whole end of a loop",
           "write min(i + b, n) instead of min(i, n - b) + b");
    return least;
  }
  Index index_part() {
    count_term();
    const Spot at = next().at;
    if (next().kind == Token::Kind::name) return index_name();
    if (next().kind == Token::Kind::whole) return {.number = take().whole, .parts = {}, .at = at};
    if (took("-")) return joined(Index::Kind::difference, {.parts = {}, .at = at}, index_part(), at);
    if (!took("(")) fail("a number, a parameter or a loop variable is expected");
    Index part = index();
    expect(")", "the expression");
    return part;
  }
  Index index_name() {
    if (is_word("min")) {
      Index part = least();
      if (part.varies)
        fail(part.at, "min() of loop variables can only be the whole end of a loop",
             "for i in ii:min(ii + b, n)");
      return part;
    }
    const Token& token = take();
    const Symbol& symbol = known(token);
    if (symbol.kind != Symbol::Kind::variable && symbol.kind != Symbol::Kind::parameter)
      fail(token.at, fmt::format("\"{}\" is neither a parameter nor a loop variable", token.text),
           "subscripts and bounds depend on parameters and loop variables only");
    return named(symbol, token.at);
  }
  static Index named(const Symbol& symbol, Spot at) {
    const bool varies = symbol.kind == Symbol::Kind::variable;
    return {.kind = varies ? Index::Kind::variable : Index::Kind::parameter,
            .number = static_cast<std::int64_t>(symbol.number),
            .parts = {},
            .at = at,
            .varies = varies};
  }
  Index least() {
    const Spot at = take().at;
    expect("(", "min");
    Index left = index();
    expect(",", "the first value of min");
    Index right = index();
    expect(")", "the second value of min");
    return joined(Index::Kind::least, std::move(left), std::move(right), at);
  }

  Value value() {
    return chain<Value>(additive, [&] { return chain<Value>(multiplicative, [&] { return value_part(); }); });
  }
  Value value_part() {
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
      part.number = (negative ? -1 : 1) * (part.whole ? static_cast<double>(number.whole) : number.decimal);
      if (part.whole && std::abs(part.number) > 1e15) fail(number.at, "a number above 10^15");
      return part;
    }
    if (negative) fail(part.at, "a minus sign before a value", "write 0 - x, which is one operation");
    if (!took("(")) fail("a number, an array element or a scalar is expected");
    part = value();
    expect(")", "the expression");
    return part;
  }
  Value value_name() {
    const Token& token = take();
    const Symbol& symbol = known(token);
    Value part;
    part.at = token.at;
    switch (symbol.kind) {
    case Symbol::Kind::array:
      part.kind = Value::Kind::element;
      part.element = element(symbol.number);
      break;
    case Symbol::Kind::scalar:
      part.kind = Value::Kind::scalar;
      part.scalar = symbol.number;
      break;
    case Symbol::Kind::type: fail(token.at, fmt::format("\"{}\" is a type, not a value", token.text));
    case Symbol::Kind::parameter:
    case Symbol::Kind::variable: part.kind = Value::Kind::index; part.index = named(symbol, token.at);
    }
    return part;
  }

  /// Extents or subscripts.
  std::vector<Index> in_brackets(const char* what) {
    std::vector<Index> all;
    while (took("[")) {
      all.push_back(index());
      expect("]", what);
    }
    return all;
  }
  Element element(std::size_t array) {
    Element element{.array = array, .subscripts = {}, .at = next().at};
    element.subscripts = in_brackets("a subscript");
    const std::size_t dimensions = nest_.arrays[array].extents.size();
    if (element.subscripts.size() != dimensions)
      fail(element.at,
           fmt::format("{} has {}, not {}", nest_.arrays[array].name,
                       base::format_count(dimensions, "dimension"), element.subscripts.size()),
           "write a subscript in brackets for each dimension");
    return element;
  }

  Definition& nest_;
  const std::vector<Token>& all_;
  std::size_t at_ = 0;
  std::vector<std::pair<std::string, Symbol>> scope_;
  std::size_t depth_ = 0, statements_ = 0;
  std::size_t terms_ = 0; ///< of the expression
};

} // namespace

Definition parse(const std::string& file, std::string_view text) {
  Definition nest;
  nest.file = file;
  const auto all = Lexer(file, text).run();
  Parser(nest, all).run();
  return nest;
}

} // namespace recount::nest
