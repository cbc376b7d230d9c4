#include "nest/parse.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The words of a loop nest.
namespace recount::nest {

struct Token {
  enum class Kind { name, whole, decimal, symbol, newline, end };
  Kind kind = Kind::end;
  std::string text; ///< of a newline: the comment before it
  Spot at;
  std::int64_t whole = 0;
  double decimal = 0;
};

/// All tokens, `end` last. Line ends within parentheses and brackets are left out. Throws recount::Error
/// (bad_input).
[[nodiscard]] std::vector<Token> tokens(const std::string& file, std::string_view text);

// Expressions of a loop nest: subscripts and bounds, and values.

/// What a name stands for.
struct Symbol {
  enum class Kind { parameter, type, array, variable, scalar };
  Kind kind = Kind::parameter;
  std::size_t number = 0; ///< of its kind; of a variable: the depth of its loop
};

/// Reads tokens one after the other; knows the names in scope.
class ExpressionReader {
public:
  /// Keeps references.
  ExpressionReader(Definition& into, const std::vector<Token>& all) : nest_(into), all_(all) {}

protected:
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
  /// Takes a symbol if it is the next token.
  bool took(std::string_view symbol);
  bool took_word(std::string_view word);
  void expect(std::string_view symbol, const char* after);
  void skip_lines();
  [[noreturn]] void fail(Spot at, const std::string& cause,
                         const std::string& remedy = "man recount-nest explains the format") const {
    refuse(nest_.file, at, cause, remedy);
  }
  [[noreturn]] void fail(const std::string& cause) const;

  [[nodiscard]] const Symbol* find(const std::string& name) const;
  [[nodiscard]] const Symbol& known(const Token& token) const;
  /// A new name. Refuses words of the format and names in scope.
  std::string define(Symbol symbol);

  /// The limit of terms holds from here on.
  void begin_expression() { terms_ = 0; }
  /// Affine in the loop variables; one with `min` only as a whole (`bound`).
  Index index(bool bound = false);
  Value value();
  Element element(std::size_t array);

  Definition& nest_;
  std::vector<std::pair<std::string, Symbol>> scope_;

private:
  Index index_product();
  Index index_part();
  Index index_name();
  Index least();
  [[nodiscard]] Index joined(Index::Kind kind, Index left, Index right, Spot at);
  Value value_product();
  Value value_part();
  Value value_name();
  [[nodiscard]] Value joined(Value::Kind kind, Value left, Value right, Spot at);
  void count_term();

  const std::vector<Token>& all_;
  std::size_t at_ = 0;
  std::size_t terms_ = 0; ///< of the expression
};

namespace {

class Parser : public ExpressionReader {
public:
  using ExpressionReader::ExpressionReader;

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
  /// A statement or declaration is complete; returns the comment behind it.
  std::string end_of(const char* what) {
    if (is("}") || next().kind == Token::Kind::end) return {};
    if (took(";")) return next().kind == Token::Kind::newline ? next().text : "";
    if (next().kind != Token::Kind::newline) fail(fmt::format("unexpected in {}", what));
    return take().text;
  }
  std::int64_t whole() {
    if (next().kind != Token::Kind::whole) fail("a whole number is expected");
    return take().whole;
  }
  void before_loops(Spot at) const {
    if (depth_ > 0) fail(at, "a declaration within a loop", "move it to the beginning of the file");
  }

  /// param NAME = DEFAULT [from LEAST to MOST]
  void parameter() {
    before_loops(next().at);
    if (nest_.parameters.size() == most_parameters)
      fail(fmt::format("more than {} parameters", most_parameters));
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
    p.prose = end_of("a parameter");
    nest_.parameters.push_back(std::move(p));
  }

  /// type NAME = TYPE [or TYPE]...
  void type_parameter() {
    before_loops(next().at);
    TypeParameter p;
    p.name = define({Symbol::Kind::type, nest_.types.size()});
    expect("=", "the name of a type");
    do {
      const auto type = parse_type(next().text);
      if (!type) fail("not a type: f64, f32, i64, i32, i16 or i8 is expected");
      if (std::find(p.choices.begin(), p.choices.end(), *type) != p.choices.end()) fail("is given twice");
      p.choices.push_back(*type);
      take();
    } while (took_word("or"));
    if (nest_.types.size() == most_parameters) fail("too many types");
    p.prose = end_of("a type");
    nest_.types.push_back(std::move(p));
  }

