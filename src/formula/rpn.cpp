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

namespace {

struct Piece {
  std::string text;
  int binds; // 3: an operand; 2: * and /; 1: + and -
};

std::string wrapped(const Piece& piece, int at_least) {
  return piece.binds >= at_least ? piece.text : "(" + piece.text + ")";
}

Piece joined(const Piece& a, const Piece& b, Op op) {
  switch (op) {
  case Op::add: return {a.text + " + " + b.text, 1};
  case Op::sub: return {a.text + " - " + wrapped(b, 2), 1};
  case Op::mul: return {wrapped(a, 2) + " * " + wrapped(b, b.text.find('/') == std::string::npos ? 2 : 3), 2};
  default: return {wrapped(a, 2) + " / " + wrapped(b, 3), 2};
  }
}

Piece operand(const Step& step, const std::vector<std::string>& names) {
  if (step.op == Op::clock) return {"max_hz", 3};
  if (step.op == Op::number) return {std::to_string(step.value), step.value < 0 ? 1 : 3};
  const auto index = static_cast<std::size_t>(step.value);
  if (step.value >= 0 && index < names.size()) return {names[index], 3};
  return {"N" + std::to_string(step.value), 3};
}

} // namespace

std::string to_infix(const Rpn& rpn, const std::vector<std::string>& names) {
  constexpr std::size_t longest = 1 << 16; // a hostile formula could double its text at each step
  if (rpn.flaw != Flaw::none) return {};
  std::vector<Piece> stack;
  for (const Step& step : rpn.steps) {
    if (step.op == Op::native || step.op == Op::number || step.op == Op::clock) {
      stack.push_back(operand(step, names));
      continue;
    }
    if (stack.size() < 2) return {};
    const Piece b = std::move(stack.back());
    stack.pop_back();
    stack.back() = joined(stack.back(), b, step.op);
    if (stack.back().text.size() > longest) return {};
  }
  return stack.size() == 1 ? stack.front().text : std::string{};
}

} // namespace recount::formula
