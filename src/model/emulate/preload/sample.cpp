#include "model/emulate/preload/sample.hpp"

#include "model/emulate/preload/account.hpp"
#include "model/emulate/preload/user_page.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"
#include "model/emulate/slot.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace recount::emulate {
thread_local CodeRange executing;
thread_local std::uint64_t sampled_at = 0;
std::uint64_t unknown_code = 0;

namespace {

Sampler samplers[max_slots];

std::uint64_t now(const perf_event_attr& attr) {
  timespec t{};
  clock_gettime(attr.use_clockid ? attr.clockid : CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}
std::uint64_t pair(std::uint64_t low, std::uint64_t high) {
  return low | high << 32;
}
std::uint64_t ids_of_thread() {
  return pair(static_cast<std::uint64_t>(real::getpid()), static_cast<std::uint64_t>(real::gettid()));
}

/// The record under way, of words in the order of perf_event_open(2); under the lock.
Words& new_record() {
  static Words words;
  words.clear();
  words.push_back(0); // the header
  return words;
}

std::uint64_t header(std::uint32_t type, std::uint16_t misc, std::size_t words) {
  return pair(type, std::uint64_t{misc} | (words * sizeof(std::uint64_t)) << 16);
}

/// With --exact that of the instruction which has stopped for the `latest` sample; 0, which no module has, of
/// samples that nothing stopped for: of what ran before this library was loaded.
std::uint64_t address_of_sample(std::uint64_t number, bool latest) {
  if (settings().exact) return latest ? sampled_at : 0;
  return executing.start == 0 ? unknown_code : executing.start + number * 7 % executing.bytes;
}

const Words& sample_record(const Shared& shared, const Slot& slot, std::uint64_t number, bool latest) {
  const auto& attr = slot.attr;
  const std::uint64_t ip = address_of_sample(number, latest);
  Words& words = new_record();
  const auto field = [&](std::uint64_t bit, std::initializer_list<std::uint64_t> values) {
    if ((attr.sample_type & bit) == 0) return;
    for (const std::uint64_t value : values)
      words.push_back(value);
  };
  field(PERF_SAMPLE_IDENTIFIER, {slot.id});
  field(PERF_SAMPLE_IP, {ip});
  field(PERF_SAMPLE_TID, {ids_of_thread()});
  field(PERF_SAMPLE_TIME, {now(attr)});
  field(PERF_SAMPLE_ADDR, {0});
  field(PERF_SAMPLE_ID, {slot.id});
  field(PERF_SAMPLE_STREAM_ID, {slot.id});
  field(PERF_SAMPLE_CPU, {static_cast<std::uint64_t>(sched_getcpu())});
  field(PERF_SAMPLE_PERIOD, {slot.period});
  if ((attr.sample_type & PERF_SAMPLE_READ) != 0) append_read(shared, slot, attr.read_format, words);
  field(PERF_SAMPLE_CALLCHAIN, {2, static_cast<std::uint64_t>(PERF_CONTEXT_USER), ip});
  field(PERF_SAMPLE_RAW, {pair(sizeof(std::uint32_t), 0)});
  field(PERF_SAMPLE_BRANCH_STACK, {0});
  field(PERF_SAMPLE_REGS_USER, {PERF_SAMPLE_REGS_ABI_NONE});
  field(PERF_SAMPLE_STACK_USER, {0});
  field(PERF_SAMPLE_WEIGHT, {0});
  field(PERF_SAMPLE_DATA_SRC, {0});
  field(PERF_SAMPLE_TRANSACTION, {0});
  field(PERF_SAMPLE_REGS_INTR, {PERF_SAMPLE_REGS_ABI_NONE});
  for (const std::uint64_t unknown :
       {PERF_SAMPLE_PHYS_ADDR, PERF_SAMPLE_CGROUP, PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE})
    field(unknown, {0});
  const bool exact = attr.precise_ip > 0;
  words[0] =
      header(PERF_RECORD_SAMPLE,
             static_cast<std::uint16_t>(PERF_RECORD_MISC_USER | (exact ? PERF_RECORD_MISC_EXACT_IP : 0)),
             words.size());
  return words;
}

/// What ends every other record with sample_id_all.
void append_sample_id(const Slot& slot, const perf_event_attr& attr, Words& words) {
  if (!attr.sample_id_all) return;
  const auto field = [&](std::uint64_t bit, std::uint64_t value) {
    if ((attr.sample_type & bit) != 0) words.push_back(value);
  };
  field(PERF_SAMPLE_TID, ids_of_thread());
  field(PERF_SAMPLE_TIME, now(attr));
  field(PERF_SAMPLE_ID, slot.id);
  field(PERF_SAMPLE_STREAM_ID, slot.id);
  field(PERF_SAMPLE_CPU, static_cast<std::uint64_t>(sched_getcpu()));
  field(PERF_SAMPLE_IDENTIFIER, slot.id);
}
const Words& lost_record(const Slot& slot) {
  Words& words = new_record();
  words.push_back(slot.id);
  words.push_back(slot.unreported);
  append_sample_id(slot, slot.attr, words);
  words[0] = header(PERF_RECORD_LOST, 0, words.size());
  return words;
}

/// The page itself is the program's: it may write anything there.
bool write_record(perf_event_mmap_page* page, std::uint64_t ring_bytes, const Words& words) {
  static const auto offset = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t head = page->data_head, tail = std::atomic_ref(page->data_tail).load(),
                      size = ring_bytes - offset;
  const std::size_t bytes = words.size() * sizeof words[0];
  if (size == 0 || head - tail > size || size - (head - tail) < bytes) return false;
  auto* const data = reinterpret_cast<unsigned char*>(page) + offset;
  for (std::size_t i = 0; i < words.size(); ++i)
    std::memcpy(data + (head + i * sizeof words[0]) % size, words.data() + i, sizeof words[0]);
  std::atomic_ref(page->data_head).store(head + bytes, std::memory_order_release);
  return true;
}

} // namespace

Sampler& sampler(std::int32_t slot) {
  return samplers[slot];
}

void Overflows::take(const Shared& shared, Slot& slot, std::int32_t index) {
  static Sampler others;
  Sampler& how = slot.owner == real::getpid() ? samplers[index] : others;
  const auto due = [&] { return slot.next_sample - slot.reset - slot.value < sample_rounding; };
  while (slot.enabled && due()) {
    slot.next_sample += static_cast<double>(slot.period);
    const auto number = static_cast<std::uint64_t>(slot.next_sample / static_cast<double>(slot.period));
    const std::int32_t output = slot.output >= 0 ? slot.output : index;
    if (auto* const page = find_ring(shared, output)) {
      const std::uint64_t bytes = shared.slots[output].ring_bytes;
      const bool paused = shared.slots[output].paused; // perf_output_begin() counts what it drops then
      // A ring that has had no room tells so before the next record that fits.
      if (!paused && slot.unreported > 0 && write_record(page, bytes, lost_record(slot))) slot.unreported = 0;
      if (paused || slot.unreported > 0 ||
          !write_record(page, bytes, sample_record(shared, slot, number, !due()))) {
        ++slot.unreported;
        ++slot.lost;
      }
    }
    const bool last = how.limit > 0 && --how.limit == 0;
    if (how.async)
      signals_.push_back(
          {how.signal != 0 ? how.signal : SIGIO, how.fd, last ? POLL_HUP : POLL_IN, how.owner});
    if (!last) continue;
    slot.enabled = false;
    stopped_.push_back(how.fd);
  }
}

namespace {

/// As Linux knows it (struct sigaction of asm/signal.h).
struct KernelAction {
  union {
    void (*plain)(int);
    void (*with_info)(int, siginfo_t*, void*);
  };
  unsigned long flags;
  void (*restorer)();
  std::uint64_t mask;
};

std::uint64_t bit_of(int number) {
  return std::uint64_t{1} << (number - 1);
}

/// Calls the program's handler of a signal in the place of the one that has the context. False: it has none,
/// or blocks the signal.
bool handled(siginfo_t& info, void* context) {
  KernelAction action{};
  real::syscall(SYS_rt_sigaction, info.si_signo, 0, reinterpret_cast<long>(&action), sizeof action.mask);
  std::uint64_t blocked = 0;
  std::memcpy(&blocked, &static_cast<ucontext_t*>(context)->uc_sigmask, sizeof blocked);
  if (action.plain == SIG_DFL || action.plain == SIG_IGN || (blocked & bit_of(info.si_signo)) != 0)
    return false;
  std::uint64_t mask = blocked | action.mask;
  if ((action.flags & SA_NODEFER) == 0) mask |= bit_of(info.si_signo);
  real::syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), 0, sizeof mask);
  request(RT_RESUME); // the handler is the program's
  if ((action.flags & SA_SIGINFO) != 0)
    action.with_info(info.si_signo, &info, context);
  else
    action.plain(info.si_signo);
  request(RT_PAUSE);
  real::syscall(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&blocked), 0, sizeof blocked);
  return true;
}

} // namespace

