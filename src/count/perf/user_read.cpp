#include "base/process/signals.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/open_group.hpp"
#include "count/perf/read_page.hpp"

#include <recount/error.hpp>
#include <recount/user_read.hpp>

#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace recount {
namespace {

constexpr int map_private = MAP_PRIVATE | MAP_ANONYMOUS;

/// What the quick read of an event needs.
struct Slot {
  const perf_event_mmap_page* page; ///< the first of its mapping, read-only
  std::uint64_t value, waited_ns;   ///< at the last reset: the total, and the time enabled without a register
};

/// The slots of a group's events. None has a page if the kernel does not provide them all, and in a forked
/// child, which does not inherit mappings of events: then read(2) is used. They are in memory that fork(2)
/// clears, so that a read needs no other check.
class Slots {
public:
  Slots(const perf::OpenGroup& group, std::size_t events) : events_(events) {
    void* const kept = mmap(nullptr, kept_bytes(), PROT_READ | PROT_WRITE, map_private, -1, 0);
    if (kept == MAP_FAILED) throw std::bad_alloc();
    slots_ = static_cast<Slot*>(kept); // zero-filled
    bool all = madvise(kept, kept_bytes(), MADV_WIPEONFORK) == 0;
    for (std::size_t i = 0; all && i < events; ++i) {
      void* const at = mmap(nullptr, length_, PROT_READ, MAP_SHARED, group.fd(i), 0);
      all = at != MAP_FAILED;
      if (all) slots_[i].page = static_cast<const perf_event_mmap_page*>(at);
    }
    if (!all) unmap_pages();
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() {
    unmap_pages();
    munmap(slots_, kept_bytes());
  }
  [[nodiscard]] std::size_t size() const noexcept { return events_; }
  [[nodiscard]] Slot& operator[](std::size_t event) const noexcept { return slots_[event]; }

private:
  [[nodiscard]] std::size_t kept_bytes() const { return events_ * sizeof(Slot); }
  void unmap_pages() noexcept {
    for (std::size_t i = 0; i < events_; ++i)
      if (const auto* const page = std::exchange(slots_[i].page, nullptr))
        munmap(const_cast<perf_event_mmap_page*>(page), length_);
  }
  std::size_t events_;
  std::size_t length_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Slot* slots_ = nullptr;
};

/// arm64 lets user space read a counter only if the event asks for it: bit 1 of config1, the format "rdpmc".
Event readable(Event event) {
#if defined(__aarch64__)
  constexpr std::uint64_t user_access = 2;
  for (const host::Pmu& pmu : event::pmus())
    if (pmu.core() && pmu.formats.contains("rdpmc")) event.attr.config1 |= user_access;
#endif
  return event;
}

// Objects instead of functions, so that the templates below inline them.
constexpr auto counter_here = [](std::uint32_t index) { return perf::cpu_counter(index); };
constexpr auto clock_here = [] { return perf::cpu_clock(); };

/// Opens the events as readable in user space, or as they are where the kernel does not allow that.
perf::OpenGroup opened(const std::vector<Event>& events) {
  if (events.empty()) throw bad_input("user-space read", "needs at least one event");
  perf::OpenGroup group{GroupOptions{}};
  for (const Event& event : events)
    if (!event.present || !group.add(readable(event)).ok()) group.join(event);
  return group;
}

} // namespace

struct UserRead::State {
  explicit State(const std::vector<Event>& events)
      : group(opened(events)), slots(group, events.size()), base(events.size()) {}

  perf::OpenGroup group;
  Slots slots;
  std::vector<perf::PageReading> base; ///< at the last reset
  bool started = false;
  std::uint64_t direct = 0, calls = 0;

