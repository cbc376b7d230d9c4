/* SPDX-License-Identifier: GPL-2.0-or-later
 * A block stores RT_BLOCK with its number, then one address per access. Room is checked once, at its beginning.
 * A side exit appends RT_EXIT, unless all words have been written. */
#include "tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_vki.h"

#if defined(VGA_amd64)
#include "libvex_guest_amd64.h"

#include <stddef.h>
#endif

/* RT_PLAIN, RT_JUMP ...: the control flow of an instruction of `bytes` bytes. */
#if defined(VGA_amd64)
/* Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A. */
static Bool is_prefix(UChar byte) {
  switch (byte) {
  case 0x26:
  case 0x2e:
  case 0x36:
  case 0x3e:
  case 0x64:
  case 0x65: /* segments, hints of branches */
  case 0x66:
  case 0x67:
  case 0xf0:
  case 0xf2:
  case 0xf3: return True;
  default: return False;
  }
}

static UInt flow_of_group_5(UChar modrm) {
  const UInt operation = modrm >> 3 & 7;
  if (operation == 2 || operation == 3) return RT_CALL;
  return operation == 4 || operation == 5 ? RT_JUMP : RT_PLAIN;
}

static UInt classify_flow(const UChar* code, UInt bytes) {
  UInt at = 0;
  Bool repeated = False;
  for (; at + 1 < bytes && is_prefix(code[at]); ++at)
    repeated = repeated || code[at] == 0xf2 || code[at] == 0xf3;
  if (at + 1 < bytes && (code[at] & 0xf0) == 0x40) ++at; /* REX */
  const UChar opcode = code[at], next = at + 1 < bytes ? code[at + 1] : 0;
  if (opcode == 0x0f && (next & 0xf0) == 0x80) return RT_CONDITIONAL;
  if (opcode == 0x0f && next == 0x05) return RT_SYSTEM;
  if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode <= 0xe3)) return RT_CONDITIONAL;
  if (repeated && ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf)))
    return RT_REPEATED;
  if (opcode == 0xff) return flow_of_group_5(next);
  switch (opcode) {
  case 0xc2:
  case 0xc3:
  case 0xca:
  case 0xcb:
  case 0xcf: return RT_RETURN;
  case 0xe8: return RT_CALL;
  case 0xe9:
  case 0xeb: return RT_JUMP;
  default: return RT_PLAIN;
  }
}
#else
/* Arm Architecture Reference Manual for A-profile, "Branches, Exception Generating and System instructions".
 */
