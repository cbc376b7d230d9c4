/* The example of recount.h, and what it promises, in C11. Pages that nobody has touched are the known count.
 */
#define _GNU_SOURCE
#include <recount/recount.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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
  CHECK(recount_value(counters, 2, &time) == -1 && strstr(recount_error(), "no such event") != NULL);

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
