#include <recount/count.hpp>

#include <algorithm>

namespace recount {

double share(const Count& count) noexcept {
  if (count.enabled_ns == 0) return 1;
  return static_cast<double>(count.running_ns) / static_cast<double>(count.enabled_ns);
}

bool multiplexed(const Count& count) noexcept {
  return count.running_ns < count.enabled_ns;
}

std::optional<double> scale(const Count& count) noexcept {
  if (!count.value || (count.enabled_ns > 0 && count.running_ns == 0)) return {};
  const auto value = static_cast<double>(*count.value);
  if (!multiplexed(count)) return value;
  return value * static_cast<double>(count.enabled_ns) / static_cast<double>(count.running_ns);
}

Count difference(const Count& after, const Count& before) {
  Count delta;
  const auto not_counted = [&](std::string reason) {
    delta.value.reset();
    delta.reason = std::move(reason);
    return delta;
  };
  // A counter with no value yet because it had not been started counted 0.
  const bool fresh = before.enabled_ns == 0 && before.running_ns == 0;
  if (!after.value) return not_counted(after.reason);
  if (!before.value && !fresh) return not_counted(before.reason);
  const std::uint64_t from = before.value.value_or(0);
  if (*after.value < from || after.enabled_ns < before.enabled_ns || after.running_ns < before.running_ns ||
      after.lost < before.lost)
    return not_counted("the counter decreased: it was reset between two reads");
  delta.enabled_ns = after.enabled_ns - before.enabled_ns;
  delta.running_ns = after.running_ns - before.running_ns;
  delta.lost = after.lost - before.lost;
  if (delta.enabled_ns > 0 && delta.running_ns == 0)
    return not_counted("never scheduled: the counter was in use by others");
  delta.value = *after.value - from;
  return delta;
}

Count sum_of_core_types(std::span<const Count> parts) {
  Count sum;
  for (const Count& part : parts) {
    sum.enabled_ns = std::max(sum.enabled_ns, part.enabled_ns);
    if (part.value) {
      sum.value = sum.value.value_or(0) + *part.value;
      sum.running_ns += part.running_ns;
      sum.lost += part.lost;
    } else if (sum.reason.empty()) {
      sum.reason = part.reason;
    }
  }
  // Each PMU has its own clock of these times: their sum may exceed the whole by a few nanoseconds.
  sum.running_ns = std::min(sum.running_ns, sum.enabled_ns);
  if (sum.value) sum.reason.clear();
  return sum;
}

} // namespace recount