static UInt classify_flow(const UChar* code, UInt bytes) {
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

enum { MOST = 1500 }; /* instructions, and accesses, of a block: those of VEX have some hundred at most */

/* The block under way. */
static struct {
  IRSB* out;
  IRExpr* position; /* of its first word */
  UInt words;       /* written so far */
  UInt instructions, accesses;
  ULong definition[2 + 2 * MOST]; /* RT_DEFINE; the accesses begin in the middle */
} block;

static IRExpr* u64(ULong value) {
  return IRExpr_Const(IRConst_U64(value));
}
static void add(IRStmt* statement) {
  addStmtToIRSB(block.out, statement);
}
static IRExpr* assign(IRType type, IRExpr* value) {
  const IRTemp temporary = newIRTemp(block.out->tyenv, type);
  add(IRStmt_WrTmp(temporary, value));
  return IRExpr_RdTmp(temporary);
}
static Int size_of(IRExpr* value) {
  return sizeofIRType(typeOfIRExpr(block.out->tyenv, value));
}
static IRExpr* assign_unary(IRType type, IROp operation, IRExpr* of) {
  return assign(type, IRExpr_Unop(operation, of));
}

/* Loads of scalars into vector registers: VEX stores zeros to the whole register and then the scalar to its
 * lowest part. The next instruction loads the whole again, which a processor cannot forward from two stores:
 * it waits until both are in its cache. One store of the whole register takes less than half of the time. */
static IRStmt* held; /* zeros to a vector register; NULL: none */

enum { VECTOR_BYTES = 16 };

static Bool stores_zeros(const IRStmt* statement) {
  if (statement->tag != Ist_Put || statement->Ist.Put.data->tag != Iex_Const) return False;
  const IRConst* const value = statement->Ist.Put.data->Iex.Const.con;
  return value->tag == Ico_V128 && value->Ico.V128 == 0;
}

static Bool disjoint(Int offset, Int bytes) {
  return offset + bytes <= held->Ist.Put.offset || offset >= held->Ist.Put.offset + VECTOR_BYTES;
}

/* Whether the held store may move behind the statement, which neither accesses the register nor leaves the
   block. */
static Bool may_pass(const IRStmt* statement) {
  switch (statement->tag) {
  case Ist_NoOp:
  case Ist_AbiHint:
  case Ist_Store: return True;
  case Ist_Put: return disjoint(statement->Ist.Put.offset, size_of(statement->Ist.Put.data));
  case Ist_WrTmp: {
    const IRExpr* const data = statement->Ist.WrTmp.data;
    if (data->tag == Iex_Get) return disjoint(data->Iex.Get.offset, sizeofIRType(data->Iex.Get.ty));
    return data->tag != Iex_GetI && data->tag != Iex_CCall;
  }
  default: return False;
  }
}

/* The whole register with this lowest part; NULL: of another type. */
static IRExpr* widened(IRExpr* scalar) {
  switch (typeOfIRExpr(block.out->tyenv, scalar)) {
  case Ity_F64: scalar = assign_unary(Ity_I64, Iop_ReinterpF64asI64, scalar); /* fallthrough */
  case Ity_I64: return assign_unary(Ity_V128, Iop_64UtoV128, scalar);
  case Ity_F32: scalar = assign_unary(Ity_I32, Iop_ReinterpF32asI32, scalar); /* fallthrough */
  case Ity_I32: return assign_unary(Ity_V128, Iop_32UtoV128, scalar);
  default: return NULL;
  }
}

/* Merges the held zeros and the statement into one store, where that is possible. */
static Bool joined(const IRStmt* statement) {
  if (statement->tag != Ist_Put || statement->Ist.Put.offset != held->Ist.Put.offset) return False;
  IRExpr* const whole = widened(statement->Ist.Put.data);
  if (!whole) return False;
  add(IRStmt_Put(held->Ist.Put.offset, whole));
  held = NULL;
  return True;
}

static void add_held(void) {
  if (held) add(held);
  held = NULL;
}

/* Adds a statement of the program, now or, if it only stores zeros to a vector register, with one of the
 * next. */
static void add_program(IRStmt* statement) {
  if (held && joined(statement)) return;
  if (held && !may_pass(statement)) add_held();
  if (!stores_zeros(statement)) return add(statement);
  add_held();
  held = statement;
}

static IRExpr* make_load(const uint64_t* where) {
  return assign(Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, u64((ULong)(Addr)where)));
}
static IRExpr* nth_word(UInt n) {
  return n == 0 ? block.position : assign(Ity_I64, IRExpr_Binop(Iop_Add64, block.position, u64(8ULL * n)));
}
static void put_word(IRExpr* word) {
  add(IRStmt_Store(Iend_LE, nth_word(block.words++), word));
}
static void put_position(UInt words) {
  add(IRStmt_Store(Iend_LE, u64((ULong)(Addr)&rt_slot->position), nth_word(words)));
}

/* Makes room for so many words, and reads the position. */
static void open_block(UInt number, UInt words) {
  IRExpr* const end =
      assign(Ity_I64, IRExpr_Binop(Iop_Add64, make_load(&rt_slot->position), u64(8ULL * words)));
  IRExpr* const full = assign(Ity_I1, IRExpr_Binop(Iop_CmpLT64U, make_load(&rt_slot->limit), end));
  IRDirty* const flush =
      unsafeIRDirty_0_N(0, "rt_flush", VG_(fnptr_to_fnentry)((void*)rt_flush), mkIRExprVec_0());
  flush->guard = full;
  add(IRStmt_Dirty(flush));
  block.position = make_load(&rt_slot->position);
  put_word(u64(RT_WORD(RT_BLOCK, number)));
}

static void access(IRExpr* address, Bool store, Int bytes, IRExpr* guard) {
  const Bool guarded = guard && !(guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1);
  tl_assert(block.accesses < MOST && block.instructions > 0);
  block.definition[2 + MOST + block.accesses++] = RT_ACCESS(block.instructions - 1, guarded, store, bytes);
  put_word(guarded ? assign(Ity_I64, IRExpr_ITE(guard, address, u64(RT_WORD(RT_SKIPPED, 0)))) : address);
}

#if defined(VGA_amd64)
/* The operand of a flush or a prefetch, and its kind: RT_FLUSHED ... */
typedef struct {
  UInt what; /* 0: another instruction */
  const UChar* modrm;
  UChar rex;
} LineHint;

