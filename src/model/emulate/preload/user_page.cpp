#include "model/emulate/preload/user_page.hpp"

#include "model/emulate/encoding.hpp"
#include "model/emulate/preload/account.hpp"
#include "model/emulate/preload/open_event.hpp"
#include "model/emulate/preload/processor.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"

#include <atomic>
#include <bit>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

struct Mapping {
  perf_event_mmap_page* page = nullptr;
  const perf_event_mmap_page* backing = nullptr; ///< of the software event: its times
  std::size_t bytes = 0;
  std::uint64_t order = 0;  ///< of the slot's event
  int times = 1;            ///< mapped by the program, always at the same address
  void* of_linux = nullptr; ///< the ring of an event of Linux's own, without page
};
Mapping mappings[max_slots];

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void* refuse(int error) {
  errno = error;
  return MAP_FAILED;
}

/// perf_mmap(): pages beyond perf_event_mlock_kb count against RLIMIT_MEMLOCK, unless the user is privileged.
bool may_lock(std::size_t bytes) {
  const auto& limit_kb = settings().mlock_kb;
  if (!limit_kb || privileged()) return true;
  const std::int64_t limit =
      std::int64_t{*limit_kb} * 1024 / static_cast<std::int64_t>(page_size()) * sysconf(_SC_NPROCESSORS_ONLN);
  rlimit memory{};
  getrlimit(RLIMIT_MEMLOCK, &memory);
  const auto pages = static_cast<std::int64_t>(bytes / page_size());
  const Locked shared;
  const std::int64_t beyond = shared->locked_pages + pages - limit;
  if (beyond > 0 && memory.rlim_cur != RLIM_INFINITY &&
      static_cast<rlim_t>(beyond) * page_size() > memory.rlim_cur)
    return false;
  shared->locked_pages += pages;
  return true;
}

/// Linux starts a counter of x86 at -max_period, half of its range, and lets it go on over resets
/// (x86_perf_event_set_period()); PAPI 7.0 relies on offsets that fit the counter's width.
std::int64_t max_period(const Slot& slot) {
  return (std::int64_t{1} << (settings().machine.pmus[static_cast<std::size_t>(slot.pmu)].width - 1)) - 1;
}
std::uint64_t register_value(const Slot& slot) {
  const std::int64_t value = std::int64_t{std::llround(slot.reset + slot.value)} - max_period(slot);
  return static_cast<std::uint64_t>(value) & (static_cast<std::uint64_t>(max_period(slot)) << 1 | 1);
}
std::int64_t offset(const Slot& slot) {
  return std::int64_t{std::llround(slot.value)} - std::int64_t{std::llround(slot.reset + slot.value)} +
         max_period(slot);
}

/// What rdpmc takes for a counter: fixed ones have bit 30 set (SDM volume 2, RDPMC).
std::uint32_t rdpmc_number(int counter) {
  constexpr std::uint32_t fixed = 1U << 30;
  return counter < first_fixed ? static_cast<std::uint32_t>(counter)
                               : fixed | static_cast<std::uint32_t>(counter - first_fixed);
}

bool answer(siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr unsigned char rdpmc[] = {0x0f, 0x33};
  const auto* const at = reinterpret_cast<const void*>(registers[REG_RIP]);
  unsigned char code[sizeof rdpmc] = {};
  // The fault may have been in fetching code: read it without another fault.
  struct {
    void* at;
    std::size_t bytes;
  } source{code, sizeof code}, destination{const_cast<void*>(at), sizeof code};
  const long self = real::getpid();
  if (real::syscall(SYS_process_vm_readv, self, reinterpret_cast<long>(&source), 1,
                    reinterpret_cast<long>(&destination), 1, 0) != sizeof code ||
      std::memcmp(code, rdpmc, sizeof rdpmc) != 0)
    return false;
  const auto number = static_cast<std::uint32_t>(registers[REG_RCX]);
  const auto thread = real::gettid();
  if (exact()) account_call(); // what comes before it
  const Locked shared;
  for (std::int32_t i = 0; i < shared->end; ++i) {
    const Slot& slot = shared->slots[i];
    if (!slot.used || !slot.simulated || slot.target != thread || slot.counter < 0 ||
        rdpmc_number(slot.counter) != number)
      continue;
    const std::uint64_t value = register_value(slot);
    registers[REG_RAX] = static_cast<greg_t>(value & 0xffffffff);
    registers[REG_RDX] = static_cast<greg_t>(value >> 32);
    registers[REG_RIP] += static_cast<greg_t>(sizeof rdpmc);
    return true;
  }
  return false;
}

