#include "model/emulate/slot.hpp"

#include "model/emulate/real.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

struct File {
  std::atomic<std::int32_t> holder; ///< thread id, 0: free
  Shared shared;
};

File& file() {
  static File* const mapped = [] {
    const char* const name = std::getenv("RECOUNT_PMU_SHARED");
    const int fd = name != nullptr
                       ? static_cast<int>(real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                                                        O_RDWR | O_CREAT | O_CLOEXEC, 0666))
                       : -1;
    if (fd >= 0) real::syscall(SYS_ftruncate, fd, sizeof(File));
    void* at = real::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE,
                          fd >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS, fd, 0);
    if (at == MAP_FAILED) std::abort();
    if (fd >= 0) real::close(fd);
    return static_cast<File*>(at);
  }();
  return *mapped;
}

/// Whether it executes nothing any more: a zombie can be signalled until its parent has waited for it.
bool gone(pid_t process) {
  if (real::syscall(SYS_kill, process, 0) != 0) return errno == ESRCH;
  char text[256] = {};
  std::snprintf(text, sizeof text, "/proc/%d/stat", process);
  const auto fd = static_cast<int>(
      real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(text), O_RDONLY | O_CLOEXEC));
  if (fd < 0) return false;
  const ssize_t bytes = real::read(fd, text, sizeof text - 1);
  real::close(fd);
  if (bytes <= 0) return false;
  text[bytes] = '\0';
  const char* const name_end = std::strrchr(text, ')'); // the name may contain any other character
  return name_end != nullptr &&
         (std::strncmp(name_end, ") Z", 3) == 0 || std::strncmp(name_end, ") X", 3) == 0);
}

std::atomic<std::int16_t> slots_of_descriptors[max_descriptors]; // slot + 1
std::atomic<int> descriptors_of_slots[max_slots];

} // namespace

Locked::Locked() {
  const std::uint64_t all = ~std::uint64_t{0};
  real::syscall(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&all),
                reinterpret_cast<long>(&signals_), sizeof all);
  const auto self = real::gettid();
  auto& holder = file().holder;
  nested_ = holder.load() == self;
  if (nested_) return;
  for (unsigned turn = 0;; ++turn) {
    std::int32_t expected = 0;
    if (holder.compare_exchange_weak(expected, self)) return;
    constexpr unsigned polls = 1000;
    if (turn % polls == polls - 1 && expected != 0 && gone(expected))
      holder.compare_exchange_strong(expected, 0); // killed while it held the lock
    real::syscall(SYS_sched_yield);
  }
}

Locked::~Locked() {
  if (!nested_) file().holder.store(0);
  real::syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&signals_), 0, sizeof signals_);
}

TryLocked::TryLocked() {
  auto& holder = file().holder;
  std::int32_t expected = holder.load();
  if (expected != 0 && !gone(expected)) {
    held_ = false;
    return;
  }
  held_ = holder.compare_exchange_strong(expected, real::gettid());
}

TryLocked::~TryLocked() {
  if (held_) file().holder.store(0);
}

pid_t TryLocked::holder() {
  return file().holder.load();
}

Shared* Locked::operator->() const {
  return &file().shared;
}
Shared& Locked::operator*() const {
  return file().shared;
}

std::uint64_t count_opened() {
  return std::atomic_ref(file().shared.opened).load();
}

std::int32_t take_slot(Shared& shared) {
  for (int round = 0; round < 2; ++round) {
    const auto found = std::ranges::find(shared.slots, false, &Slot::used);
    if (found != std::end(shared.slots)) {
      *found = Slot{};
      found->used = true;
      found->order = ++shared.opened;
      const auto at = static_cast<std::int32_t>(found - shared.slots);
      shared.end = std::max(shared.end, at + 1);
      return at;
    }
    pid_t last = 0; // most belong to one process
    for (Slot& slot : shared.slots) {
      if (slot.owner != last) slot.used = !gone(slot.owner);
      if (slot.used) last = slot.owner;
    }
  }
  return -1;
}

std::int32_t find_slot(int fd) {
  return fd < 0 || fd >= max_descriptors ? -1 : slots_of_descriptors[fd].load() - 1;
}

void set_slot(int fd, std::int32_t slot) {
  if (fd < 0 || fd >= max_descriptors) return;
  const std::int32_t before = slots_of_descriptors[fd].exchange(static_cast<std::int16_t>(slot + 1)) - 1;
  if (before >= 0) --descriptors_of_slots[before];
  if (slot >= 0) ++descriptors_of_slots[slot];
}

bool has_descriptor(std::int32_t slot) {
  return descriptors_of_slots[slot] > 0;
}

} // namespace recount::emulate
