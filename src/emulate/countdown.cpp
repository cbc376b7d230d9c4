#include "emulate/countdown.hpp"

#include "emulate/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <tuple>

namespace recount::emulate {
namespace {

using enum Quantity;

/// Quantities that an instruction makes once at most, by the countdowns of their instructions.
constexpr Quantity of_loads[] = {loads, prefetches}, of_stores[] = {stores},
                   of_conditional[] = {conditional, taken, mispredicted},
                   of_branches[] = {conditional, taken, mispredicted, jumps,
                                    indirect,    calls, returns,      mispredicted_indirect};
constexpr struct {
  unsigned countdown;
  std::span<const Quantity> quantities;
} countdown_kinds[] = {{RT_COUNT_LOADS, of_loads},
                       {RT_COUNT_STORES, of_stores},
                       {RT_COUNT_CONDITIONAL, of_conditional},
                       {RT_COUNT_BRANCHES, of_branches}};

/// Quantities that follow from the instruction alone.
bool is_static(std::size_t quantity) {
  return quantity >= plain_quantities || quantity <= static_cast<std::size_t>(prefetches);
}

/// Occurrences, less those of no work at all.
double occurrences(const Slot& slot, const Work& work) {
  const double more = count_of(slot, Effect(work)) - count_of(slot, Effect(Work{}));
  return std::isfinite(more) ? std::max(more, 0.0) : 0;
}

/// The quantities that the event depends on, with the occurrences of one.
std::map<std::size_t, double> dependence(const Slot& slot) {
  constexpr double many = 1000;
  std::map<std::size_t, double> all;
  for (std::size_t q = 0; q < all_quantities; ++q) {
    Work work;
    work.of[q] = many;
    if (const double each = occurrences(slot, work) / many; each > 0) all[q] = each;
  }
  return all;
}

/// Occurrences at one instruction: it is one kind of branch, loads or prefetches, and has one quantity of
/// floating point.
double most_at_once(const std::map<std::size_t, double>& by_quantity) {
  const auto of = [&](Quantity q) {
    const auto found = by_quantity.find(static_cast<std::size_t>(q));
    return found == by_quantity.end() ? 0.0 : found->second;
  };
  double sum =
      std::max({of(conditional) + of(taken) + of(mispredicted),
                std::max(of(indirect), of(calls)) + of(mispredicted_indirect), of(jumps), of(returns)});
  sum += std::max(of(loads), of(prefetches));
  double floating_point = 0;
  const auto included = [](std::span<const Quantity> some, std::size_t quantity) {
    return std::ranges::find(some, static_cast<Quantity>(quantity)) != some.end();
  };
  for (const auto& [quantity, each] : by_quantity)
    if (quantity >= plain_quantities)
      floating_point = std::max(floating_point, each);
    else if (!included(of_branches, quantity) && !included(of_loads, quantity))
      sum += each;
  return sum + floating_point;
}

Pace find_pace(const Slot& slot) {
  const auto by_quantity = dependence(slot);
  Pace pace;
  pace.most = most_at_once(by_quantity);
  for (const auto& [countdown, quantities] : countdown_kinds) {
    const bool alone = std::ranges::all_of(by_quantity, [&](const auto& one) {
      return std::ranges::find(quantities, static_cast<Quantity>(one.first)) != quantities.end();
    });
    if (!alone) continue;
    pace.countdown = countdown;
    pace.exact = true;
    return pace;
  }
  pace.exact = std::ranges::all_of(by_quantity, [](const auto& one) { return is_static(one.first); });
  return pace;
}

/// Instructions of its kind until the event is to be looked at again, with so many occurrences left.
double instructions_until(const Pace& pace, double left, double period) {
  const double at_least = std::floor(left / pace.most);
  return pace.exact ? std::max(at_least, 1.0) : std::max({at_least, skid, period * skid_share});
}

} // namespace

Pace pace_of(const Slot& slot) {
  static std::map<std::tuple<int, std::uint64_t, std::uint64_t>, Pace> known; // under the lock of the slots
  const std::tuple key(slot.pmu, slot.config, slot.config1);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, find_pace(slot)).first;
  return found->second;
}

trace::Countdown countdown_of(const Executor& executor) {
  trace::Countdown made;
  const Locked shared;
  for (std::int32_t i = 0; i < shared->end; ++i) {
    const Slot& slot = shared->slots[i];
    if (!slot.used || !slot.simulated || slot.period == 0 || slot.exclude_user ||
        !is_enabled(*shared, slot) || !counts_thread(slot, executor.tid, executor.lineage))
      continue;
    const Pace pace = pace_of(slot);
    if (pace.most <= 0) continue;
    const auto period = static_cast<double>(slot.period);
    double left = slot.next_sample - slot.reset - slot.value;
    if (left < sample_rounding) {
      made.answer = RT_SAMPLE_DUE;
      left += period * (std::floor((sample_rounding - left) / period) + 1);
    }
    auto& until = made.left[pace.countdown];
    until =
        std::min(until, static_cast<std::int64_t>(std::min(instructions_until(pace, left, period), 1e15)));
  }
  return made;
}

} // namespace recount::emulate
