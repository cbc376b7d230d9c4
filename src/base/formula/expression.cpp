#include "base/formula/expression.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace recount::formula {
namespace {

constexpr std::string_view digits = "0123456789";

/// As atoi() on at most 15 digits: the low 32 bits.
int low_bits(std::string_view text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return static_cast<int>(static_cast<unsigned>(value));
}

} // namespace

Rpn parse_rpn(std::string_view text) {
  constexpr std::size_t max_digits = 15; // PAPI asserts that there are no more
  constexpr std::string_view symbols = "#+-*/";
  constexpr Op operations[] = {Op::clock, Op::add, Op::sub, Op::mul, Op::div};
  Rpn rpn;
  text = text.substr(0, text.find('\0'));
  for (std::size_t at = 0; at < text.size();) {
    const bool native = text[at] == 'N';
    if (native || digits.find(text[at]) != digits.npos) {
      at += native ? 1 : 0;
      const auto number = text.substr(at, text.find_first_not_of(digits, at) - at);
      if (number.empty() || number.size() > max_digits) {
        rpn.flaw = Flaw::digits;
        return rpn;
      }
      rpn.steps.push_back({native ? Op::native : Op::number, low_bits(number)});
      at += number.size();
      continue;
    }
    const char c = text[at++];
    if (c == '|') continue;
    const auto which = symbols.find(c);
    if (which == symbols.npos) {
      rpn.flaw = Flaw::character;
      return rpn;
    }
    rpn.steps.push_back({operations[which]});
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

std::optional<Piece> joined(const Piece& a, const Piece& b, Op op) {
  constexpr std::size_t longest = 1 << 16; // a hostile formula could double its text at each step
  if (a.text.size() + b.text.size() > longest) return {};
  switch (op) {
  case Op::add: return Piece{a.text + " + " + b.text, 1};
  case Op::sub: return Piece{a.text + " - " + wrapped(b, 2), 1};
  case Op::mul: {
    const int least = b.text.find('/') == std::string::npos ? 2 : 3;
    return Piece{wrapped(a, 2) + " * " + wrapped(b, least), 2};
  }
  default: return Piece{wrapped(a, 2) + " / " + wrapped(b, 3), 2};
  }
}

} // namespace

std::string to_infix(const Rpn& rpn, const std::vector<std::string>& names) {
  const auto operand = [&](const Step& step) -> std::optional<Piece> {
    if (step.op == Op::clock) return Piece{"max_hz", 3};
    if (step.op == Op::number) return Piece{std::to_string(step.value), step.value < 0 ? 1 : 3};
    const auto index = static_cast<std::size_t>(step.value);
    return Piece{index < names.size() ? names[index] : "N" + std::to_string(step.value), 3};
  };
  const auto whole = fold<Piece>(rpn, operand, joined);
  return whole ? whole->text : std::string();
}

namespace {

constexpr std::size_t buffer_size = 2048; // of both PAPI's stack and its output

int priority(char c) {
  if (c == '+' || c == '-') return 1;
  return c == '*' || c == '/' || c == '%' ? 2 : 0; // PAPI gives '^' the lowest priority
}

/// PAPI's shunting-yard algorithm: an operator pops those of higher priority only (`left`: of equal priority
/// too).
class Shunter {
public:
  Shunter(std::string_view infix, bool left) : left_(left) {
    for (const char c : infix.substr(0, infix.find('\0'))) {
      take(c);
      if (crashes_) return;
    }
    separate();
    while (!stack_.empty())
      pop();
  }
  [[nodiscard]] Conversion result() && {
    const bool too_long = out_.size() >= buffer_size || deepest_ >= buffer_size - 1;
    return {std::move(out_), crashes_, too_long};
  }

private:
  void take(char c) {
    if (c == ')') {
      close();
    } else if (c == '(') {
      push(c);
    } else if (std::string_view("+-*/%^").find(c) != std::string_view::npos) {
      separate();
      while (!stack_.empty() && (priority(stack_.back()) > priority(c) ||
                                 (left_ && stack_.back() != '(' && priority(stack_.back()) == priority(c))))
        pop();
      push(c);
    } else {
      out_ += c;
    }
  }
  void close() {
    separate();
    while (!stack_.empty() && stack_.back() != '(')
      pop();
    crashes_ = stack_.empty();
    if (!crashes_) stack_.pop_back();
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

double apply(double a, double b, Op op) noexcept {
  return op == Op::add ? a + b : op == Op::sub ? a - b : op == Op::mul ? a * b : a / b;
}

} // namespace recount::formula
