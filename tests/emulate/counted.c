/* Counts events of its own by perf_event_open(2) around loops: counted EVENT,... LOOPS [HOW,...], EVENT as
 * config of PMU type 4. HOW: by which threads, children and programs the loops are executed, see ways. Prints
 * the counts, a line for each HOW. EVENT "-": counts nothing. "deep": neither, and calls itself so often. "cpuid": prints EAX ... EDX of leaf
 * LOOPS, part HOW. */
#define _GNU_SOURCE
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "../../src/model/trace/protocol.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static double memory[64];

/* Of each turn: 2 loads, 1 store, 1 multiplication, 1 addition, 1 conditional branch, 6 instructions in all. */
__attribute__((noinline)) static void turns(long n) {
  if (n <= 0) return;
#if defined(__x86_64__)
  __asm__ volatile("1: movsd (%1), %%xmm0\n mulsd 8(%1), %%xmm0\n addsd %%xmm0, %%xmm0\n movsd %%xmm0, 16(%1)\n dec %0\n jnz 1b\n"
                   : "+r"(n) : "r"(memory) : "xmm0", "memory", "cc");
#else
  (void)n;
#endif
}

static void* in_thread(void* n) {
  turns(*(long*)n);
  return NULL;
}

static const char* self;
static char loops[32];

static void execute(void) {
  execl(self, self, "-", loops, (char*)NULL);
  _exit(127);
}
static void stop(void) { _exit(0); }
static void killed(void) {
  kill(getpid(), SIGKILL);
  pause();
}

/* A child that executes the loops, then ends. */
static void in_child(long n, void (*end)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    turns(n);
    end();
  }
  waitpid(child, NULL, 0);
}
static void by_fork(long n) { in_child(n, stop); }
static void by_crash(long n) { in_child(n, abort); }
static void by_kill(long n) { in_child(n, killed); }
static void by_exec(long n) {
  (void)n;
  in_child(0, execute);
}
static void by_vfork(long n) {
  (void)n;
  const pid_t child = vfork();
  if (child == 0) execute();
  waitpid(child, NULL, 0);
}
static void by_spawn(long n) {
  (void)n;
  char* const arguments[] = {(char*)self, (char*)"-", loops, NULL};
  pid_t child = 0;
  if (posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
}

/* A grandchild in a session of its own, whose end the pipe tells. */
static void by_daemon(long n) {
  int ends[2];
  char byte = 0;
  if (pipe(ends) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) turns(n);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  close(ends[1]);
  while (read(ends[0], &byte, 1) > 0) {}
}

static void by_thread(long n) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, &n);
  pthread_join(thread, NULL);
}

/* While all hold an event of their own, which they open, read and close. */
static void* with_event(void* n) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = 4;
  attr.config = 0xc0;
  attr.exclude_kernel = 1;
  uint64_t value = 0;
  const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  turns(*(long*)n);
  if (fd < 0 || read(fd, &value, sizeof value) != sizeof value || value < 6 * (uint64_t)*(long*)n) abort();
  close(fd);
  return NULL;
}
/* The same with samples and mappings: what one thread changes of its event makes the others ask for their next sample at once, wherever
 * they are. */
static void* with_samples(void* n) {
  enum { ROUNDS = 25 };
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = 4;
  attr.config = 0xc0;
  attr.exclude_kernel = attr.disabled = 1;
  attr.sample_period = 101;
  const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (fd < 0) abort();
  for (int i = 0; i < ROUNDS; ++i) {
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    turns(*(long*)n / ROUNDS);
    void* const ring = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    if (ring == MAP_FAILED) abort();
    munmap(ring, 8192);
  }
  close(fd);
  return NULL;
}
static void with_threads(void* (*work)(void*), long many, long n) {
  pthread_t threads[100];
  n /= many;
  for (long i = 0; i < many; ++i)
    pthread_create(&threads[i], NULL, work, &n);
  for (long i = 0; i < many; ++i)
    pthread_join(threads[i], NULL);
}
/* What the tool is told to leave out, which is more than it sends at a time; alone, and while another thread is counted. */
static void request(uint64_t kind) {
  const uint64_t words[6] = {RT_REQUEST_CODE(kind), 0, 0, 0, 0, 0};
#if defined(__x86_64__)
  uint64_t answer = 0;
  __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                   : "+d"(answer) : "a"(words) : "cc", "memory");
