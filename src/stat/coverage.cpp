#include "stat/coverage.hpp"

#include "perf/removed.hpp"

#include <algorithm>

namespace recount::stat {
using std::chrono::nanoseconds;

namespace {
struct Stretch {
  Between made;
  nanoseconds enabled{0};
  nanoseconds used{0}; ///< at least: the readings themselves take time
};

Stretch stretch(const Reading& from, const Reading& to) {
  Stretch its;
  for (std::size_t e = 0; e < to.counts.size(); ++e) {
    its.made.counts.push_back(difference(to.counts[e], from.counts[e]));
    its.enabled = std::max(its.enabled, nanoseconds(its.made.counts.back().enabled_ns));
  }
  its.used = to.before - from.after;
  return its;
}

void remove(Between& made, const std::string& reason) {
  made.removed = reason;
  for (Count& count : made.counts) {
    if (reason.empty() || !count.value) continue;
    count.value.reset();
    count.reason = reason;
  }
}
} // namespace

Reading read(const std::function<std::vector<Count>()>& counters, const process::Child* command) {
  const auto used = [command] { return command ? command->cpu_time() : nanoseconds(0); };
  Reading reading;
  reading.before = used();
  reading.counts = counters();
  reading.after = used();
  return reading;
}

Between between(const Reading& first, const Reading& now) {
  Stretch all = stretch(first, now);
  if (all.used <= nanoseconds(0) || all.made.counts.empty()) return all.made;
  if (perf::removed(all.enabled, all.used))
    remove(all.made, perf::removed_reason(all.enabled, all.used));
  else
    all.made.incomplete = perf::removed_in_part(all.enabled, all.used);
  return all.made;
}

Between between(const Reading& first, const Reading& from, const Reading& now, bool ended) {
  // Processor time of an execve(2), which is not counted: an interval may begin or end in it. The first one
  // also takes down the memory of this process, which is large under a sanitizer.
  constexpr nanoseconds longest_exec{10'000'000}, longest_first{100'000'000};
  const bool begins_before = stretch(first, from).enabled == nanoseconds(0);
  Stretch part = stretch(from, now);
  if (!ended && now.before - first.after <= (begins_before ? longest_first : longest_exec))
    return part.made; // too early to tell
  if (!ended && part.used > longest_exec && perf::removed(part.enabled, part.used))
    remove(part.made, perf::removed_reason(part.enabled, part.used));
  else if (part.enabled < longest_exec)
    remove(part.made, between(first, now).removed);
  return part.made;
}

void flag_all(std::span<result::Observation> rows, const std::string& flag) {
  for (result::Observation& row : rows)
    if (!flag.empty() && result::as_double(row.value) && std::ranges::count(row.flags, flag, &Flag::text) == 0)
      row.flags.emplace_back(Flag::Kind::note, flag);
}

} // namespace recount::stat
