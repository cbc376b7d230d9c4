#include "formula/rpn.hpp"

namespace recount::formula {
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