/* CLFLUSH, CLFLUSHOPT, PREFETCHh, PREFETCHW; CLWB (66 0F AE /6) keeps the line. */
static LineHint line_hint(const UChar* code, UInt bytes) {
  LineHint hint = {0, NULL, 0};
  UInt at = 0;
  while (at < bytes && (code[at] == 0x66 || code[at] == 0x3e))
    ++at;
  if (at < bytes && (code[at] & 0xf0) == 0x40) hint.rex = code[at++];
  if (at + 2 >= bytes || code[at] != 0x0f || code[at + 2] >> 6 == 3) return hint;
  const UInt operation = code[at + 2] >> 3 & 7;
  hint.modrm = code + at + 2;
  if (code[at + 1] == 0xae && operation == 7) hint.what = RT_FLUSHED;
  if (code[at + 1] == 0x18 ? operation < 4 : code[at + 1] == 0x0d)
    hint.what = rt_report_code ? RT_PREFETCHED : 0;
  return hint;
}

static IRExpr* guest_register(UInt number) {
  return assign(Ity_I64, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RAX) + 8 * number, Ity_I64));
}
static IRExpr* sum_of(IRExpr* a, IRExpr* b) {
  return assign(Ity_I64, IRExpr_Binop(Iop_Add64, a, b));
}

/* VEX drops the address of a prefetch and rounds that of a flush down, so it is computed from the registers of
 * the program. These are current: VEX ends the block after a flush, and stores registers at each instruction
 * where code is reported. Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, tables 2-2 and 2-3. */
static IRExpr* hinted_address(const LineHint* hint, Addr next) {
  const UInt mode = *hint->modrm >> 6;
  UInt base = *hint->modrm & 7;
  const UChar* at = hint->modrm + 1;
  IRExpr* index = NULL;
  const Bool relative = mode == 0 && base == 5;
  Bool absolute = relative;
  if (base == 4) {
    const UInt number = (*at >> 3 & 7) | (hint->rex & 2) << 2;
    if (number != 4)
      index = assign(Ity_I64,
                     IRExpr_Binop(Iop_Shl64, guest_register(number), IRExpr_Const(IRConst_U8(*at >> 6))));
    base = *at++ & 7;
    absolute = mode == 0 && base == 5;
  }
  Long displacement = 0;
  if (mode == 1) displacement = (Long)(*at ^ 0x80) - 0x80; /* signed */
  if (mode == 2 || absolute) displacement = (Int)(at[0] | at[1] << 8 | at[2] << 16 | (UInt)at[3] << 24);
  IRExpr* address = u64(displacement + (relative ? next : 0));
  if (!absolute) address = sum_of(address, guest_register(base | (hint->rex & 1) << 3));
  return index ? sum_of(address, index) : address;
}
#else
typedef struct {
  UInt what;
} LineHint;
static LineHint line_hint(const UChar* code, UInt bytes) {
  (void)code, (void)bytes;
  return (LineHint){0};
}
static IRExpr* hinted_address(const LineHint* hint, Addr next) {
  (void)hint;
  return u64(next);
}
#endif

static Int size_of_guarded(const IRLoadG* load) {
  IRType to = Ity_INVALID, from = Ity_INVALID;
  typeOfIRLoadGOp(load->cvt, &to, &from);
  return sizeofIRType(from);
}

static void dirty_accesses(const IRDirty* call) {
  if (call->mFx == Ifx_Read || call->mFx == Ifx_Modify) access(call->mAddr, False, call->mSize, call->guard);
  if (call->mFx == Ifx_Write || call->mFx == Ifx_Modify) access(call->mAddr, True, call->mSize, call->guard);
}

static void swap_accesses(const IRCAS* swap) {
  const Int bytes = size_of(swap->dataLo) * (swap->dataHi ? 2 : 1);
  access(swap->addr, False, bytes, NULL);
  access(swap->addr, True, bytes, NULL);
}

static void linked_access(const IRStmt* statement) {
  IRExpr* const stored = statement->Ist.LLSC.storedata;
  const Int bytes =
      stored ? size_of(stored) : sizeofIRType(typeOfIRTemp(block.out->tyenv, statement->Ist.LLSC.result));
  access(statement->Ist.LLSC.addr, stored != NULL, bytes, NULL);
}

/* Countdowns: one of the block is read at its beginning and written wherever the block may end. */
static struct {
  UInt bits;                 /* of those that the block has */
  IRExpr* at[RT_COUNTDOWNS]; /* as read at the beginning */
  UInt down[RT_COUNTDOWNS];  /* by the instructions so far */
  UInt changed;              /* bits of those that the last instruction has counted down */
  Bool divisible;            /* the registers are the program's at each instruction: in code of files */
  Int offset_ip;
} countdown;

