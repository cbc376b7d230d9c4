/* What clocks of the emulated machine say, in nanoseconds, a line for each of WHAT ...: "work", of N turns,
 * each of which waits for the multiplication before; "waits"; "child", which executes the turns; "answered",
 * by a child; "laps", of a child; "threads", which look whether a clock decreases; "chase"; "now". timed N
 * WHAT ... */
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef unsigned long long Time;

__attribute__((noinline)) static void turns(long n) {
#if defined(__x86_64__)
  unsigned long x = 3;
  __asm__ volatile("1: imul %1, %1\n dec %0\n jnz 1b\n" : "+r"(n), "+r"(x) : : "cc");
#else
  (void)n;
#endif
}

static Time now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (Time)t.tv_sec * 1000000000 + (Time)t.tv_nsec;
}
static Time of_day(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return ((Time)t.tv_sec * 1000000 + (Time)t.tv_usec) * 1000;
}
static Time used(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return ((Time)usage.ru_utime.tv_sec * 1000000 + (Time)usage.ru_utime.tv_usec) * 1000;
}
static Time in_cycles(void) {
#if defined(__x86_64__)
  unsigned processor;
  const Time before = __rdtsc();
  const Time after = __rdtscp(&processor); /* in the same block of code */
  return after > before ? after : 0;
#else
  return 0;
#endif
}

static int event(unsigned type, unsigned long long config) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = type;
  attr.config = config;
  attr.disabled = attr.exclude_kernel = 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Cycles, those of rdtsc; clocks: monotonic, real, process, thread, gettimeofday, getrusage; enabled,
 * running; task-clock, enabled, running, where Linux allows it. */
static void work(long n) {
  static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID,
                                     CLOCK_THREAD_CPUTIME_ID};
  enum { CLOCKS = sizeof clocks / sizeof *clocks };
  const int cycles = event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
            task = event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  Time counted[3] = {0, 0, 0}, of_task[3] = {0, 0, 0}, began[CLOCKS], ended[CLOCKS];
  ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
  ioctl(task, PERF_EVENT_IOC_ENABLE, 0);
  for (int i = 0; i < CLOCKS; ++i)
    began[i] = now(clocks[i]);
  const Time day = of_day(), usage = used(RUSAGE_SELF), tsc = in_cycles();
  turns(n);
  const Time tsc_end = in_cycles(), usage_end = used(RUSAGE_SELF), day_end = of_day();
  for (int i = 0; i < CLOCKS; ++i)
    ended[i] = now(clocks[i]);
  ioctl(cycles, PERF_EVENT_IOC_DISABLE, 0);
  ioctl(task, PERF_EVENT_IOC_DISABLE, 0);
  if (read(cycles, counted, sizeof counted) != sizeof counted) counted[0] = 0;
  if (read(task, of_task, sizeof of_task) != sizeof of_task) of_task[0] = 0;
  printf("%llu %llu", counted[0], tsc_end - tsc);
  for (int i = 0; i < CLOCKS; ++i)
    printf(" %llu", ended[i] - began[i]);
  printf(" %llu %llu %llu %llu", day_end - day, usage_end - usage, counted[1], counted[2]);
  if (task >= 0) printf(" %llu %llu %llu", of_task[0], of_task[1], of_task[2]);
  printf("\n");
}

/* Of 2, 3, 5 and 7 ms, the last until a time. */
static void waits(void) {
  Time at[5] = {now(CLOCK_MONOTONIC)};
  usleep(2000);
  at[1] = now(CLOCK_MONOTONIC);
  poll(NULL, 0, 3);
  at[2] = now(CLOCK_MONOTONIC);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t never = PTHREAD_COND_INITIALIZER;
  const Time until = now(CLOCK_REALTIME) + 5000000;
  const struct timespec real = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&never, &mutex, &real);
  pthread_mutex_unlock(&mutex);
  at[3] = now(CLOCK_MONOTONIC);
  const Time end = at[3] + 7000000;
  const struct timespec then = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
  at[4] = now(CLOCK_MONOTONIC);
  printf("%llu %llu %llu %llu\n", at[1] - at[0], at[2] - at[1], at[3] - at[2], at[4] - at[3]);
}

/* The wait for it; its CPU time by wait4, getrusage and times, in its own words; the parent's. */
static void child(long n) {
  Time told = 0;
  int ends[2], status;
  if (pipe(ends) != 0) return;
  struct tms times_used;
  struct rusage usage;
  const Time began = now(CLOCK_MONOTONIC), own = now(CLOCK_PROCESS_CPUTIME_ID);
  const pid_t one = fork();
  if (one == 0) {
    turns(n);
    const Time used_by_it = now(CLOCK_PROCESS_CPUTIME_ID);
    _exit(write(ends[1], &used_by_it, sizeof used_by_it) != sizeof used_by_it);
  }
  wait4(one, &status, 0, &usage);
  const Time ended = now(CLOCK_MONOTONIC), own_end = now(CLOCK_PROCESS_CPUTIME_ID);
  if (read(ends[0], &told, sizeof told) != sizeof told) return;
  times(&times_used);
  printf("%llu %llu %llu %llu %llu %llu\n", ended - began,
         ((Time)usage.ru_utime.tv_sec * 1000000 + (Time)usage.ru_utime.tv_usec) * 1000, used(RUSAGE_CHILDREN),
         (Time)times_used.tms_cutime * 10000000, told, own_end - own);
}

