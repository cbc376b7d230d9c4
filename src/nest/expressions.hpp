// Expressions of a loop nest: subscripts and bounds, and values.
#pragma once

#include "nest/lexer.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::nest {

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

} // namespace recount::nest
