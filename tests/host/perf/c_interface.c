/* The example of recount.h, and what it promises, in C11. Pages that nobody has touched are the known count.
 */
#define _GNU_SOURCE
#include <recount/recount.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failed = 0;
#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "line %d: %s; %s\n", __LINE__, #condition, recount_error());                           \
      ++failed;                                                                                              \
    }                                                                                                        \
  } while (0)

static size_t page;
static char* fresh(int pages) {
  char* at = mmap(NULL, page * (size_t)pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(at, page * (size_t)pages, MADV_NOHUGEPAGE);
  return at;
}
/* AddressSanitizer would touch pages of its own. */
__attribute__((no_sanitize("address"))) static void touch(char* at, int pages) {
  for (int i = 0; i < pages; ++i)
    *(volatile char*)(at + page * (size_t)i) = 1;
}

/* Cancelled within one of these the thread would unwind from it, which ends the process. */
static void* cancelled(void* counters) {
  const char* names[] = {"perf::PAGE-FAULTS:u"};
  pthread_cancel(pthread_self());
  recount_read(counters);
  recount_close(recount_open(names, 1));
  pthread_testcancel();
  return NULL;
}

/* In place of that of libc, through which the library opens events. */
static int opens = 0;
long syscall(long number, ...) {
  static long (*next)(long, ...) = NULL;
  long a[6];
  va_list arguments;
  va_start(arguments, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(arguments, long);
  va_end(arguments);
  opens += number == SYS_perf_event_open;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "syscall");
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void test_options(char* memory) {
  const char* names[] = {"perf::PAGE-FAULTS:u", "perf::TASK-CLOCK:u"};
  recount_options options = RECOUNT_OPTIONS;
  uint64_t values[3] = {0};
  double value = 0;
  char text[400];
  recount_close(recount_open(names, 2)); /* what is tried once in a process */
  opens = 0;
  recount_close(recount_open(names, 2));
  CHECK(opens == 2);
  const unsigned flags[] = {0, RECOUNT_GROUP, RECOUNT_USER_READ, RECOUNT_PROCESS,
                            RECOUNT_PROCESS | RECOUNT_GROUP};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    options.flags = flags[i];
    recount_counters* counters = recount_open_with(names, 2, &options);
    CHECK(counters != NULL);
    CHECK(recount_start(counters) == 0);
    touch(memory + 20 * i * page, 20);
    CHECK(recount_stop(counters) == 0);
    CHECK(recount_read_values(counters, values, 2) == 0 && values[0] >= 20 && values[1] > 0);
    CHECK(recount_read_values(counters, values, 3) == -1 && strstr(recount_error(), "more values") != NULL);
    CHECK(recount_read_values(counters, NULL, 1) == -1);
    CHECK(recount_read(counters) == 0);
    CHECK(recount_metric(counters, "\"perf::PAGE-FAULTS:u\" * 2", &value) == 0 && value >= 40);
    CHECK(recount_metric(counters, "1 / 0", &value) == -1 && recount_metric(counters, "1 +", &value) == -1);
    CHECK(recount_metric(counters, "unknown", &value) == -1 && recount_metric(counters, NULL, &value) == -1);
    const size_t length = recount_json(counters, text, sizeof text);
    CHECK(length > 0 && length < sizeof text && strlen(text) == length &&
          strstr(text, "\"perf::TASK-CLOCK:u\"") != NULL);
    CHECK(recount_json(counters, text, 10) == length && strlen(text) == 9 &&
          recount_json(counters, NULL, 0) == length);
    CHECK(recount_csv(counters, text, sizeof text) > 0 && strncmp(text, "event,value", 11) == 0);
    if (flags[i] != RECOUNT_USER_READ) {
      CHECK(recount_read_and_reset(counters) == 0);
      CHECK(recount_read(counters) == 0 && recount_count(counters, 0, values) == 0 && values[0] == 0);
    } else {
      CHECK(recount_read_and_reset(counters) == -1);
    }
    recount_close(counters);
  }
  CHECK(recount_json(NULL, text, sizeof text) == 0 && recount_csv(NULL, text, sizeof text) == 0);
  const unsigned wrong[] = {1U << 20, RECOUNT_CHAINS, RECOUNT_USER_READ | RECOUNT_INHERIT,
                            RECOUNT_PROCESS | RECOUNT_ALL_CPUS};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    options.flags = wrong[i];
    CHECK(recount_open_with(names, 2, &options) == NULL && strstr(recount_error(), "fix:") != NULL);
  }
  options.flags = 0;
  options.size = 1000;
  CHECK(recount_open_with(names, 2, &options) == NULL && strstr(recount_error(), "RECOUNT_OPTIONS") != NULL);
  options.size = offsetof(recount_options, flags); /* of a program that knows no flags */
  recount_counters* old = recount_open_with(names, 2, &options);
  CHECK(old != NULL);
  recount_close(old);
}

