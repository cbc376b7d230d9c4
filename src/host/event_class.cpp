#include "host/event_class.hpp"

#include "base/text.hpp"
#include "host/cpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <linux/hw_breakpoint.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace recount::host {
namespace {

using State = ClassState::State;

constexpr std::uint64_t handful = 8;

/// The type of the PMU that counts the time stamp counter of x86; 0 (hardware): there is none.
std::uint32_t msr_type() {
  static const auto type =
      static_cast<std::uint32_t>(base::read_number("/sys/bus/event_source/devices/msr/type").value_or(0));
  return type;
}

std::uint64_t thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

volatile unsigned char* watched_byte() {
  static thread_local volatile unsigned char byte;
  return &byte;
}

// What provokes occurrences: each returns how many there were at least.

std::uint64_t write_watched() {
  volatile unsigned char* const byte = watched_byte();
  for (std::uint64_t i = 0; i < handful; ++i)
    *byte = static_cast<unsigned char>(i);
  return handful;
}

/// What Linux accounts to the thread, apart from perf_event. RUSAGE_THREAD has it exactly.
std::uint64_t accounted(long rusage::*first, long rusage::*second) {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.*first + usage.*second);
}

/// None where pages are mapped as soon as they are allocated (mlockall(2)).
std::uint64_t touch_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, handful * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  madvise(memory, handful * page, MADV_NOHUGEPAGE); // or one fault maps several pages
  const std::uint64_t before = accounted(&rusage::ru_minflt, &rusage::ru_majflt);
  for (std::size_t i = 0; i < handful; ++i)
    static_cast<volatile unsigned char*>(memory)[i * page] = 1;
  const std::uint64_t faults = accounted(&rusage::ru_minflt, &rusage::ru_majflt) - before;
  munmap(memory, handful * page);
  return faults;
}

std::uint64_t sleep_briefly() {
  constexpr timespec moment{0, 20'000};
  const std::uint64_t before = accounted(&rusage::ru_nvcsw, &rusage::ru_nivcsw);
  for (std::uint64_t i = 0; i < handful / 2; ++i)
    nanosleep(&moment, nullptr);
  return accounted(&rusage::ru_nvcsw, &rusage::ru_nivcsw) - before;
}

/// To another CPU and back; 0 where the thread may use one only.
std::uint64_t change_cpu() {
  cpu_set_t before, one;
  if (sched_getaffinity(0, sizeof before, &before) != 0) return 0;
  std::uint64_t moves = 0;
  const int here = sched_getcpu();
  for (int cpu = 0; cpu < CPU_SETSIZE && moves == 0; ++cpu) {
    if (cpu == here || !CPU_ISSET(static_cast<unsigned>(cpu), &before)) continue;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    moves = sched_setaffinity(0, sizeof one, &one) == 0 ? 1 : 0;
  }
  sched_setaffinity(0, sizeof before, &before);
  return moves;
}

std::uint64_t spend_time() {
  constexpr std::uint64_t enough = 5'000;
  const std::uint64_t begin = thread_ns();
  std::uint64_t spent = 0;
  while (spent < enough)
    spent = thread_ns() - begin;
  return enough / 2; // the two clocks are read at different moments
}

/// Each step is an instruction at least, and many ticks where it reads the time stamp counter.
std::uint64_t execute_steps() {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 128 * handful; ++i) {
#if defined(__x86_64__)
    sum = sum + __rdtsc();
#else
    sum = sum + i;
#endif
  }
  return handful;
}

/// How many cycles it takes depends on the core; none is impossible.
std::uint64_t pass_cycles() {
  execute_steps();
  return 1;
}

struct Trial {
  EventClass which;
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
  bool user;  ///< user mode alone: more users may count it
  bool exact; ///< more occurrences than executed are wrong
  std::uint64_t (*occur)();
};

