/* SPDX-License-Identifier: GPL-2.0-or-later
 * Which file the program's code comes from. */
#ifndef RECOUNT_TRACE_MODULES_H
#define RECOUNT_TRACE_MODULES_H

#include "pub_tool_basics.h"

/* Records the mapping that holds this code, if it is new. */
void rt_module_of(Addr code);

#endif
