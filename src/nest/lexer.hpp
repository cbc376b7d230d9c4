// The words of a loop nest.
#pragma once

#include "nest/definition.hpp"

#include <string>
#include <string_view>
#include <vector>

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

} // namespace recount::nest