static IRExpr* left_address(UInt i) {
  return u64((ULong)(Addr)&rt_left[i]);
}

static void read_countdowns(void) {
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    if (countdown.bits >> i & 1)
      countdown.at[i] = assign(Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, left_address(i)));
}
static void write_countdowns(void) {
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    if (countdown.bits >> i & 1)
      add(IRStmt_Store(Iend_LE, left_address(i),
                       assign(Ity_I64, IRExpr_Binop(Iop_Sub64, countdown.at[i], u64(countdown.down[i])))));
}

/* 1 if one of these countdowns has ended. */
static IRExpr* expired(UInt bits) {
  IRExpr* any = NULL;
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i) {
    if (!(bits >> i & 1)) continue;
    IRExpr* const one = assign(Ity_I1, IRExpr_Binop(Iop_CmpLE64S, countdown.at[i], u64(countdown.down[i])));
    any = any ? assign(
                    Ity_I1,
                    IRExpr_Unop(Iop_32to1,
                                assign(Ity_I32, IRExpr_Binop(Iop_Or32, assign_unary(Ity_I32, Iop_1Uto32, any),
                                                             assign_unary(Ity_I32, Iop_1Uto32, one)))))
              : one;
  }
  return any;
}

static void leave_to(Addr code, IRExpr* guard, IRJumpKind kind) {
  add(IRStmt_Exit(guard, kind, IRConst_U64(code), countdown.offset_ip));
}

/* Before the block has written words. */
static void begin_countdowns(const IRSB* in, Addr code) {
  countdown.bits = rt_is_recounts(code) ? 0 : rt_counted_down;
  countdown.changed = 0;
  countdown.divisible = rt_is_file(code);
  countdown.offset_ip = in->offsIP;
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    countdown.down[i] = 0;
  if (countdown.bits == 0) return;
  read_countdowns();
  IRDirty* const ask =
      unsafeIRDirty_0_N(0, "rt_expired", VG_(fnptr_to_fnentry)((void*)rt_expired), mkIRExprVec_0());
  ask->guard = expired(countdown.bits);
  add(IRStmt_Dirty(ask));
  IRExpr* const due = assign(Ity_I32, IRExpr_Load(Iend_LE, Ity_I32, u64((ULong)(Addr)&rt_due)));
  leave_to(code, assign(Ity_I1, IRExpr_Binop(Iop_CmpEQ32, due, IRExpr_Const(IRConst_U32(RT_SAMPLE_DUE)))),
           Ijk_SigTRAP);
  leave_to(code, assign(Ity_I1, IRExpr_Binop(Iop_CmpEQ32, due, IRExpr_Const(IRConst_U32(RT_BUSY)))),
           Ijk_Yield);
  read_countdowns();
}

/* Ends the block before `code`, if `guard` holds. */
static void end_before(Addr code, IRExpr* guard) {
  add_held();
  write_countdowns();
  add(IRStmt_Store(Iend_LE, nth_word(block.words), u64(RT_WORD(RT_EXIT, block.instructions))));
  put_position(block.words + 1);
  leave_to(code, guard, Ijk_Boring);
}

/* Ends the block before `code` where a countdown has ended: the block that begins there asks for new ones. */
static void check_countdowns(Addr code) {
  if (countdown.changed == 0 || !countdown.divisible) return;
  end_before(code, expired(countdown.changed));
  countdown.changed = 0;
}

static UInt countdowns_of_flow(UInt flow) {
  if (flow == RT_CONDITIONAL) return 1 << RT_COUNT_CONDITIONAL | 1 << RT_COUNT_BRANCHES;
  return flow == RT_JUMP || flow == RT_CALL || flow == RT_RETURN ? 1 << RT_COUNT_BRANCHES : 0;
}

/* Prefetches are loads in the events of some machines. */
static Bool is_prefetch(const UChar* code, UInt bytes) {
#if defined(VGA_amd64)
  UInt at = 0;
  while (at + 2 < bytes && (is_prefix(code[at]) || (code[at] & 0xf0) == 0x40))
    ++at;
  return at + 2 < bytes && code[at] == 0x0f && (code[at + 1] == 0x18 || code[at + 1] == 0x0d);
#else
  return bytes == 4 && (code[3] == 0xf9 || code[3] == 0xf8 || code[3] == 0xd8);
#endif
}

