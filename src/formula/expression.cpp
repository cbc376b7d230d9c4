#include "formula/expression.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

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

namespace {

constexpr std::size_t buffer_size = 2048; // of both PAPI's stack and its output

int priority(char c) {
  switch (c) {
  case '+':
  case '-': return 1;
  case '*':
  case '/':
  case '%': return 2;
  default: return 0; // also '^', which PAPI takes as an operator of the lowest priority
  }
}

bool is_operator(char c) {
  return std::string_view("+-*/%^").find(c) != std::string_view::npos;
}

/// The shunting of PAPI: an operator pops those of higher priority only (`left`: of equal priority too).
class Shunter {
public:
  Shunter(std::string_view infix, bool left) : left_(left) {
    for (const char c : infix.substr(0, infix.find('\0')))
      if (!take(c)) return;
    separate();
    while (!stack_.empty())
      pop();
  }
  [[nodiscard]] Conversion result() && {
    const bool too_long = out_.size() >= buffer_size || deepest_ >= buffer_size - 1;
    return {std::move(out_), crashes_, too_long};
  }

private:
  bool take(char c) {
    if (c == '(')
      push(c);
    else if (c == ')')
      return close();
    else if (is_operator(c))
      combine(c);
    else
      out_ += c;
    return true;
  }
  void combine(char c) {
    separate();
    while (!stack_.empty() && (priority(stack_.back()) > priority(c) ||
                               (left_ && stack_.back() != '(' && priority(stack_.back()) == priority(c))))
      pop();
    push(c);
  }
  bool close() {
    separate();
    while (!stack_.empty() && stack_.back() != '(')
      pop();
    if (stack_.empty()) {
      crashes_ = true;
      return false;
    }
    stack_.pop_back();
    return true;
  }
  void push(char c) {
    stack_ += c;
    deepest_ = std::max(deepest_, stack_.size());
  }
  void pop() {
    out_ += stack_.back();
    out_ += '|';
    stack_.pop_back();
  }
  // PAPI looks at the byte before its (zeroed) buffer when there is no output yet, and finds no '|'.
  void separate() {
    if (out_.empty() || out_.back() != '|') out_ += '|';
  }

  bool left_;
  bool crashes_ = false;
  std::size_t deepest_ = 0;
  std::string out_, stack_;
};

} // namespace

Conversion infix_to_postfix(std::string_view infix) {
  return Shunter(infix, false).result();
}

std::string infix_to_postfix_left(std::string_view infix) {
  return Shunter(infix, true).result().postfix;
}

namespace {

/// The stack machine. PAPI checks each step with assert(), and its library is built with assertions on.
class Machine {
public:
  Machine(std::span<const long long> counts, const Limits& limits) : counts_(counts), limits_(limits) {}

  /// False when the process would be dead.
  bool run(const Step& step) {
    switch (step.op) {
    case Op::native: return push_native(step.value);
    case Op::number: return push(step.value);
    case Op::clock: return push(limits_.max_mhz * 1000000.0);
    default: return combine(step.op);
    }
  }
  Outcome finish(Flaw flaw) {
    if (flaw == Flaw::digits) {
      die("N without a number, or a number of 16 digits or more");
    } else if (flaw == Flaw::character) {
      outcome.unreadable = true;
      settle();
    } else if (stack_.size() != 1) {
      die(stack_.empty() ? "the formula leaves nothing on the stack"
                         : "the formula leaves " + std::to_string(stack_.size()) + " values on the stack");
    } else {
      settle();
    }
    return outcome;
  }

  Outcome outcome;

private:
  bool die(std::string why) {
    outcome.ending = Ending::dies;
    outcome.why = std::move(why);
    return false;
  }
  bool push(double value) {
    if (stack_.size() >= static_cast<std::size_t>(limits_.slots))
      return die("the stack exceeds a depth of " + std::to_string(limits_.slots));
    stack_.push_back(value);
    return true;
  }
  bool push_native(int index) {
    if (stack_.size() >= static_cast<std::size_t>(limits_.slots)) return push(0);
    if (index < 0 || index >= limits_.slots)
      return die("N" + std::to_string(index) + " is beyond N" + std::to_string(limits_.slots - 1));
    if (static_cast<std::size_t>(index) < counts_.size())
      return push(static_cast<double>(counts_[static_cast<std::size_t>(index)]));
    outcome.ending = Ending::undefined;
    outcome.why = "N" + std::to_string(index) + " has no term";
    return push(0);
  }
  bool combine(Op op) {
    if (stack_.size() < 2) return die("an operator has fewer than two values on the stack");
    const double b = stack_.back();
    stack_.pop_back();
    double& a = stack_.back();
    switch (op) {
    case Op::add: a += b; break;
    case Op::sub: a -= b; break;
    case Op::mul: a *= b; break;
    default:
      if (b == 0) outcome.divided_by_zero = true;
      a /= b;
    }
    return true;
  }
  void settle() {
    const double value = stack_.empty() ? 0.0 : stack_.front();
    outcome.out_of_range = !fits(value);
    outcome.value = truncate(value);
  }

  std::span<const long long> counts_;
  Limits limits_;
  std::vector<double> stack_;
};

} // namespace

bool fits(double value) noexcept {
  constexpr double edge = 9223372036854775808.0; // 2^63
  return value >= -edge && value < edge;
}

long long truncate(double value) noexcept {
  if (fits(value)) return static_cast<long long>(value);
  using Range = std::numeric_limits<long long>;
#if defined(__aarch64__)
  if (std::isnan(value)) return 0;
  return value > 0 ? Range::max() : Range::min();
#else
  return Range::min();
#endif
}

Outcome evaluate(const Rpn& rpn, std::span<const long long> counts, const Limits& limits) {
  Machine machine(counts, limits);
  for (const Step& step : rpn.steps)
    if (!machine.run(step)) return machine.outcome;
  return machine.finish(rpn.flaw);
}

} // namespace recount::formula
