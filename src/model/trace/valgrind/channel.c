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

/* Functions of Valgrind's core (3.19): the interface for tools cannot map a file. */
extern SysRes VG_(do_syscall)(UWord number, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord);
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd, Off64T offset);
extern Int VG_(safe_fd)(Int fd);

struct rt_slot* rt_slot;

static struct rt_header* header;
static Int channel_fd = -1;   /* not accessible to the program */
static Bool inherited_open;   /* RT_INHERITED is the channel, for the next program */
static UInt own_slot;         /* index of the slot plus 1; 0: private memory */
static UInt parent, parent_head, parent_pid;
static UInt requested; /* requests RT_SYNC and RT_CLOCK */
static Bool kept;      /* the draft holds more than what the running thread has executed */

enum { FUTEX_WAIT_ = 0, FUTEX_WAKE_ = 1, WAIT_MS = 200 };

static void futex_wait(const uint32_t* word, UInt value) {
  struct vki_timespec limit = {0, WAIT_MS * 1000000};
  (void)VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAIT_, value, (RegWord)&limit, 0, 0, 0, 0);
}
static void futex_wake(const uint32_t* word) {
  (void)VG_(do_syscall)(__NR_futex, (RegWord)word, FUTEX_WAKE_, 1, 0, 0, 0, 0, 0);
}

/* struct flock of 64-bit Linux. */
struct lock {
  Short type, whence;
  Long start, length;
  Int pid;
};
enum { AWAIT_LOCK = 7, GET_LOCK_OF_FILE = 36, WRITE_LOCK = 1, NO_LOCK = 2, GET_FLAGS = 1 };

static SysRes file_control(Int fd, Int command, struct lock* lock) {
  return VG_(do_syscall)(__NR_fcntl, (RegWord)fd, (RegWord)command, (RegWord)lock, 0, 0, 0, 0, 0);
}
static Bool recount_runs(void) {
  struct lock lock = {WRITE_LOCK, VKI_SEEK_SET, RT_RECOUNT, 1, 0};
  return sr_isError(file_control(channel_fd, GET_LOCK_OF_FILE, &lock)) || lock.type != NO_LOCK;
}

static uint64_t* draft(void) { return (uint64_t*)((HChar*)rt_slot + RT_PAGE); }
static uint64_t* chunk(UInt number) { return draft() + (1 + number % RT_CHUNKS) * RT_CHUNK_WORDS; }

static void begin_chunk(void) {
  rt_slot->position = rt_slot->base = (uint64_t)draft();
  rt_slot->limit = rt_slot->position + RT_CHUNK_WORDS * sizeof(uint64_t);
  kept = False;
}

/* With non-temporal stores where possible. Copies pairs: an odd number of words is rounded up. */
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

static void continue_untraced(void) {
  own_slot = 0;
  if (header) __atomic_fetch_add(&header->untraced, 1, __ATOMIC_RELAXED);
  begin_chunk();
}

