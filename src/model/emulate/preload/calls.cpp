// The functions of libc that programs reach events through, and what happens before main(). Descriptors that
// are no events go on to Linux.

#include "model/emulate/preload/account.hpp"
#include "model/emulate/preload/open_event.hpp"
#include "model/emulate/preload/processor.hpp"
#include "model/emulate/preload/sample.hpp"
#include "model/emulate/preload/user_page.hpp"
#include "model/emulate/real.hpp"
#include "model/emulate/settings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/perf_event.h>
#include <optional>
#include <poll.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <utility>

namespace recount::emulate {

Additions additions;

namespace {

void control(std::int32_t at, unsigned long request, bool group) {
  const Locked shared;
  const std::int32_t leader = shared->slots[at].leader;
  for (std::int32_t i = 0; i < shared->end; ++i) {
    Slot& slot = shared->slots[i];
    if (!slot.used || (i != at && !(group && slot.leader == leader))) continue;
    switch (request) {
    case PERF_EVENT_IOC_REFRESH:
    case PERF_EVENT_IOC_ENABLE:
      slot.enabled = true;
      slot.failed = false;
      break;
    case PERF_EVENT_IOC_DISABLE: slot.enabled = false; break;
    case PERF_EVENT_IOC_RESET:
      slot.reset += std::exchange(slot.value, 0);
      slot.seen_ns = 0;
      break;
    default: break;
    }
    if (slot.simulated && request == PERF_EVENT_IOC_DISABLE) slot.counter = -1;
    if (slot.simulated) update_page(slot, i, slot.unscheduled_ns == 0); // and once more by account_call()
  }
}

/// _perf_event_refresh(): of an event that samples, and has no copies in children.
bool refreshes(std::int32_t at) {
  const Locked shared;
  const Slot& slot = shared->slots[at];
  return slot.attr.sample_period != 0 && slot.attr.inherit == 0;
}

long control_event(int fd, std::int32_t slot, unsigned long request, unsigned long argument) {
  if (const int error = injected("ioctl", slot)) return real::refuse(error);
  const bool group = (argument & PERF_IOC_FLAG_GROUP) != 0;
  account_call(); // what comes before the call is counted with the state before it
  if (request == PERF_EVENT_IOC_REFRESH) {
    if (!refreshes(slot)) return real::refuse(EINVAL);
    sampler(slot).limit += static_cast<std::int64_t>(argument);
    request = PERF_EVENT_IOC_ENABLE;
    argument = 0;
  }
  const int result = settings().unbacked ? 0 : real::ioctl(fd, request, argument);
  if (result < 0) return result;
  copy_linux_records(slot);
  control(slot, request, group);
  announce_samples(slot);
  account_call();
  return result;
}

/// PERF_EVENT_IOC_PERIOD: from now on.
int set_period(std::int32_t at, std::uint64_t period) {
  const Locked shared;
  Slot& slot = shared->slots[at];
  const bool frequency = slot.attr.freq != 0;
  if (period == 0 || (frequency ? too_frequent(period) : period >> 63 != 0)) return EINVAL;
  period = period_of(slot, frequency, period);
  slot.next_sample += static_cast<double>(period) - static_cast<double>(slot.period);
  slot.period = period;
  return 0;
}

/// Of events that sample here; else Linux answers.
bool sampling_control(int fd, unsigned long request, unsigned long argument, long& result) {
  const std::int32_t slot = find_slot(fd);
  {
    const Locked shared;
    if (!shared->slots[slot].simulated || shared->slots[slot].period == 0) return false;
  }
  if (request != PERF_EVENT_IOC_PERIOD) return false;
  // The event behind it does not sample: Linux says EFAULT of the address, or else EINVAL.
  if (argument == 0 || (!settings().unbacked && real::ioctl(fd, request, argument) != 0 && errno == EFAULT)) {
    result = real::refuse(EFAULT);
    return true;
  }
  std::uint64_t period = 0;
  std::memcpy(&period, reinterpret_cast<const void*>(argument), sizeof period);
  account_call();
  const int error = set_period(slot, period);
  announce_samples(slot);
  account_call();
  result = error == 0 ? 0 : real::refuse(error);
  return true;
}

bool is_simulated(std::int32_t slot) {
  const Locked shared;
  return shared->slots[slot].simulated;
}

/// perf_event_modify_attr(): only breakpoints can be modified.
int modify_attributes(std::int32_t at, unsigned long argument) {
  if (argument == 0) return real::refuse(EFAULT);
  std::uint32_t type = 0;
  std::memcpy(&type, reinterpret_cast<const void*>(argument), sizeof type);
  const Locked shared;
  return real::refuse(type == shared->slots[at].attr.type ? EOPNOTSUPP : EINVAL);
}

bool has_ring_here(const pollfd& one) {
  const std::int32_t slot = one.fd < 0 ? -1 : find_slot(one.fd);
  if (slot < 0 || find_page(slot) == nullptr) return false;
  const Pause pause;
  const Locked shared;
  return shared->slots[slot].ring_bytes != 0;
}

/// Rings of the simulation are looked at every millisecond; Linux waits for everything else.
int poll_events(pollfd* fds, nfds_t count, int timeout) {
  constexpr int slice = 1;
  const auto has_unread = [](const pollfd& one) {
    return has_ring_here(one) && has_records(find_slot(one.fd));
  };
  const std::span all(fds, count);
  for (int waited = 0;; waited += slice) {
    for (const pollfd& one : all)
      if (has_ring_here(one)) copy_linux_records(find_slot(one.fd));
    const bool last = timeout >= 0 && waited >= timeout,
               at_once = last || std::ranges::any_of(all, has_unread);
    const long got =
        real::syscall(SYS_poll, reinterpret_cast<long>(fds), static_cast<long>(count), at_once ? 0 : slice);
    if (got < 0) return static_cast<int>(got);
    for (pollfd& one : all)
      if ((one.events & POLLIN) != 0 && has_unread(one))
        one.revents |= POLLIN; // beside what Linux says, POLLHUP
    const auto ready = std::ranges::count_if(all, [](const pollfd& one) { return one.revents != 0; });
    if (ready > 0 || last) return static_cast<int>(ready);
  }
}

/// ioctl(2) where no event of Linux is behind a simulated one, except of requests that change what is
/// counted.
int control_unbacked(std::int32_t slot, unsigned long given, unsigned long argument) {
  const auto request = static_cast<std::uint32_t>(given); // Linux has 32 bits of it
  if (request == PERF_EVENT_IOC_SET_OUTPUT || request == PERF_EVENT_IOC_PAUSE_OUTPUT) return 0;
  if (request != PERF_EVENT_IOC_ID) return real::refuse(ENOTTY);
  const Locked shared;
  std::memcpy(reinterpret_cast<void*>(argument), &shared->slots[slot].id, sizeof shared->slots[slot].id);
  return 0;
}

/// What Linux has done with the rings of the events behind is done with those of the simulation.
void follow_output(std::int32_t at, unsigned long request, unsigned long argument) {
  const int target = static_cast<int>(argument);
  if (request == PERF_EVENT_IOC_SET_OUTPUT && target >= 0) take_ring_of_linux(target, at);
  const Locked shared;
  if (request == PERF_EVENT_IOC_SET_OUTPUT) shared->slots[at].output = find_slot(target);
  if (request == PERF_EVENT_IOC_PAUSE_OUTPUT) shared->slots[at].paused = argument != 0;
}

/// PR_TASK_PERF_EVENTS_ENABLE and its opposite: of all events that the calling thread has opened.
void control_own(bool enable) {
  const Pause pause;
  account_call();
  {
    const auto self = real::gettid();
    const Locked shared;
    for (std::int32_t i = 0; i < shared->end; ++i) {
      Slot& slot = shared->slots[i];
      if (!slot.used || !slot.simulated || slot.opener != self) continue;
      slot.enabled = enable;
      if (!enable) slot.counter = -1;
      update_page(slot, i, slot.unscheduled_ns == 0);
    }
  }
  account_call();
}

/// The descriptor that dup(2) or its like has returned is another one of the same event.
int copied(int from, long to) {
  if (to >= 0) copy_event(from, static_cast<int>(to));
  return static_cast<int>(to);
}

bool controls(unsigned long request) {
  return request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE ||
         request == PERF_EVENT_IOC_RESET || request == PERF_EVENT_IOC_REFRESH;
}

/// So many words of the list, given or not: as many as the system call takes.
template <std::size_t count>
std::array<long, count> take(va_list list) {
  std::array<long, count> all{};
  for (long& one : all)
    one = va_arg(list, long);
  return all;
}

ssize_t read_event(int fd, std::int32_t slot, void* to, std::size_t bytes) {
  const Pause pause;
  if (const int error = injected("read", slot)) return real::refuse(error);
  account_call();
  if (settings().unbacked) return read_unbacked(slot, to, bytes);
  const ssize_t got = real::read(fd, to, bytes);
  return got <= 0 ? got : translate(slot, to, got);
}

} // namespace
} // namespace recount::emulate

