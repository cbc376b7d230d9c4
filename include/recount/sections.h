/* Reports the position of a program to `recount watch`: sections that begin and end, and marks. For C and
 * C++, nothing to link.
 *
 *     recount_section_begin("solve");
 *     ...
 *     recount_section_end("solve");
 *
 * Outside of recount watch each call costs a comparison. Inside it is one send(2) that never waits: when
 * recount is too slow, marks are dropped and counted; a program that ends by exit() then waits up to a
 * second to report the last ones. Any thread may call; nothing is allocated.
 *
 * Other languages write lines to the descriptor whose number is in the environment variable
 * RECOUNT_SECTIONS_FD: "begin NAME", "end NAME" or "mark NAME", each with one write(2). A shell: echo begin
 * solve >&$RECOUNT_SECTIONS_FD
 *
 * C99 or later, and C++. Strict ISO C (gcc -std=c99) has no clock_gettime(2): the messages then carry no
 * time, and recount takes the time at which they arrive. -D_POSIX_C_SOURCE=199309L or -std=gnu99 declares it.
 */
#ifndef RECOUNT_SECTIONS_H
#define RECOUNT_SECTIONS_H

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The descriptor; -1: nobody watches, or the variable is no descriptor. */
static inline int recount_sections_fd(void) {
  static int fd = -2; /* threads that initialise it at once find the same */
  if (fd == -2) {
    const char* text = getenv("RECOUNT_SECTIONS_FD");
    char* end = NULL;
    const long number = text ? strtol(text, &end, 10) : -1;
    fd = end != text && *end == 0 && number >= 0 && number <= INT_MAX ? (int)number : -1;
  }
  return fd;
}

/* Dropped marks that are not reported yet; inexact only when several threads drop at once. */
static unsigned long recount_sections_dropped;

/* Reports dropped marks, if any. */
static inline void recount_sections_report_dropped(void) {
  char text[64];
  int size;
  if (recount_sections_dropped == 0) return;
  size = snprintf(text, sizeof text, "dropped %lu\n", recount_sections_dropped);
  if (send(recount_sections_fd(), text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) == size)
    recount_sections_dropped = 0;
}

/* At exit: reports the marks dropped since the last one that was sent. */
static inline void recount_sections_flush(void) {
  struct pollfd writable;
  writable.fd = recount_sections_fd();
  writable.events = POLLOUT;
  if (recount_sections_dropped > 0 && poll(&writable, 1, 1000) == 1) recount_sections_report_dropped();
}

/* Sends one message, "EDGE [@NANOSECONDS ]NAME". Names are truncated after 200 bytes and at a line end. */
static inline void recount_section_send(const char* edge, const char* name) {
  static int at_exit = 0;
  char text[256];
  int size;
  const int before = errno;
  const int fd = recount_sections_fd();
  if (fd < 0) return;
  recount_sections_report_dropped();
#ifdef CLOCK_MONOTONIC
  {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    size = snprintf(text, sizeof text, "%s @%lld %.200s\n", edge,
                    (long long)now.tv_sec * 1000000000LL + (long long)now.tv_nsec, name);
  }
#else
  size = snprintf(text, sizeof text, "%s %.200s\n", edge, name);
#endif
  size = (int)(strchr(text, '\n') - text) + 1; /* a further line would be a message of its own */
  if (send(fd, text, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL) != size) {
    ++recount_sections_dropped;
    if (!at_exit) at_exit = atexit(recount_sections_flush) == 0;
  }
  errno = before;
}

/* A section lasts until the end of the same name; sections may nest. */
static inline void recount_section_begin(const char* name) {
  recount_section_send("begin", name);
}
static inline void recount_section_end(const char* name) {
  recount_section_send("end", name);
}
static inline void recount_section_mark(const char* name) {
  recount_section_send("mark", name);
}

#ifdef __cplusplus
}
#endif

#endif
