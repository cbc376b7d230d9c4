/* SPDX-License-Identifier: GPL-2.0-or-later
 * Countdowns to the next sample of each thread, see RT_COUNTDOWNS. */
#ifndef RECOUNT_TRACE_COUNTDOWN_H
#define RECOUNT_TRACE_COUNTDOWN_H

#include "pub_tool_basics.h"

#include "../protocol.h"

/* Of the running thread, as translations count them down; RT_NEVER while what it executes is not counted. */
extern Long rt_left[RT_COUNTDOWNS];
/* Bits of the countdowns that translations contain. */
extern UInt rt_counted_down;
/* RT_SAMPLE_DUE: the thread is to get SIGTRAP; RT_BUSY: others are to run. */
extern UInt rt_due;

/* Once, before the program runs. */
void rt_countdown_start(void);
/* The thread runs from here on. */
void rt_countdown_of(ThreadId thread);
/* The thread is about to be created. */
void rt_countdown_begins(ThreadId thread);
/* The process has been forked: this thread goes on. */
void rt_countdown_forked(ThreadId thread);
/* A request of the program, with the first argument. Returns its result. */
UWord rt_countdown_request(UWord kind, UWord argument, Bool answered);
/* Called by translations when a countdown is not above zero: asks recount for new ones. */
void rt_expired(void);

#endif
