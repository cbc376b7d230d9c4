#include "formula/evaluate.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace recount::formula {
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
