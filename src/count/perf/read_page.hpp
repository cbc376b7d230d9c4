// The arithmetic of user-space reads, after the comment in linux/perf_event.h. A template over the
// source of registers, so that real registers are read inline.
#pragma once

#include "count/perf/owner.hpp"
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <linux/perf_event.h>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace recount::perf {
/// What the mmap page of an event reports, since the event was opened.
struct PageReading {
  std::uint64_t value, enabled_ns, running_ns;
};

/// The kernel writes the page on the CPU of the reading thread, so a compiler barrier
/// suffices.
inline void page_barrier() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

template <class Value>
Value page_once(const Value& field) noexcept {
  return *static_cast<const volatile Value*>(&field);
}

/// Nanoseconds since the page's times were written.
inline std::uint64_t page_elapsed(const perf_event_mmap_page& page, std::uint64_t cycles) noexcept {
  if (page.cap_user_time_short) // a clock narrower than 64 bits
    cycles = page.time_cycles + ((cycles - page.time_cycles) & page.time_mask);
  const std::uint64_t quotient = cycles >> page.time_shift;
  const std::uint64_t remainder = cycles & ((std::uint64_t{1} << page.time_shift) - 1);
  return page.time_offset + quotient * page.time_mult + ((remainder * page.time_mult) >> page.time_shift);
}

/// A register of `width` bits as a signed number: what it counted since `offset` may be negative, because the
/// kernel starts it below zero so that it overflows in time.
inline std::int64_t page_extend(std::uint64_t value, unsigned width) noexcept {
  // Spare bits: 0 and 64 leave it as it is. In this form it is an instruction less on arm64.
  return static_cast<std::int64_t>(value << (-width & 63)) >> (-width & 63);
}

/// Whether the page is unchanged since `sequence` was read. The kernel writes it while the reader does not
/// run: nobody sees an odd number.
inline bool page_settled(const perf_event_mmap_page& page, std::uint32_t sequence) noexcept {
  page_barrier();
  return page_once(page.lock) == sequence;
}

/// Whether the index of a page names a counter that can be read. 0: none. x86-64: bit 29 marks PERF_METRICS,
/// which packs four values into a word (INTEL_PMC_FIXED_RDPMC_METRICS of arch/x86/events/perf_event.h; fixed
/// counters have bit 30). arm64: 1 to 31 are event counters, 32 is the cycle counter.
inline bool page_counts(std::uint32_t index) noexcept {
#if defined(__aarch64__)
  return index - 1 < 32;
#else
  return ((index - 1) >> 29 & 1) == 0; // 0 - 1 has the bit as well
#endif
}

/// The offset of the page plus the register.
template <class Counter>
[[gnu::always_inline]] inline std::uint64_t page_value(const perf_event_mmap_page& page, std::uint32_t index,
                                                       Counter counter) noexcept {
  return static_cast<std::uint64_t>(page_once(page.offset)) +
         static_cast<std::uint64_t>(page_extend(counter(index - 1), page.pmc_width));
}

/// Calls `take` with the page's index until the page has not changed meanwhile; returns the last result.
template <class Take>
[[gnu::always_inline]] inline bool take_settled(const perf_event_mmap_page& page, Take take) noexcept {
  for (;;) {
    const std::uint32_t sequence = page_once(page.lock);
    page_barrier();
    const bool counts = take(page_once(page.index));
    if (page_settled(page, sequence)) [[likely]]
      return counts;
  }
}

/// Reads an event's page as linux/perf_event.h documents: the register sign-extended from pmc_width bits and
/// added to offset, both times advanced by the clock where cap_user_time is set; without it (guests whose
/// clock is kvm-clock) they are those of the last time that the event was put on the PMU. False when the
/// register may not be used now: read(2) then reports the value. `counter(index)`, `clock()`: std::uint64_t.
template <class Counter, class Clock>
[[gnu::always_inline]] inline bool read_page_by(const perf_event_mmap_page& page, Counter counter,
                                                Clock clock, PageReading& reading) noexcept {
  return take_settled(page, [&](std::uint32_t index) {
    if (!page.cap_user_rdpmc || !page_counts(index)) [[unlikely]]
      return false;
    reading.enabled_ns = page_once(page.time_enabled);
    reading.running_ns = page_once(page.time_running);
    if (page.cap_user_time) {
      const std::uint64_t delta = page_elapsed(page, clock());
      reading.enabled_ns += delta;
      reading.running_ns += delta;
    }
    reading.value = page_value(page, index, counter);
    return true;
  });
}

/// The value, if the event has a counter now, else false. The caller has checked cap_user_rdpmc and the
/// times.
template <class Counter>
[[gnu::always_inline]] inline bool read_scheduled_by(const perf_event_mmap_page& page, Counter counter,
                                                     std::uint64_t& value) noexcept {
  return take_settled(page, [&](std::uint32_t index) {
    if (!page_counts(index)) [[unlikely]]
      return false;
    value = page_value(page, index, counter);
    return true;
  });
}

/// The value, if the enabled time exceeds the running time by exactly `waited` ns, so that the event has not
/// been off its counter since; else, and where read_page_by() is false, false.
template <class Counter>
[[gnu::always_inline]] inline bool read_value_by(const perf_event_mmap_page& page, std::uint64_t waited,
                                                 Counter counter, std::uint64_t& value) noexcept {
  return take_settled(page, [&](std::uint32_t index) {
    // Both times in the page are constant while the event is scheduled.
    if (!page.cap_user_rdpmc || !page_counts(index) ||
        page_once(page.time_enabled) - page_once(page.time_running) != waited) [[unlikely]]
      return false;
    value = page_value(page, index, counter);
    return true;
  });
}

// Inline reads of the counter registers and of the clock used by the kernel's page.

#if defined(__x86_64__)

/// Index as rdpmc takes it.
inline std::uint64_t cpu_counter(std::uint32_t index) noexcept {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
  return std::uint64_t{high} << 32 | low;
}

inline std::uint64_t cpu_clock() noexcept {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

#elif defined(__aarch64__)

/// Index of an event counter, or 31 for the cycle counter (none is greater), to which the kernel gives the
/// page index 32 (drivers/perf/arm_pmuv3.c). Register names are part of the instruction: the n-th group of
/// four is jumped to. Each begins with a landing pad for indirect branches, "bti j" by its number as a hint,
/// which older assemblers and CPUs know as nop.
inline std::uint64_t cpu_counter(std::uint32_t index) noexcept {
  std::uint64_t value = 0;
  // clang-format off
  asm volatile("adr %0, 1f\n\t"
               "add %0, %0, %w1, uxtw #4\n\t"
               "br %0\n"
               "1:\n\t"
               ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30\n\t"
               "hint #36\n\t"
               "mrs %0, pmevcntr\\n\\()_el0\n\t"
               "b 2f\n\t"
               "nop\n\t"
               ".endr\n\t"
               "hint #36\n\t"
               "mrs %0, pmccntr_el0\n"
               "2:"
               : "=&r"(value)
               : "r"(index));
  // clang-format on
  return value;
}

inline std::uint64_t cpu_clock() noexcept {
  std::uint64_t value = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value));
  return value;
}