void copy_times(perf_event_mmap_page& page, const perf_event_mmap_page* backing, const Slot& slot) {
  const std::uint64_t unscheduled_ns = slot.unscheduled_ns;
  if (backing == nullptr || settings().emulated_time()) {
    page.time_enabled = slot.scheduled_ns + unscheduled_ns;
    page.time_running = slot.scheduled_ns;
    return;
  }
  page.time_enabled = backing->time_enabled;
  page.time_running = backing->time_running - std::min<std::uint64_t>(backing->time_running, unscheduled_ns);
  page.cap_user_time = backing->cap_user_time;
  page.cap_user_time_zero = backing->cap_user_time_zero;
  page.time_shift = backing->time_shift;
  page.time_mult = backing->time_mult;
  page.time_offset = backing->time_offset;
  page.time_zero = backing->time_zero;
}

/// The file of an event's ring. False: there is none.
bool name_ring(char (&name)[PATH_MAX], std::size_t bytes, std::uint64_t order) {
  const char* const prefix = std::getenv("RECOUNT_PMU_SHARED");
  if (bytes <= page_size() || !exact() || prefix == nullptr) return false;
  std::snprintf(name, sizeof name, "%s.%llu", prefix, static_cast<unsigned long long>(order));
  return true;
}

/// Memory for a page and a ring; with a ring where the server counts, a file that the sampled processes map.
void* map_memory(std::size_t bytes, std::uint64_t order, bool create) {
  char name[PATH_MAX];
  if (!name_ring(name, bytes, order))
    return create ? real::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                  : MAP_FAILED;
  constexpr mode_t everybody = 0666;
  const auto fd =
      static_cast<int>(real::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                                     O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), everybody));
  if (fd < 0) return MAP_FAILED;
  if (create) real::syscall(SYS_ftruncate, fd, static_cast<long>(bytes));
  if (create) real::syscall(SYS_fchmod, fd, everybody);
  void* const at = real::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  real::close(fd);
  return at;
}

} // namespace

perf_event_mmap_page* find_ring(const Shared& shared, std::int32_t at) {
  const Slot& slot = shared.slots[at];
  if (slot.ring_bytes == 0) return nullptr;
  if (mappings[at].page != nullptr && mappings[at].order == slot.order) return mappings[at].page;
  static struct {
    std::uint64_t order;
    perf_event_mmap_page* page;
  } others[max_slots];
  auto& other = others[at];
  if (other.order != slot.order) {
    void* const memory = map_memory(slot.ring_bytes, slot.order, false);
    other = {slot.order, memory == MAP_FAILED ? nullptr : static_cast<perf_event_mmap_page*>(memory)};
  }
  return other.page;
}

namespace {

/// Copies between two places of rings of the same size.
void copy_ring(unsigned char* to, std::uint64_t to_at, const unsigned char* from, std::uint64_t from_at,
               std::size_t bytes, std::uint64_t size) {
  for (std::size_t i = 0; i < bytes; ++i)
    to[(to_at + i) % size] = from[(from_at + i) % size];
}

} // namespace

// In poll(2), too, which the program executes.
void copy_linux_records(std::int32_t slot) {
  const Pause pause;
  const std::int32_t output = [&] {
    const Locked shared;
    return shared->slots[slot].output;
  }();
  const Mapping& mapping = mappings[output >= 0 ? output : slot];
  if (!exact() || mapping.page == nullptr || mapping.backing == nullptr || mapping.bytes <= page_size())
    return;
  perf_event_mmap_page& page = *mapping.page;
  auto& linux_page = *const_cast<perf_event_mmap_page*>(mapping.backing);
  const auto* const from = reinterpret_cast<const unsigned char*>(&linux_page) + page_size();
  auto* const to = reinterpret_cast<unsigned char*>(&page) + page_size();
  const std::uint64_t size = mapping.bytes - page_size();
  const Locked shared;
  ++shared->slots[output >= 0 ? output : slot].copies;
  const std::uint64_t end = std::atomic_ref(linux_page.data_head).load();
  while (linux_page.data_tail < end) {
    perf_event_header header{};
    copy_ring(reinterpret_cast<unsigned char*>(&header), 0, from, linux_page.data_tail, sizeof header, size);
    const std::uint64_t room = size - (page.data_head - std::atomic_ref(page.data_tail).load());
    if (header.size < sizeof header || header.size > room) return;
    copy_ring(to, page.data_head, from, linux_page.data_tail, header.size, size);
    std::atomic_ref(page.data_head).store(page.data_head + header.size);
    std::atomic_ref(linux_page.data_tail).store(linux_page.data_tail + header.size);
  }
}