static UInt countdowns_of_access(const IRStmt* statement) {
  const UInt load = 1 << RT_COUNT_LOADS, store = 1 << RT_COUNT_STORES;
  switch (statement->tag) {
  case Ist_WrTmp: return statement->Ist.WrTmp.data->tag == Iex_Load ? load : 0;
  case Ist_LoadG: return load;
  case Ist_Store:
  case Ist_StoreG: return store;
  case Ist_LLSC: return statement->Ist.LLSC.storedata ? store : load;
  case Ist_CAS: return load | store;
  case Ist_Dirty: {
    const IREffect effect = statement->Ist.Dirty.details->mFx;
    return effect == Ifx_None ? 0 : effect == Ifx_Read ? load : effect == Ifx_Write ? store : load | store;
  }
  default: return 0;
  }
}

/* Counts the instruction that begins with a statement of the block, never less than recount does: asking early
   costs time, asking late loses a sample. */
static void count_down(const IRSB* in, Int statement, UInt flow) {
  UInt bits = 1 << RT_COUNT_INSTRUCTIONS | countdowns_of_flow(flow);
  if (is_prefetch((const UChar*)in->stmts[statement]->Ist.IMark.addr, in->stmts[statement]->Ist.IMark.len))
    bits |= 1 << RT_COUNT_LOADS;
  for (Int i = statement + 1; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i)
    bits |= countdowns_of_access(in->stmts[i]);
  bits &= countdown.bits;
  countdown.changed |= bits;
  for (UInt i = 0; i < RT_COUNTDOWNS; ++i)
    countdown.down[i] += bits >> i & 1;
}

/* Whether the instruction that begins with a statement reads the cycle counter. */
static Bool reads_cycles(const IRSB* in, Int statement) {
  for (Int i = statement + 1; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i)
    if (rt_reads_cycles(in->stmts[i])) return True;
  return False;
}

/* Before the first instruction, which begins with `statement`, while the block has written no words. */
static void begin_reading_cycles(const IRSB* in, Int statement) {
  Bool reads = reads_cycles(in, statement);
  for (Int i = statement; !countdown.divisible && i < in->stmts_used; ++i)
    reads = reads || rt_reads_cycles(in->stmts[i]);
  if (reads)
    add(IRStmt_Dirty(unsafeIRDirty_0_N(0, "rt_read_cycles", VG_(fnptr_to_fnentry)((void*)rt_read_cycles),
                                       mkIRExprVec_0())));
}

static void before_exit(Bool last) {
  write_countdowns();
  if (!last) add(IRStmt_Store(Iend_LE, nth_word(block.words), u64(RT_WORD(RT_EXIT, block.instructions))));
  put_position(block.words + (last ? 0 : 1));
}

static void begin_instruction(const IRSB* in, Int at) {
  const Addr address = in->stmts[at]->Ist.IMark.addr;
  const UInt length = in->stmts[at]->Ist.IMark.len, flow = classify_flow((const UChar*)address, length);
  tl_assert(block.instructions < MOST);
  check_countdowns(address);
  if (block.instructions > 0 && countdown.divisible && reads_cycles(in, at))
    end_before(address, IRExpr_Const(IRConst_U1(True)));
  block.definition[2 + block.instructions++] = RT_INSTRUCTION(address, length, flow);
  count_down(in, at, flow);
  const LineHint hint = line_hint((const UChar*)address, length);
  if (hint.what) access(hinted_address(&hint, address + length), False, hint.what, NULL);
}

/* The words before a statement. `last`: no words come after it. */
static void before(const IRSB* in, Int at, Bool last) {
  const IRStmt* const statement = in->stmts[at];
  switch (statement->tag) {
  case Ist_IMark: begin_instruction(in, at); break;
  case Ist_WrTmp: {
    const IRExpr* const data = statement->Ist.WrTmp.data;
    if (data->tag == Iex_Load) access(data->Iex.Load.addr, False, sizeofIRType(data->Iex.Load.ty), NULL);
    break;
  }
  case Ist_Store: access(statement->Ist.Store.addr, True, size_of(statement->Ist.Store.data), NULL); break;
  case Ist_LoadG: {
    const IRLoadG* const load = statement->Ist.LoadG.details;
    access(load->addr, False, size_of_guarded(load), load->guard);
    break;
  }
  case Ist_StoreG: {
    const IRStoreG* const store = statement->Ist.StoreG.details;
    access(store->addr, True, size_of(store->data), store->guard);
    break;
  }
  case Ist_Dirty: dirty_accesses(statement->Ist.Dirty.details); break;
  case Ist_CAS: swap_accesses(statement->Ist.CAS.details); break;
  case Ist_LLSC: linked_access(statement); break;
  case Ist_Exit: before_exit(last); break;
  default: break;
  }
}