#endif

// A group's counts from the pages that Linux maps for its events: registers and times without a system call.

/// Fills in values and times of a group at their places in `words` (Layout), as read(2) does. Each value is
/// read after the former, so that it includes a few instructions of reading it; the times are those of the
/// first event. False: an event has no register now, or the page has no clock; `words` then mean nothing.
/// `page(i)`: that of the i-th event.
template <class Layout, class Page, class Counter, class Clock>
[[gnu::always_inline]] inline bool read_group_by(std::size_t events, Page page, const Layout& layout,
                                                 std::span<std::uint64_t> words, Counter counter,
                                                 Clock clock) noexcept {
  for (std::size_t i = 0; i < events; ++i) {
    PageReading reading{};
    const perf_event_mmap_page& at = page(i);
    if (!at.cap_user_time || !read_page_by(at, counter, clock, reading)) [[unlikely]]
      return false;
    words[layout.value(i)] = reading.value;
    if (i != 0) continue;
    words[layout.enabled()] = reading.enabled_ns;
    words[layout.running()] = reading.running_ns;
  }
  return true;
}

/// The pages of a group that counts the calling thread. None where Linux does not let user space read the
/// registers, which the first page says: software events, sysfs rdpmc = 0, a clock that is no TSC. Not for a
/// forked child, which does not inherit them. Movable.
class UserPages {
public:
  /// Maps the pages of events that are open; the first decides.
  template <class Fds>
  void map(const Fds& fds) {
    for (const auto& fd : fds) {
      void* const at = ::mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, fd.get(), 0);
      if (at == MAP_FAILED) break;
      pages_.emplace_back(static_cast<const perf_event_mmap_page*>(at));
      if (!pages_.back()->cap_user_rdpmc || !pages_.back()->cap_user_time) break;
      if (pages_.size() == fds.size()) {
        thread_ = this_thread();
        return;
      }
    }
    pages_.clear();
  }
  /// Whether read() may be tried: a register is that of the CPU on which the reading thread runs.
  [[nodiscard]] bool here() const noexcept { return !pages_.empty() && thread_ == this_thread(); }
  template <class Layout>
  [[nodiscard]] bool read(const Layout& layout, std::span<std::uint64_t> words) const noexcept {
    return read_group_by(
        pages_.size(), [this](std::size_t i) -> const perf_event_mmap_page& { return *pages_[i]; }, layout,
        words, [](std::uint32_t index) { return cpu_counter(index); }, [] { return cpu_clock(); });
  }

private:
  struct Unmap {
    Owner owner; ///< a forked child may have mapped something else there
    void operator()(const perf_event_mmap_page* page) const noexcept {
      if (owner.here()) ::munmap(const_cast<perf_event_mmap_page*>(page), bytes());
    }
  };
  [[nodiscard]] static std::size_t bytes() noexcept {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
  /// Identifies the thread by the address of a thread-local variable. A later thread may reuse it; the index
  /// of these events is 0 then.
  [[nodiscard]] static const void* this_thread() noexcept {
    static constinit thread_local char mark = 0;
    return &mark;
  }

  std::vector<std::unique_ptr<const perf_event_mmap_page, Unmap>> pages_;
  const void* thread_ = nullptr;
};

} // namespace recount::perf
