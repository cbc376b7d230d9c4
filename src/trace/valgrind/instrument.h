/* SPDX-License-Identifier: GPL-2.0-or-later
 * What a block of the program becomes. */
#ifndef RECOUNT_TRACE_INSTRUMENT_H
#define RECOUNT_TRACE_INSTRUMENT_H

#include "pub_tool_basics.h"
#include "pub_tool_tooliface.h"

/* Whether RT_CODE follows each RT_DEFINE. */
extern Bool rt_report_code;

IRSB* rt_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word);

#endif