  /// Totals since opening from the register; false if read(2) is needed.
  [[gnu::always_inline]] bool by_register(std::size_t event, perf::PageReading& reading) const {
    const perf_event_mmap_page* const at = slots[event].page;
    // Without a clock for user space (guests that use kvm-clock) the page has old times only.
    return at != nullptr && at->cap_user_time && perf::read_page_by(*at, counter_here, clock_here, reading);
  }
  /// Of one event or more. The group is on the PMU as a whole: the first event's page decides.
  [[gnu::always_inline]] bool values_by_register(std::uint64_t* out, std::size_t events) const {
    const Slot* slot = &slots[0];
    std::uint64_t value = 0;
    if (slot->page == nullptr || !perf::read_value_by(*slot->page, slot->waited_ns, counter_here, value))
        [[unlikely]]
      return false;
    *out++ = value - slot->value;
    for (std::size_t left = events - 1; left != 0; --left) {
      ++slot;
      if (!perf::read_scheduled_by(*slot->page, counter_here, value)) [[unlikely]]
        return false;
      *out++ = value - slot->value;
    }
    return true;
  }
  /// All events by read(2). False: the group could not be scheduled.
  bool by_call() {
    ++calls;
    return group.refresh();
  }
  [[nodiscard]] perf::PageReading called(std::size_t event) const {
    const auto total = group.total(event);
    return {total.value, total.enabled_ns, total.running_ns};
  }
  [[nodiscard]] Count count(std::size_t event, const perf::PageReading& total) const;
  // The slow paths.
  [[gnu::noinline]] Count other_count(std::size_t event);
  [[gnu::noinline]] bool other_values(std::span<std::uint64_t> out);
};

Count UserRead::State::count(std::size_t event, const perf::PageReading& total) const {
  Count count;
  count.enabled_ns = total.enabled_ns - base[event].enabled_ns;
  count.running_ns = total.running_ns - base[event].running_ns;
  if (!started)
    count.reason = Reason("not started", ReasonCode::not_started);
  else if (count.running_ns == 0 && count.enabled_ns > 0)
    count.reason = Reason("the event was never scheduled", ReasonCode::busy);
  else
    count.value = total.value - base[event].value;
  return count;
}

Count UserRead::State::other_count(std::size_t event) {
  if (perf::PageReading total{}; by_register(event, total)) {
    ++direct;
    return count(event, total);
  }
  if (by_call()) return count(event, called(event));
  Count none;
  none.reason = group.owner().here()
                    ? Reason("the event could not be scheduled", ReasonCode::busy)
                    : Reason(std::string(perf::of_another_process), ReasonCode::wrong_process);
  return none;
}

bool UserRead::State::other_values(std::span<std::uint64_t> out) {
  const process::CancelBlocked uncancelled; // Region reads where nothing may unwind
  if (!by_call()) return false;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Count read = count(i, called(i));
    if (!read.value || multiplexed(read)) return false;
    out[i] = *read.value;
  }
  return true;
}

UserRead::UserRead(const Event& event) : UserRead(std::vector{event}) {}
UserRead::UserRead(const std::vector<Event>& events) : state_(std::make_unique<State>(events)) {
  reset();
  state_->direct = state_->calls = 0;
}
UserRead::UserRead(UserRead&&) noexcept = default;
UserRead& UserRead::operator=(UserRead&&) noexcept = default;
UserRead::~UserRead() = default;

void UserRead::start() {
  state_->group.start();
  state_->started = true;
}

void UserRead::stop() {
  state_->group.stop();
}

void UserRead::reset() {
  State& state = *state_;
  const std::size_t events = state.base.size();
  bool direct = true;
  for (std::size_t i = 0; i < events; ++i)
    direct = direct && state.by_register(i, state.base[i]);
  if (direct)
    ++state.direct;
  else if (state.by_call())
    for (std::size_t i = 0; i < events; ++i)
      state.base[i] = state.called(i);
  for (std::size_t i = 0; i < events; ++i) {
    const perf::PageReading& base = state.base[i];
    state.slots[i].value = base.value;
    state.slots[i].waited_ns = base.enabled_ns - base.running_ns;
  }
}

Count UserRead::read(std::size_t event) {
  State& state = *state_;
  require_index("event of a user-space read", event, state.base.size());
  const perf::PageReading& base = state.base[event];
  perf::PageReading total{};
  if (!state.started || !state.by_register(event, total)) [[unlikely]]
    return state.other_count(event);
  ++state.direct;
  return {
      total.value - base.value, total.enabled_ns - base.enabled_ns, total.running_ns - base.running_ns, {}};
}

std::optional<std::uint64_t> UserRead::value() {
  State& state = *state_;
  std::uint64_t value = 0;
  if (!state.values_by_register(&value, 1)) [[unlikely]]
    return state.other_values({&value, 1}) ? std::optional(value) : std::nullopt;
  ++state.direct;
  return value;
}

bool UserRead::values(std::span<std::uint64_t> out) {
  State& state = *state_;
  if (out.size() - 1 >= state.slots.size()) [[unlikely]] {
    if (out.empty()) return true;
    throw bad_input("user-space read", "more values than events");
  }
  if (!state.values_by_register(out.data(), out.size())) [[unlikely]]
    return state.other_values(out);
  ++state.direct;
  return true;
}

std::size_t UserRead::size() const noexcept {
  return state_->base.size();
}
std::uint64_t UserRead::direct() const noexcept {
  return state_->direct;
}
std::uint64_t UserRead::system_calls() const noexcept {
  return state_->calls;
}

} // namespace recount