void Overflows::deliver(void* context) {
  const auto self = real::gettid();
  for (const int fd : std::span(stopped_.all).first(std::exchange(stopped_.count, 0)))
    real::ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  const Few<Signal> due = std::exchange(signals_, {});
  for (const Signal& one : std::span(due.all).first(due.count)) {
    siginfo_t info{};
    info.si_signo = one.number;
    info.si_code = one.code;
    info.si_fd = one.fd;
    info.si_band = one.code == POLL_HUP ? 0x11 : 1; // POLLHUP | POLLIN, POLLIN
    if (context != nullptr && one.to == self && handled(info, context)) continue;
    real::syscall(SYS_rt_tgsigqueueinfo, real::getpid(), one.to, one.number, reinterpret_cast<long>(&info));
  }
}

bool has_records(std::int32_t slot) {
  const perf_event_mmap_page* const page = find_page(slot);
  return page != nullptr && page->data_size != 0 && page->data_head != page->data_tail;
}

void note_control(std::int32_t slot, int command, unsigned long argument) {
  Sampler& how = samplers[slot];
  if (command == F_SETSIG) how.signal = static_cast<int>(argument);
  if (command == F_SETOWN) how.owner = static_cast<pid_t>(argument);
  if (command == F_SETFL) how.async = (argument & O_ASYNC) != 0;
  if (command == F_SETOWN_EX) {
    f_owner_ex owner{};
    std::memcpy(&owner, reinterpret_cast<const void*>(argument), sizeof owner);
    how.owner = owner.pid;
  }
}

