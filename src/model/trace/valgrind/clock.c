/* SPDX-License-Identifier: GPL-2.0-or-later
 * What tells the program the time tells it that of the emulated machine: Linux answers first, and its answer
 * is replaced. */
#include "tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_guest.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* Functions of Valgrind's core (3.19). */
extern SysRes VG_(do_syscall)(UWord number, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord);
extern void VG_(release_BigLock)(ThreadId thread, Int state, const HChar* who);
extern void VG_(acquire_BigLock)(ThreadId thread, const HChar* who);
extern Int VG_(count_living_threads)(void);
extern Int VG_(count_runnable_threads)(void);

Bool rt_clock = False;

enum {
  PROCESS_CPU = 2,
  THREAD_CPU = 3,
  REALTIME = 0,
  MONOTONIC = 1,
  ABSOLUTE = 1
}; /* clock_gettime(2), clock_nanosleep(2) */
static const ULong second = 1000000000;

/* The wait that a thread is in. */
static struct wait {
  UInt clock;
  ULong until; /* its reading when the wait ends; 0: it is no wait, or has no limit */
} * waits;

void rt_clock_start(void) {
  waits = VG_(calloc)("recount.clock", VG_N_THREADS, sizeof *waits);
}

Bool rt_ask_clock(UInt clock, ULong until, ULong* reading) {
  const ULong words[4] = {RT_CLOCK, (ULong)VG_(gettid)(), clock, until};
  if (!rt_request(words, 4)) return False;
  *reading = rt_slot->reading;
  return True;
}

typedef struct {
  Long seconds, fraction;
} Time; /* struct timespec, struct timeval */

static Time* time_at(UWord address) {
  return address != 0 && VG_(am_is_valid_for_client)(address, sizeof(Time), VKI_PROT_READ) ? (Time*)address
                                                                                           : NULL;
}
/* In nanoseconds, from parts of a second. */
static ULong read_time(const Time* time, ULong parts) {
  return time && time->seconds >= 0 ? (ULong)time->seconds * second + (ULong)time->fraction * (second / parts)
                                    : 0;
}
static void write_time(UWord address, ULong reading, ULong parts) {
  Time* const time = time_at(address);
  if (!time) return;
  time->seconds = (Long)(reading / second);
  time->fraction = (Long)(reading % second / (second / parts));
}
static const ULong nano = 1000000000, micro = 1000000;

enum { TIMED_OUT = 110, FUTEX_WAIT_ = 0, FUTEX_WAIT_BITSET_ = 9, FUTEX_COMMAND = 0x7f, FUTEX_REALTIME = 256 };

static Bool waits_until(UInt number, const UWord* args) {
  return number == __NR_clock_nanosleep
             ? (args[1] & ABSOLUTE) != 0
             : number == __NR_futex && (args[1] & FUTEX_COMMAND) == FUTEX_WAIT_BITSET_;
}

static ULong milliseconds(UWord argument) {
  return (Int)argument > 0 ? (ULong)(Int)argument * micro : 0;
}

/* For how long, or until when, a system call waits at most; 0: not at all, or without a limit. */
static ULong limit_of(UInt number, const UWord* args) {
  switch (number) {
#if defined(__NR_poll)
  case __NR_poll: return milliseconds(args[2]);
  case __NR_epoll_wait: return milliseconds(args[3]);
  case __NR_select: return read_time(time_at(args[4]), micro);
#endif
  case __NR_epoll_pwait: return milliseconds(args[3]);
  case __NR_nanosleep: return read_time(time_at(args[0]), nano);
  case __NR_clock_nanosleep:
  case __NR_ppoll:
  case __NR_rt_sigtimedwait: return read_time(time_at(args[2]), nano);
  case __NR_pselect6: return read_time(time_at(args[4]), nano);
  case __NR_semtimedop: return read_time(time_at(args[3]), nano);
  case __NR_futex: {
    const UWord command = args[1] & FUTEX_COMMAND;
    return command == FUTEX_WAIT_ || command == FUTEX_WAIT_BITSET_ ? read_time(time_at(args[3]), nano) : 0;
  }
  default: return 0;
  }
}

