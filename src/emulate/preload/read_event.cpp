#include "emulate/preload/read_event.hpp"

#include "emulate/preload/account.hpp"
#include "emulate/slot.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <linux/perf_event.h>

namespace recount::emulate {
namespace {

/// Of a program that no kernel is known of, so much in a second of CPU time.
const Effect& second() {
  static const Effect effect(settings().machine.per_second);
  return effect;
}

/// Whether the slot counts a thread whose work nobody sees.
bool by_rate(const Slot& slot) {
  return slot.foreign && !settings().exact;
}

/// Where `program` is stated: all that another process executes, as soon as it has run.
bool counts_program(Slot& slot, std::uint64_t backing_ns) {
  if (!settings().machine.program) return false;
  static const Effect whole(*settings().machine.program);
  if (backing_ns > 0 && !slot.dropped && !slot.exclude_user) slot.value = count_of(slot, whole);
  return true;
}

/// A foreign event counts by the CPU time that has passed since it was last read, with the share of now:
/// groups that are opened later do not change what has been counted.
std::uint64_t total(const Shared& shared, Slot& slot, std::uint64_t backing_ns) {
  if (by_rate(slot) && counts_program(slot, backing_ns))
    return static_cast<std::uint64_t>(std::llround(slot.value));
  if (by_rate(slot) && !slot.dropped && !slot.exclude_user && backing_ns > slot.seen_ns) {
    const auto passed = static_cast<double>(backing_ns - slot.seen_ns);
    slot.value += count_of(slot, second()) * passed * 1e-9 * share_of(shared, slot);
  }
  slot.seen_ns = backing_ns;
  return static_cast<std::uint64_t>(std::llround(slot.value));
}

/// The share of its enabled time for which the slot has had a counter.
double scheduled_share(const Slot& slot) {
  if (by_rate(slot))
    return slot.seen_running_ns == 0
               ? 1
               : static_cast<double>(slot.reported_ns) / static_cast<double>(slot.seen_running_ns);
  if (slot.unscheduled_ns == 0) return 1;
  const auto scheduled = static_cast<double>(slot.scheduled_ns);
  return scheduled / (scheduled + static_cast<double>(slot.unscheduled_ns));
}

/// The running time, given the backing event's: less what the slot has been without a counter.
std::uint64_t running(const Shared& shared, Slot& slot, std::uint64_t backing_ns) {
  if (slot.dropped) return 0;
  if (by_rate(slot)) {
    const auto passed = static_cast<double>(backing_ns - std::min(backing_ns, slot.seen_running_ns));
    slot.reported_ns += static_cast<std::uint64_t>(passed * share_of(shared, slot));
    slot.seen_running_ns = backing_ns;
    return slot.reported_ns;
  }
  if (settings().virtual_time) return slot.scheduled_ns;
  if (settings().exact)
    return static_cast<std::uint64_t>(static_cast<double>(backing_ns) * scheduled_share(slot));
  if (slot.unscheduled_ns == 0) return backing_ns;
  if (slot.scheduled_ns == 0) return 0;
  const std::uint64_t left = backing_ns - std::min(backing_ns, slot.unscheduled_ns);
  slot.reported_ns = std::clamp(left, std::min(slot.reported_ns, backing_ns), backing_ns);
  return slot.reported_ns;
}

/// The simulated slot whose time is the group's: any, as a group runs as a whole.
Slot* timed(Shared& shared, std::int32_t leader) {
  if (shared.slots[leader].simulated) return &shared.slots[leader];
  for (std::int32_t i = 0; i < shared.end; ++i)
    if (shared.slots[i].used && shared.slots[i].simulated && shared.slots[i].leader == leader)
      return &shared.slots[i];
  return nullptr;
}

/// Slots of a group.
class Members {
public:
  explicit Members(std::int32_t first) { push_back(first); }
  void push_back(std::int32_t slot) { slots_[count_++] = slot; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] auto begin() { return slots_.begin(); }
  [[nodiscard]] auto end() { return slots_.begin() + static_cast<std::ptrdiff_t>(count_); }

private:
  std::array<std::int32_t, most_slots> slots_; // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count_ = 0;
};

/// Members of the group in the order of a group read: the leader, then the siblings as they were opened.
Members members(const Shared& shared, std::int32_t leader) {
  Members all(leader);
  for (std::int32_t i = 0; i < shared.end; ++i)
    if (shared.slots[i].used && shared.slots[i].leader == leader && i != leader) all.push_back(i);
  std::ranges::sort(all.begin() + 1, all.end(), {}, [&](std::int32_t i) { return shared.slots[i].order; });
  return all;
}

} // namespace

void append_read(const Shared& shared, const Slot& slot, std::uint64_t format, Words& words) {
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  const auto self = static_cast<std::int32_t>(&slot - shared.slots);
  Members all = group ? members(shared, slot.leader) : Members(self);
  const auto value = [&](std::int32_t i) {
    const Slot& one = shared.slots[i];
    words.push_back(static_cast<std::uint64_t>(std::llround(one.value)));
    if (group && (format & PERF_FORMAT_ID) != 0) words.push_back(one.id);
    if (group && (format & PERF_FORMAT_LOST) != 0) words.push_back(one.lost);
  };
  if (group)
    words.push_back(all.size());
  else
    value(self);
  if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0)
    words.push_back(slot.scheduled_ns + slot.unscheduled_ns);
  if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0) words.push_back(slot.scheduled_ns);
  if (group) std::ranges::for_each(all, value);
  if (!group && (format & PERF_FORMAT_ID) != 0) words.push_back(slot.id);
  if (!group && (format & PERF_FORMAT_LOST) != 0) words.push_back(slot.lost);
}

