/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which file the program's code comes from, and where its data are. */
#ifndef RECOUNT_TRACE_MODULES_H
#define RECOUNT_TRACE_MODULES_H

#include "pub_tool_basics.h"

/* Records the mapping that holds this code, if it is new. */
void rt_module_of(Addr code);
/* Records what is mapped there from now on: a file, or anonymous memory; and that nothing is. */
void rt_mapped(Addr start, SizeT bytes);
void rt_unmapped(Addr start, SizeT bytes);
/* Records where the stack of a thread is. */
void rt_stack_of(ThreadId thread);

#endif
