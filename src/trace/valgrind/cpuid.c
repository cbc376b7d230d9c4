/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"

#if defined(VGA_amd64)
#include "libvex_guest_amd64.h"

enum { MOST_LEAVES = 32, REGISTERS = 4 };

typedef struct {
  UInt leaf, subleaf, mask, values[REGISTERS]; /* eax, ebx, ecx, edx; bit i of the mask: register i is replaced */
} Leaf;
static Leaf leaves[MOST_LEAVES];
static UInt leaf_count = 0;
static void (*original_cpuid)(VexGuestAMD64State*) = NULL; /* Valgrind has one per type of host CPU */

Bool rt_add_cpuid(const HChar* text) {
  UInt fields[3 + REGISTERS];
  if (leaf_count == MOST_LEAVES) return False;
  for (UInt i = 0; i < sizeof fields / sizeof *fields; ++i) {
    HChar* rest = NULL;
    fields[i] = (UInt)VG_(strtoull16)(text, &rest);
    if (rest == text || *rest != (i + 1 < sizeof fields / sizeof *fields ? ':' : 0)) return False;
    text = rest + 1;
  }
  VG_(memcpy)(&leaves[leaf_count++], fields, sizeof fields);
  return True;
}

static void emulated_cpuid(VexGuestAMD64State* state) {
  const UInt leaf = (UInt)state->guest_RAX, subleaf = (UInt)state->guest_RCX;
  ULong* const registers[REGISTERS] = {&state->guest_RAX, &state->guest_RBX, &state->guest_RCX, &state->guest_RDX};
  original_cpuid(state);
  for (UInt i = 0; i < leaf_count; ++i) {
    if (leaves[i].leaf != leaf || (leaves[i].subleaf != subleaf && leaves[i].subleaf != RT_ANY_SUBLEAF)) continue;
    for (UInt r = 0; r < REGISTERS; ++r)
      if (leaves[i].mask >> r & 1) *registers[r] = leaves[i].values[r];
    return;
  }
}

IRStmt* rt_replace_cpuid(IRStmt* statement) {
  static const HChar name[] = "amd64g_dirtyhelper_CPUID";
  if (leaf_count == 0 || statement->tag != Ist_Dirty ||
      VG_(strncmp)(statement->Ist.Dirty.details->cee->name, name, sizeof name - 1) != 0)
    return statement;
  IRStmt* const replaced = deepCopyIRStmt(statement);
  IRCallee* const callee = replaced->Ist.Dirty.details->cee;
  original_cpuid = (void (*)(VexGuestAMD64State*))callee->addr;
  callee->name = "recount-cpuid";
  callee->addr = VG_(fnptr_to_fnentry)((void*)emulated_cpuid);
  return replaced;
}

#else
Bool rt_add_cpuid(const HChar* text) {
  (void)text;
  return False;
}
IRStmt* rt_replace_cpuid(IRStmt* statement) { return statement; }
#endif
