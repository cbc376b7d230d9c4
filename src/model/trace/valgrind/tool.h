/* SPDX-License-Identifier: GPL-2.0-or-later
 * The parts of the tool. */
#ifndef RECOUNT_TRACE_TOOL_H
#define RECOUNT_TRACE_TOOL_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

#include "../protocol.h"

/* The memory shared with recount, from the side of the traced process. */

/* Of this process; its address never changes, as translations contain it. Private memory that nobody reads
   where recount cannot be reached. */
extern struct rt_slot* rt_slot;

/* Maps the file with a number, inherited or behind descriptor `fd` of process `pid`, and claims a slot. */
void rt_attach(Int pid, Int fd, ULong inode);
/* A number for a block that no process has. */
UInt rt_new_block(void);
/* Appends a record of a kind, or a single word. */
void rt_record(UInt kind, const ULong* words, UInt count);
void rt_word(ULong word);
/* Appends a request of the program; one that is to be answered waits for that. Whether it was answered. */
Bool rt_request(const ULong* words, UInt count);
/* Bits of the countdowns that events need, and the number of changes of them; 0 where nobody samples. */
UInt rt_sampled(void);
UInt rt_changes(void);
/* The process executes its program from here on; or it may wait. */
void rt_run(Bool program);
/* Whether there are other processes; whether one of them executes its program. */
Bool rt_others_exist(void);
Bool rt_others_run(void);
/* Whether system calls are to be preceded by rt_flush(), and from here on they are, in all processes. */
UInt rt_watched(void);
void rt_watch(void);
/* Events sample that need these, too, or have changed. */
void rt_change_sampled(UInt countdowns);
/* Publishes the chunk and waits for an empty one. */
void rt_flush(void);
/* Around execve(2): publishes what there is, and hands the file to the next program. `refused`: by Valgrind.
 */
void rt_before_exec(void);
void rt_after_failed_exec(Bool refused);
/* Linux would have made a mapping for which Valgrind has no room. */
void rt_refused_mapping(void);
/* Publishes what there is and gives the slot up. */
void rt_detach(void);
/* Prints a message for the user on the standard error: Valgrind's own messages go nowhere. */
void rt_report(const HChar* what);
/* Around fork(2). */
void rt_before_fork(void);
void rt_after_fork_in_child(void);

/* Countdowns to the next sample of each thread, see RT_COUNTDOWNS. */

/* Of the running thread, as translations count them down; RT_NEVER while what it executes is not counted. */
extern Long rt_left[RT_COUNTDOWNS];
/* Bits of the countdowns that translations contain. */
extern UInt rt_counted_down;
/* RT_SAMPLE_DUE: the thread is to get SIGTRAP; RT_BUSY: others are to run. */
extern UInt rt_due;

/* Once, before the program runs. */
void rt_countdown_start(void);
/* The thread runs from here on. */
void rt_send_countdown(ThreadId thread);
/* The thread is about to be created. */
void rt_countdown_begins(ThreadId thread);
/* The process has been forked: this thread goes on. */
void rt_countdown_forked(ThreadId thread);
/* A request of the program, with the first argument. Returns its result. */
UWord rt_countdown_request(UWord kind, UWord argument, Bool answered);
/* Whether what the thread, or the one that runs, executes is not the program's. */
Bool rt_paused(ThreadId thread);
Bool rt_runs_paused(void);
/* Called by translations when a countdown is not above zero: asks recount for new ones. */
void rt_expired(void);

/* What a block of the program becomes. */

/* Whether RT_CODE follows each RT_DEFINE. */
extern Bool rt_report_code;

IRSB* rt_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word);

/* The clock of the emulated machine, which recount keeps. */

/* Whether there is one. */
extern Bool rt_clock;

/* Once, before the program runs. */
void rt_clock_start(void);
/* Reads a clock of clock_gettime(2) or RT_ELAPSED ..., by which a wait until `until` has passed (0: none).
   Whether there was an answer. */
Bool rt_ask_clock(UInt clock, ULong until, ULong* reading);
/* Around a system call: what tells the program the time tells that of the emulated machine, to which a wait
   adds the time waited. */
void rt_clock_before_call(ThreadId thread, UInt number, const UWord* args);
void rt_clock_after_call(ThreadId thread, UInt number, const UWord* args, SysRes result);
/* Whether the statement reads the cycle counter; called by translations before a block that does. */
Bool rt_reads_cycles(const IRStmt* statement);
void rt_read_cycles(void);

/* CPUID of a described processor and the cycle counter of an emulated machine, where they differ from those
   of Valgrind. */

enum { RT_ANY_SUBLEAF = 0xffffffffu };

/* "LEAF:SUBLEAF:MASK:EAX:EBX:ECX:EDX" in hexadecimal; the first match applies. False: invalid text. */
Bool rt_add_cpuid(const HChar* text);
/* The statement; a call of a helper for these is replaced. */
IRStmt* rt_replace_helper(IRStmt* statement);

/* Which file the program's code comes from, and where its data are. Heap blocks are known by the site of
   their allocation: the program's own allocator runs, so that its accesses and the addresses of its blocks
   are those of a run without Valgrind; its functions are recognised by their names when they are entered and
   when they return. */

/* Once, before anything is translated. */
void rt_watch_heap(void);
/* When a thread begins or continues to run. */
void rt_send_heap(ThreadId thread);
/* At the beginning of the block of code at this address, before it has changed the registers; nothing unless
   the heap is watched. */
void rt_watch_block(IRSB* out, const VexGuestLayout* layout, Addr code);
/* Records the mapping that holds this code, if it is new. */
void rt_send_module(Addr code);
/* Whether the code is a file's; and that of recount in the program, which is not counted. */
Bool rt_is_file(Addr code);
Bool rt_is_recounts(Addr code);
/* Records what is mapped there from now on: a file, or anonymous memory; and that nothing is. */
void rt_mapped(Addr start, SizeT bytes);
void rt_unmapped(Addr start, SizeT bytes);
/* Records where the stack of a thread is. */
void rt_send_stack(ThreadId thread);

#endif
