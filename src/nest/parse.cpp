#include "nest/parse.hpp"

#include "model/nest.hpp"
#include "nest/expressions.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::nest {
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

} // namespace recount::nest