void rt_clock_before_call(ThreadId thread, UInt number, const UWord* args) {
  struct wait* const wait = &waits[thread];
  wait->until = 0;
  const ULong limit = rt_clock && !rt_paused(thread) ? limit_of(number, args) : 0;
  if (limit == 0) return;
  wait->until = limit;
  if (number == __NR_clock_nanosleep)
    wait->clock = (UInt)args[0];
  else
    wait->clock = args[1] & FUTEX_REALTIME ? REALTIME : MONOTONIC;
  if (waits_until(number, args)) return;
  ULong now = 0;
  wait->clock = RT_ELAPSED;
  wait->until = rt_ask_clock(RT_ELAPSED | RT_WAITING, 0, &now) ? now + limit : 0;
}

/* What is left of a wait that a call has ended; the whole if something else has happened. */
static ULong left_of(UInt number, const UWord* args, SysRes result, ULong whole) {
  const UWord error = sr_isError(result) ? sr_Err(result) : 0;
  switch (number) {
  case __NR_nanosleep:
  case __NR_clock_nanosleep: {
    const Time* const rest = time_at(args[number == __NR_nanosleep ? 1 : 3]);
    if (error == VKI_EINTR) return rest && !waits_until(number, args) ? read_time(rest, nano) : whole;
    return error == 0 ? 0 : whole;
  }
  case __NR_futex: return error == TIMED_OUT ? 0 : whole;
  case __NR_rt_sigtimedwait:
  case __NR_semtimedop: return error == VKI_EAGAIN ? 0 : whole;
  default: return error == 0 && sr_Res(result) == 0 ? 0 : whole;
  }
}

/* Lets other threads execute for a moment of Linux's time. */
static void let_others_run(ThreadId thread) {
  enum { WAITS_IN_CALL = 3 }; /* VgTs_WaitSys */
  struct vki_timespec moment = {0, 200000};
  VG_(release_BigLock)(thread, WAITS_IN_CALL, "recount");
  (void)VG_(do_syscall)(__NR_nanosleep, (RegWord)&moment, 0, 0, 0, 0, 0, 0, 0);
  VG_(acquire_BigLock)(thread, "recount");
}

static void set_result(ThreadId thread, ULong result) {
#if defined(VGA_amd64)
  VG_(set_shadow_regs_area)
  (thread, 0, offsetof(VexGuestAMD64State, guest_RAX), sizeof result, (const UChar*)&result);
#else
  (void)thread, (void)result;
#endif
}

/* Whether what a call has waited for in vain, as Linux's time was over, has happened since: it answers so. */
static Bool happened(ThreadId thread, UInt number, const UWord* args) {
  struct vki_timespec none = {0, 0};
  SysRes result;
  switch (number) {
#if defined(__NR_poll)
  case __NR_poll:
#endif
  case __NR_ppoll:
    result = VG_(do_syscall)(__NR_ppoll, (RegWord)args[0], (RegWord)args[1], (RegWord)&none, 0, 0, 0, 0, 0);
    break;
#if defined(__NR_epoll_wait)
  case __NR_epoll_wait:
#endif
  case __NR_epoll_pwait:
    result = VG_(do_syscall)(__NR_epoll_pwait, (RegWord)args[0], (RegWord)args[1], (RegWord)args[2], 0, 0, 0,
                             0, 0);
    break;
  default: return False;
  }
  if (sr_isError(result) || sr_Res(result) == 0) return False;
  set_result(thread, sr_Res(result));
  return True;
}

