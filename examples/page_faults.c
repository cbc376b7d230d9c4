/* Counts two software events in a part of a program; Makefile compiles it. */
#include <recount/recount.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  const char *names[] = {"perf::PAGE-FAULTS", "perf::TASK-CLOCK"};
  recount_counters *counters = recount_open(names, 2);
  char *memory;
  size_t i;
  if (!counters) return fprintf(stderr, "%s\n", recount_error()), 1;
  recount_start(counters);
  memory = malloc(4000000);
  if (memory) memset(memory, 1, 4000000); /* about one page fault per page */
  recount_stop(counters);
  recount_read(counters);
  for (i = 0; i < 2; ++i) {
    double value;
    if (recount_value(counters, i, &value) == 0) printf("%s %.0f\n", names[i], value);
    else printf("%s not counted: %s\n", names[i], recount_error());
  }
  recount_close(counters);
  free(memory);
  return 0;
}
