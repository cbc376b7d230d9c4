#include "base/host/event_class.hpp"

#include "base/affinity.hpp"
#include "base/clock.hpp"
#include "base/host/cpu.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
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

constexpr std::uint64_t repetitions = 8;

/// Type of the PMU of the x86 time-stamp counter; 0 (hardware): none.
std::uint32_t msr_type() {
  static const auto type =
      static_cast<std::uint32_t>(base::read_number("/sys/bus/event_source/devices/msr/type").value_or(0));
  return type;
}

volatile unsigned char* watched_byte() {
  static thread_local volatile unsigned char byte;
  return &byte;
}

// Each of these provokes occurrences of an event and returns a lower bound of their number.

std::uint64_t write_watched() {
  volatile unsigned char* const byte = watched_byte();
  for (std::uint64_t i = 0; i < repetitions; ++i)
    *byte = static_cast<unsigned char>(i);
  return repetitions;
}

/// Linux accounts these to the thread independently of perf_event, exactly with RUSAGE_THREAD.
std::uint64_t accounted(long rusage::*first, long rusage::*second) {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.*first + usage.*second);
}

/// 0 if pages are mapped when they are allocated (mlockall(2)).
std::uint64_t touch_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, repetitions * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  madvise(memory, repetitions * page, MADV_NOHUGEPAGE); // or one fault maps several pages
  const std::uint64_t before = accounted(&rusage::ru_minflt, &rusage::ru_majflt);
  for (std::size_t i = 0; i < repetitions; ++i)
    static_cast<volatile unsigned char*>(memory)[i * page] = 1;
  const std::uint64_t faults = accounted(&rusage::ru_minflt, &rusage::ru_majflt) - before;
  munmap(memory, repetitions * page);
  return faults;
}

std::uint64_t sleep_briefly() {
  constexpr timespec moment{0, 20'000};
  const std::uint64_t before = accounted(&rusage::ru_nvcsw, &rusage::ru_nivcsw);
  for (std::uint64_t i = 0; i < repetitions / 2; ++i)
    nanosleep(&moment, nullptr);
  return accounted(&rusage::ru_nvcsw, &rusage::ru_nivcsw) - before;
}

/// Migrates to another CPU and back; 0 if the affinity of the thread allows one CPU only.
std::uint64_t change_cpu() {
  const base::Affinity before;
  const int here = sched_getcpu();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (cpu != here && before.has(cpu) && base::pin_to(cpu)) return 1;
  return 0;
}

std::uint64_t spend_time() {
  constexpr std::int64_t enough = 5'000;
  const std::int64_t begin = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  while (base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < enough) {
  }
  return enough / 2; // the two clocks are read at different moments
}

/// Each step executes at least one instruction, and takes many ticks if it reads the time-stamp counter.
std::uint64_t execute_steps() {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < 128 * repetitions; ++i) {
#if defined(__x86_64__)
    sum = sum + __rdtsc();
#else
    sum = sum + i;
#endif
  }
  return repetitions;
}

/// At least one cycle; the number depends on the core.
std::uint64_t pass_cycles() {
  execute_steps();
  return 1;
}

struct Trial {
  EventClass event_class;
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
  bool user;  ///< user mode only: fewer permissions are needed
  bool exact; ///< a count above the provoked occurrences is wrong, too
  std::uint64_t (*provoke)();
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

const Trial& find_trial(EventClass event_class) {
  return *std::ranges::find(trials, event_class, &Trial::event_class);
}

perf_event_attr make_attr(const Trial& trial) {
  perf_event_attr attr{};
  attr.size = PERF_ATTR_SIZE_VER1; // every kernel knows it, and it has bp_len
  attr.type = trial.event_class == EventClass::tsc ? msr_type() : trial.type;
  attr.config = trial.config;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = 1;
  attr.exclude_kernel = attr.exclude_hv = trial.user ? 1 : 0;
  if (trial.event_class == EventClass::breakpoint) {
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = reinterpret_cast<std::uint64_t>(watched_byte());
    attr.bp_len = HW_BREAKPOINT_LEN_1;
  }
  return attr;
}

ClassState run(const Trial& trial) {
  ClassState result;
  perf_event_attr attr = make_attr(trial);
  errno = ENOENT;
  const bool absent = trial.event_class == EventClass::tsc && attr.type == 0;
  const int fd =
      absent ? -1 : static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) {
    result.error = errno;
    return result;
  }
  struct {
    std::uint64_t value = 0, enabled = 0, running = 0;
  } count;
  ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  result.known = trial.provoke();
  ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  const bool complete = ::read(fd, &count, sizeof count) == static_cast<ssize_t>(sizeof count);
  close(fd);
  result.counted = count.value;
  if (!complete || count.running == 0 || result.known == 0) return result;
  const bool counts = trial.exact ? result.counted == result.known : result.counted >= result.known;
  result.state = counts ? State::counts : State::dead;
  return result;
}

/// States of the tried classes; never freed. Atomic: a forked child may not wait for a lock of its parent.
std::array<std::atomic<const ClassState*>, event_classes.size()> known_states{};

} // namespace

const char* name_of(EventClass event_class) {
  return find_trial(event_class).name;
}

std::optional<EventClass> class_of(const perf_event_attr& attr) {
  if (attr.type == PERF_TYPE_BREAKPOINT) return EventClass::breakpoint;
  if (attr.type == PERF_TYPE_SOFTWARE &&
      (attr.config == PERF_COUNT_SW_PAGE_FAULTS_MIN || attr.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ))
    return EventClass::page_fault;
  if (attr.type > PERF_TYPE_BREAKPOINT)
    return attr.type == msr_type() && attr.config == 0 ? std::optional(EventClass::tsc) : std::nullopt;
  for (const Trial& trial : trials)
    if (trial.type == attr.type && trial.config == attr.config) return trial.event_class;
  return {};
}

bool occurs_in_kernel_only(const perf_event_attr& attr) {
  return attr.type == PERF_TYPE_SOFTWARE &&
         (attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES || attr.config == PERF_COUNT_SW_CPU_MIGRATIONS ||
          attr.config == PERF_COUNT_SW_CGROUP_SWITCHES);
}

ClassState class_state(EventClass event_class) {
  auto& slot = known_states[static_cast<std::size_t>(event_class)];
  if (const ClassState* const known = slot.load(std::memory_order_acquire)) return *known;
  const Trial& trial = find_trial(event_class);
  ClassState found = run(trial);
  // A single failed trial is not enough: a debugger may hold the debug register for a moment.
  if (found.state == State::dead) found = run(trial);
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
