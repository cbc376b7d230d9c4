/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool.h"

#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* Of valgrind's core (3.19): the interface for tools discards translations at requests of the program only.
 */
extern void VG_(discard_translations)(Addr start, ULong range, const HChar* who);
extern SysRes VG_(do_syscall)(UWord number, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord);
extern Bool VG_(am_addr_is_in_extensible_client_stack)(Addr address);
extern Bool VG_(extend_stack)(ThreadId thread, Addr address);

Long rt_left[RT_COUNTDOWNS];
UInt rt_counted_down;
UInt rt_due;

static struct countdown {
  Long left[RT_COUNTDOWNS]; /* while the thread does not run, or is paused */
  UInt paused;              /* by so many requests RT_PAUSE */
  UInt changes;             /* rt_changes() when recount planned it */
  UInt due;     /* rt_due while the thread does not run: another one may run before it gets SIGTRAP */
  Bool trapped; /* it has got SIGTRAP and not yet asked why */
} * threads;
static ThreadId running = VG_INVALID_THREADID;
static Bool traps; /* the program is ready for SIGTRAP */

static struct countdown* current(void) {
  return &threads[running];
}

static void fill(Long* left, Long with) {
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    left[i] = with;
}
static void copy(Long* to, const Long* from) {
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    to[i] = from[i];
}

static void take_plan(Long* left) {
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    left[i] = rt_slot->left[i];
}

static void freeze(void) {
  if (running != VG_INVALID_THREADID && current()->paused == 0) copy(current()->left, rt_left);
  fill(rt_left, RT_NEVER);
}

/* The first time that an event samples, and whenever one needs another countdown, everything is translated
   again. As blocks then end before any instruction, their registers are those of the program there. */
static void translate_again(void) {
  const UInt sampled = rt_sampled();
  if (sampled == rt_counted_down) return;
  rt_counted_down = sampled;
  VG_(clo_px_file_backed) = VexRegUpdAllregsAtEachInsn;
  VG_(discard_translations)(0, ~(ULong)0, "recount");
}

/* Where events have changed, with countdowns that have ended. */
static void thaw(void) {
  if (rt_changes() != current()->changes) fill(current()->left, 0);
  if (current()->paused == 0) copy(rt_left, current()->left);
}

void rt_countdown_start(void) {
  threads = VG_(calloc)("recount.countdown", VG_N_THREADS, sizeof *threads);
  for (UInt i = 0; i < VG_N_THREADS; ++i)
    fill(threads[i].left, RT_NEVER);
  fill(rt_left, RT_NEVER);
}

void rt_send_countdown(ThreadId thread) {
  translate_again();
  if (thread == running && current()->changes == rt_changes()) return;
  freeze();
  if (running != VG_INVALID_THREADID) current()->due = rt_due;
  running = thread;
  rt_due = current()->due == RT_BUSY ? RT_DONE : current()->due; /* others have run, or it asks again */
  thaw();
}

void rt_countdown_begins(ThreadId thread) {
  threads[thread].paused = 0;
  threads[thread].changes = 0;
  threads[thread].due = RT_DONE;
  threads[thread].trapped = False;
  fill(threads[thread].left, RT_NEVER);
}

/* The reader may know of pauses of the parent that began after the fork: the child names those that it has.
 */
void rt_countdown_forked(ThreadId thread) {
  static const ULong pause_request[4] = {RT_PAUSE, 0, 0, 0};
  for (UInt i = 0; i < threads[thread].paused; ++i)
    rt_record(RT_REQUEST, pause_request, 4);
  running = VG_INVALID_THREADID;
  threads[thread].due = RT_DONE;
  if (rt_sampled() != 0) fill(threads[thread].left, 0);
}

/* In the tool's own name: of the thread that runs, which waits. */
static Bool synchronise(void) {
  UInt cpu = 0;
  (void)VG_(do_syscall)(__NR_getcpu, (RegWord)&cpu, 0, 0, 0, 0, 0, 0, 0);
  const ULong words[4] = {RT_SYNC, (ULong)VG_(gettid)(), cpu, 0};
  return rt_request(words, 4);
}

/* Valgrind does not extend the stack for a handler that may use an alternate one, but ends the program. */
static void make_room_for_handler(void) {
  enum { FRAME = 16384 };
  const Addr below = VG_(get_SP)(running) - FRAME;
  if (VG_(am_addr_is_in_extensible_client_stack)(below)) (void)VG_(extend_stack)(running, below);
}

void rt_expired(void) {
  const UInt changes = rt_changes();
  if (!synchronise()) return fill(rt_left, RT_NEVER);
  rt_due = rt_slot->answer == RT_SAMPLE_DUE && !traps ? RT_DONE : rt_slot->answer;
  if (rt_slot->answer == RT_BUSY) return fill(rt_left, 0);
  if (rt_due == RT_SAMPLE_DUE) make_room_for_handler();
  current()->changes = changes;
  take_plan(rt_left);
}

Bool rt_paused(ThreadId thread) {
  return threads[thread].paused > 0;
}

Bool rt_runs_paused(void) {
  return running != VG_INVALID_THREADID && rt_paused(running);
}

/* Where a sample is due, the thread is in its handler of SIGTRAP by now. */
static UWord pause(void) {
  freeze();
  if (rt_due == RT_SAMPLE_DUE) current()->trapped = True;
  rt_due = RT_DONE;
  ++current()->paused;
  return 1;
}

static UWord was_trapped(void) {
  const UWord trapped = current()->trapped;
  current()->trapped = False;
  return trapped;
}

UWord rt_countdown_request(UWord kind, UWord argument, Bool answered) {
  switch (kind) {
  case RT_PAUSE: return pause();
  case RT_RESUME:
    if (current()->paused > 0 && --current()->paused == 0) thaw();
    return 1;
  case RT_SYNC:
    if (answered && rt_slot->answer == RT_BUSY) return 0;
    current()->changes = rt_changes();
    take_plan(current()->left);
    if (!answered) fill(current()->left, RT_NEVER);
    if (current()->paused == 0) copy(rt_left, current()->left);
    return 1;
  case RT_SAMPLED:
    rt_change_sampled((UInt)argument & ((1u << RT_COUNTDOWNS) - 1));
    translate_again();
    return 1;
  case RT_TRAPS: traps = True; return 1;
  case RT_DUE: return was_trapped();
  default: return 1;
  }
}
