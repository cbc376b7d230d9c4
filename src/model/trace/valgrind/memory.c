/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_execontext.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_oset.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_vki.h"

#if defined(VGA_amd64)
#include "libvex_guest_amd64.h"
enum {
  ARG_0 = offsetof(VexGuestAMD64State, guest_RDI),
  ARG_1 = offsetof(VexGuestAMD64State, guest_RSI),
  ARG_2 = offsetof(VexGuestAMD64State, guest_RDX),
  RESULT = offsetof(VexGuestAMD64State, guest_RAX)
};
#else
#include "libvex_guest_arm64.h"
enum {
  ARG_0 = offsetof(VexGuestARM64State, guest_X0),
  ARG_1 = offsetof(VexGuestARM64State, guest_X1),
  ARG_2 = offsetof(VexGuestARM64State, guest_X2),
  RESULT = offsetof(VexGuestARM64State, guest_X0)
};
#endif

typedef enum { NOTHING, BYTES_0, BYTES_1, BYTES_01, RESIZE_1, RESIZE_12, BY_POINTER, RELEASE } Call;

/* What a call's arguments are. */
static const struct {
  const HChar* name;
  Call call;
} family[] = {{"malloc", BYTES_0},         {"calloc", BYTES_01},       {"realloc", RESIZE_1},
              {"reallocarray", RESIZE_12}, {"free", RELEASE},          {"cfree", RELEASE},
              {"memalign", BYTES_1},       {"aligned_alloc", BYTES_1}, {"posix_memalign", BY_POINTER},
              {"valloc", BYTES_0},         {"pvalloc", BYTES_0}};

/* The outermost call of the family that a thread is in. */
struct under_way {
  Call call; /* NOTHING: none */
  Addr back, stack;
  ULong old, bytes;
  UInt site;
};
static struct under_way* calls; /* by thread; NULL: the heap is not watched */
static ULong expected;          /* where the call of the running thread returns to; 0: it is in none */
static OSet* sites;             /* numbers of those that recount knows */

void rt_watch_heap(void) {
  VG_(clo_vex_control).guest_chase = False; /* so that a function that is called begins a block */
  calls = VG_(calloc)("recount.heap", VG_N_THREADS, sizeof *calls);
  sites = VG_(OSetWord_Create)(VG_(malloc), "recount.sites", VG_(free));
}

/* Of operators, those with a pointer only state where an object is to be made. */
static Call find_operator(const HChar* name) {
  if (VG_(strncmp)(name, "operator delete", 15) == 0) return RELEASE;
  return VG_(strncmp)(name, "operator new", 12) == 0 && !VG_(strstr)(name, "void*") ? BYTES_0 : NOTHING;
}

static Call call_of(Addr code) {
  const HChar* name = NULL;
  if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), code, &name)) return NOTHING;
  if (VG_(strncmp)(name, "__libc_", 7) == 0) name += 7;
  if (VG_(strncmp)(name, "__", 2) == 0) name += 2;
  const HChar* const version = VG_(strchr)(name, '@');
  const SizeT length = version ? (SizeT)(version - name) : VG_(strlen)(name);
  for (UInt i = 0; i < sizeof family / sizeof *family; ++i)
    if (VG_(strlen)(family[i].name) == length && VG_(strncmp)(family[i].name, name, (Int)length) == 0)
      return family[i].call;
  return find_operator(name);
}

struct site_words {
  ULong words[64];
  UInt count;
};
static void add_call(UInt n, DiEpoch epoch, Addr code, void* opaque) {
  struct site_words* const to = opaque;
  (void)epoch;
  if (n > 0 && to->count < sizeof to->words / sizeof *to->words) to->words[to->count++] = code;
}

/* The number of the stack of calls, without that of the allocator. */
static UInt record_site(ThreadId thread) {
  ExeContext* const context = VG_(record_ExeContext)(thread, 0);
  const UInt number = VG_(get_ECU_from_ExeContext)(context);
  if (VG_(OSetWord_Contains)(sites, number)) return number;
  struct site_words site = {{number}, 1};
  VG_(apply_ExeContext)(add_call, &site, context);
  rt_record(RT_SITE, site.words, site.count);
  VG_(OSetWord_Insert)(sites, number);
  return number;
}

/* The site of what the running thread does; 0: nothing the program has requested itself. */
static UInt site_of_running(void) {
  const ThreadId thread = VG_(get_running_tid)();
  return calls && thread != VG_INVALID_THREADID && calls[thread].call == NOTHING ? record_site(thread) : 0;
}

static void released(Addr address) {
  const ULong word = address;
  if (address != 0) rt_record(RT_HEAP, &word, 1);
}

static Addr return_address(Addr stack, ULong link) {
#if defined(VGA_amd64)
  (void)link;
  return VG_(am_is_valid_for_client)(stack, sizeof(Addr), VKI_PROT_READ) ? *(const Addr*)stack : 0;
#else
  (void)stack;
  return link;
#endif
}

void rt_send_heap(ThreadId thread) {
  if (calls) expected = calls[thread].call != NOTHING ? calls[thread].back : 0;
}

static ULong product(ULong a, ULong b) {
  return a != 0 && b > ~0ULL / a ? ~0ULL : a * b;
}

