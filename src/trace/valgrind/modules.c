/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modules.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"

#include "channel.h"

enum { KNOWN = 64, LONGEST_NAME = 4096 };

static struct {
  Addr start, end;
  ULong inode;
} known[KNOWN]; /* one is told again where another has taken its place */
static UInt next;

void rt_module_of(Addr code) {
  const NSegment* const segment = VG_(am_find_nsegment)(code);
  if (!segment || segment->kind != SkFileC) return;
  for (UInt i = 0; i < KNOWN; ++i)
    if (known[i].start == segment->start && known[i].end == segment->end && known[i].inode == segment->ino)
      return;
  const HChar* const name = VG_(am_get_filename)(segment);
  if (!name || VG_(strlen)(name) >= LONGEST_NAME) return;
  known[next].start = segment->start;
  known[next].end = segment->end;
  known[next].inode = segment->ino;
  next = (next + 1) % KNOWN;
  ULong words[3 + LONGEST_NAME / sizeof(ULong)];
  words[0] = segment->start;
  words[1] = segment->end + 1;
  words[2] = (ULong)segment->offset;
  VG_(strncpy)((HChar*)(words + 3), name, LONGEST_NAME);
  rt_record(RT_MODULE, words, 3 + (UInt)(VG_(strlen)(name) / sizeof(ULong)) + 1);
}
