/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

/* Of valgrind's core (3.19): no interface for tools maps a file. */
extern SysRes VG_(do_syscall)(UWord number, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord);
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);
extern Int VG_(safe_fd)(Int fd);

struct rt_slot* rt_slot;

static struct rt_header* header;
static Int channel_fd = -1;   /* out of reach of the program */
static Bool inherits;         /* RT_INHERITED is the channel, for the next program */
static UInt own;              /* number of the slot plus 1; 0: private memory */
static UInt parent, parent_head, parent_pid;
static UInt requested;            /* requests RT_SYNC */

enum { FUTEX_WAIT_ = 0, FUTEX_WAKE_ = 1, PATIENCE_MS = 200 };

static void futex_wait(const uint32_t* word, UInt value) {
  struct vki_timespec limit = {0, PATIENCE_MS * 1000000};
  (void)VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAIT_, value, (RegWord)&limit, 0, 0, 0, 0);
}
static void futex_wake(const uint32_t* word) {
  (void)VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAKE_, 1, 0, 0, 0, 0, 0);
}

/* struct flock of Linux with 64 bits. */
struct lock {
  Short type, whence;
  Long start, length;
  Int pid;
};
enum { AWAIT_LOCK = 7, GET_LOCK_OF_FILE = 36, WRITE_LOCK = 1, NO_LOCK = 2, GET_FLAGS = 1 };

static SysRes control(Int fd, Int command, struct lock* lock) {
  return VG_(do_syscall)(__NR_fcntl, (RegWord)fd, (RegWord)command, (RegWord)lock, 0, 0, 0, 0, 0);
}
static Bool recount_lives(void) {
  struct lock lock = {WRITE_LOCK, VKI_SEEK_SET, RT_RECOUNT, 1, 0};
  return sr_isError(control(channel_fd, GET_LOCK_OF_FILE, &lock)) || lock.type != NO_LOCK;
}

static uint64_t* draft(void) { return (uint64_t*)((HChar*)rt_slot + RT_PAGE); }
static uint64_t* chunk(UInt number) { return draft() + (1 + number % RT_CHUNKS) * RT_CHUNK_WORDS; }

static void begin_chunk(void) {
  rt_slot->position = rt_slot->base = (uint64_t)draft();
  rt_slot->limit = rt_slot->position + RT_CHUNK_WORDS * sizeof(uint64_t);
}

/* Past the caches, where the processor can. `words` are followed by room for another one. */
static void copy_out(uint64_t* to, const uint64_t* from, UInt words) {
#if defined(VGA_amd64)
  typedef long long Pair __attribute__((vector_size(16)));
  for (UInt i = 0; i < words; i += 2)
    __builtin_ia32_movntdq((Pair*)(to + i), *(const Pair*)(from + i));
  __builtin_ia32_sfence();
#else
  VG_(memcpy)(to, from, words * sizeof *from);
#endif
}

void rt_report(const HChar* what) {
  HChar text[128];
  VG_(write)(2, text, (Int)VG_(snprintf)(text, sizeof text, "recount-trace: %s\n", what));
}

static void untraced(void) {
  own = 0;
  if (header) __atomic_fetch_add(&header->untraced, 1, __ATOMIC_RELAXED);
  begin_chunk();
}