static void entered(ULong kind, ULong stack, ULong link, ULong first, ULong second, ULong third) {
  const ThreadId thread = VG_(get_running_tid)();
  struct under_way* const call = calls + thread;
  /* One that was left by longjmp(3) or an exception is over. */
  if (call->call != NOTHING && stack < call->stack) return;
  call->call = NOTHING;
  expected = 0;
  if (kind == RELEASE) return released(first);
  const Addr back = return_address(stack, link);
  if (back == 0) return;
  call->call = (Call)kind;
  call->stack = stack;
  call->back = back;
  call->old = kind == RESIZE_1 || kind == RESIZE_12 || kind == BY_POINTER ? first : 0;
  call->bytes = kind == BYTES_0                       ? first
                : kind == BYTES_1 || kind == RESIZE_1 ? second
                : kind == RESIZE_12                   ? product(second, third)
                : kind == BY_POINTER                  ? third
                                                      : product(first, second);
  call->site = record_site(thread);
  expected = back;
}

static void returned(ULong stack, ULong result) {
  struct under_way* const call = calls + VG_(get_running_tid)();
  if (call->call == NOTHING || stack < call->stack) return;
  const Call kind = call->call;
  call->call = NOTHING;
  expected = 0;
  Addr address = result;
  if (kind == BY_POINTER) {
    const Bool made = result == 0 && VG_(am_is_valid_for_client)(call->old, sizeof(Addr), VKI_PROT_READ);
    address = made ? *(const Addr*)call->old : 0;
  } else if (address != 0 || call->bytes == 0) {
    released(call->old);
  }
  const ULong words[3] = {address, call->bytes, call->site};
  if (address != 0) rt_record(RT_HEAP, words, 3);
}

static IRExpr* assign(IRSB* out, IRType type, IRExpr* value) {
  const IRTemp made = newIRTemp(out->tyenv, type);
  addStmtToIRSB(out, IRStmt_WrTmp(made, value));
  return IRExpr_RdTmp(made);
}
static IRExpr* get(IRSB* out, Int offset) {
  return assign(out, Ity_I64, IRExpr_Get(offset, Ity_I64));
}
static IRExpr* constant(ULong value) {
  return IRExpr_Const(IRConst_U64(value));
}

static void read_by(IRDirty* call, UInt at, Int offset, Int size) {
  call->fxState[at].fx = Ifx_Read;
  call->fxState[at].offset = (UShort)offset;
  call->fxState[at].size = (UShort)size;
  call->fxState[at].nRepeats = call->fxState[at].repeatLen = 0;
}

/* A call of the family that is under way returns to where it came from. */
static void watch_return(IRSB* out, IRExpr* stack, Addr code) {
  IRExpr* const awaited =
      assign(out, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, constant((ULong)(Addr)&expected)));
  IRDirty* const watch = unsafeIRDirty_0_N(0, "returned", VG_(fnptr_to_fnentry)((void*)returned),
                                           mkIRExprVec_2(stack, get(out, RESULT)));
  watch->guard = assign(out, Ity_I1, IRExpr_Binop(Iop_CmpEQ64, awaited, constant(code)));
  addStmtToIRSB(out, IRStmt_Dirty(watch));
}

void rt_watch_block(IRSB* out, const VexGuestLayout* layout, Addr code) {
  if (!calls) return;
  IRExpr* const stack = get(out, layout->offset_SP);
  watch_return(out, stack, code);
  const Call call = call_of(code);
  if (call == NOTHING) return;
#if defined(VGA_amd64)
  IRExpr* const link = constant(0);
#else
  IRExpr* const link = get(out, offsetof(VexGuestARM64State, guest_X30));
#endif
  IRDirty* const watch = unsafeIRDirty_0_N(
      0, "entered", VG_(fnptr_to_fnentry)((void*)entered),
      mkIRExprVec_6(constant(call), stack, link, get(out, ARG_0), get(out, ARG_1), get(out, ARG_2)));
  /* The stack is unwound from there. */
  addStmtToIRSB(out, IRStmt_Put(layout->offset_IP, constant(code)));
  watch->nFxState = 3;
  read_by(watch, 0, layout->offset_SP, layout->sizeof_SP);
  read_by(watch, 1, layout->offset_IP, layout->sizeof_IP);
  read_by(watch, 2, layout->offset_FP, layout->sizeof_FP);
  addStmtToIRSB(out, IRStmt_Dirty(watch));
}

/* Mappings. */

enum { KNOWN = 64, LONGEST_NAME = 4096 };

static struct {
  Addr start, end;
  ULong inode;
} known[KNOWN]; /* one is reported again where another has taken its place */
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

void rt_send_module(Addr code) {
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

Bool rt_is_file(Addr code) {
  return file_of(VG_(am_find_nsegment)(code)) != NULL;
}

Bool rt_is_recounts(Addr code) {
  const HChar* const name = file_of(VG_(am_find_nsegment)(code));
  const HChar* const base = name ? VG_(strrchr)(name, '/') : NULL;
  return base && VG_(strcmp)(base + 1, "librecount-emulate.so") == 0;
}

static void anonymous(Addr start, SizeT bytes) {
  const ULong words[3] = {start, start + bytes, site_of_running()};
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

void rt_send_stack(ThreadId thread) {
  const Addr end = VG_(thread_get_stack_max)(thread) + 1;
  const ULong words[3] = {thread, end - VG_(thread_get_stack_size)(thread), end};
  rt_record(RT_STACK, words, 3);
}
