// A group's counts from the pages that Linux maps for its events: registers and times without a system call.
#pragma once

#include "perf/owner.hpp"
#include "perf/read_page.hpp"

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace recount::perf {

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
  /// The address of a variable of this thread. One that starts after this thread has ended may get the same:
  /// its events then have no registers.
  [[nodiscard]] static const void* this_thread() noexcept {
    static constinit thread_local char mark = 0;
    return &mark;
  }

  std::vector<std::unique_ptr<const perf_event_mmap_page, Unmap>> pages_;
  const void* thread_ = nullptr;
};

} // namespace recount::perf