namespace {

/// The copies of a ring of another process that is to have samples of this one; -1: there is none. Under the
/// lock.
std::int64_t count_copies(const Shared& shared) {
  for (std::int32_t i = 0; i < shared.end; ++i) {
    const Slot& sampled = shared.slots[i];
    const Slot& ring = shared.slots[sampled.output >= 0 ? sampled.output : i];
    if (sampled.used && sampled.period != 0 && (sampled.inherit || sampled.target == real::gettid()) &&
        ring.owner != real::getpid() && ring.copies >= 0)
      return ring.copies;
  }
  return -1;
}

} // namespace

void await_linux_records() {
  constexpr int slices = 200;
  timespec slice{0, 1'000'000};
  const auto copies = [] {
    const Locked shared;
    return count_copies(*shared);
  };
  const std::int64_t before = copies();
  // All rings of one reader have been copied where one of them is for the second time.
  for (int i = 0; before >= 0 && i < slices && copies() < before + 2; ++i)
    real::syscall(SYS_nanosleep, reinterpret_cast<long>(&slice), 0);
}

perf_event_mmap_page* find_page(std::int32_t slot) {
  return mappings[slot].page;
}

void update_page(const Slot& slot, std::int32_t index, bool scheduled) {
  Mapping& mapping = mappings[index];
  if (mapping.page == nullptr) return;
  perf_event_mmap_page& page = *mapping.page;
  const bool self = slot.target == real::gettid();
  const bool rdpmc = settings().rdpmc;
  const bool counts = rdpmc && self && slot.enabled && slot.counter >= 0 && scheduled;
  const std::uint32_t number = counts ? rdpmc_number(slot.counter) + 1 : 0;
  const std::int64_t base = counts ? offset(slot) : std::int64_t{std::llround(slot.value)};
  // Not where only times pass: reading a counter accounts for what came before, and a reader would try again.
  const unsigned step = page.index != number || page.offset != base ? 1 : 0;
  std::atomic_ref lock(page.lock);
  lock.fetch_add(step);
  page.cap_user_rdpmc = rdpmc;
  page.pmc_width =
      static_cast<std::uint16_t>(settings().machine.pmus[static_cast<std::size_t>(slot.pmu)].width);
  page.index = number;
  page.offset = base;
  copy_times(page, mapping.backing, slot);
  lock.fetch_add(step);
}

namespace {

/// The memory is the page of the slot's event, with the ring behind it if there is more.
void use_memory(void* memory, std::int32_t at, const perf_event_mmap_page* backing, std::size_t bytes,
                std::uint64_t order) {
  auto* const page = static_cast<perf_event_mmap_page*>(memory);
  page->size = sizeof(perf_event_mmap_page) < page_size()
                   ? offsetof(perf_event_mmap_page, size) + sizeof page->size
                   : 0;
  page->cap_bit0_is_deprecated = 1;
  page->data_offset = page_size();
  page->data_size = bytes - page_size();
  const Locked shared;
  mappings[at] = {page, backing, bytes, order};
  if (bytes > page_size()) shared->slots[at].ring_bytes = bytes;
  if (bytes > page_size() && backing != nullptr) shared->slots[at].copies = 0;
}

} // namespace

