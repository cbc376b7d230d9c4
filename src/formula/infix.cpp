#include "formula/rpn.hpp"

#include <algorithm>

namespace recount::formula {
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

} // namespace recount::formula