namespace {

/// Of a program that no kernel is known of, so much in a second of CPU time.
const Effect& second() {
  static const Effect effect(settings().machine.per_second);
  return effect;
}

/// Whether the slot counts a thread whose work nobody sees.
bool by_rate(const Slot& slot) {
  return slot.foreign && !settings().exact;
}

/// Where `program` is stated: all that another process executes, as soon as it has run.
bool counts_program(Slot& slot, std::uint64_t backing_ns) {
  if (!settings().machine.program) return false;
  static const Effect whole(*settings().machine.program);
  if (backing_ns > 0 && !slot.dropped && !slot.exclude_user) slot.value = compute_count(slot, whole);
  return true;
}

/// A foreign event counts by the CPU time that has passed since it was last read, with the share of now:
/// groups that are opened later do not change what has been counted.
std::uint64_t total(const Shared& shared, Slot& slot, std::uint64_t backing_ns) {
  if (by_rate(slot) && counts_program(slot, backing_ns))
    return static_cast<std::uint64_t>(std::llround(slot.value));
  if (by_rate(slot) && !slot.dropped && !slot.exclude_user && backing_ns > slot.seen_ns) {
    const auto passed = static_cast<double>(backing_ns - slot.seen_ns);
    slot.value += compute_count(slot, second()) * passed * 1e-9 * scheduled_share(shared, slot);
  }
  slot.seen_ns = backing_ns;
  return static_cast<std::uint64_t>(std::llround(slot.value));
}

/// The share of its enabled time for which the slot has had a counter.
double scheduled_share(const Slot& slot) {
  if (by_rate(slot))
    return slot.seen_running_ns == 0
               ? 1
               : static_cast<double>(slot.reported_ns) / static_cast<double>(slot.seen_running_ns);
  if (slot.unscheduled_ns == 0) return 1;
  const auto scheduled = static_cast<double>(slot.scheduled_ns);
  return scheduled / (scheduled + static_cast<double>(slot.unscheduled_ns));
}

/// The running time, given the backing event's: less what the slot has been without a counter.
std::uint64_t running(const Shared& shared, Slot& slot, std::uint64_t backing_ns) {
  if (slot.dropped) return 0;
  if (by_rate(slot)) {
    const auto passed = static_cast<double>(backing_ns - std::min(backing_ns, slot.seen_running_ns));
    slot.reported_ns += static_cast<std::uint64_t>(passed * scheduled_share(shared, slot));
    slot.seen_running_ns = backing_ns;
    return slot.reported_ns;
  }
  if (settings().emulated_time()) return slot.scheduled_ns;
  if (settings().exact) { // the share changes from read to read, the time never decreases
    const auto now = static_cast<std::uint64_t>(static_cast<double>(backing_ns) * scheduled_share(slot));
    slot.reported_ns = std::min(std::max(slot.reported_ns, now), backing_ns);
    return slot.reported_ns;
  }
  if (slot.unscheduled_ns == 0) return backing_ns;
  if (slot.scheduled_ns == 0) return 0;
  const std::uint64_t left = backing_ns - std::min(backing_ns, slot.unscheduled_ns);
  slot.reported_ns = std::clamp(left, std::min(slot.reported_ns, backing_ns), backing_ns);
  return slot.reported_ns;
}

/// The simulated slot whose time is the group's: any, as a group runs as a whole.
Slot* timed(Shared& shared, std::int32_t leader) {
  if (shared.slots[leader].simulated) return &shared.slots[leader];
  for (std::int32_t i = 0; i < shared.end; ++i)
    if (shared.slots[i].used && shared.slots[i].simulated && shared.slots[i].leader == leader)
      return &shared.slots[i];
  return nullptr;
}

/// Slots of a group.
class Members {
public:
  explicit Members(std::int32_t first) { push_back(first); }
  void push_back(std::int32_t slot) { slots_[count_++] = slot; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] auto begin() { return slots_.begin(); }
  [[nodiscard]] auto end() { return slots_.begin() + static_cast<std::ptrdiff_t>(count_); }

private:
  std::array<std::int32_t, max_slots> slots_; // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count_ = 0;
};

/// Members of the group in the order of a group read: the leader, then the siblings as they were opened.
Members members(const Shared& shared, std::int32_t leader) {
  Members all(leader);
  for (std::int32_t i = 0; i < shared.end; ++i)
    if (shared.slots[i].used && shared.slots[i].leader == leader && i != leader) all.push_back(i);
  std::ranges::sort(all.begin() + 1, all.end(), {}, [&](std::int32_t i) { return shared.slots[i].order; });
  return all;
}

} // namespace