#endif
}
static void with_pause(long n) {
  request(RT_PAUSE);
  turns(3 * n);
  request(RT_RESUME);
  turns(n);
}
static volatile int ended;
static void* in_paused_thread(void* n) {
  request(RT_PAUSE);
  while (!ended)
    turns(*(long*)n);
  request(RT_RESUME);
  return NULL;
}
static void by_turns_with_paused(long n) {
  pthread_t thread;
  pthread_create(&thread, NULL, in_paused_thread, &n);
  for (int i = 0; i < 10; ++i) {
    turns(n / 10);
    usleep(1000);
  }
  ended = 1;
  pthread_join(thread, NULL);
}
static void by_threads(long n) { with_threads(in_thread, 100, n); }
static void by_counting_threads(long n) { with_threads(with_event, 100, n); }
static void by_sampling_threads(long n) { with_threads(with_samples, 10, n); }

static const struct {
  const char* name;
  void (*work)(long);
} ways[] = {{"fork", by_fork},     {"crash", by_crash},   {"kill", by_kill},     {"exec", by_exec},
            {"vfork", by_vfork},   {"spawn", by_spawn},   {"daemon", by_daemon}, {"thread", by_thread},
            {"threads", by_threads}, {"counting-threads", by_counting_threads},
            {"sampling-threads", by_sampling_threads},
            {"pause", with_pause}, {"paused-thread", by_turns_with_paused}};

static void work(const char* how, long n) {
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (strcmp(how, ways[i].name) != 0) continue;
    ways[i].work(n);
    return;
  }
  turns(n);
}

/* A child that makes no call while it counts its turns, of 3 instructions each, and the event that counts it
 * from outside. */
static volatile struct { uint64_t turns, stop; } * child_counts;
static int starts[2];

static void count_turns(void) {
#if defined(__x86_64__)
  __asm__ volatile("1: incq (%0)\n cmpq $0, 8(%0)\n je 1b\n" : : "r"(child_counts) : "memory", "cc");
#endif
}
static void endless(void) {
  char byte;
  count_turns();
  while (read(starts[0], &byte, 1) > 0)
    count_turns(); /* once, as `stop` is set */
  _exit(0);
}
static void await(uint64_t least) {
  while (child_counts->turns < least)
    usleep(1000);
}
static uint64_t value_of(int fd) {
  uint64_t value = 0;
  return read(fd, &value, sizeof value) == sizeof value ? value : 0;
}

/* Prints what the event has counted of the running child, between bounds; then of one that sleeps, wakes for
 * a turn and sleeps again. What the tool has not yet reported of a running program is less than 4096
 * addresses. */
static int watch_child(struct perf_event_attr* attr, uint64_t turns) {
  enum { LEFT = 3 * 4096, PATIENCE = 2000 };
  child_counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (child_counts == MAP_FAILED || pipe(starts) != 0) return 1;
  const int own = attr->inherit ? (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0) : -1;
  const pid_t child = fork();
  if (child == 0) endless();
  const int fd = own >= 0 ? own : (int)syscall(SYS_perf_event_open, attr, child, -1, -1, 0);
  await(1);
  const uint64_t before = child_counts->turns;
  ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  const uint64_t first = child_counts->turns;
  await(first + turns);
  const uint64_t last = child_counts->turns, value = value_of(fd), after = child_counts->turns;
  printf("%lld %llu %llu ", 3 * (long long)(last - first) - LEFT, (unsigned long long)value,
         (unsigned long long)(3 * (after - before) + LEFT));
  child_counts->stop = 1;
  attr->disabled = attr->inherit = 0;
  const int second = (int)syscall(SYS_perf_event_open, attr, child, -1, -1, 0);
  uint64_t asleep = 0, few = 0;
  while ((few = value_of(second)) != asleep) {
    asleep = few;
    usleep(10000);
  }
  if (write(starts[1], "", 1) != 1) return 1;
  for (int i = 0; i < PATIENCE && few == asleep; ++i, usleep(5000))
    few = value_of(second);
  printf("%llu\n", (unsigned long long)(few - asleep));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  return 0;
}

