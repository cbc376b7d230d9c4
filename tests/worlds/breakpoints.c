/* Stands in front of libc's syscall(), through which recount, PAPI and the tests open events: breakpoints fail with
 * the error number in RECOUNT_WORLD_BREAKPOINTS, or, for `dead`, open like any other and never count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

typedef long (*Syscall)(long, ...);

__attribute__((visibility("default"))) long syscall(long number, ...) {
  static Syscall next;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "syscall");
  va_list list;
  long a[6];
  va_start(list, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  const char* const world = getenv("RECOUNT_WORLD_BREAKPOINTS");
  const struct perf_event_attr* const given = (const struct perf_event_attr*)a[0];
  if (number != SYS_perf_event_open || world == NULL || given == NULL || given->type != PERF_TYPE_BREAKPOINT)
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (strcmp(world, "dead") != 0) {
    errno = atoi(world);
    return -1;
  }
  /* Linux judges alignment, length and free slots as ever. Nothing is mapped in the lowest page: vm.mmap_min_addr. */
  union {
    struct perf_event_attr attr;
    char bytes[4096];
  } copy;
  memcpy(&copy, given, given->size == 0 ? PERF_ATTR_SIZE_VER0 : given->size < sizeof copy ? given->size : sizeof copy);
  if (copy.attr.bp_addr >> 47 == 0) copy.attr.bp_addr &= 0xfff;
  return next(number, &copy, a[1], a[2], a[3], a[4], a[5]);
}