using namespace recount::emulate;

#pragma GCC visibility push(default)
extern "C" {

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  const auto a = take<6>(list);
  va_end(list);
  if (number == SYS_perf_event_open) {
    const Pause pause;
    return open_event(reinterpret_cast<perf_event_attr*>(a[0]), static_cast<pid_t>(a[1]),
                      static_cast<int>(a[2]), static_cast<int>(a[3]), static_cast<unsigned long>(a[4]));
  }
  return real::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t read(int fd, void* to, std::size_t bytes) {
  const auto slot = find_slot(fd);
  return slot < 0 ? real::read(fd, to, bytes) : read_event(fd, slot, to, bytes);
}
// What read() becomes under _FORTIFY_SOURCE.
ssize_t __read_chk(int fd, void* to, std::size_t bytes, std::size_t /*room*/) {
  return read(fd, to, bytes);
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  const auto argument = va_arg(list, unsigned long);
  va_end(list);
  const auto slot = find_slot(fd);
  if (slot < 0) return real::ioctl(fd, request, argument);
  const Pause pause;
  long result = 0;
  if (sampling_control(fd, request, argument, result)) return static_cast<int>(result);
  if (!controls(request)) {
    if (request == PERF_EVENT_IOC_MODIFY_ATTRIBUTES && is_simulated(slot)) // of breakpoints only
      return modify_attributes(slot, argument);
    const int answer =
        settings().unbacked ? control_unbacked(slot, request, argument) : real::ioctl(fd, request, argument);
    if (answer == 0) follow_output(slot, request, argument);
    return answer;
  }
  return static_cast<int>(control_event(fd, slot, request, argument));
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  const auto slot = (flags & MAP_ANONYMOUS) != 0 ? -1 : find_slot(fd);
  return slot < 0 ? real::mmap(at, bytes, protection, flags, fd, offset)
                  : map_event(fd, slot, bytes, protection, flags, offset);
}
void* mmap64(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
  return mmap(at, bytes, protection, flags, fd, offset);
}
int munmap(void* at, std::size_t bytes) noexcept {
  return forget_mapping(at) ? real::munmap(at, bytes) : 0;
}
int mprotect(void* at, std::size_t bytes, int protection) {
  const auto added = additions.executable;
  if (added != nullptr && (protection & PROT_EXEC) != 0 && (protection & PROT_READ) != 0) added(at, bytes);
  return real::mprotect(at, bytes, protection);
}

int sigaction(int number, const struct sigaction* now, struct sigaction* before) {
  if (kept_action(number, now, before)) return 0;
  using Function = int (*)(int, const struct sigaction*, struct sigaction*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "sigaction"));
  return next(number, now, before);
}
sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction now {
  }, before{};
  now.sa_handler = handler;
  now.sa_flags = SA_RESTART;
  return sigaction(number, &now, &before) == 0 ? before.sa_handler : SIG_ERR;
}