static void test_regions(char* memory) {
  const char* names[] = {"perf::PAGE-FAULTS:u"};
  uint64_t calls = 0, count = 0;
  recount_region region;
  CHECK(recount_region_events(NULL, 1) == -1 && recount_region_events(names, 1) == 0);
  recount_region_begin(&region, "warm-up");
  recount_region_end(&region);
  for (int i = 0; i < 2; ++i) {
    recount_region_begin(&region, "in C");
    touch(memory + 10 * i * (ptrdiff_t)page, 10);
    recount_region_end(&region);
  }
  CHECK(recount_region_total("in C", 0, &calls, &count) == 0 && calls == 2 && count == 20);
  CHECK(recount_region_total("in C", 1, &calls, &count) == -1 &&
        recount_region_total("none", 0, NULL, NULL) == -1);
  CHECK(recount_region_events(names, 1) == -1); /* too late */
  recount_region_begin(NULL, "");
  recount_region_end(NULL);
}

static volatile int overflows = 0;
static void count_overflow(const recount_overflow_call* call, void* argument) {
  if (call->address != 0 && argument == (void*)&overflows) ++overflows;
}
static void count_sample(const recount_sample* sample, void* argument) {
  if (sample->ip != 0 && sample->address != 0) ++*(int*)argument;
}

static void test_records(char* memory) {
  const char* names[] = {"perf::PAGE-FAULTS:u"};
  const uint64_t two[] = {2}, one[] = {1}, none[] = {0};
  uint64_t occurrences = 0, other = 0;
  recount_options options = RECOUNT_OPTIONS;
  for (int thread = 0; thread < 2; ++thread) {
    overflows = 0;
    recount_overflow* overflow =
        recount_overflow_open(names, two, 1, count_overflow, (void*)&overflows, thread ? &options : NULL);
    CHECK(overflow != NULL);
    CHECK(recount_overflow_start(overflow) == 0);
    touch(memory + 20 * thread * (ptrdiff_t)page, 20);
    CHECK(recount_overflow_stop(overflow) == 0);
    CHECK(recount_overflow_counts(overflow, 0, &occurrences, &other) == 0);
    CHECK(occurrences >= 20 && other == occurrences / 2 && (uint64_t)overflows == other);
    CHECK(recount_overflow_set_threshold(overflow, 0, 0) == -1 &&
          recount_overflow_counts(overflow, 1, NULL, NULL) == -1);
    recount_overflow_close(overflow);
  }
  CHECK(recount_overflow_open(names, none, 1, count_overflow, NULL, NULL) == NULL);
  CHECK(recount_overflow_open(names, two, 1, NULL, NULL, NULL) == NULL && recount_overflow_start(NULL) == -1);
  int samples = 0;
  recount_sampling* sampling = recount_sampling_open(names, one, 1, &options);
  CHECK(sampling != NULL && recount_sampling_start(sampling) == 0);
  touch(memory + 40 * page, 20);
  CHECK(recount_sampling_stop(sampling) == 0 && recount_sampling_wait(sampling, 0) == 1);
  CHECK(recount_sampling_read(sampling, count_sample, &samples, 1) == 0);
  CHECK(recount_sampling_counts(sampling, 0, &occurrences, &other) == 0);
  CHECK(samples >= 20 && occurrences == (uint64_t)samples && other == 0);
  CHECK(recount_sampling_read(sampling, NULL, NULL, 1) == -1 &&
        recount_sampling_counts(sampling, 1, NULL, NULL) == -1);
  recount_sampling_close(sampling);
  options.flags = RECOUNT_GROUP;
  CHECK(recount_sampling_open(names, one, 1, &options) == NULL &&
        recount_sampling_open(names, none, 1, NULL) == NULL);
}

