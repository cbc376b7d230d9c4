/* SPDX-License-Identifier: GPL-2.0-or-later
 * The memory shared with recount, from the side of the traced process. */
#ifndef RECOUNT_TRACE_CHANNEL_H
#define RECOUNT_TRACE_CHANNEL_H

#include "pub_tool_basics.h"

#include "../protocol.h"

/* Of this process; its address never changes, as translations contain it. Private memory that nobody reads where recount
   cannot be reached. */
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
/* Whether system calls are to be preceded by rt_flush(), and from here on they are, in all processes. */
UInt rt_watched(void);
void rt_watch(void);
/* Events sample that need these, too, or have changed. */
void rt_change_sampled(UInt countdowns);
/* Publishes the chunk and waits for an empty one. */
void rt_flush(void);
/* Around execve(2): publishes what there is, and hands the file to the next program. `refused`: by Valgrind. */
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

#endif
