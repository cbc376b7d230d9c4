/* SPDX-License-Identifier: GPL-2.0-or-later
 * Each block writes its number and then the address of each access, by stores within the block; a look whether there
 * is room is made once, before the first. At a side exit the words so far are closed by RT_EXIT, unless nothing follows. */
#include "instrument.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_vki.h"

#include "channel.h"
#include "flow.h"
#include "heap.h"
#include "modules.h"
#include "scalars.h"

enum { MOST = 1500 }; /* instructions, and accesses, of a block: those of VEX have some hundred at most */

/* The block under way. */
static struct {
  IRSB* out;
  IRExpr* position;     /* of its first word */
  UInt words;           /* written so far */
  UInt instructions, accesses;
  ULong definition[2 + 2 * MOST]; /* RT_DEFINE; the accesses begin in the middle */
} block;

static IRExpr* u64(ULong value) { return IRExpr_Const(IRConst_U64(value)); }
static void add(IRStmt* statement) { addStmtToIRSB(block.out, statement); }
static IRExpr* assign(IRType type, IRExpr* value) {
  const IRTemp made = newIRTemp(block.out->tyenv, type);
  add(IRStmt_WrTmp(made, value));
  return IRExpr_RdTmp(made);
}
static IRExpr* load_of(const uint64_t* where) {
  return assign(Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, u64((ULong)(Addr)where)));
}
static IRExpr* nth_word(UInt n) {
  return n == 0 ? block.position : assign(Ity_I64, IRExpr_Binop(Iop_Add64, block.position, u64(8ULL * n)));
}
static void put_word(IRExpr* word) { add(IRStmt_Store(Iend_LE, nth_word(block.words++), word)); }
static void put_position(UInt words) {
  add(IRStmt_Store(Iend_LE, u64((ULong)(Addr)&rt_slot->position), nth_word(words)));
}

/* Makes room for so many words, and reads the position. */
static void open_block(UInt number, UInt words) {
  IRExpr* const end =
      assign(Ity_I64, IRExpr_Binop(Iop_Add64, load_of(&rt_slot->position), u64(8ULL * words)));
  IRExpr* const full = assign(Ity_I1, IRExpr_Binop(Iop_CmpLT64U, load_of(&rt_slot->limit), end));
  IRDirty* const flush =
      unsafeIRDirty_0_N(0, "rt_flush", VG_(fnptr_to_fnentry)((void*)rt_flush), mkIRExprVec_0());
  flush->guard = full;
  add(IRStmt_Dirty(flush));
  block.position = load_of(&rt_slot->position);
  put_word(u64(RT_WORD(RT_BLOCK, number)));
}

static void access(IRExpr* address, Bool store, Int bytes, IRExpr* guard) {
  const Bool guarded = guard && !(guard->tag == Iex_Const && guard->Iex.Const.con->Ico.U1);
  tl_assert(block.accesses < MOST && block.instructions > 0);
  block.definition[2 + MOST + block.accesses++] = RT_ACCESS(block.instructions - 1, guarded, store, bytes);
  put_word(guarded ? assign(Ity_I64, IRExpr_ITE(guard, address, u64(RT_WORD(RT_SKIPPED, 0)))) : address);
}

static Int size_of(IRExpr* value) { return sizeofIRType(typeOfIRExpr(block.out->tyenv, value)); }

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
  const Int bytes = stored ? size_of(stored)
                           : sizeofIRType(typeOfIRTemp(block.out->tyenv, statement->Ist.LLSC.result));
  access(statement->Ist.LLSC.addr, stored != NULL, bytes, NULL);
}

static void before_exit(Bool last) {
  if (!last) add(IRStmt_Store(Iend_LE, nth_word(block.words), u64(RT_WORD(RT_EXIT, block.instructions))));
  put_position(block.words + (last ? 0 : 1));
}

/* The words before a statement. `last`: no words come after it. */
static void before(const IRStmt* statement, Bool last) {
  switch (statement->tag) {
  case Ist_IMark:
    tl_assert(block.instructions < MOST);
    block.definition[2 + block.instructions++] =
        RT_INSTRUCTION(statement->Ist.IMark.addr, statement->Ist.IMark.len,
                       rt_flow_of((const UChar*)statement->Ist.IMark.addr, statement->Ist.IMark.len));
    break;
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

static UInt accesses_of(const IRStmt* statement) {
  switch (statement->tag) {
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
  while (i >= 0 && in->stmts[i]->tag != Ist_IMark && in->stmts[i]->tag != Ist_Exit && accesses_of(in->stmts[i]) == 0)
    --i;
  return i;
}

/* At most. */
static UInt words_of(const IRSB* in) {
  UInt words = 2; /* the number, RT_EXIT */
  for (Int i = 0; i < in->stmts_used; ++i)
    words += accesses_of(in->stmts[i]);
  return words;
}

static void define(UInt number) {
  block.definition[0] = number;
  block.definition[1] = block.instructions | (ULong)block.accesses << 32;
  VG_(memmove)(block.definition + 2 + block.instructions, block.definition + 2 + MOST,
               block.accesses * sizeof *block.definition);
  rt_record(RT_DEFINE, block.definition, 2 + block.instructions + block.accesses);
}

/* What VEX cannot decode raises SIGILL: recount tells why. */
static void undecoded(const IRSB* in) {
  if (in->jumpkind != Ijk_NoDecode || in->next->tag != Iex_Const) return;
  const Addr at = (Addr)in->next->Iex.Const.con->Ico.U64;
  ULong words[3] = {at, 0, 0};
  if (VG_(am_is_valid_for_client)(at, 16, VKI_PROT_READ)) VG_(memcpy)(words + 1, (const void*)at, 16);
  rt_record(RT_UNDECODED, words, 3);
}

IRSB* rt_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word) {
  (void)closure, (void)arch;
  tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
  rt_module_of((Addr)extents->base[0]);
  undecoded(in);
  const UInt number = rt_new_block();
  block.out = deepCopyIRSBExceptStmts(in);
  block.words = block.instructions = block.accesses = 0;
  Int i = 0;
  for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; ++i)
    add(in->stmts[i]); /* checks of self-modifying code */
  rt_watch_block(block.out, layout, (Addr)extents->base[0]);
  open_block(number, words_of(in));
  const Int last = last_of(in);
  for (; i < in->stmts_used; ++i) {
    before(in->stmts[i], i == last);
    rt_add(block.out, in->stmts[i]);
  }
  rt_add_held(block.out);
  if (last < 0 || in->stmts[last]->tag != Ist_Exit) put_position(block.words);
  define(number);
  return block.out;
}
