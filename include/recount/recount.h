/* Counting from C (C11): what the C++ headers beside this one offer, apart from PAPI, presets and histograms.
 * See also sections.h for marks in a program that `recount watch` shows.
 *
 *     const char *names[] = {"perf::PAGE-FAULTS", "perf::TASK-CLOCK"};
 *     recount_counters *counters = recount_open(names, 2);
 *     if (counters == NULL) { fprintf(stderr, "%s\n", recount_error()); exit(3); }
 *     recount_start(counters);
 *     work();
 *     recount_stop(counters);
 *     recount_read(counters);
 *     double faults;
 *     if (recount_value(counters, 0, &faults) == 0) printf("%.0f\n", faults);
 *     recount_close(counters);
 *
 * Functions that return int return 0, or -1 with a message in recount_error(), also for NULL and for an index
 * out of range. One thread at a time may use an object. In a forked child only functions that close have an
 * effect, and nothing has a value. pthread_cancel(3) takes effect outside of these functions, which are not
 * async-signal-safe. group.hpp says when the limit of open files (RLIMIT_NOFILE) is raised. Names of events:
 * event.hpp. */
#ifndef RECOUNT_RECOUNT_H
#define RECOUNT_RECOUNT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECOUNT_VERSION_MAJOR 0
#define RECOUNT_VERSION_MINOR 1
#define RECOUNT_VERSION_PATCH 0
/* 1.2.3 is 10203. */
#define RECOUNT_VERSION_NUMBER                                                                               \
  (RECOUNT_VERSION_MAJOR * 10000 + RECOUNT_VERSION_MINOR * 100 + RECOUNT_VERSION_PATCH)
/* RECOUNT_VERSION_NUMBER of the library that runs. */
int recount_version(void);

typedef struct recount_counters recount_counters;

typedef enum { RECOUNT_ALL, RECOUNT_USER, RECOUNT_KERNEL } recount_domain;

enum {
  RECOUNT_INHERIT = 1,         /* also threads and processes that the target starts from now on */
  RECOUNT_PROCESS = 2,         /* all threads of process `pid` (0: this one), and those that they start */
  RECOUNT_ALL_CPUS = 4,        /* everything on all CPUs */
  RECOUNT_PINNED = 8,          /* always on the PMU or not at all */
  RECOUNT_EXCLUSIVE = 16,      /* alone on the PMU */
  RECOUNT_ENABLE_ON_EXEC = 32, /* starts when the target calls execve(2) */
  RECOUNT_GROUP = 64, /* one group: counted together or not at all, so that ratios between events hold */
  RECOUNT_USER_READ =
      128, /* a group of the calling thread, read without a system call where Linux allows that */
  RECOUNT_CHAINS = 256,   /* sampling: call chains by frame pointers */
  RECOUNT_FREQUENCY = 512 /* sampling: periods are samples per second */
};

/* The target, see GroupOptions in group.hpp. */
typedef struct recount_options {
  size_t size;           /* sizeof(recount_options): later versions append members */
  recount_domain domain; /* of names without :u, :k */
  int pid; /* 0: the calling thread; > 0: a thread (for sampling: a process); -1: everything on `cpu` */
  int cpu; /* -1: all */
  unsigned flags;
} recount_options;
#define RECOUNT_OPTIONS                                                                                      \
  { sizeof(recount_options), RECOUNT_ALL, 0, -1, 0 }

/* Opens events by name, stopped, for the calling thread. Those that do not fit together take
 * turns. On a hybrid CPU an event is the sum over core types. NULL when a name is unknown or an event cannot
 * be counted. */
recount_counters* recount_open(const char* const* names, size_t number);
/* As recount_open(), and also for threads and processes that the calling thread starts from now on. */
recount_counters* recount_open_inherited(const char* const* names, size_t number);
/* As recount_open(), for the target of `options`. */
recount_counters* recount_open_with(const char* const* names, size_t number, const recount_options* options);
void recount_close(recount_counters* counters); /* NULL is allowed */

int recount_start(recount_counters* counters);
int recount_stop(recount_counters* counters);
int recount_reset(recount_counters* counters); /* counts from here */
int recount_read(recount_counters* counters);  /* takes the values that the functions below return */
/* As recount_read(), and the next values count from here: no gap between intervals. Not with
 * RECOUNT_USER_READ. */
int recount_read_and_reset(recount_counters* counters);
/* The unscaled counts of the first `number` events at once. No allocation; with RECOUNT_USER_READ no system
 * call where Linux allows that. -1: one of them was not counted or was multiplexed. */
int recount_read_values(recount_counters* counters, uint64_t* values, size_t number);

size_t recount_number(const recount_counters* counters);
/* The name as given; NULL for an index out of range. */
const char* recount_name(const recount_counters* counters, size_t event);
/* Estimate for the whole time since recount_reset(): exact where recount_share() is 1. -1: not counted, which
 * is not 0. */