/* Claims a free slot. Its index plus 1; 0: none is free. */
static UInt claim(void) {
  for (UInt i = 0; header && i < RT_SLOTS; ++i) {
    const Off64T at = RT_PAGE + (Off64T)i * RT_SLOT_BYTES;
    if (__atomic_load_n(&header->states[i], __ATOMIC_RELAXED) != RT_FREE) continue;
    uint32_t expected = RT_FREE;
    if (!__atomic_compare_exchange_n(&header->states[i], &expected, RT_CLAIMED, False, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    /* At the address of the previous mapping, which translated code contains. */
    if (sr_isError(VG_(do_syscall)(__NR_mmap, (RegWord)rt_slot, RT_SLOT_BYTES, VKI_PROT_READ | VKI_PROT_WRITE,
                                   VKI_MAP_SHARED | VKI_MAP_FIXED, (RegWord)channel_fd, (RegWord)at, 0, 0))) {
      __atomic_store_n(&header->states[i], RT_FREE, __ATOMIC_RELEASE);
      return 0;
    }
    header->running[i] = 1; /* until it waits */
    return i + 1;
  }
  return 0;
}

static void claim_slot(void) {
  own_slot = claim();
  if (own_slot == 0) return continue_untraced();
  rt_slot->head = rt_slot->tail = rt_slot->waiting = rt_slot->answered = requested = 0;
  rt_slot->pid = (uint32_t)VG_(getpid)();
  rt_slot->parent = parent;
  rt_slot->parent_head = parent_head;
  rt_slot->parent_pid = parent_pid;
  rt_slot->executing = 0;
  struct lock lock = {WRITE_LOCK, VKI_SEEK_SET, RT_PROCESS + (Long)(own_slot - 1), 1, 0};
  (void)file_control(channel_fd, AWAIT_LOCK, &lock); /* the slot's previous process may not have exited yet */
  begin_chunk();
  __atomic_store_n(&header->states[own_slot - 1], RT_LIVE, __ATOMIC_RELEASE);
  uint32_t slots = __atomic_load_n(&header->slots, __ATOMIC_RELAXED);
  while (slots < own_slot && !__atomic_compare_exchange_n(&header->slots, &slots, own_slot, False,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
}

/* VG_(am_shadow_alloc) returns a pointer, since Valgrind 3.24 a SysRes. */
static void* allocated_at(void* p) {
  return p;
}
static void* allocated(SysRes result) {
  return sr_isError(result) ? NULL : (void*)sr_Res(result);
}
#define ALLOCATE(bytes) \
  _Generic(VG_(am_shadow_alloc)(bytes), SysRes: allocated, default: allocated_at)(VG_(am_shadow_alloc)(bytes))

/* Opens the channel. Returns its descriptor; -1: no access. */
static Int open_channel(Int pid, Int fd, ULong inode) {
  struct vg_stat status;
  if (VG_(fstat)(RT_INHERITED, &status) == 0 && status.ino == inode) return RT_INHERITED;
  HChar path[64];
  VG_(snprintf)(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
  const SysRes opened = VG_(open)(path, VKI_O_RDWR, 0);
  const Bool valid =
      !sr_isError(opened) && VG_(fstat)((Int)sr_Res(opened), &status) == 0 && status.ino == inode;
  return valid ? (Int)sr_Res(opened) : -1;
}

void rt_attach(Int pid, Int fd, ULong inode) {
  /* A private mapping, until claim() replaces it with a slot. */
  rt_slot = ALLOCATE(RT_SLOT_BYTES);
  tl_assert(rt_slot);
  const Int opened = open_channel(pid, fd, inode);
  if (opened < 0) {
    rt_report("recount cannot be reached: a process is not simulated");
    return continue_untraced();
  }
  channel_fd = VG_(safe_fd)(opened);
  const SysRes mapped = VG_(am_shared_mmap_file_float_valgrind)(RT_PAGE, VKI_PROT_READ | VKI_PROT_WRITE,
                                                               channel_fd, 0);
  if (sr_isError(mapped)) return continue_untraced();
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

static void ring_doorbell(void) {
  __atomic_fetch_add(&header->doorbell, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&header->listening, __ATOMIC_SEQ_CST)) futex_wake(&header->doorbell);
}

/* Waits for an empty chunk. False: recount has stopped reading. */
static Bool await_room(void) {
  while (True) {
    const uint32_t tail = __atomic_load_n(&rt_slot->tail, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&header->closed, __ATOMIC_RELAXED)) return False;
    if (rt_slot->head - tail < RT_CHUNKS) return True;
    __atomic_store_n(&rt_slot->waiting, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&rt_slot->tail, __ATOMIC_SEQ_CST) == tail) futex_wait(&rt_slot->tail, tail);
    __atomic_store_n(&rt_slot->waiting, 0, __ATOMIC_RELAXED);
    if (__atomic_load_n(&rt_slot->tail, __ATOMIC_ACQUIRE) == tail && !recount_runs()) return False;
  }
}

static void publish(void) {
  const UInt words = (UInt)((rt_slot->position - rt_slot->base) / sizeof(uint64_t));
  copy_out(chunk(rt_slot->head), draft(), words);
  rt_slot->lengths[rt_slot->head % RT_CHUNKS] = words;
  __atomic_store_n(&rt_slot->head, rt_slot->head + 1, __ATOMIC_RELEASE);
  ring_doorbell();
}

void rt_flush(void) {
  if (own_slot != 0 && rt_slot->position != rt_slot->base && (kept || !rt_runs_paused())) {
    if (await_room())
      publish();
    else
      own_slot = 0; /* recount has stopped reading */
  }
  begin_chunk();
}

void rt_word(ULong word) {
  if (rt_slot->position + sizeof word > rt_slot->limit) rt_flush();
  *(uint64_t*)rt_slot->position = word;
  rt_slot->position += sizeof word;
  kept = True;
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
  if ((words[0] != RT_SYNC && words[0] != RT_CLOCK) || own_slot == 0) return False;
  ++requested;
  rt_flush();
  while (own_slot != 0) {
    const uint32_t answered = __atomic_load_n(&rt_slot->answered, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&header->closed, __ATOMIC_RELAXED)) return False;
    if ((int32_t)(answered - requested) >= 0) return answered == requested;
    futex_wait(&rt_slot->answered, answered);
    if (__atomic_load_n(&rt_slot->answered, __ATOMIC_ACQUIRE) == answered && !recount_runs()) return False;
  }
  return False;
}

void rt_run(Bool program) {
  if (own_slot != 0) __atomic_store_n(&header->running[own_slot - 1], program, __ATOMIC_RELEASE);
}
static UInt live(Bool running) {
  UInt count = 0;
  const UInt slots = header ? __atomic_load_n(&header->slots, __ATOMIC_RELAXED) : 0;
  for (UInt i = 0; i < slots && i < RT_SLOTS; ++i)
    count += i + 1 != own_slot && __atomic_load_n(&header->states[i], __ATOMIC_ACQUIRE) == RT_LIVE &&
             (!running || __atomic_load_n(&header->running[i], __ATOMIC_ACQUIRE));
  return count;
}
Bool rt_others_exist(void) {
  return live(False) > 0;
}
Bool rt_others_run(void) {
  return live(True) > 0;
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
  if (own_slot == 0) return;
  __atomic_store_n(&rt_slot->executing, 1, __ATOMIC_RELEASE);
  rt_run(True); /* the next program, once Valgrind has started */
  inherited_open = sr_isError(file_control(RT_INHERITED, GET_FLAGS, NULL)) &&
             !sr_isError(VG_(do_syscall)(__NR_dup3, (RegWord)channel_fd, RT_INHERITED, 0, 0, 0, 0, 0, 0));
}

void rt_after_failed_exec(Bool refused) {
  if (own_slot == 0) return;
  if (inherited_open) VG_(close)(RT_INHERITED);
  inherited_open = False;
  __atomic_store_n(&rt_slot->executing, 0, __ATOMIC_RELEASE);
  if (refused) __atomic_fetch_add(&header->refused_programs, 1, __ATOMIC_RELAXED);
}

void rt_refused_mapping(void) {
  if (own_slot != 0) __atomic_fetch_add(&header->refused_mappings, 1, __ATOMIC_RELAXED);
}

void rt_detach(void) {
  if (own_slot == 0) return;
  rt_flush();
  if (own_slot != 0) __atomic_store_n(&header->states[own_slot - 1], RT_ENDED, __ATOMIC_RELEASE);
  own_slot = 0;
  ring_doorbell();
}

void rt_before_fork(void) {
  rt_flush();
  parent = own_slot;
  parent_head = rt_slot->head;
  parent_pid = (UInt)VG_(getpid)();
}

void rt_after_fork_in_child(void) {
  /* Unmaps the slot of the parent. */
  const SysRes private_slot =
      VG_(do_syscall)(__NR_mmap, (RegWord)rt_slot, RT_SLOT_BYTES, VKI_PROT_READ | VKI_PROT_WRITE,
                      VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS | VKI_MAP_FIXED, (RegWord)-1, 0, 0, 0);
  if (sr_isError(private_slot)) { /* RLIMIT_AS: the child would write into the slot of its parent */
    if (header) __atomic_fetch_add(&header->untraced, 1, __ATOMIC_RELAXED);
    rt_report("no memory for a forked process, which ends here");
    VG_(exit)(125);
  }
  if (parent != 0)
    claim_slot();
  else
    begin_chunk();
}
