/* SPDX-License-Identifier: GPL-2.0-or-later
 * What an instruction does to the flow of control. */
#ifndef RECOUNT_TRACE_FLOW_H
#define RECOUNT_TRACE_FLOW_H

#include "pub_tool_basics.h"

/* RT_PLAIN ... of the instruction of so many bytes. */
extern UInt rt_flow_of(const UChar* code, UInt bytes);

#endif