/* A child executes the loops before the program that executes them again: only the latter is counted. */
static int count_from_exec(struct perf_event_attr* attr, long n) {
  char byte;
  if (pipe(starts) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    if (read(starts[0], &byte, 1) == 1) turns(n);
    execute();
  }
  attr->enable_on_exec = 1;
  const int fd = (int)syscall(SYS_perf_event_open, attr, child, -1, -1, 0);
  if (write(starts[1], "", 1) != 1) return 1;
  waitpid(child, NULL, 0);
  printf("%llu\n", (unsigned long long)value_of(fd));
  return 0;
}

/* Whether counters can be read in user space. */
static int look_at_page(struct perf_event_attr* attr) {
  const int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
  const struct perf_event_mmap_page* const page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return 1;
  printf("%d %u\n", (int)page->cap_user_rdpmc, page->index);
  return 0;
}

/* Prints a line for each way: what each event has counted meanwhile. */
static int count_ways(struct perf_event_attr* attr, char* events, char* hows, long n) {
  enum { MOST = 8 };
  int fds[MOST], many = 0;
  uint64_t before[MOST] = {0}, value = 0;
  for (char* event = strtok(events, ","); event && many < MOST; event = strtok(NULL, ",")) {
    attr->config = strtoull(event, NULL, 0);
    fds[many] = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
    if (fds[many++] >= 0) continue;
    perror("perf_event_open");
    return 1;
  }
  char* how = hows ? strtok(hows, ",") : NULL;
  do {
    for (int i = 0; i < many; ++i)
      ioctl(fds[i], PERF_EVENT_IOC_ENABLE, 0);
    work(how ? how : "", n);
    for (int i = 0; i < many; ++i)
      ioctl(fds[i], PERF_EVENT_IOC_DISABLE, 0);
    for (int i = 0; i < many; before[i++] = value) {
      if (read(fds[i], &value, sizeof value) != sizeof value) return 1;
      printf("%llu%c", (unsigned long long)(value - before[i]), i + 1 < many ? ' ' : '\n');
    }
  } while (hows && (how = strtok(NULL, ",")));
  return 0;
}

/* Each level is further down the stack than anything before. */
static long descend(long levels, const volatile char* above) { // NOLINT(misc-no-recursion)
  volatile char frame[256];
  frame[0] = above[0];
  return levels == 0 ? 0 : frame[0] + descend(levels - 1, frame);
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  self = arguments[0];
  snprintf(loops, sizeof loops, "%s", arguments[2]);
  const char* const how = count > 3 ? arguments[3] : "";
#if defined(__x86_64__)
  if (!strcmp(arguments[1], "cpuid")) {
    unsigned a, b, c, d;
    __cpuid_count(strtoul(loops, NULL, 16), strtoul(how, NULL, 16), a, b, c, d);
    return printf("%u %u %u %u\n", a, b, c, d) < 0;
  }
#endif
  if (!strcmp(arguments[1], "deep")) return descend(atol(loops), "\1") != atol(loops);
  if (!strcmp(arguments[1], "-")) {
    char* one = count > 3 ? strtok(arguments[3], ",") : arguments[2];
    do
      work(one, atol(arguments[2]));
    while (count > 3 && (one = strtok(NULL, ",")));
    return 0;
  }
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = 4;
  attr.config = strtoull(arguments[1], NULL, 0);
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  if (!strcmp(how, "attached")) return watch_child(&attr, (uint64_t)atol(arguments[2]));
  if (!strcmp(how, "from-exec")) return count_from_exec(&attr, atol(arguments[2]));
  attr.inherit = count > 3 && strcmp(how, "page") != 0;
  if (!strcmp(how, "inherited")) return watch_child(&attr, (uint64_t)atol(arguments[2]));
  if (!strcmp(how, "page")) return look_at_page(&attr);
  return count_ways(&attr, arguments[1], count > 3 ? arguments[3] : NULL, atol(arguments[2]));
}