void append_read(const Shared& shared, const Slot& slot, std::uint64_t format, Words& words) {
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  const auto self = static_cast<std::int32_t>(&slot - shared.slots);
  Members all = group ? members(shared, slot.leader) : Members(self);
  const auto value = [&](std::int32_t i) {
    const Slot& one = shared.slots[i];
    words.push_back(static_cast<std::uint64_t>(std::llround(one.value)));
    if (group && (format & PERF_FORMAT_ID) != 0) words.push_back(one.id);
    if (group && (format & PERF_FORMAT_LOST) != 0) words.push_back(one.lost);
  };
  if (group)
    words.push_back(all.size());
  else
    value(self);
  if ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0)
    words.push_back(slot.scheduled_ns + slot.unscheduled_ns);
  if ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0) words.push_back(slot.scheduled_ns);
  if (group) std::ranges::for_each(all, value);
  if (!group && (format & PERF_FORMAT_ID) != 0) words.push_back(slot.id);
  if (!group && (format & PERF_FORMAT_LOST) != 0) words.push_back(slot.lost);
}

ssize_t translate(std::int32_t at, void* data, ssize_t bytes) {
  auto* const words = static_cast<std::uint64_t*>(data);
  const Locked shared;
  Slot& slot = shared->slots[at];
  if (shared->slots[slot.leader].failed) return 0; // as Linux reads a pinned event in error: end of file
  const std::uint64_t format = slot.read_format;
  const bool group = (format & PERF_FORMAT_GROUP) != 0;
  Slot* const timing = slot.counted() ? &slot : group ? timed(*shared, slot.leader) : nullptr;
  if (timing == nullptr) return bytes;
  std::size_t word = 1;
  const bool has_enabled = (format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0;
  const bool has_running = (format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0;
  if (has_enabled && slot.dropped) words[word] = 0;
  if (has_enabled && settings().emulated_time() && !by_rate(*timing) && !slot.dropped)
    words[word] = timing->scheduled_ns + timing->unscheduled_ns;
  if (has_running) {
    std::uint64_t& time = words[word + (has_enabled ? 1 : 0)];
    time = running(*shared, *timing, time);
  }
  if (!group) {
    words[0] = total(*shared, slot, words[0]);
    if ((format & PERF_FORMAT_LOST) != 0)
      words[static_cast<std::size_t>(bytes) / sizeof words[0] - 1] = slot.lost;
    return bytes;
  }
  const auto size = [](std::uint64_t bits) { return static_cast<std::size_t>(std::popcount(bits)); };
  word += size(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
  const std::size_t each = 1 + size(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
  for (const std::int32_t member : members(*shared, slot.leader)) {
    if ((word + each) * sizeof words[0] > static_cast<std::size_t>(bytes)) break;
    Slot& one = shared->slots[member];
    if (one.counted()) {
      words[word] = total(*shared, one, words[word]);
      if ((format & PERF_FORMAT_LOST) != 0) words[word + each - 1] = one.lost;
    } else { // Linux's own event runs only while its group does
      const double share = scheduled_share(*timing);
      words[word] = static_cast<std::uint64_t>(share * static_cast<double>(words[word]));
    }
    word += each;
  }
  return bytes;
}

ssize_t read_unbacked(std::int32_t at, void* to, std::size_t bytes) {
  const Locked shared;
  const Slot& slot = shared->slots[at];
  if (shared->slots[slot.leader].failed) return 0; // a pinned event in error: end of file
  static Words words;                              // under the lock
  words.clear();
  append_read(*shared, slot, slot.read_format, words);
  const std::size_t size = words.size() * sizeof words[0];
  if (size > bytes) return real::refuse(ENOSPC);
  std::memcpy(to, words.data(), size);
  return static_cast<ssize_t>(size);
}

} // namespace recount::emulate