/* While others execute, they make the time pass in which this thread waits; when nobody does, it is over. */
static void pass(ThreadId thread, UInt number, const UWord* args, UInt clock, ULong until) {
  enum {
    LOOKS = 5,
    PATIENCE = 5000
  }; /* a system call need not be a wait, nor what a process executes be counted */
  ULong now = 0, before = 0;
  for (UInt idle = 0, still = 0; idle < LOOKS && still < PATIENCE; let_others_run(thread)) {
    if (!rt_ask_clock(clock | RT_WAITING, 0, &now) || now >= until || happened(thread, number, args)) return;
    if (!rt_others_exist() && VG_(count_living_threads)() == 1) break;
    idle = rt_others_run() || VG_(count_runnable_threads)() > 1 ? 0 : idle + 1;
    still = now == before ? still + 1 : 0;
    before = now;
  }
  (void)rt_ask_clock(clock | RT_WAITING, until, &now);
}

static void end_wait(ThreadId thread, UInt number, const UWord* args, SysRes result,
                     const struct wait* wait) {
  const ULong left = left_of(number, args, result, wait->until);
  if (left >= wait->until) return;
  rt_run(False);
  pass(thread, number, args, wait->clock, wait->until - left);
  rt_run(True);
}

/* struct tms, in hundredths of a second. */
static ULong ticks(UInt clock) {
  ULong reading = 0;
  return rt_ask_clock(clock, 0, &reading) ? reading / (second / 100) : 0;
}
static void answer_times(ThreadId thread, UWord buffer) {
  if (buffer != 0) {
    Long* const times = (Long*)buffer;
    times[0] = (Long)ticks(PROCESS_CPU);
    times[2] = (Long)ticks(RT_CPU_OF_CHILDREN);
    times[1] = times[3] = 0;
  }
  set_result(thread, ticks(MONOTONIC));
}

static UInt clock_of_usage(Int whose) {
  enum { CHILDREN = -1, SELF = 0 };
  return whose == CHILDREN ? RT_CPU_OF_CHILDREN : whose == SELF ? PROCESS_CPU : THREAD_CPU;
}

/* struct rusage begins with the time in user mode and that in the kernel. */
static void answer_usage(UInt clock, UWord buffer) {
  ULong reading = 0;
  if (!rt_ask_clock(clock, 0, &reading)) return;
  write_time(buffer, reading, micro);
  write_time(buffer + sizeof(Time), 0, micro);
}

#if defined(__NR_time) /* not on arm64 */
/* time(2), of which the result is the answer, too. */
static void answer_seconds(ThreadId thread, UWord buffer) {
  ULong reading = 0;
  if (!rt_ask_clock(REALTIME, 0, &reading)) return;
  reading /= second;
  if (buffer != 0) *(ULong*)buffer = reading;
  set_result(thread, reading);
}
#endif

/* Clocks of other processes and threads, which have negative numbers, remain those of Linux. */
static void answer_time(UWord clock, UWord buffer, ULong parts) {
  ULong reading = 0;
  if (clock < RT_CLOCKS && rt_ask_clock((UInt)clock, 0, &reading)) write_time(buffer, reading, parts);
}

void rt_clock_after_call(ThreadId thread, UInt number, const UWord* args, SysRes result) {
  if (!rt_clock || rt_paused(thread)) return;
  if (waits[thread].until != 0) return end_wait(thread, number, args, result, &waits[thread]);
  if (sr_isError(result)) return;
  switch (number) {
  case __NR_clock_gettime: return answer_time(args[0], args[1], nano);
  case __NR_gettimeofday: return answer_time(REALTIME, args[0], micro);
  case __NR_getrusage: return answer_usage(clock_of_usage((Int)args[0]), args[1]);
  case __NR_wait4: return sr_Res(result) == 0 ? (void)0 : answer_usage(RT_CPU_OF_WAITED, args[3]);
  case __NR_times: return answer_times(thread, args[0]);
#if defined(__NR_time)
  case __NR_time: return answer_seconds(thread, args[0]);
#endif
  default: return;
  }
}