/* What poll(2) answers that waits up to 10 ms for a child, which executes for less, though longer on the
 * host; for how long. */
static void answered(long n) {
  enum { TIMES = 8, LIMIT = 10 };
  int ends[2], status;
  char byte = 0;
  if (pipe(ends) != 0) return;
  const pid_t one = fork();
  if (one == 0) {
    if (write(ends[1], &byte, 1) == 1) turns(TIMES * n);
    _exit(write(ends[1], &byte, 1) != 1);
  }
  struct pollfd one_end = {ends[0], POLLIN, 0};
  if (read(ends[0], &byte, 1) != 1) return;
  const Time began = now(CLOCK_MONOTONIC);
  const int answer = poll(&one_end, 1, LIMIT);
  printf("%d %llu\n", answer, now(CLOCK_MONOTONIC) - began);
  waitpid(one, &status, 0);
}

/* The longest of the laps of a child, while the parent polls. */
static void laps(long n) {
  enum { LAPS = 200 };
  fflush(stdout);
  const pid_t one = fork();
  if (one == 0) {
    Time longest = 0;
    for (int i = 0; i < LAPS; ++i) {
      const Time began = now(CLOCK_MONOTONIC);
      turns(n / 20);
      const Time lap = now(CLOCK_MONOTONIC) - began;
      if (lap > longest) longest = lap;
    }
    printf("%llu\n", longest);
    fflush(stdout);
    _exit(0);
  }
  while (waitpid(one, NULL, WNOHANG) == 0)
    poll(NULL, 0, 1);
}

static Time last, decreased;
static pthread_mutex_t one_reads = PTHREAD_MUTEX_INITIALIZER;

static void* look(void* n) {
  enum { ROUNDS = 20 };
  for (int i = 0; i < ROUNDS; ++i) {
    turns(*(long*)n / ROUNDS);
    pthread_mutex_lock(&one_reads);
    const Time reading = now(CLOCK_MONOTONIC), cycles = in_cycles();
    decreased += reading < last || cycles == 0;
    last = reading;
    pthread_mutex_unlock(&one_reads);
  }
  return NULL;
}
static void threads(long n) {
  pthread_t all[4];
  const Time began = last = now(CLOCK_MONOTONIC);
  for (int i = 0; i < 4; ++i)
    pthread_create(&all[i], NULL, look, &n);
  for (int i = 0; i < 4; ++i)
    pthread_join(all[i], NULL);
  printf("%llu %llu\n", decreased, now(CLOCK_MONOTONIC) - began);
}

enum { LINE = 64, LARGEST = 1 << 20 };
static char* lines[LARGEST / sizeof(char*)];

/* N loads, each of which has the address of the next, in so many bytes; the same where they are known before.
 */
static Time chase(long n, long bytes, int chained) {
  char* const first = (char*)lines;
  for (long at = 0; at < bytes; at += LINE)
    *(char**)(first + at) = first + (at + LINE) % bytes;
  char* at = first;
  Time began = 0;
  for (int warm = 1; warm >= 0; --warm) {
    began = now(CLOCK_MONOTONIC);
    long left = warm ? bytes / LINE : n;
#if defined(__x86_64__)
    if (chained)
      __asm__ volatile("1: mov (%1), %1\n dec %0\n jnz 1b\n" : "+r"(left), "+r"(at) : : "memory", "cc");
    else
      __asm__ volatile("1: mov (%1), %%rax\n dec %0\n jnz 1b\n"
                       : "+r"(left), "+r"(at)
                       :
                       : "rax", "memory", "cc");
#else
    (void)left, (void)at, (void)chained;
#endif
  }
  return now(CLOCK_MONOTONIC) - began;
}
static void chases(long n) {
  printf("%llu %llu", chase(n, 16384, 0), chase(n, 16384, 1));
  printf(" %llu %llu\n", chase(n, 131072, 1), chase(n, LARGEST, 1));
}

int main(int count, char** arguments) {
  const long n = count > 1 ? atol(arguments[1]) : 0;
  for (int i = 2; i < count; ++i) {
    if (!strcmp(arguments[i], "work")) work(n);
    if (!strcmp(arguments[i], "waits")) waits();
    if (!strcmp(arguments[i], "child")) child(n);
    if (!strcmp(arguments[i], "answered")) answered(n);
    if (!strcmp(arguments[i], "laps")) laps(n);
    if (!strcmp(arguments[i], "threads")) threads(n);
    if (!strcmp(arguments[i], "chase")) chases(n);
    if (!strcmp(arguments[i], "now")) printf("%llu\n", now(CLOCK_MONOTONIC));
  }
  return 0;
}
