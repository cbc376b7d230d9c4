/* SPDX-License-Identifier: GPL-2.0-or-later
 * Loads of scalars into vector registers: VEX stores zeros to the whole register and then the scalar to its lowest part.
 * The next instruction loads the whole again, which a processor cannot forward from two stores: it waits until both are
 * in its cache. One store of the whole register takes less than half of the time. */
#ifndef RECOUNT_TRACE_SCALARS_H
#define RECOUNT_TRACE_SCALARS_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* Adds a statement of the program, now or, if it only stores zeros to a vector register, with one of the next. */
void rt_add(IRSB* out, IRStmt* statement);
/* After the last statement. */
void rt_add_held(IRSB* out);

#endif
