/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scalars.h"

#include "pub_tool_libcassert.h"

static IRStmt* held; /* zeros to a vector register; NULL: none */

enum { VECTOR_BYTES = 16 };

static Bool stores_zeros(const IRStmt* statement) {
  if (statement->tag != Ist_Put || statement->Ist.Put.data->tag != Iex_Const) return False;
  const IRConst* const value = statement->Ist.Put.data->Iex.Const.con;
  return value->tag == Ico_V128 && value->Ico.V128 == 0;
}

static Bool apart(Int offset, Int bytes) {
  return offset + bytes <= held->Ist.Put.offset || offset >= held->Ist.Put.offset + VECTOR_BYTES;
}

/* Whether what is held may come after the statement, which then neither reads nor changes the register, nor leaves the
   block. */
static Bool may_pass(const IRSB* out, const IRStmt* statement) {
  switch (statement->tag) {
  case Ist_NoOp:
  case Ist_AbiHint:
  case Ist_Store: return True;
  case Ist_Put: return apart(statement->Ist.Put.offset, sizeofIRType(typeOfIRExpr(out->tyenv, statement->Ist.Put.data)));
  case Ist_WrTmp: {
    const IRExpr* const data = statement->Ist.WrTmp.data;
    if (data->tag == Iex_Get) return apart(data->Iex.Get.offset, sizeofIRType(data->Iex.Get.ty));
    return data->tag != Iex_GetI && data->tag != Iex_CCall;
  }
  default: return False;
  }
}

static IRExpr* assign(IRSB* out, IRType type, IROp op, IRExpr* of) {
  const IRTemp made = newIRTemp(out->tyenv, type);
  addStmtToIRSB(out, IRStmt_WrTmp(made, IRExpr_Unop(op, of)));
  return IRExpr_RdTmp(made);
}

/* The whole register with this lowest part; NULL: of another type. */
static IRExpr* widened(IRSB* out, IRExpr* scalar) {
  switch (typeOfIRExpr(out->tyenv, scalar)) {
  case Ity_F64: scalar = assign(out, Ity_I64, Iop_ReinterpF64asI64, scalar); /* fallthrough */
  case Ity_I64: return assign(out, Ity_V128, Iop_64UtoV128, scalar);
  case Ity_F32: scalar = assign(out, Ity_I32, Iop_ReinterpF32asI32, scalar); /* fallthrough */
  case Ity_I32: return assign(out, Ity_V128, Iop_32UtoV128, scalar);
  default: return NULL;
  }
}

/* Whether the statement and what is held became one. */
static Bool joined(IRSB* out, const IRStmt* statement) {
  if (statement->tag != Ist_Put || statement->Ist.Put.offset != held->Ist.Put.offset) return False;
  IRExpr* const whole = widened(out, statement->Ist.Put.data);
  if (!whole) return False;
  addStmtToIRSB(out, IRStmt_Put(held->Ist.Put.offset, whole));
  held = NULL;
  return True;
}

void rt_add_held(IRSB* out) {
  if (held) addStmtToIRSB(out, held);
  held = NULL;
}

void rt_add(IRSB* out, IRStmt* statement) {
  if (held && joined(out, statement)) return;
  if (held && !may_pass(out, statement)) rt_add_held(out);
  if (!stores_zeros(statement)) return addStmtToIRSB(out, statement);
  rt_add_held(out);
  held = statement;
}