/* The next slot that is free, plus 1; 0: none. */
static UInt claim(void) {
  for (UInt i = 0; header && i < RT_SLOTS; ++i) {
    const Off64T at = RT_PAGE + (Off64T)i * RT_SLOT_BYTES;
    if (__atomic_load_n(&header->states[i], __ATOMIC_RELAXED) != RT_FREE) continue;
    uint32_t expected = RT_FREE;
    if (!__atomic_compare_exchange_n(&header->states[i], &expected, RT_CLAIMED, False, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    /* In place of what was there, whose address translations contain. */
    if (sr_isError(VG_(do_syscall)(__NR_mmap, (RegWord)rt_slot, RT_SLOT_BYTES, VKI_PROT_READ | VKI_PROT_WRITE,
                                   VKI_MAP_SHARED | VKI_MAP_FIXED, (RegWord)channel_fd, (RegWord)at, 0, 0))) {
      __atomic_store_n(&header->states[i], RT_FREE, __ATOMIC_RELEASE);
      return 0;
    }
    return i + 1;
  }
  return 0;
}

static void claim_slot(void) {
  own = claim();
  if (own == 0) return untraced();
  rt_slot->head = rt_slot->tail = rt_slot->waiting = rt_slot->answered = requested = 0;
  rt_slot->pid = (uint32_t)VG_(getpid)();
  rt_slot->parent = parent;
  rt_slot->parent_head = parent_head;
  rt_slot->parent_pid = parent_pid;
  rt_slot->executing = 0;
  struct lock lock = {WRITE_LOCK, VKI_SEEK_SET, RT_PROCESS + (Long)(own - 1), 1, 0};
  (void)control(channel_fd, AWAIT_LOCK, &lock); /* the slot's last process may be about to exit */
  begin_chunk();
  __atomic_store_n(&header->states[own - 1], RT_LIVE, __ATOMIC_RELEASE);
  uint32_t slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED);
  while (slots < own && !__atomic_compare_exchange_n(&header->slots, &slots, own, False, __ATOMIC_ACQ_REL,
                                                     __ATOMIC_RELAXED)) {}
}

/* Valgrind's allocation of whole pages returns a pointer; since 3.24, a result. */
static void* allocated_at(void* p) {
  return p;
}
static void* allocated(SysRes result) {
  return sr_isError(result) ? NULL : (void*)sr_Res(result);
}
#define ALLOCATE(bytes) \
  _Generic(VG_(am_shadow_alloc)(bytes), SysRes: allocated, default: allocated_at)(VG_(am_shadow_alloc)(bytes))

/* A descriptor of the channel; -1: it cannot be reached. */
static Int open_channel(Int pid, Int fd, ULong inode) {
  struct vg_stat status;
  if (VG_(fstat)(RT_INHERITED, &status) == 0 && status.ino == inode) return RT_INHERITED;
  HChar path[64];
  VG_(snprintf)(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const SysRes opened = VG_(open)(path, VKI_O_RDWR, 0);
  return sr_isError(opened) || VG_(fstat)((Int)sr_Res(opened), &status) != 0 || status.ino != inode ? -1 : (Int)sr_Res(opened);
}

void rt_attach(Int pid, Int fd, ULong inode) {
  /* A private mapping first, which a slot replaces. */
  rt_slot = ALLOCATE(RT_SLOT_BYTES);
  tl_assert(rt_slot);
  const Int opened = open_channel(pid, fd, inode);
  if (opened < 0) {
    rt_report("recount cannot be reached: a process is not simulated");
    return untraced();
  }
  channel_fd = VG_(safe_fd)(opened);
  const SysRes mapped = VG_(am_shared_mmap_file_float_valgrind)(RT_PAGE, VKI_PROT_READ | VKI_PROT_WRITE,
                                                               channel_fd, 0);
  if (sr_isError(mapped)) return untraced();
  header = (struct rt_header*)sr_Res(mapped);
  if (header->version != RT_VERSION) {
    rt_report("this is not the version that recount was built with");
    VG_(exit)(125);
  }
  claim_slot();
}

UInt rt_new_block(void) {
  static UInt private_block;
  return header ? __atomic_fetch_add(&header->next_block, 1, __ATOMIC_RELAXED) : private_block++;
}

static void ring(void) {
  __atomic_fetch_add(&header->doorbell, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&header->listening, __ATOMIC_SEQ_CST)) futex_wake(&header->doorbell);
}

/* Waits until a chunk is empty. False: recount takes no more. */
static Bool await_room(void) {
  while (True) {
    const uint32_t tail = __atomic_load_n(&rt_slot->tail, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&header->closed, __ATOMIC_RELAXED)) return False;
    if (rt_slot->head - tail < RT_CHUNKS) return True;
    __atomic_store_n(&rt_slot->waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&rt_slot->tail, __ATOMIC_SEQ_CST) == tail) futex_wait(&rt_slot->tail, tail);
    __atomic_store_n(&rt_slot->waiting, 0, __ATOMIC_RELAXED);
    if (__atomic_load_n(&rt_slot->tail, __ATOMIC_ACQUIRE) == tail && !recount_lives()) return False;
  }
}

static void publish(void) {
  const UInt words = (UInt)((rt_slot->position - rt_slot->base) / sizeof(uint64_t));
  copy_out(chunk(rt_slot->head), draft(), words);
  rt_slot->lengths[rt_slot->head % RT_CHUNKS] = words;
  __atomic_store_n(&rt_slot->head, rt_slot->head + 1, __ATOMIC_RELEASE);
  ring();
}

