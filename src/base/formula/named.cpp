#include "base/formula/named.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace recount::formula {
namespace {

/// Checks the order of operands and operators, and rewrites the formula as infix over N0, N1 ...
class NamedReader {
public:
  explicit NamedReader(std::string_view text) : text_(text) {}

  Named read() && {
    while (out_.fault.empty() && skip_blanks())
      read_token(text_[at_]);
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
    at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size());
    return at_ < text_.size();
  }
  void fault(std::string why) {
    out_.fault = std::move(why);
    out_.fault_at = at_;
  }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':' || c == '.';
  }

  void read_token(char c) {
    if (c == '(') {
      if (!want_operand_) return fault("an operator is expected before (");
      open_.push_back(at_);
      copy(c);
    } else if (c == ')') {
      if (want_operand_) return fault("an operand is expected before )");
      if (open_.empty()) return fault("unmatched )");
      open_.pop_back();
      copy(c);
    } else if (c == '+' || c == '-' || c == '*' || c == '/') {
      if (want_operand_) return fault("an operand is expected before the operator");
      want_operand_ = true;
      copy(c);
    } else if (!want_operand_) {
      fault("an operator is expected; a name with - or / in it needs double quotes");
    } else if (c == '"') {
      quoted();
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      number();
    } else if (is_word(c)) {
      word();
    } else {
      fault("unexpected character");
    }
  }
  void copy(char c) {
    infix_ += c;
    ++at_;
  }
  void number() {
    double value = 0;
    const auto [end, wrong] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const auto beyond = static_cast<std::size_t>(end - text_.data());
    if (wrong != std::errc() || (beyond < text_.size() && is_word(text_[beyond])))
      return fault("is not a number");
    operand({{}, value}, beyond);
  }
  void word() {
    std::size_t end = at_;
    while (end < text_.size() && is_word(text_[end]))
      ++end;
    operand({std::string(text_.substr(at_, end - at_)), 0}, end);
  }
  void quoted() {
    const auto end = text_.find('"', at_ + 1);
    if (end == text_.npos) return fault("unterminated \"");
    if (end == at_ + 1) return fault("an empty name");
    operand({std::string(text_.substr(at_ + 1, end - at_ - 1)), 0}, end + 1);
  }
  void operand(Quantity quantity, std::size_t end) {
    at_ = end;
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
  std::vector<std::size_t> open_; ///< positions of the open parentheses
  bool want_operand_ = true;
};

} // namespace

Named parse_named(std::string_view text) {
  return NamedReader(text).read();
}

Real evaluate_real(const Rpn& rpn, std::span<const double> operands) {
  std::string why = "no formula, or an operand is missing";
  const auto operand = [&](const Step& step) -> std::optional<double> {
    if (step.op == Op::number) return step.value;
    const auto index = static_cast<std::size_t>(step.value);
    return step.op == Op::native && index < operands.size() ? std::optional(operands[index]) : std::nullopt;
  };
  const auto combine = [&](double a, double b, Op op) -> std::optional<double> {
    if (op != Op::div || b != 0) return apply(a, b, op);
    why = "division by 0";
    return {};
  };
  const auto value = fold<double>(rpn, operand, combine);
  if (!value) return {{}, why};
  if (!std::isfinite(*value)) return {{}, "the value is not finite"};
  return {value, {}};
}

} // namespace recount::formula
