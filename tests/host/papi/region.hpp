// Regions whose software events are known.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::test {

/// Fresh pages, each of which faults once, when it is first touched.
class Pages {
public:
  explicit Pages(std::size_t count) : count_(count) {
    void* at = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error(std::string("mmap: ") + std::strerror(errno));
    ::madvise(at, bytes(), MADV_NOHUGEPAGE); // one fault a page; fails harmlessly without huge pages
    at_ = static_cast<volatile char*>(at);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { ::munmap(const_cast<char*>(at_), bytes()); }

  /// Not sanitised: AddressSanitizer would touch a page of its own for every eighth of these.
  __attribute__((no_sanitize("address", "undefined"))) void touch() const {
    for (std::size_t i = 0; i < count_; ++i)
      at_[i * page()] = 1;
  }

private:
  static std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
  [[nodiscard]] std::size_t bytes() const { return (count_ + 1) * page(); } // never empty
  std::size_t count_;
  volatile char* at_ = nullptr;
};

/// Gives the processor away at least `times` times.
inline void sleep_often(int times) {
  for (int i = 0; i < times; ++i) {
    const timespec moment{0, 200'000};
    ::nanosleep(&moment, nullptr);
  }
}

} // namespace recount::test
