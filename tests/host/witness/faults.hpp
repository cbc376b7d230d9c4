// Kernels of known counts that need no PMU.
#pragma once

#include "kernel/kernel.hpp"

#include <sched.h>
#include <sys/mman.h>

namespace recount::test {

/// Touches `pages` fresh pages each time it is called, and gives the processor away once; 0: does nothing.
struct Faults : kernel::Instance {
  std::size_t pages;
  explicit Faults(std::size_t count) : pages(count) {}
  // Never instrumented: shadow memory would fault as well.
  __attribute__((noinline, no_sanitize("address", "undefined"))) void execute() const {
    if (pages == 0) return;
    const std::size_t bytes = pages * 4096;
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ::madvise(at, bytes, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < bytes; i += 4096)
      static_cast<volatile char*>(at)[i] = 1;
    ::munmap(at, bytes);
    ::sched_yield();
  }
  [[nodiscard]] kernel::Region region() override {
    return {[](void* context) { static_cast<Faults*>(context)->execute(); }, this};
  }
  [[nodiscard]] std::int64_t accesses() const override { return static_cast<std::int64_t>(pages); }
};

struct Nothing : kernel::Instance {
  [[nodiscard]] kernel::Region region() override {
    return {[](void*) {}, nullptr};
  }
  [[nodiscard]] std::int64_t accesses() const override { return 1; }
};

} // namespace recount::test