int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const auto argument = va_arg(list, unsigned long);
  va_end(list);
  const auto slot = find_slot(fd);
  if (slot >= 0) note_control(slot, command, argument);
  const long answer = real::syscall(SYS_fcntl, fd, command, static_cast<long>(argument));
  if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return copied(fd, answer);
  return static_cast<int>(answer);
}
int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  const auto argument = va_arg(list, unsigned long);
  va_end(list);
  return fcntl(fd, command, argument);
}
int dup(int fd) noexcept {
  return copied(fd, real::syscall(SYS_dup, fd));
}
int dup2(int fd, int to) noexcept {
  return copied(fd, real::syscall(SYS_dup2, fd, to));
}
int dup3(int fd, int to, int flags) noexcept {
  return copied(fd, real::syscall(SYS_dup3, fd, to, flags));
}
int close_range(unsigned first, unsigned last, int flags) noexcept {
  const long answer = real::syscall(SYS_close_range, first, last, flags);
  if (answer == 0 && (static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0) close_events(first, last);
  return static_cast<int>(answer);
}
int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  const auto a = take<4>(list);
  va_end(list);
  if (option == PR_TASK_PERF_EVENTS_DISABLE || option == PR_TASK_PERF_EVENTS_ENABLE)
    control_own(option == PR_TASK_PERF_EVENTS_ENABLE);
  return static_cast<int>(real::syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]));
}
int poll(pollfd* fds, nfds_t count, int timeout) {
  for (nfds_t i = 0; i < count; ++i)
    if (has_ring_here(fds[i])) return poll_events(fds, count, timeout);
  return static_cast<int>(
      real::syscall(SYS_poll, reinterpret_cast<long>(fds), static_cast<long>(count), timeout));
}
int __poll_chk(pollfd* fds, nfds_t count, int timeout, std::size_t /*room*/) {
  return poll(fds, count, timeout);
}