int main(void) {
  page = (size_t)sysconf(_SC_PAGESIZE);
  char* const memory = fresh(151);
  const char* names[] = {"perf::PAGE-FAULTS:u", "perf::TASK-CLOCK:u"};
  recount_counters* counters = recount_open(names, 2);
  if (counters == NULL) {
    fprintf(stderr, "SKIP: %s\n", recount_error());
    return 77;
  }
  double faults = -1, time = -1;
  uint64_t exact = 0;
  CHECK(recount_number(counters) == 2);
  CHECK(strcmp(recount_name(counters, 1), "perf::TASK-CLOCK:u") == 0);
  CHECK(recount_name(counters, 2) == NULL);
  CHECK(recount_value(counters, 0, &faults) == -1 && strstr(recount_error(), "not read") != NULL);
  CHECK(recount_start(counters) == 0);
  touch(memory, 1);
  CHECK(recount_stop(counters) == 0); /* what both need is in memory now */
  CHECK(recount_start(counters) == 0);
  CHECK(recount_reset(counters) == 0);
  touch(memory + page, 100);
  CHECK(recount_stop(counters) == 0);
  touch(memory + 101 * page, 50);
  CHECK(recount_read(counters) == 0);
  CHECK(recount_value(counters, 0, &faults) == 0);
  CHECK(faults == 100);
  CHECK(recount_count(counters, 0, &exact) == 0 && exact == 100);
  CHECK(recount_share(counters, 0) == 1);
  CHECK(recount_value(counters, 1, &time) == 0 && time > 0);
  CHECK(recount_value(counters, 2, &time) == -1 && strstr(recount_error(), "no index 2") != NULL);

  CHECK(recount_value(counters, 0, NULL) == -1 && strstr(recount_error(), "NULL") != NULL);
  CHECK(recount_count(counters, 0, NULL) == -1 && strstr(recount_error(), "NULL") != NULL);
  pthread_t reader;
  void* result = NULL;
  CHECK(pthread_create(&reader, NULL, cancelled, counters) == 0);
  CHECK(pthread_join(reader, &result) == 0 && result == PTHREAD_CANCELED);

  const pid_t child = fork();
  if (child == 0) {
    recount_read(counters);
    const int told = recount_value(counters, 0, &faults) == -1 && strstr(recount_error(), "fork") != NULL;
    recount_close(counters);
    _exit(told ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(recount_read(counters) == 0 && recount_value(counters, 0, &faults) == 0 && faults == 100);
  recount_close(counters);
  recount_close(NULL);

  char* const more = fresh(200);
  test_options(more);
  test_regions(more + 100 * page);
  test_records(more + 120 * page);

  const char* unknown[] = {"perf::NO-SUCH-EVENT"};
  CHECK(recount_open(unknown, 1) == NULL && strstr(recount_error(), "no such event") != NULL);
  CHECK(recount_start(NULL) == -1 && recount_read(NULL) == -1 && recount_value(NULL, 0, &faults) == -1);
  CHECK(recount_number(NULL) == 0 && recount_name(NULL, 0) == NULL && recount_share(NULL, 0) == 0);
  const char* null_name[] = {"perf::PAGE-FAULTS:u", NULL};
  CHECK(recount_open(NULL, 1) == NULL && strstr(recount_error(), "NULL") != NULL);
  CHECK(recount_open(null_name, 2) == NULL && strstr(recount_error(), "NULL") != NULL);
  CHECK(recount_open(NULL, 0) == NULL);
  printf("\ncases: %d passed, %d failed\n", failed == 0, failed != 0);
  return failed != 0;
}
