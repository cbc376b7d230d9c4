// The value of a preset from the counts of its natives, as PAPI computes it.
#include "base/formula/expression.hpp"

#include <recount/preset.hpp>

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace recount {
namespace {

using formula::Flaw, formula::Op;

bool fits(double value) {
  constexpr double edge = 9223372036854775808.0; // 2^63
  return value >= -edge && value < edge;
}

/// As this CPU converts it: outside the range of long long, and for NaN, x86 gives the smallest number; arm64
/// saturates and makes NaN 0. (C++ leaves it undefined.)
long long truncate(double value) {
  if (fits(value)) return static_cast<long long>(value);
  using Range = std::numeric_limits<long long>;
#if defined(__aarch64__)
  if (std::isnan(value)) return 0;
  return value > 0 ? Range::max() : Range::min();
#else
  return Range::min();
#endif
}

/// PAPI's stack machine, which checks each step with assert(); its library is built with assertions on.
class Machine {
public:
  Machine(std::span<const long long> counts, int slots, int max_mhz)
      : counts_(counts), slots_(slots), max_mhz_(max_mhz) {}

  PresetValue run(const formula::Rpn& rpn) && {
    for (const formula::Step& step : rpn.steps)
      if (!execute(step)) return out_;
    if (rpn.flaw == Flaw::digits)
      die("N without a number, or a number of 16 digits or more");
    else if (rpn.flaw == Flaw::none && stack_.empty())
      die("the formula leaves nothing on the stack");
    else if (rpn.flaw == Flaw::none && stack_.size() != 1)
      die(fmt::format("the formula leaves {} values on the stack", stack_.size()));
    else
      settle();
    out_.unreadable = rpn.flaw == Flaw::character;
    return out_;
  }

private:
  /// False when the process would have been aborted.
  bool execute(const formula::Step& step) {
    switch (step.op) {
    case Op::native: return push_native(step.value);
    case Op::number: return push(step.value);
    case Op::clock: return push(max_mhz_ * 1000000.0);
    default: return combine(step.op);
    }
  }
  bool die(std::string why) {
    out_.ending = PresetValue::Ending::dies;
    out_.why = std::move(why);
    return false;
  }
  bool push(double value) {
    if (stack_.size() >= static_cast<std::size_t>(slots_))
      return die(fmt::format("the stack exceeds a depth of {}", slots_));
    stack_.push_back(value);
    return true;
  }
  bool push_native(int index) {
    if (stack_.size() >= static_cast<std::size_t>(slots_)) return push(0);
    if (index < 0 || index >= slots_) return die(fmt::format("N{} is beyond N{}", index, slots_ - 1));
    if (const auto at = static_cast<std::size_t>(index); at < counts_.size())
      return push(static_cast<double>(counts_[at]));
    out_.ending = PresetValue::Ending::undefined;
    out_.why = fmt::format("N{} has no term", index);
    return push(0);
  }
  bool combine(Op op) {
    if (stack_.size() < 2) return die("an operator has fewer than two values on the stack");
    const double b = stack_.back();
    stack_.pop_back();
    out_.divided_by_zero = out_.divided_by_zero || (op == Op::div && b == 0);
    stack_.back() = formula::apply(stack_.back(), b, op);
    return true;
  }
  void settle() {
    const double value = stack_.empty() ? 0.0 : stack_.front();
    out_.out_of_range = !fits(value);
    out_.value = truncate(value);
  }

  std::span<const long long> counts_;
  int slots_, max_mhz_;
  std::vector<double> stack_;
  PresetValue out_;
};

/// PAPI computes with signed numbers without overflow checks; they wrap on every CPU that it runs on.
template <class Operation>
long long wrapping(std::span<const long long> counts, long long first, Operation operation) {
  auto total = static_cast<unsigned long long>(first);
  for (const long long n : counts)
    total = operation(total, static_cast<unsigned long long>(n));
  return static_cast<long long>(total);
}

PresetValue undefined_value(std::string why) {
  PresetValue value;
  value.ending = PresetValue::Ending::undefined;
  value.why = std::move(why);
  return value;
}

PresetValue make_value(long long n) {
  PresetValue value;
  value.value = n;
  return value;
}

/// units * max_mhz * 10^6 / cycles in whole numbers.
PresetValue per_second(long long units, long long cycles, int max_mhz) {
  const long long factors[] = {max_mhz, 1000000};
  const long long over = wrapping(factors, units, std::multiplies<>());
  if (cycles != 0 && (cycles != -1 || over != INT64_MIN)) return make_value(over / cycles);
#if defined(__aarch64__)
  PresetValue value = make_value(cycles == 0 ? 0 : over); // this CPU divides without a trap
  value.divided_by_zero = cycles == 0;
#else
  PresetValue value;
  value.ending = PresetValue::Ending::dies;
  value.why = "an integer division by zero cycles (SIGFPE)";
  value.divided_by_zero = true;
#endif
  return value;
}

} // namespace

PresetValue evaluate(const Preset& preset, const std::vector<long long>& counts, int max_mhz,
                     PapiVersion version) {
  if (!preset.undefined.empty()) return undefined_value(preset.undefined);
  if (counts.empty()) return undefined_value("no native events");
  const int slots = max_terms(version);
  const auto rest = std::span(counts).subspan(1);
  switch (preset.type) {
  case Derived::add: return make_value(wrapping(rest, counts[0], std::plus<>()));
  case Derived::sub: return make_value(wrapping(rest, counts[0], std::minus<>()));
  case Derived::ps:
    if (rest.empty()) return undefined_value("DERIVED_PS has no second term");
    return per_second(rest[0], counts[0], max_mhz);
  case Derived::add_ps:
    if (counts.size() >= static_cast<std::size_t>(slots))
      return undefined_value("DERIVED_ADD_PS reads beyond its terms");
    return per_second(wrapping(rest, 0, std::plus<>()), counts[0], max_mhz);
  case Derived::postfix:
  case Derived::infix: return Machine(counts, slots, max_mhz).run(formula::parse_rpn(preset.postfix));
  default: return make_value(counts[0]);
  }
}

} // namespace recount
