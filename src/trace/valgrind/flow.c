/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow.h"

#include "../protocol.h"

#if defined(VGA_amd64)
/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A. */
static Bool is_prefix(UChar byte) {
  switch (byte) {
  case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: /* segments, hints of branches */
  case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3: return True;
  default: return False;
  }
}

static UInt flow_of_group_5(UChar modrm) {
  const UInt operation = modrm >> 3 & 7;
  if (operation == 2 || operation == 3) return RT_CALL;
  return operation == 4 || operation == 5 ? RT_JUMP : RT_PLAIN;
}

UInt rt_flow_of(const UChar* code, UInt bytes) {
  UInt at = 0;
  Bool repeated = False;
  for (; at + 1 < bytes && is_prefix(code[at]); ++at)
    repeated = repeated || code[at] == 0xf2 || code[at] == 0xf3;
  if (at + 1 < bytes && (code[at] & 0xf0) == 0x40) ++at; /* REX */
  const UChar opcode = code[at], next = at + 1 < bytes ? code[at + 1] : 0;
  if (opcode == 0x0f && (next & 0xf0) == 0x80) return RT_CONDITIONAL;
  if (opcode == 0x0f && next == 0x05) return RT_SYSTEM;
  if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3)) return RT_CONDITIONAL;
  if (repeated && ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf))) return RT_REPEATED;
  if (opcode == 0xff) return flow_of_group_5(next);
  switch (opcode) {
  case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf: return RT_RETURN;
  case 0xe8: return RT_CALL;
  case 0xe9: case 0xeb: return RT_JUMP;
  default: return RT_PLAIN;
  }
}
#else
/* Arm Architecture Reference Manual for A-profile, "Branches, Exception Generating and System instructions". */
UInt rt_flow_of(const UChar* code, UInt bytes) {
  if (bytes != 4) return RT_PLAIN;
  const UInt word = code[0] | code[1] << 8 | code[2] << 16 | (UInt)code[3] << 24;
  const Bool conditional = (word & 0xff000000) == 0x54000000 || (word & 0x7c000000) == 0x34000000;
  if (conditional) return RT_CONDITIONAL;
  if ((word & 0x7c000000) == 0x14000000) return word >> 31 ? RT_CALL : RT_JUMP;
  if ((word & 0xfe000000) == 0xd6000000) { /* BR, BLR, RET and their forms with authentication */
    const UInt operation = word >> 21 & 3;
    return operation == 0 ? RT_JUMP : operation == 1 ? RT_CALL : RT_RETURN;
  }
  return (word & 0xffe0001f) == 0xd4000001 ? RT_SYSTEM : RT_PLAIN;
}
#endif
