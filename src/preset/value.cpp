// The value of a preset from the counts of its natives.
#include <recount/preset.hpp>

#include "formula/evaluate.hpp"

#include <algorithm>

namespace recount {
namespace {

using Counts = std::vector<long long>;

// PAPI adds signed numbers without overflow checks; they wrap, as on every CPU that it runs on.
long long add(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
long long subtract(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
long long multiply(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

PresetValue ending(PresetValue::Ending how, std::string why) {
  PresetValue value;
  value.ending = how;
  value.why = std::move(why);
  return value;
}

PresetValue plain(long long n) {
  PresetValue value;
  value.value = n;
  return value;
}

/// units * max_mhz * 10^6 / cycles in whole numbers.
PresetValue per_second(long long units, long long cycles, int max_mhz) {
  const long long over = multiply(multiply(units, max_mhz), 1000000);
  if (cycles == 0 || (cycles == -1 && over == INT64_MIN)) {
#if defined(__aarch64__)
    PresetValue value = plain(cycles == 0 ? 0 : over); // this CPU divides without a trap
    value.divided_by_zero = cycles == 0;
    return value;
#else
    PresetValue value = ending(PresetValue::Ending::dies, "an integer division by zero cycles (SIGFPE)");
    value.divided_by_zero = true;
    return value;
#endif
  }
  return plain(over / cycles);
}

PresetValue postfix(const Preset& preset, const Counts& counts, int max_mhz, int slots) {
  auto outcome = formula::evaluate(formula::parse_rpn(preset.postfix), counts, {slots, max_mhz});
  PresetValue value;
  value.ending = static_cast<PresetValue::Ending>(outcome.ending);
  value.value = outcome.value;
  value.divided_by_zero = outcome.divided_by_zero;
  value.out_of_range = outcome.out_of_range;
  value.unreadable = outcome.unreadable;
  value.why = std::move(outcome.why);
  return value;
}

} // namespace

PresetValue evaluate(const Preset& preset, const std::vector<long long>& counts, int max_mhz,
                     PapiVersion version) {
  using enum PresetValue::Ending;
  const auto slots = static_cast<std::size_t>(most_terms(version));
  if (!preset.undefined.empty()) return ending(undefined, preset.undefined);
  if (counts.empty()) return ending(undefined, "no native events");
  long long total = 0;
  switch (preset.type) {
  case Derived::add:
    for (const long long n : counts)
      total = add(total, n);
    return plain(total);
  case Derived::sub:
    total = counts.front();
    for (std::size_t i = 1; i < counts.size(); ++i)
      total = subtract(total, counts[i]);
    return plain(total);
  case Derived::ps:
    if (counts.size() < 2) return ending(undefined, "DERIVED_PS has no second term");
    return per_second(counts[1], counts[0], max_mhz);
  case Derived::add_ps:
    if (counts.size() >= slots) return ending(undefined, "DERIVED_ADD_PS reads beyond its terms");
    for (std::size_t i = 1; i < counts.size(); ++i)
      total = add(total, counts[i]);
    return per_second(total, counts[0], max_mhz);
  case Derived::postfix:
  case Derived::infix: return postfix(preset, counts, max_mhz, static_cast<int>(slots));
  default: return plain(counts.front());
  }
}

} // namespace recount