int close(int fd) {
  if (find_slot(fd) < 0) return real::close(fd);
  const Pause pause;
  close_event(fd);
  return real::close(fd);
}

} // extern "C"
#pragma GCC visibility pop

namespace {

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

Main program_main;

/// SIGTRAP is the tool's where a sample is due.
bool answer_trap(siginfo_t* /*info*/, void* context) {
  if (request(RT_DUE) == 0) return false;
  take_due_samples(context);
  return true;
}
void answer_samples() {
  if (!exact()) return;
  keep_signal(SIGTRAP, answer_trap);
  request(RT_TRAPS);
  prctl(PR_SET_NAME, program_invocation_short_name); // else it has that of the tool
}

int start_simulated(int count, char** arguments, char** environment) {
  auto pause = std::make_optional<Pause>();
  unknown_code = reinterpret_cast<std::uint64_t>(program_main);
  adopt_descriptors();
  struct stat program {};
  const bool set_user_id = stat("/proc/self/exe", &program) == 0 && (program.st_mode & S_ISUID) != 0;
  begin_program(set_user_id && settings().paranoid.has_value() && !privileged());
  hide_features();
  answer_cpuid();
  answer_rdpmc();
  answer_samples();
  if (additions.begin != nullptr && !settings().machine.pmus.empty()) additions.begin();
  if (exact()) await_linux_records();
  pause.reset();
  return program_main(count, arguments, environment);
}

} // namespace

extern "C" [[gnu::visibility("default")]] int __libc_start_main(Main main, int count, char** arguments,
                                                                void (*init)(), void (*fini)(),
                                                                void (*linker_fini)(), void* stack_end) {
  program_main = main;
  const auto next = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(start_simulated, count, arguments, init, fini, linker_fini, stack_end);
}
