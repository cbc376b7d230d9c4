// Reading a counter of the calling thread without a system call.
#pragma once

#include <recount/count.hpp>
#include <recount/event.hpp>

#include <linux/perf_event.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace recount {

/// What the mmap page of an event told, before any subtraction.
struct PageReading {
  std::uint64_t value, enabled_ns, running_ns;
};

/// Where the counter registers and the clock behind cap_user_time come from; a table so that the arithmetic
/// can be tested with registers made of memory.
struct Registers {
  std::uint64_t (*counter)(void* context, std::uint32_t index); ///< index as rdpmc takes it: page index - 1
  std::uint64_t (*clock)(void* context);                        ///< TSC, or the arm64 virtual counter
  void* context = nullptr;
};
/// This CPU's own: rdpmc and rdtsc on x86-64, pmevcntr<n>_el0/pmccntr_el0 and cntvct_el0 on arm64.
[[nodiscard]] Registers cpu_registers() noexcept;

/// Reads an event's mmap page as linux/perf_event.h documents: retried while `lock` changes, the register
/// sign-extended from pmc_width bits and added to offset, both times advanced by the clock where
/// cap_user_time is set; without it (guests whose clock is kvm-clock) they are those of the last time that
/// the event was put on the PMU. None when the register may not be used right now (index 0: not on the PMU;
/// cap_user_rdpmc 0), or holds top-down metrics packed into one word: read(2) then tells.
[[nodiscard]] std::optional<PageReading> read_page(const perf_event_mmap_page& page,
                                                   const Registers& registers) noexcept;

/// Events of the calling thread, read in user space whenever the kernel allows it at that moment, else by
/// read(2): the values are right either way. Several events are one kernel group. For self-monitoring only:
/// use it on the thread that made it. fork(2), cancellation, descriptors: see group.hpp.
class UserRead {
public:
  /// Opens the event, stopped. Throws Error as Group does.
  explicit UserRead(const Event& event);
  /// Opens the events as one group, which is on the PMU as a whole or not at all.
  explicit UserRead(const std::vector<Event>& events);
  UserRead(UserRead&&) noexcept;
  UserRead& operator=(UserRead&&) noexcept;
  ~UserRead();

  void start();
  void stop();
  void reset(); ///< values and times count from here
  /// The i-th event since construction or reset(). By read(2) where the page has no clock for the times
  /// (cap_user_time 0), while value() and values() need none.
  Count read(std::size_t event = 0);
  /// The count of the first event alone, at half the cost. None where read() gives none, and where the event
  /// shared its counter: read() then tells the times to scale by.
  std::optional<std::uint64_t> value();
  /// As value(), for as many events as `out` has elements, at most size(); one after the other, so that each
  /// includes a few instructions of reading those before. False: at least one has no value, and `out` means
  /// nothing.
  [[nodiscard]] bool values(std::span<std::uint64_t> out);
  [[nodiscard]] std::size_t size() const noexcept; ///< events
  /// How many calls of read(), value(), values() and reset() needed no system call, and how many did.
  [[nodiscard]] std::uint64_t direct() const noexcept;
  [[nodiscard]] std::uint64_t system_calls() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace recount
