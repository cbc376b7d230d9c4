/* SPDX-License-Identifier: GPL-2.0-or-later
 * CPUID of a described processor, where it differs from what Valgrind answers. */
#ifndef RECOUNT_TRACE_CPUID_H
#define RECOUNT_TRACE_CPUID_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

enum { RT_ANY_PART = 0xffffffffu };

/* "LEAF:PART:MASK:EAX:EBX:ECX:EDX" in hexadecimal; of several that fit, the first answers. False: it is no such text. */
Bool rt_add_cpuid(const HChar* text);
/* The statement, or one in its place that answers so. */
IRStmt* rt_replace_cpuid(IRStmt* statement);

#endif
