/* known-cpu RECOUNT MACHINE PROGRAM...: executes PROGRAM; where PAPI counts no page faults, since libpfm4 does not
 * know this CPU, under `recount emulate --fast MACHINE`, so that what is tested of PAPI does not depend on the CPU. */
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int papi_counts(void) {
  enum { pages = 64, page = 4096 };
  int set = PAPI_NULL;
  long long faults = 0;
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 0;
  if (PAPI_create_eventset(&set) != PAPI_OK || PAPI_add_named_event(set, "perf::PAGE-FAULTS") != PAPI_OK) return 0;
  if (PAPI_start(set) != PAPI_OK) return 0;
  void* const fresh = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (fresh != MAP_FAILED) memset(fresh, 1, pages * page);
  return PAPI_stop(set, &faults) == PAPI_OK && faults > 0;
}

int main(int count, char** words) {
  if (count < 4) return 125;
  if (!papi_counts()) {
    char* emulate[] = {words[1], "emulate", "--fast", "-q", words[2], "--"};
    const size_t before = sizeof emulate / sizeof *emulate;
    char** const all = calloc(before + (size_t)count, sizeof *all); /* with a null pointer at the end */
    if (!all) return 125;
    memcpy(all, emulate, sizeof emulate);
    memcpy(all + before, words + 3, sizeof *words * (size_t)(count - 3));
    unsetenv("LIBPFM_FORCE_PMU");
    printf("PAPI counts nothing on this CPU: under recount emulate %s\n", words[2]);
    fflush(stdout);
    execv(all[0], all);
  }
  execv(words[3], words + 3);
  perror(words[3]);
  return 127;
}
