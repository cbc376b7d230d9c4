#include <recount/user_read.hpp>

#include "event/sysfs.hpp"
#include "perf/cpu_registers.hpp"
#include "perf/errno_hints.hpp"
#include "perf/open_group.hpp"
#include "perf/read_page.hpp"

#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace recount {
namespace {

/// The first page of an event's mapping, read-only. Absent if the kernel provides none, and in a forked
/// child, which does not inherit the mapping: then read(2) is used. Its address is kept in memory that
/// fork(2) clears, so that a read needs no other check.
class Page {
public:
  explicit Page(int fd) : length_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const kept = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED) return;
    if (madvise(kept, length_, MADV_WIPEONFORK) == 0)
      if (void* const at = mmap(nullptr, length_, PROT_READ, MAP_SHARED, fd, 0); at != MAP_FAILED) {
        address_ = new (kept) Address{static_cast<const perf_event_mmap_page*>(at)};
        return;
      }
    munmap(kept, length_);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    if (address_ == &none) return;
    if (const perf_event_mmap_page* const at = get()) munmap(const_cast<perf_event_mmap_page*>(at), length_);
    munmap(const_cast<Address*>(address_), length_);
  }
  /// Null if there is none, and in a forked child.
  [[nodiscard]] const perf_event_mmap_page* get() const noexcept {
    return *static_cast<const perf_event_mmap_page* const volatile*>(&address_->page);
  }

private:
  struct Address {
    const perf_event_mmap_page* page;
  };
  static constexpr Address none{nullptr};
  std::size_t length_;
  const Address* address_ = &none;
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

/// Opens the event as readable in user space, or as it is where the kernel does not allow that.
perf::OpenGroup opened(const Event& event) {
  if (!event.present) throw perf::absent_error(event);
  perf::OpenGroup group{GroupOptions{}};
  if (group.add(readable(event)).ok()) return group;
  const auto joined = group.add(event);
  if (joined.ok()) return group;
  if (joined.how == perf::OpenGroup::Joined::How::never_runs) throw perf::never_runs_error(event, {});
  throw perf::open_error(event, joined.error);
}

} // namespace

struct UserRead::State {
  explicit State(const Event& event) : group(opened(event)), page(group.fd(0)) {}

  perf::OpenGroup group;
  Page page;
  PageReading base{};
  bool started = false;
  std::uint64_t direct = 0, calls = 0;

  /// Totals since opening from the register; false if read(2) is needed.
  [[gnu::always_inline]] bool by_register(PageReading& reading) {
    const perf_event_mmap_page* const at = page.get();
    // Without a clock for user space (guests that use kvm-clock) the page has old times only.
    if (at == nullptr || !at->cap_user_time || !perf::read_page_by(*at, counter_here, clock_here, reading))
      return false;
    ++direct;
    return true;
  }
  /// The same by read(2). False: the event could not be scheduled.
  bool by_call(PageReading& reading) {
    ++calls;
    const auto total = group.read_total();
    if (!total) return false;
    reading = {total->value, total->enabled_ns, total->running_ns};
    return true;
  }
  // The slow path.
  [[gnu::noinline]] Count other_count();
  [[gnu::noinline]] std::optional<std::uint64_t> other_value();
};

Count UserRead::State::other_count() {
  Count count;
  PageReading total{};
  if (!by_register(total) && !by_call(total)) {
    count.reason = group.owner().here() ? "the event could not be scheduled" : perf::of_another_process;
    return count;
  }
  count.enabled_ns = total.enabled_ns - base.enabled_ns;
  count.running_ns = total.running_ns - base.running_ns;
  if (!started)
    count.reason = "not started";
  else if (count.running_ns == 0 && count.enabled_ns > 0)
    count.reason = "the event was never scheduled";
  else
    count.value = total.value - base.value;
  return count;
}

std::optional<std::uint64_t> UserRead::State::other_value() {
  const Count count = other_count();
  return multiplexed(count) ? std::nullopt : count.value;
}

UserRead::UserRead(const Event& event) : state_(std::make_unique<State>(event)) {
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
  if (PageReading total{}; state_->by_register(total) || state_->by_call(total)) state_->base = total;
}

Count UserRead::read() {
  State& state = *state_;
  PageReading total{};
  if (!state.started || !state.by_register(total)) [[unlikely]]
    return state.other_count();
  return {total.value - state.base.value,
          total.enabled_ns - state.base.enabled_ns,
          total.running_ns - state.base.running_ns,
          0,
          {}};
}

std::optional<std::uint64_t> UserRead::value() {
  State& state = *state_;
  std::uint64_t value = 0;
  const perf_event_mmap_page* const at = state.page.get();
  if (at == nullptr || !perf::read_value_by(*at, counter_here, value)) [[unlikely]]
    return state.other_value();
  ++state.direct;
  return value - state.base.value;
}

std::uint64_t UserRead::direct() const noexcept {
  return state_->direct;
}
std::uint64_t UserRead::system_calls() const noexcept {
  return state_->calls;
}

Registers cpu_registers() noexcept {
  return {[](void*, std::uint32_t index) { return perf::cpu_counter(index); },
          [](void*) { return perf::cpu_clock(); }, nullptr};
}

} // namespace recount
