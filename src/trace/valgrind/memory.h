/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which file the program's code comes from, and where its data are. Heap blocks are known by the site of their
 * allocation: the program's own allocator runs, so that its accesses and the addresses of its blocks are those of a run
 * without Valgrind; its functions are recognised by their names when they are entered and when they return. */
#ifndef RECOUNT_TRACE_MEMORY_H
#define RECOUNT_TRACE_MEMORY_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* Once, before anything is translated. */
void rt_watch_heap(void);
/* When a thread begins or continues to run. */
void rt_heap_of(ThreadId thread);
/* At the beginning of the block of code at this address, before it has changed the registers; nothing unless the heap is
   watched. */
void rt_watch_block(IRSB* out, const VexGuestLayout* layout, Addr code);
/* Records the mapping that holds this code, if it is new. */
void rt_module_of(Addr code);
/* Whether the code is a file's; and that of recount in the program, which is not counted. */
Bool rt_is_file(Addr code);
Bool rt_is_recounts(Addr code);
/* Records what is mapped there from now on: a file, or anonymous memory; and that nothing is. */
void rt_mapped(Addr start, SizeT bytes);
void rt_unmapped(Addr start, SizeT bytes);
/* Records where the stack of a thread is. */
void rt_stack_of(ThreadId thread);

#endif
