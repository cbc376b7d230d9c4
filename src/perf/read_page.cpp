// The arithmetic of user-space reads, after the comment in linux/perf_event.h. Registers come from outside.
#include <recount/user_read.hpp>

#include <atomic>

namespace recount {
namespace {

/// The kernel writes the page on the CPU of the reading thread, so the compiler alone has to be kept in
/// order.
void barrier() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

template <class Value>
Value once(const Value& field) noexcept {
  return *static_cast<const volatile Value*>(&field);
}

/// Nanoseconds since the page's times were written.
std::uint64_t elapsed(const perf_event_mmap_page& page, std::uint64_t cycles) noexcept {
  if (page.cap_user_time_short) // a clock narrower than 64 bits
    cycles = page.time_cycles + ((cycles - page.time_cycles) & page.time_mask);
  const std::uint64_t quotient = cycles >> page.time_shift;
  const std::uint64_t remainder = cycles & ((std::uint64_t{1} << page.time_shift) - 1);
  return page.time_offset + quotient * page.time_mult + ((remainder * page.time_mult) >> page.time_shift);
}

/// A register of `width` bits as a signed number: what it counted since `offset` may be negative, because the
/// kernel starts it below zero so that it overflows in time.
std::int64_t extend(std::uint64_t value, unsigned width) noexcept {
  if (width == 0 || width >= 64) return static_cast<std::int64_t>(value);
  const unsigned spare = 64 - width;
  return static_cast<std::int64_t>(value << spare) >> spare;
}

} // namespace

std::optional<PageReading> read_page(const perf_event_mmap_page& page, const Registers& registers) noexcept {
  PageReading reading{};
  bool usable = false;
  std::uint32_t sequence = 0;
  do {
    sequence = once(page.lock);
    barrier();
    reading.enabled_ns = once(page.time_enabled);
    reading.running_ns = once(page.time_running);
    const std::uint32_t index = once(page.index);
    reading.value = static_cast<std::uint64_t>(once(page.offset));
    usable = page.cap_user_rdpmc && index != 0;
    if (usable) {
      if (page.cap_user_time) {
        const std::uint64_t delta = elapsed(page, registers.clock(registers.context));
        reading.enabled_ns += delta;
        reading.running_ns += delta;
      }
      const std::uint64_t counter = registers.counter(registers.context, index - 1);
      reading.value += static_cast<std::uint64_t>(extend(counter, once(page.pmc_width)));
    }
    barrier();
  } while (once(page.lock) != sequence || (sequence & 1) != 0);
  if (!usable) return {};
  return reading;
}

} // namespace recount