using enum EventClass;
constexpr Trial trials[] = {
    {task_clock, "task clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, true, false, spend_time},
    {cpu_clock, "CPU clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, true, false, spend_time},
    {page_fault, "page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, false, touch_pages},
    {context_switch, "context switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, false,
     sleep_briefly},
    {migration, "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false, false, change_cpu},
    {breakpoint, "breakpoints", PERF_TYPE_BREAKPOINT, 0, true, true, write_watched},
    {tsc, "time-stamp counter", PERF_TYPE_MAX, 0, false, false, execute_steps},
    {cycles, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, false, pass_cycles},
    {instructions, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true, false,
     execute_steps},
};
static_assert(std::size(trials) == event_classes.size());

const Trial& trial_of(EventClass which) {
  return *std::ranges::find(trials, which, &Trial::which);
}

perf_event_attr attr_of(const Trial& trial) {
  perf_event_attr attr{};
  attr.size = PERF_ATTR_SIZE_VER1; // every kernel knows it, and it has bp_len
  attr.type = trial.which == EventClass::tsc ? msr_type() : trial.type;
  attr.config = trial.config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;
  attr.exclude_kernel = attr.exclude_hv = trial.user ? 1 : 0;
  if (trial.which == EventClass::breakpoint) {
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = reinterpret_cast<std::uint64_t>(watched_byte());
    attr.bp_len = HW_BREAKPOINT_LEN_1;
  }
  return attr;
}

ClassState count(const Trial& trial) {
  ClassState found;
  perf_event_attr attr = attr_of(trial);
  if (trial.which == EventClass::tsc && attr.type == 0) {
    found.error = ENOENT;
    return found;
  }
  const auto fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) {
    found.error = errno;
    return found;
  }
  struct {
    std::uint64_t value = 0, enabled = 0, running = 0;
  } now;
  ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  found.known = trial.occur();
  ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  const bool got = ::read(fd, &now, sizeof now) == static_cast<ssize_t>(sizeof now);
  close(fd);
  found.counted = now.value;
  if (!got || now.running == 0 || found.known == 0) return found;
  const bool counts = trial.exact ? found.counted == found.known : found.counted >= found.known;
  found.state = counts ? State::counts : State::dead;
  return found;
}

/// What was found, by class; never freed. Atomic: a forked child may not wait for a lock of its parent.
std::array<std::atomic<const ClassState*>, event_classes.size()> kept{};

} // namespace

const char* name_of(EventClass which) {
  return trial_of(which).name;
}

std::optional<EventClass> class_of(const perf_event_attr& attr) {
  if (attr.type == PERF_TYPE_BREAKPOINT) return EventClass::breakpoint;
  if (attr.type == PERF_TYPE_SOFTWARE &&
      (attr.config == PERF_COUNT_SW_PAGE_FAULTS_MIN || attr.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ))
    return EventClass::page_fault;
  if (attr.type > PERF_TYPE_BREAKPOINT)
    return attr.type == msr_type() && attr.config == 0 ? std::optional(EventClass::tsc) : std::nullopt;
  for (const Trial& trial : trials)
    if (trial.type == attr.type && trial.config == attr.config) return trial.which;
  return {};
}

bool occurs_in_kernel_only(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_SOFTWARE &&
         (attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES || attr.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
          attr.config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

ClassState class_state(EventClass which) {
  auto& slot = kept[static_cast<std::size_t>(which)];
  if (const ClassState* const known = slot.load(std::memory_order_acquire)) return *known;
  const Trial& trial = trial_of(which);
  ClassState found = count(trial);
  // One disturbed trial does not make a class dead: a debugger may hold its breakpoint's register.
  if (found.state == State::dead) found = count(trial);
  if (found.state != State::missing) slot.store(new ClassState(found), std::memory_order_release);
  return found;
}

Reason dead_reason(const perf_event_attr& attr) {
  const auto known = class_of(attr);
  if (!known) return {};
  const ClassState state = class_state(*known);
  if (state.state != State::dead) return {};
  const std::string hypervisor = this_hypervisor();
  return {
      fmt::format("dead on this machine: such events open, but a trial counted {} of {} {}", state.counted,
                  state.known, name_of(*known)),
      "hypervisor = " + (hypervisor.empty() ? "none" : hypervisor),
      "count it on another machine, or outside the virtual machine; recount doctor shows what counts here",
      ReasonCode::dead};
}

} // namespace recount::host
