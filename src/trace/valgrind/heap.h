/* SPDX-License-Identifier: GPL-2.0-or-later
 * Heap blocks by the site of their allocation. The program's own allocator runs, so that its accesses and the addresses
 * of its blocks are those of a run without Valgrind; its functions are recognised by their names when they are entered
 * and when they return. */
#ifndef RECOUNT_TRACE_HEAP_H
#define RECOUNT_TRACE_HEAP_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* Once, before anything is translated. */
void rt_watch_heap(void);
/* The site of what the running thread does; 0: nothing the program has asked for itself. */
UInt rt_site(void);
/* When a thread begins or continues to run. */
void rt_heap_of(ThreadId thread);
/* At the beginning of the block of code at this address, before it has changed the registers; nothing unless the heap is
   watched. */
void rt_watch_block(IRSB* out, const VexGuestLayout* layout, Addr code);

#endif
