/* Counting from C (C11): events of the calling thread, a dozen functions. See also sections.h for marks in a
 * program that `recount watch` shows, and the C++ headers beside this one for everything else.
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
 * out of range. One thread at a time may use an object. In a forked child only recount_close() has an effect,
 * and nothing has a value. pthread_cancel(3) takes effect outside of these functions, which are not
 * async-signal-safe. group.hpp says when the limit of open files (RLIMIT_NOFILE) is raised. Results of
 * programs in other languages: `recount stat --output FILE` writes JSON Lines, recount-results(5). */
#ifndef RECOUNT_RECOUNT_H
#define RECOUNT_RECOUNT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct recount_counters recount_counters;

/* Opens events by name (see event.hpp), stopped, for the calling thread. Those that do not fit together take
 * turns. On a hybrid CPU an event is the sum over core types. NULL when a name is unknown or an event cannot
 * be counted. */
recount_counters* recount_open(const char* const* names, size_t number);
/* As recount_open(), and also for threads and processes that the calling thread starts from now on. */
recount_counters* recount_open_inherited(const char* const* names, size_t number);
void recount_close(recount_counters* counters); /* NULL is allowed */

int recount_start(recount_counters* counters);
int recount_stop(recount_counters* counters);
int recount_reset(recount_counters* counters); /* counts from here */
int recount_read(recount_counters* counters);  /* takes the values that the functions below return */

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

/* Why the last function of this thread failed: subject, cause, setting and fix. Valid until its next call.
 */
const char* recount_error(void);

#ifdef __cplusplus
}
#endif

#endif