ssize_t translate(std::int32_t at, void* data, ssize_t bytes) {
  auto* const words = static_cast<std::uint64_t*>(data);
  const Locked shared;
  Slot& slot = shared->slots[at];
  if (shared->slots[slot.leader].failed) return 0; // as Linux reads a pinned event in error: end of file
  const std::uint64_t format = slot.read_format;
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  Slot* const timing = slot.simulated ? &slot : group ? timed(*shared, slot.leader) : nullptr;
  if (timing == nullptr) return bytes;
  std::size_t word = 1;
  const bool has_enabled = (format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0;
  const bool has_running = (format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
  if (has_enabled && slot.dropped) words[word] = 0;
  if (has_enabled && settings().virtual_time && !timing->foreign && !slot.dropped)
    words[word] = timing->scheduled_ns + timing->unscheduled_ns;
  if (has_running) {
    std::uint64_t& time = words[word + (has_enabled ? 1 : 0)];
    time = running(*shared, *timing, time);
  }
  if (!group) {
    words[0] = total(*shared, slot, words[0]);
    if ((format & PERF_FORMAT_LOST) != 0)
      words[static_cast<std::size_t>(bytes) / sizeof words[0] - 1] = slot.lost;
    return bytes;
  }
  const auto size = [](std::uint64_t bits) { return static_cast<std::size_t>(std::popcount(bits)); };
  word += size(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
  const std::size_t each = 1 + size(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
  for (const std::int32_t member : members(*shared, slot.leader)) {
    if ((word + each) * sizeof words[0] > static_cast<std::size_t>(bytes)) break;
    Slot& one = shared->slots[member];
    if (one.simulated) {
      words[word] = total(*shared, one, words[word]);
      if ((format & PERF_FORMAT_LOST) != 0) words[word + each - 1] = one.lost;
    } else { // Linux's own event runs only while its group does
      const double share = scheduled_share(*timing);
      words[word] = static_cast<std::uint64_t>(share * static_cast<double>(words[word]));
    }
    word += each;
  }
  return bytes;
}

ssize_t read_unbacked(std::int32_t at, void* to, std::size_t bytes) {
  const Locked shared;
  const Slot& slot = shared->slots[at];
  if (shared->slots[slot.leader].failed) return 0; // a pinned event in error: end of file
  static Words words;                              // under the lock
  words.clear();
  append_read(*shared, slot, slot.read_format, words);
  const std::size_t size = words.size() * sizeof words[0];
  if (size > bytes) {
    errno = ENOSPC;
    return -1;
  }
  std::memcpy(to, words.data(), size);
  return static_cast<ssize_t>(size);
}

} // namespace recount::emulate