  /// TYPE NAME[EXTENT]... [column_major] [ld EXTENT], ...
  void arrays() {
    before_loops(next().at);
    const TypeName type = type_name();
    do {
      if (nest_.arrays.size() == model::nest_arrays)
        fail(fmt::format("more than {} arrays", model::nest_arrays));
      begin_expression();
      Array array;
      array.type = type;
      array.at = next().at;
      array.name = define({Symbol::Kind::array, nest_.arrays.size()});
      while (took("[")) {
        array.extents.push_back(index());
        expect("]", "an extent");
      }
      if (array.extents.empty() || array.extents.size() > most_dimensions)
        fail(array.at, fmt::format("{} has {} dimensions", array.name, array.extents.size()),
             fmt::format("an array has 1 to {} extents in brackets", most_dimensions));
      if (took_word("column_major"))
        array.column_major = true;
      else
        took_word("row_major");
      if (took_word("ld")) array.leading = index();
      nest_.arrays.push_back(std::move(array));
    } while (took(","));
    end_of("a declaration");
  }

  void node(std::vector<Node>& into) {
    if (took_word("for")) return loop(into);
    if (is("{")) fail("a block without a loop");
    if (is_word("param") || is_word("type")) before_loops(next().at);
    statement(into);
  }

  /// for NAME in FIRST:LAST[:STEP] NODE or { NODES }
  void loop(std::vector<Node>& into) {
    if (depth_ == model::nest_depth)
      fail(fmt::format("more than {} loops around a statement", model::nest_depth));
    const std::size_t outside = scope_.size();
    begin_expression();
    Loop loop;
    loop.at = next().at;
    loop.variable = depth_;
    loop.name = define({Symbol::Kind::variable, depth_});
    const auto variable = scope_.back();
    scope_.pop_back(); // the bounds do not know it
    if (!took_word("in")) fail("\"in\" must follow the loop variable");
    loop.first = index();
    expect(":", "the first value of a loop");
    loop.last = index(true);
    loop.step.number = 1;
    loop.step.at = next().at;
    if (took(":")) loop.step = index();
    if (loop.step.varies) fail(loop.step.at, "the step depends on a loop variable");
    scope_.push_back(variable);
    ++depth_;
    skip_lines();
    if (took("{")) {
      for (skip_lines(); !is("}"); skip_lines()) {
        if (next().kind == Token::Kind::end) fail(loop.at, "the loop is not closed", "add } at its end");
        if (took(";")) continue;
        node(loop.body);
      }
      take();
    } else {
      node(loop.body);
    }
    --depth_;
    scope_.resize(outside);
    into.emplace_back(std::move(loop));
  }

  void statement(std::vector<Node>& into) {
    if (++statements_ > most_statements) fail(fmt::format("more than {} statements", most_statements));
    begin_expression();
    Statement made;
    made.at = next().at;
    if (starts_type()) {
      const TypeName type = type_name();
      if (nest_.scalars.size() == most_scalars) fail(fmt::format("more than {} scalars", most_scalars));
      made.declares = true;
      made.target = nest_.scalars.size();
      const Token& name = next();
      if (is("[", 1)) before_loops(name.at);
      nest_.scalars.push_back({define({Symbol::Kind::scalar, nest_.scalars.size()}), type});
      const auto scalar = scope_.back();
      scope_.pop_back(); // its value does not know it
      assignment(made);
      scope_.push_back(scalar);
    } else {
      target(made);
      assignment(made);
    }
    end_of("a statement");
    into.emplace_back(std::move(made));
  }
  void target(Statement& made) {
    if (next().kind != Token::Kind::name) fail("a loop or a statement is expected");
    const Token& token = take();
    const Symbol& symbol = known(token);
    if (symbol.kind == Symbol::Kind::array)
      made.target = element(symbol.number);
    else if (symbol.kind == Symbol::Kind::scalar)
      made.target = symbol.number;
    else
      fail(token.at, fmt::format("\"{}\" cannot be assigned to", token.text),
           "statements assign to array elements and scalars");
  }
  void assignment(Statement& made) {
    if (next().kind != Token::Kind::symbol) fail("\"=\" is expected");
    const std::string symbol = next().text;
    if (symbol == "+=") made.operation = Value::Kind::sum;
    if (symbol == "-=") made.operation = Value::Kind::difference;
    if (symbol == "*=") made.operation = Value::Kind::product;
    if (symbol == "/=") made.operation = Value::Kind::quotient;
    if ((symbol != "=" && !made.operation) || (made.declares && made.operation)) fail("\"=\" is expected");
    take();
    skip_lines();
    made.value = value();
  }

