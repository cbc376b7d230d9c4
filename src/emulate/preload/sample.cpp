#include "emulate/preload/sample.hpp"

#include "emulate/preload/account.hpp"
#include "emulate/preload/read_event.hpp"
#include "emulate/preload/user_page.hpp"
#include "emulate/real.hpp"
#include "emulate/settings.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
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

Sampler samplers[most_slots];

std::uint64_t now(const perf_event_attr& attr) {
  timespec t{};
  clock_gettime(attr.use_clockid ? attr.clockid : CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}
std::uint64_t pair(std::uint64_t low, std::uint64_t high) {
  return low | high << 32;
}
std::uint64_t ids_of_thread() {
  return pair(static_cast<std::uint64_t>(real::syscall(SYS_getpid)),
              static_cast<std::uint64_t>(real::syscall(SYS_gettid)));
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

std::uint64_t address_of_sample(std::uint64_t number) {
  if (sampled_at != 0) return sampled_at;
  return executing.start == 0 ? unknown_code : executing.start + number * 7 % executing.bytes;
}

const Words& sample_record(const Shared& shared, const Slot& slot, std::uint64_t number) {
  const auto& attr = slot.attr;
  const std::uint64_t ip = address_of_sample(number);
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
  field(PERF_SAMPLE_BRANCH_STACK, {0});
  field(PERF_SAMPLE_REGS_USER, {PERF_SAMPLE_REGS_ABI_NONE});
  field(PERF_SAMPLE_STACK_USER, {0});
  field(PERF_SAMPLE_WEIGHT, {0});
  field(PERF_SAMPLE_DATA_SRC, {0});
  field(PERF_SAMPLE_TRANSACTION, {0});
  field(PERF_SAMPLE_REGS_INTR, {PERF_SAMPLE_REGS_ABI_NONE});
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

bool write_record(perf_event_mmap_page* page, const Words& words) {
  const std::uint64_t head = page->data_head, tail = std::atomic_ref(page->data_tail).load(),
                      size = page->data_size;
  const std::size_t bytes = words.size() * sizeof words[0];
  if (size == 0 || size - (head - tail) < bytes) return false;
  auto* const data = reinterpret_cast<unsigned char*>(page) + page->data_offset;
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
  Sampler& how = slot.owner == static_cast<pid_t>(real::syscall(SYS_getpid)) ? samplers[index] : others;
  while (slot.enabled && slot.next_sample - slot.reset - slot.value < sample_rounding) {
    slot.next_sample += static_cast<double>(slot.period);
    const auto number = static_cast<std::uint64_t>(slot.next_sample / static_cast<double>(slot.period));
    if (auto* const page = ring_of(shared, slot.output >= 0 ? slot.output : index)) {
      // A ring that has had no room tells so before the next record that fits.
      if (slot.unreported > 0 && write_record(page, lost_record(slot))) slot.unreported = 0;
      if (slot.unreported > 0 || !write_record(page, sample_record(shared, slot, number))) {
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
  const auto self = static_cast<pid_t>(real::syscall(SYS_gettid));
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
    real::syscall(SYS_rt_tgsigqueueinfo, real::syscall(SYS_getpid), one.to, one.number,
                  reinterpret_cast<long>(&info));
  }
}

bool has_records(std::int32_t slot) {
  const perf_event_mmap_page* const page = page_of(slot);
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

} // namespace recount::emulate
