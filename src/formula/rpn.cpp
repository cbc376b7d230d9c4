#include "formula/rpn.hpp"

#include <charconv>

namespace recount::formula {
namespace {

bool digit(char c) {
  return c >= '0' && c <= '9';
}

/// As atoi() on at most 15 digits: the low 32 bits.
int whole(std::string_view digits) {
  long value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return static_cast<int>(static_cast<unsigned>(value));
}

constexpr std::size_t most_digits = 15;

/// Reads digits at `at`; npos-like false when PAPI's assertion on their number fails.
bool read_digits(std::string_view text, std::size_t& at, int& value) {
  const std::size_t begin = at;
  while (at < text.size() && digit(text[at]))
    ++at;
  const std::size_t length = at - begin;
  if (length == 0 || length > most_digits) return false;
  value = whole(text.substr(begin, length));
  return true;
}

} // namespace

Rpn parse_rpn(std::string_view text) {
  Rpn rpn;
  std::size_t at = 0;
  const auto flawed = [&](Flaw flaw, std::size_t where) {
    rpn.flaw = flaw;
    rpn.flaw_at = where;
    return rpn;
  };
  text = text.substr(0, text.find('\0'));
  while (at < text.size()) {
    const std::size_t begin = at;
    const char c = text[at];
    int value = 0;
    if (digit(c)) {
      if (!read_digits(text, at, value)) return flawed(Flaw::digits, begin);
      rpn.steps.push_back({Op::number, value, begin});
      continue;
    }
    ++at;
    switch (c) {
    case '|': break;
    case 'N':
      if (!read_digits(text, at, value)) return flawed(Flaw::digits, begin);
      rpn.steps.push_back({Op::native, value, begin});
      break;
    case '#': rpn.steps.push_back({Op::clock, 0, begin}); break;
    case '+': rpn.steps.push_back({Op::add, 0, begin}); break;
    case '-': rpn.steps.push_back({Op::sub, 0, begin}); break;
    case '*': rpn.steps.push_back({Op::mul, 0, begin}); break;
    case '/': rpn.steps.push_back({Op::div, 0, begin}); break;
    default: return flawed(Flaw::character, begin);
    }
  }
  return rpn;
}

} // namespace recount::formula