  std::size_t depth_ = 0, statements_ = 0;
};

} // namespace

Definition parse(const std::string& file, std::string_view text) {
  Definition nest;
  nest.file = file;
  const auto all = tokens(file, text);
  Parser(nest, all).run();
  return nest;
}

namespace {

constexpr std::size_t longest_name = 32;

bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}

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
    Token token;
    token.kind = kind;
    token.text = kind == Token::Kind::newline ? std::move(comment_) : std::string(rest_.substr(0, length));
    token.at = at_;
    comment_.clear();
    all_.push_back(std::move(token));
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
    std::size_t length = 0;
    while (length < rest_.size() && (letter(rest_[length]) || digit(rest_[length])))
      ++length;
    if (length > longest_name)
      refuse(file_, at_, "a name of more than " + std::to_string(longest_name) + " letters",
             "use a shorter name");
    add(Token::Kind::name, length);
  }
  void number() {
    std::size_t length = 0;
    while (length < rest_.size() && (digit(rest_[length]) || rest_[length] == '.'))
      ++length;
    if (length < rest_.size() && (rest_[length] == 'e' || rest_[length] == 'E')) {
      ++length;
      if (length < rest_.size() && (rest_[length] == '-' || rest_[length] == '+')) ++length;
      while (length < rest_.size() && digit(rest_[length]))
        ++length;
    }
    if (length < rest_.size() && letter(rest_[length]))
      refuse(file_, at_, "a name begins with a digit", "begin it with a letter");
    const std::string_view text = rest_.substr(0, length);
    const char* const end = text.data() + text.size();
    Token& token = add(Token::Kind::whole, length);
    if (const auto [last, error] = std::from_chars(text.data(), end, token.whole);
        error == std::errc() && last == end)
      return;
    token.kind = Token::Kind::decimal;
    if (const auto [last, error] = std::from_chars(text.data(), end, token.decimal);
        error != std::errc() || last != end || text.find_first_of(".eE") == text.npos)
      refuse(file_, token.at, "\"" + token.text.substr(0, 40) + "\" is not a number of 64 bits",
             "write a number such as 600 or 0.25");
  }
  void symbol() {
    const char c = rest_.front();
    if (std::string_view("+-*/").find(c) != std::string_view::npos && rest_.substr(1).starts_with("=")) {
      add(Token::Kind::symbol, 2);
      return;
    }
    if (std::string_view("()[]{},:;=+-*/").find(c) == std::string_view::npos)
      refuse(file_, at_, "unexpected character \"" + base::printable(character()) + "\"",
             "man recount-nest explains the format");
    if (c == '(' || c == '[') ++open_;
    if ((c == ')' || c == ']') && open_ > 0) --open_;
    if (c == '{' || c == '}') open_ = 0; // a bracket that was left open is told where the statement ends
    add(Token::Kind::symbol, 1);
  }
  [[nodiscard]] std::string_view character() const {
    std::string_view after = rest_;
    static_cast<void>(base::next_character(after));
    return rest_.substr(0, rest_.size() - after.size());
  }

  const std::string& file_;
  std::string_view rest_;
  Spot at_;
  int open_ = 0; ///< parentheses and brackets
  std::string comment_;
  std::vector<Token> all_;
};

} // namespace

std::vector<Token> tokens(const std::string& file, std::string_view text) {
  return Lexer(file, text).run();
}

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