void* map_event(int fd, std::int32_t at, std::size_t bytes, int protection, int flags, off_t offset) {
  const Pause pause;
  if (const int error = injected("mmap", at)) return refuse(error);
  bool simulated = false;
  std::uint64_t order = 0;
  {
    const Locked shared;
    const Slot& slot = shared->slots[at];
    const bool by_linux = bytes > page_size() && slot.period == 0;
    simulated = slot.simulated && (!slot.foreign || exact()) && !by_linux;
    order = slot.order;
  }
  const bool ring = bytes > page_size();
  if (ring && !may_lock(bytes)) return refuse(EPERM);
  // Linux checks length and protection, and keeps the times.
  void* backing = nullptr;
  if (!settings().unbacked) {
    backing = real::mmap(nullptr, bytes, protection, flags, fd, offset);
    if (backing == MAP_FAILED) return backing;
    if (!simulated) {
      const Locked shared;
      if (ring && offset == 0) mappings[at] = {.bytes = bytes, .order = order, .of_linux = backing};
      return backing;
    }
  } else if (!std::has_single_bit(bytes / page_size() - (ring ? 1 : 0)) || (flags & MAP_SHARED) == 0) {
    return refuse(EINVAL); // perf_mmap(): a page, and a power of two of pages
  }
  if (mappings[at].page != nullptr && mappings[at].order == order) {
    if (backing != nullptr) real::munmap(backing, bytes);
    if (mappings[at].bytes != bytes) return refuse(EINVAL);
    ++mappings[at].times;
    return mappings[at].page;
  }
  void* const memory = map_memory(bytes, order, true);
  if (memory == MAP_FAILED) return memory;
  use_memory(memory, at, static_cast<const perf_event_mmap_page*>(backing), bytes, order);
  const Locked shared;
  update_page(shared->slots[at], at, shared->slots[at].unscheduled_ns == 0);
  return memory;
}

void take_ring_of_linux(int fd, std::int32_t slot) {
  const std::int32_t at = find_slot(fd);
  if (!exact() || at < 0 || at == slot || mappings[at].of_linux == nullptr) return;
  const Mapping before = mappings[at];
  {
    const Locked shared;
    if (!shared->slots[slot].simulated || shared->slots[slot].period == 0 ||
        shared->slots[at].order != before.order)
      return;
  }
  void* const behind =
      real::mmap(nullptr, before.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); // a second time
  if (behind == MAP_FAILED) return; // read only: nothing is sampled into it
  void* const memory = map_memory(before.bytes, before.order, true);
  const long moved =
      memory == MAP_FAILED
          ? -1
          : real::syscall(SYS_mremap, reinterpret_cast<long>(memory), static_cast<long>(before.bytes),
                          static_cast<long>(before.bytes), MREMAP_MAYMOVE | MREMAP_FIXED,
                          reinterpret_cast<long>(before.of_linux));
  if (moved == -1) {
    real::munmap(behind, before.bytes);
    return;
  }
  use_memory(before.of_linux, at, static_cast<const perf_event_mmap_page*>(behind), before.bytes,
             before.order);
}

bool forget_mapping(void* at) {
  for (Mapping& mapping : mappings) {
    if (mapping.of_linux == at && at != nullptr) mapping = {};
    if (mapping.page == nullptr || mapping.page != at) continue;
    if (--mapping.times > 0) return false;
    const Pause pause;
    const std::int64_t pages = static_cast<std::int64_t>(mapping.bytes / page_size());
    const Locked shared; // other threads update the page by what is behind it
    if (mapping.backing != nullptr)
      real::munmap(const_cast<perf_event_mmap_page*>(mapping.backing), mapping.bytes);
    if (settings().mlock_kb && mapping.bytes > page_size()) shared->locked_pages -= pages;
    Slot& slot = shared->slots[&mapping - mappings];
    char name[PATH_MAX];
    if (slot.order == mapping.order && slot.owner == real::getpid() &&
        name_ring(name, mapping.bytes, mapping.order)) // it may be mapped again
      real::syscall(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(name), 0);
    const bool current = slot.order == mapping.order;
    if (current) slot.ring_bytes = 0;
    mapping = {};
    if (current) release_event(static_cast<std::int32_t>(&slot - shared->slots));
  }
  return true;
}

void answer_rdpmc() {
  if (settings().rdpmc) keep_signal(exact() ? SIGILL : SIGSEGV, answer); // VEX does not decode it
}

} // namespace recount::emulate