void rt_flush(void) {
  if (own != 0 && rt_slot->position != rt_slot->base) {
    if (await_room())
      publish();
    else
      own = 0; /* from here on, nobody reads */
  }
  begin_chunk();
}

void rt_word(ULong word) {
  if (rt_slot->position + sizeof word > rt_slot->limit) rt_flush();
  *(uint64_t*)rt_slot->position = word;
  rt_slot->position += sizeof word;
}

void rt_record(UInt kind, const ULong* words, UInt count) {
  tl_assert(count + 1 < RT_CHUNK_WORDS);
  if (rt_slot->position + (count + 1) * sizeof *words > rt_slot->limit) rt_flush();
  rt_word(RT_WORD(kind, count));
  VG_(memcpy)((void*)rt_slot->position, words, count * sizeof *words);
  rt_slot->position += count * sizeof *words;
}

Bool rt_request(const ULong* words, UInt count) {
  rt_record(RT_REQUEST, words, count);
  if (words[0] != RT_SYNC || own == 0) return False;
  ++requested;
  rt_flush();
  while (own != 0) {
    const uint32_t answered = __atomic_load_n(&rt_slot->answered, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&header->closed, __ATOMIC_RELAXED)) return False;
    if ((int32_t)(answered - requested) >= 0) return answered == requested;
    futex_wait(&rt_slot->answered, answered);
    if (__atomic_load_n(&rt_slot->answered, __ATOMIC_ACQUIRE) == answered && !recount_lives()) return False;
  }
  return False;
}

UInt rt_watched(void) { return header ? __atomic_load_n(&header->watched, __ATOMIC_RELAXED) : 0; }
void rt_watch(void) {
  if (header) __atomic_store_n(&header->watched, 1, __ATOMIC_RELAXED);
}

UInt rt_sampled(void) { return header ? __atomic_load_n(&header->sampled, __ATOMIC_RELAXED) : 0; }
UInt rt_changes(void) { return header ? __atomic_load_n(&header->changes, __ATOMIC_RELAXED) : 0; }
void rt_change_sampled(UInt countdowns) {
  if (!header) return;
  __atomic_fetch_or(&header->sampled, countdowns, __ATOMIC_RELAXED);
  __atomic_fetch_add(&header->changes, 1, __ATOMIC_RELEASE);
}

void rt_before_exec(void) {
  rt_flush();
  if (own == 0) return;
  __atomic_store_n(&rt_slot->executing, 1, __ATOMIC_RELEASE);
  inherits = sr_isError(control(RT_INHERITED, GET_FLAGS, NULL)) &&
             !sr_isError(VG_(do_syscall)(__NR_dup3, (RegWord)channel_fd, RT_INHERITED, 0, 0, 0, 0, 0, 0));
}

void rt_after_failed_exec(Bool refused) {
  if (own == 0) return;
  if (inherits) VG_(close)(RT_INHERITED);
  inherits = False;
  __atomic_store_n(&rt_slot->executing, 0, __ATOMIC_RELEASE);
  if (refused) __atomic_fetch_add(&header->refused_programs, 1, __ATOMIC_RELAXED);
}

void rt_refused_mapping(void) {
  if (own != 0) __atomic_fetch_add(&header->refused_mappings, 1, __ATOMIC_RELAXED);
}

void rt_detach(void) {
  if (own == 0) return;
  rt_flush();
  if (own != 0) __atomic_store_n(&header->states[own - 1], RT_ENDED, __ATOMIC_RELEASE);
  own = 0;
  ring();
}

void rt_before_fork(void) {
  rt_flush();
  parent = own;
  parent_head = rt_slot->head;
  parent_pid = (UInt)VG_(getpid)();
}

void rt_after_fork_in_child(void) {
  /* First away from the parent's slot. */
  const SysRes private_slot = VG_(do_syscall)(__NR_mmap, (RegWord)rt_slot, RT_SLOT_BYTES, VKI_PROT_READ | VKI_PROT_WRITE,
                                       VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | VKI_MAP_FIXED, (RegWord)-1, 0, 0, 0);
  if (sr_isError(private_slot)) { /* a limit of memory: it would write into its parent's */
    if (header) __atomic_fetch_add(&header->untraced, 1, __ATOMIC_RELAXED);
    rt_report("no memory for a forked process, which ends here");
    VG_(exit)(125);
  }
  if (parent != 0)
    claim_slot();
  else
    begin_chunk();
}
