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

static ULong cycles;              /* as last read */
static Bool cycles_known = False; /* recount has answered */
static ULong (*original_rdtsc)(void) = NULL;
static void (*original_rdtscp)(VexGuestAMD64State*) = NULL;

void rt_read_cycles(void) {
  cycles_known = rt_ask_clock(RT_CYCLE_COUNTER, 0, &cycles);
}

static ULong emulated_rdtsc(void) {
  return cycles_known ? cycles : original_rdtsc();
}

static void emulated_rdtscp(VexGuestAMD64State* state) {
  original_rdtscp(state);
  if (!cycles_known) return;
  state->guest_RAX = (UInt)cycles;
  state->guest_RDX = cycles >> 32;
}

/* The name, without its prefix, of the helper for an instruction of Valgrind that the statement calls; empty:
 * another statement. */
static const HChar* helper_of(const IRStmt* statement) {
  static const HChar prefix[] = "amd64g_dirtyhelper_";
  if (statement->tag != Ist_Dirty) return "";
  const HChar* const name = statement->Ist.Dirty.details->cee->name;
  return VG_(strncmp)(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : "";
}

static IRStmt* calling(const IRStmt* statement, void* function, void** original) {
  IRStmt* const replaced = deepCopyIRStmt(statement);
  IRCallee* const callee = replaced->Ist.Dirty.details->cee;
  *original = callee->addr;
  callee->name = "recount-helper";
  callee->addr = VG_(fnptr_to_fnentry)(function);
  return replaced;
}

Bool rt_reads_cycles(const IRStmt* statement) {
  return rt_clock && VG_(strncmp)(helper_of(statement), "RDTSC", 5) == 0;
}

IRStmt* rt_replace_helper(IRStmt* statement) {
  const HChar* const helper = helper_of(statement);
  if (leaf_count > 0 && VG_(strncmp)(helper, "CPUID", 5) == 0)
    return calling(statement, emulated_cpuid, (void**)&original_cpuid);
  if (!rt_reads_cycles(statement)) return statement;
  return helper[5] == 'P' ? calling(statement, emulated_rdtscp, (void**)&original_rdtscp)
                          : calling(statement, emulated_rdtsc, (void**)&original_rdtsc);
}

#else
Bool rt_add_cpuid(const HChar* text) {
  (void)text;
  return False;
}
Bool rt_reads_cycles(const IRStmt* statement) {
  (void)statement;
  return False;
}
void rt_read_cycles(void) {}
IRStmt* rt_replace_helper(IRStmt* statement) {
  return statement;
}
#endif
