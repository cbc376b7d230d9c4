/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * recount-trace: a tool of Valgrind that hands the addresses of all accesses of a program to recount through
 * shared memory. It is linked with Valgrind's core, hence under the GNU General Public License, version 2 or
 * later, which /usr/share/common-licenses/GPL-2 holds on Debian; the rest of recount is not linked with it
 * and has its own licence.
 */
#include "pub_tool_aspacemgr.h"
#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vkiscnums.h"

#include "tool.h"

static const HChar* channel = NULL; /* PID:FD:INODE */
static Long sections = -1;          /* descriptor of the program's section messages */
static Bool code = False;           /* the bytes of instructions are wanted */
static Bool objects = False;        /* where data are is wanted */
static ThreadId running = VG_INVALID_THREADID;

static Bool option(const HChar* arg) {
  const HChar* leaf = NULL;
  if VG_STR_CLO (arg, "--channel", channel) return True;
  if VG_BINT_CLO (arg, "--sections", sections, 0, 1023) return True;
  if VG_BOOL_CLO (arg, "--objects", objects) return True;
  if VG_BOOL_CLO (arg, "--code", code) return True;
  if VG_BOOL_CLO (arg, "--clock", rt_clock) return True;
  if VG_STR_CLO (arg, "--cpuid", leaf) return rt_add_cpuid(leaf);
  return False;
}
static void usage(void) {
  VG_(printf)
  ("    --channel=PID:FD:INODE   memory shared with recount\n"
   "    --sections=FD      descriptor of section messages\n"
   "    --objects=yes      report where data are\n"
   "    --code=yes         report the bytes of instructions\n"
   "    --clock=yes        recount tells what time it is\n"
   "    --cpuid=LEAF:PART:MASK:EAX:EBX:ECX:EDX   answer of the processor\n");
}
static void no_usage(void) {}

static void name_thread(ThreadId thread) {
  running = thread;
  rt_send_heap(thread);
  rt_word(RT_WORD(RT_THREAD, thread | (ULong)VG_(gettid)() << 16));
}
/* What events count depends on who has created a thread or process, and on what was open then. */
static void creates(ThreadId thread) {
  const ULong words[4] = {RT_CREATED, thread, 0, 0};
  if (code) (void)rt_request(words, 4);
}
static void before_fork(ThreadId thread) {
  (void)thread;
  creates(0);
  rt_before_fork();
}
static void in_child(ThreadId thread) {
  rt_after_fork_in_child();
  name_thread(thread);
  rt_countdown_forked(thread);
  if (rt_clock) rt_watch();
}

static void start(void) {
  HChar* rest = NULL;
  const Long pid = channel ? VG_(strtoll10)(channel, &rest) : 0;
  const Long fd = rest && *rest == ':' ? VG_(strtoll10)(rest + 1, &rest) : 0;
  if (!rest || *rest != ':') {
    rt_report("only recount starts this tool (recount stat --witness model)");
    VG_(exit)(125);
  }
  rt_attach((Int)pid, (Int)fd, (ULong)VG_(strtoll10)(rest + 1, NULL));
  VG_(atfork)(before_fork, NULL, in_child);
  if (objects) rt_watch_heap();
  rt_report_code = code;
  rt_countdown_start();
  rt_clock_start();
}

static void thread_runs(ThreadId thread, ULong blocks) {
  (void)blocks;
  rt_run(True);
  rt_send_countdown(thread);
  if (thread != running) name_thread(thread);
}

/* A message is at most 256 bytes, see recount/sections.h. */
static void section(const HChar* text, SizeT bytes) {
  enum { MOST = 256 };
  ULong words[MOST / sizeof(ULong) + 1];
  if (bytes > MOST) return;
  words[bytes / sizeof(ULong)] = 0;
  VG_(memcpy)(words, text, bytes);
  ((HChar*)words)[bytes] = 0;
  rt_record(RT_SECTION, words, (UInt)(bytes / sizeof(ULong)) + 1);
}

static Bool request(ThreadId thread, UWord* args, UWord* result) {
  (void)thread;
  if ((args[0] & ~(UWord)0xffff) != RT_REQUEST_CODE(0)) return False;
  const ULong words[4] = {args[0] & 0xffff, args[1], args[2], args[3]};
  const Bool answered = rt_request(words, 4);
  if (words[0] == RT_WATCHED) rt_watch();
  *result = rt_countdown_request(words[0], words[1], answered);
  return True;
}

