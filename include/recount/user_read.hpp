// Reading a counter of the calling thread without a system call.
#pragma once

#include <recount/count.hpp>
#include <recount/event.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace recount {

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
  /// shared its counter: read() then reports the times to scale by.
  std::optional<std::uint64_t> value();
  /// As value(), for as many events as `out` has elements, at most size(); one after the other, so that each
  /// includes a few instructions of reading those before. False: at least one has no value, and `out` is
  /// unspecified.
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
