#include "formula/named.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace recount::formula {
namespace {

/// Checks the order of operands and operators while it writes the formula over N0, N1 … as infix.
class NamedReader {
public:
  explicit NamedReader(std::string_view text) : text_(text) {}

  Named read() && {
    while (out_.fault.empty() && skip_blanks())
      take(text_[at_]);
    if (out_.fault.empty() && want_operand_)
      fault(text_.empty() ? "is empty" : "ends where an operand is expected");
    if (out_.fault.empty() && !open_.empty()) {
      at_ = open_.back();
      fault("unmatched (");
    }
    if (out_.fault.empty()) out_.rpn = parse_rpn(infix_to_postfix_left(infix_));
    return std::move(out_);
  }

private:
  bool skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
      ++at_;
    return at_ < text_.size();
  }
  void fault(std::string why) {
    out_.fault = std::move(why);
    out_.fault_at = at_;
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.';
  }

  void take(char c) {
    if (c == '(') return open();
    if (c == ')') return close();
    if (c == '+' || c == '-' || c == '*' || c == '/') return combine(c);
    if (!want_operand_) return fault("an operator is expected; a name with - or / in it needs double quotes");
    if (c == '"') return quoted();
    if (std::isdigit(static_cast<unsigned char>(c))) return number();
    if (is_word(c)) return word();
    fault("unexpected character");
  }
  void open() {
    if (!want_operand_) return fault("an operator is expected before (");
    open_.push_back(at_++);
    infix_ += '(';
  }
  void close() {
    if (want_operand_) return fault("an operand is expected before )");
    if (open_.empty()) return fault("unmatched )");
    open_.pop_back();
    ++at_;
    infix_ += ')';
  }
  void combine(char c) {
    if (want_operand_) return fault("an operand is expected before the operator");
    want_operand_ = true;
    ++at_;
    infix_ += c;
  }
  void number() {
    double value = 0;
    const auto [end, wrong] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const auto beyond = static_cast<std::size_t>(end - text_.data());
    if (wrong != std::errc() || (beyond < text_.size() && is_word(text_[beyond])))
      return fault("is not a number");
    at_ = beyond;
    operand({{}, value});
  }
  void word() {
    const auto end = std::find_if_not(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.end(), is_word);
    const auto length = static_cast<std::size_t>(end - text_.begin()) - at_;
    const std::string name(text_.substr(at_, length));
    at_ += length;
    operand({name, 0});
  }
  void quoted() {
    const auto end = text_.find('"', at_ + 1);
    if (end == text_.npos) return fault("unterminated \"");
    if (end == at_ + 1) return fault("an empty name");
    const std::string name(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    operand({name, 0});
  }
  void operand(Quantity quantity) {
    auto& all = out_.quantities;
    const auto same = [&](const Quantity& q) { return !q.name.empty() && q.name == quantity.name; };
    const auto known = std::ranges::find_if(all, same);
    infix_ += "N" + std::to_string(known - all.begin());
    if (known == all.end()) all.push_back(std::move(quantity));
    want_operand_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Named out_;
  std::string infix_;
  std::vector<std::size_t> open_; ///< where each open parenthesis stands
  bool want_operand_ = true;
};

} // namespace

Named parse_named(std::string_view text) {
  return NamedReader(text).read();
}

Real evaluate_real(const Rpn& rpn, std::span<const double> operands) {
  if (rpn.flaw != Flaw::none) return {{}, "the formula cannot be read"};
  std::vector<double> stack;
  for (const Step& step : rpn.steps) {
    if (step.op == Op::native || step.op == Op::number) {
      const bool native = step.op == Op::native;
      if (native && static_cast<std::size_t>(step.value) >= operands.size())
        return {{}, "an operand is missing"};
      stack.push_back(native ? operands[static_cast<std::size_t>(step.value)] : step.value);
      continue;
    }
    if (stack.size() < 2 || step.op == Op::clock) return {{}, "the formula cannot be read"};
    const double b = stack.back();
    stack.pop_back();
    double& a = stack.back();
    if (step.op == Op::div && b == 0) return {{}, "division by 0"};
    a = step.op == Op::add ? a + b : step.op == Op::sub ? a - b : step.op == Op::mul ? a * b : a / b;
  }
  if (stack.size() != 1) return {{}, "the formula cannot be read"};
  if (!std::isfinite(stack.front())) return {{}, "the value is not finite"};
  return {stack.front(), {}};
}

} // namespace recount::formula
