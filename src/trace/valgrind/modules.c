/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "modules.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"

#include "channel.h"
#include "heap.h"

enum { KNOWN = 64, LONGEST_NAME = 4096 };

static struct {
  Addr start, end;
  ULong inode;
} known[KNOWN]; /* one is told again where another has taken its place */
static UInt next;

static void module(Addr start, Addr end, ULong offset, const HChar* name) {
  ULong words[3 + LONGEST_NAME / sizeof(ULong)];
  words[0] = start;
  words[1] = end;
  words[2] = offset;
  VG_(strncpy)((HChar*)(words + 3), name, LONGEST_NAME);
  rt_record(RT_MODULE, words, 3 + (UInt)(VG_(strlen)(name) / sizeof(ULong)) + 1);
}

static const HChar* file_of(const NSegment* segment) {
  const HChar* const name = segment && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
  return name && VG_(strlen)(name) < LONGEST_NAME ? name : NULL;
}

void rt_module_of(Addr code) {
  const NSegment* const segment = VG_(am_find_nsegment)(code);
  const HChar* const name = file_of(segment);
  if (!name) return;
  for (UInt i = 0; i < KNOWN; ++i)
    if (known[i].start == segment->start && known[i].end == segment->end && known[i].inode == segment->ino)
      return;
  known[next].start = segment->start;
  known[next].end = segment->end;
  known[next].inode = segment->ino;
  next = (next + 1) % KNOWN;
  module(segment->start, segment->end + 1, (ULong)segment->offset, name);
}

static void anonymous(Addr start, SizeT bytes) {
  const ULong words[3] = {start, start + bytes, rt_site()};
  rt_record(RT_ANONYMOUS, words, 3);
}

void rt_mapped(Addr start, SizeT bytes) {
  const NSegment* const segment = VG_(am_find_nsegment)(start);
  const HChar* const name = file_of(segment);
  if (name)
    module(start, start + bytes, (ULong)segment->offset + (start - segment->start), name);
  else
    anonymous(start, bytes);
}

void rt_unmapped(Addr start, SizeT bytes) {
  const ULong words[2] = {start, start + bytes};
  rt_record(RT_UNMAPPED, words, 2);
}

void rt_stack_of(ThreadId thread) {
  const Addr end = VG_(thread_get_stack_max)(thread) + 1;
  const ULong words[3] = {thread, end - VG_(thread_get_stack_size)(thread), end};
  rt_record(RT_STACK, words, 3);
}