int recount_value(const recount_counters* counters, size_t event, double* value);
/* What was counted, unscaled. -1: not counted. */
int recount_count(const recount_counters* counters, size_t event, uint64_t* count);
/* Fraction of the time that was counted, 0...1. */
double recount_share(const recount_counters* counters, size_t event);
/* A formula over the names as given, in double quotes where they hold other characters than letters, digits,
 * _ . and colons: "\"perf::INSTRUCTIONS\" / \"perf::CYCLES\"". Operators + - * / and parentheses. -1: an
 * event in it was not counted, or a division by zero. */
int recount_metric(const recount_counters* counters, const char* formula, double* value);
/* The counts as last read: an array of JSON objects, or CSV with a header. As snprintf(3): the length without
 * the final zero, of which at most size - 1 are written; 0 with a message for NULL. */
size_t recount_json(const recount_counters* counters, char* text, size_t size);
size_t recount_csv(const recount_counters* counters, char* text, size_t size);

/* Why the last function of this thread failed: subject, cause, setting and fix. Valid until its next call.
 */
const char* recount_error(void);

/* Regions: what a part of a program counts, added up over calls and threads; a table on stderr at exit. See
 * region.hpp.
 *
 *     recount_region region;
 *     recount_region_begin(&region, "solve");
 *     ...
 *     recount_region_end(&region);
 */
typedef struct {
  uint64_t words[10];
} recount_region;
/* At most 4 events, before the first region. */
int recount_region_events(const char* const* names, size_t number);
/* `name` is a string literal, or lives as long as the program. */
void recount_region_begin(recount_region* region, const char* name);
void recount_region_end(recount_region* region); /* on the thread that began it, once */
/* Calls, and the sum of the i-th event over the calls that were counted. -1: no such region, or not counted.
 */
int recount_region_total(const char* name, size_t event, uint64_t* calls, uint64_t* count);

/* Overflow: a call every `threshold` occurrences of an event. See overflow.hpp. */
typedef struct recount_overflow recount_overflow;
typedef struct {
  uint64_t address;      /* instruction pointer */
  uint64_t data_address; /* of the data concerned; 0: none */
  uint64_t events;       /* bit i: event i overflowed */
  uint32_t pid, tid;
  int emulated;  /* detected by a timer */
  void* context; /* the ucontext_t of the interrupted thread; NULL: called from a thread of the library */
} recount_overflow_call;
typedef void (*recount_overflow_callback)(const recount_overflow_call* call, void* argument);
/* In a signal handler of the calling thread, where the callback may call only what signal-safety(7) lists.
 * With `options` that are not NULL: in a thread of the library, for their target (pid, RECOUNT_INHERIT). NULL
 * as recount_open(). */
recount_overflow* recount_overflow_open(const char* const* names, const uint64_t* thresholds, size_t number,
                                        recount_overflow_callback callback, void* argument,
                                        const recount_options* options);
int recount_overflow_start(recount_overflow* overflow);
int recount_overflow_stop(recount_overflow* overflow); /* makes all pending calls first */
int recount_overflow_set_threshold(recount_overflow* overflow, size_t event, uint64_t threshold);
/* Occurrences, and thresholds passed that were reported. Either may be NULL. */
int recount_overflow_counts(recount_overflow* overflow, size_t event, uint64_t* occurrences,
                            uint64_t* overflows);
void recount_overflow_close(recount_overflow* overflow);

/* Sampling: a record every `period` occurrences, from the kernel's ring buffers. See sampling.hpp. */
typedef struct recount_sampling recount_sampling;
typedef struct {
  size_t event;
  uint64_t time; /* nanoseconds of CLOCK_MONOTONIC */
  uint64_t ip;
  uint64_t address; /* of the data concerned; 0: none */
  uint64_t period;  /* occurrences that it stands for */
  uint32_t pid, tid, cpu;
  const uint64_t* chain; /* innermost first; valid during the call */
  size_t frames;
} recount_sample;
typedef void (*recount_sink)(const recount_sample* sample, void* argument);
/* A period of 0 only counts the event. `options` may be NULL: the calling thread. */
recount_sampling* recount_sampling_open(const char* const* names, const uint64_t* periods, size_t number,
                                        const recount_options* options);
int recount_sampling_start(recount_sampling* sampling);
int recount_sampling_stop(recount_sampling* sampling);
/* 1: go on reading; 0: all sampled tasks have ended; -1: error. Waits at most so long. */
int recount_sampling_wait(recount_sampling* sampling, unsigned milliseconds);
/* Delivers samples in the order of their times; `last`: all of them. */
int recount_sampling_read(recount_sampling* sampling, recount_sink sink, void* argument, int last);
/* Occurrences of an event while it was enabled, and samples of it that were lost (before Linux 6.0: lost
 * records of all kinds). Either may be NULL. */
int recount_sampling_counts(recount_sampling* sampling, size_t event, uint64_t* occurrences, uint64_t* lost);
void recount_sampling_close(recount_sampling* sampling);

#ifdef __cplusplus
}
#endif

#endif
