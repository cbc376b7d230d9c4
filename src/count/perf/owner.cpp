#include "count/perf/owner.hpp"

#include "base/clock.hpp"

#include <recount/error.hpp>

#include <atomic>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::perf {
namespace {

/// A word that is 0 after fork(2), also after a clone(2) that libc does not know of.
std::uint64_t* word_of_this_process() {
  static std::uint64_t* const word = [] {
    static std::uint64_t fallback = 0;
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0)
      return static_cast<std::uint64_t*>(page);
    if (page != MAP_FAILED) munmap(page, bytes);
    pthread_atfork(nullptr, nullptr, [] { fallback = 0; }); // Linux before 4.14
    return &fallback;
  }();
  return word;
}

/// Not 0, and not that of an ancestor: process ids are used again, but not at one time.
std::uint64_t fresh_token() {
  const auto time = static_cast<std::uint64_t>(base::clock_ns(CLOCK_MONOTONIC));
  return ((static_cast<std::uint64_t>(getpid()) << 40U) ^ (time << 1U)) | 1U;
}

} // namespace

Owner::Owner() noexcept : word_(word_of_this_process()), token_(fresh_token()) {
  std::uint64_t none = 0;
  const std::atomic_ref<std::uint64_t> word(*word_of_this_process());
  if (!word.compare_exchange_strong(none, token_)) token_ = none;
}

void Owner::require_here(const char* subject) const {
  if (!here())
    throw unavailable(subject, of_another_process, {}, "open it in the process that is to be counted");
}

} // namespace recount::perf