static UInt count_accesses(const IRStmt* statement) {
  switch (statement->tag) {
  case Ist_IMark:
    return line_hint((const UChar*)statement->Ist.IMark.addr, statement->Ist.IMark.len).what != 0;
  case Ist_WrTmp: return statement->Ist.WrTmp.data->tag == Iex_Load;
  case Ist_Store:
  case Ist_LoadG:
  case Ist_StoreG:
  case Ist_LLSC: return 1;
  case Ist_CAS: return 2;
  case Ist_Dirty: return statement->Ist.Dirty.details->mFx == Ifx_None ? 0 : 2;
  default: return 0;
  }
}

/* The last statement that makes words, ends the block, or begins an instruction; none: -1. */
static Int last_of(const IRSB* in) {
  Int i = in->stmts_used - 1;
  while (i >= 0 && in->stmts[i]->tag != Ist_IMark && in->stmts[i]->tag != Ist_Exit &&
         count_accesses(in->stmts[i]) == 0)
    --i;
  return i;
}

/* Upper bound of the words of a block. */
static UInt count_words(const IRSB* in) {
  UInt words = 2; /* the number, RT_EXIT */
  for (Int i = 0; i < in->stmts_used; ++i)
    words += count_accesses(in->stmts[i]);
  return words;
}

Bool rt_report_code = False;

/* The bytes of the instructions of the block, one after the other. */
static void report_code(UInt number) {
  enum { LONGEST = 16, WORDS = 1 + MOST * LONGEST / sizeof(ULong) };
  static ULong words[WORDS];
  UInt bytes = 0;
  words[0] = number;
  for (UInt i = 0; i < block.instructions; ++i) {
    const ULong word = block.definition[2 + i];
    const UInt length = word >> 56 & 15;
    VG_(memcpy)((UChar*)(words + 1) + bytes, (const void*)(Addr)RT_PAYLOAD(word), length);
    bytes += length;
  }
  rt_record(RT_CODE, words, 1 + (bytes + 7) / 8);
}

static void define(UInt number) {
  block.definition[0] = number;
  block.definition[1] = block.instructions | (ULong)block.accesses << 32;
  VG_(memmove)
  (block.definition + 2 + block.instructions, block.definition + 2 + MOST,
   block.accesses * sizeof *block.definition);
  rt_record(RT_DEFINE, block.definition, 2 + block.instructions + block.accesses);
  if (rt_report_code) report_code(number);
}

/* What VEX cannot decode raises SIGILL: recount reports why. */
static VG_REGPARM(1) void undecoded(Addr at) {
  ULong words[3] = {at, 0, 0};
  if (VG_(am_is_valid_for_client)(at, 16, VKI_PROT_READ)) VG_(memcpy)(words + 1, (const void*)at, 16);
  rt_record(RT_UNDECODED, words, 3);
}

/* Reports it when it is executed, not when it is translated: a branch may leave the block before. */
static void report_undecoded(const IRSB* in) {
  if (in->jumpkind == Ijk_NoDecode)
    addStmtToIRSB(block.out,
                  IRStmt_Dirty(unsafeIRDirty_0_N(1, "undecoded", VG_(fnptr_to_fnentry)((void*)undecoded),
                                                 mkIRExprVec_1(in->next))));
}

IRSB* rt_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word) {
  (void)closure, (void)arch;
  tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
  rt_send_module((Addr)extents->base[0]);
  const UInt number = rt_new_block();
  block.out = deepCopyIRSBExceptStmts(in);
  block.words = block.instructions = block.accesses = 0;
  Int i = 0;
  for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i)
    add(in->stmts[i]); /* checks of self-modifying code */
  rt_watch_block(block.out, layout, (Addr)extents->base[0]);
  begin_countdowns(in, (Addr)extents->base[0]);
  begin_reading_cycles(in, i);
  open_block(number, count_words(in));
  const Int last = last_of(in);
  for (; i < in->stmts_used; ++i) {
    before(in, i, i == last);
    add_program(rt_replace_helper(in->stmts[i]));
  }
  add_held();
  write_countdowns();
  if (last < 0 || in->stmts[last]->tag != Ist_Exit) put_position(block.words);
  report_undecoded(in);
  define(number);
  return block.out;
}
