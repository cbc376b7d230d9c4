// What the host tests of counting share: skipping with a reason, memory never touched, children.
#pragma once

#include "base/clock.hpp"
#include "skip.hpp"

#include <recount/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using recount::test::skip;

/// Pages that nobody has touched: each first write is one page fault.
class FreshPages {
public:
  explicit FreshPages(std::size_t pages) : bytes_(pages * size()) {
    at_ =
        static_cast<char*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(at_, bytes_, MADV_NOHUGEPAGE);
  }
  FreshPages(const FreshPages&) = delete;
  FreshPages& operator=(const FreshPages&) = delete;
  ~FreshPages() { munmap(at_, bytes_); }
  static std::size_t size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
  /// Writes to pages first ... last-1. Never instrumented: shadow memory would fault as well.
  __attribute__((noinline, no_sanitize("address", "undefined"))) void touch(std::size_t first,
                                                                            std::size_t last) {
    const std::size_t step = size();
    for (std::size_t page = first; page < last; ++page)
      *static_cast<volatile char*>(at_ + page * step) = 1;
  }

private:
  std::size_t bytes_;
  char* at_;
};

/// Executes for this CPU time of the thread.
inline void spin(std::chrono::nanoseconds time) {
  const std::int64_t end = recount::base::clock_ns(CLOCK_THREAD_CPUTIME_ID) + time.count();
  while (recount::base::clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
    for (volatile int i = 0; i < 1000;)
      i = i + 1;
}

/// What `body` returns in a forked child; "" when the child died.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception& error) {
      text = std::string("thrown: ") + error.what();
    }
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written < 0 ? 1 : 0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

/// The message of the error that `body` throws; "" when it throws none.
inline std::string message(const std::function<void()>& body) {
  try {
    body();
  } catch (const recount::Error& error) {
    return error.what();
  }
  return {};
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