/* Callbacks can be declared before the options are known only. */
static void mapped(Addr start, SizeT bytes, Bool r, Bool w, Bool x, ULong debug_info) {
  (void)r, (void)w, (void)x, (void)debug_info;
  if (objects) rt_mapped(start, bytes);
}
static void unmapped(Addr start, SizeT bytes) {
  if (objects) rt_unmapped(start, bytes);
}
static void thread_is_created(ThreadId parent, ThreadId thread) {
  rt_countdown_begins(thread);
  if (parent == VG_INVALID_THREADID) return;
  creates(thread);
  rt_flush();
}
static void thread_begins(ThreadId thread) {
  if (objects) rt_send_stack(thread);
}

/* Linux would execute the file with other rights. */
static Bool is_privileged(UWord path) {
  enum { SET_IDS = 06000 };
  struct vg_stat status;
  return !sr_isError(VG_(stat)((const HChar*)path, &status)) && (status.mode & SET_IDS) != 0;
}
static Bool executes(UInt number) {
  return number == __NR_execve || number == __NR_execveat;
}

/* Those for which Valgrind takes long, as it translates anew or reads the file, and those that read clocks: what is
 * timed executes up to the reading. */
static Bool never_waits(UInt number) {
  switch (number) {
  case __NR_mmap:
  case __NR_munmap:
  case __NR_mprotect:
  case __NR_brk:
  case __NR_clone:
  case __NR_clock_gettime:
  case __NR_gettimeofday:
  case __NR_getrusage:
  case __NR_times: return True;
  default: return executes(number);
  }
}

static void before_call(ThreadId thread, UInt number, UWord* args, UInt count) {
  (void)count;
  rt_run(never_waits(number));
  if (executes(number)) /* the next program has a slot of its own */
    rt_before_exec();
  else if (rt_watched())
    rt_flush();
  if ((number == __NR_sendto || number == __NR_write) && sections >= 0 && args[0] == (UWord)sections &&
      VG_(am_is_valid_for_client)(args[1], args[2], VKI_PROT_READ))
    section((const HChar*)args[1], args[2]);
  rt_clock_before_call(thread, number, args);
}
static void after_call(ThreadId thread, UInt number, UWord* args, UInt count, SysRes result) {
  (void)count;
  const UWord large = (UWord)1 << 36;
  const UWord error = sr_isError(result) ? sr_Err(result) : 0;
  if (executes(number))
    rt_after_failed_exec(number == __NR_execve && error == VKI_EACCES && is_privileged(args[0]));
  if (number == __NR_mmap && error != 0 && args[1] >= large) rt_refused_mapping();
  rt_run(True);
  rt_clock_after_call(thread, number, args, result);
}

/* Linked in place of the core's reader of symbols and debug information, which is a third of the time of a short
   program: the tool needs only the names of allocators. Valgrind 3.24 has no such function: it reads a file when a
   name in it is needed. */
Bool __real_vgModuleLocal_read_elf_debug_info(void* file) __attribute__((weak));
Bool __wrap_vgModuleLocal_read_elf_debug_info(void* file);
Bool __wrap_vgModuleLocal_read_elf_debug_info(void* file) {
  return objects && __real_vgModuleLocal_read_elf_debug_info(file);
}

static void end(Int status) {
  (void)status;
  rt_detach();
}

static void declare(void) {
  VG_(details_name)("recount-trace");
  VG_(details_version)(NULL);
  VG_(details_description)("hands the addresses of all accesses to recount");
  VG_(details_copyright_author)("GNU GPL, version 2 or later");
  VG_(details_bug_reports_to)("the maintainers of recount");
  VG_(basic_tool_funcs)(start, rt_instrument, end);
  VG_(needs_command_line_options)(option, usage, no_usage);
  VG_(needs_syscall_wrapper)(before_call, after_call);
  VG_(needs_client_requests)(request);
  VG_(track_start_client_code)(thread_runs);
  VG_(track_new_mem_startup)(mapped);
  VG_(track_new_mem_mmap)(mapped);
  VG_(track_die_mem_munmap)(unmapped);
  VG_(track_pre_thread_ll_create)(thread_is_created);
  VG_(track_pre_thread_first_insn)(thread_begins);
}

VG_DETERMINE_INTERFACE_VERSION(declare)
