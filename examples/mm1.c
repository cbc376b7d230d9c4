/* Counts what products of matrices of 16-bit integers do to the data cache, with PAPI: the example of
 * recount-laboratory(1).
 *
 *     gcc -O2 -o mm1 mm1.c -lpapi
 *     ./mm1 straightforward 256
 *
 * Prints L1 data-cache misses, loads, stores, cycles and the hit rate of the product.
 */
#include <papi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, BLOCK = LINE / sizeof(int16_t) };

/* The sums are in memory, as the source says: without volatile, the compiler would keep one in a register. */
static int16_t *a, *b, *transposed;
static volatile int16_t* sum;

static void straightforward(long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        sum[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void along_rows(long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      for (long k = 0; k < n; k++)
        sum[i * n + j] += a[i * n + k] * transposed[j * n + k];
}

static void transpose(long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      transposed[j * n + i] = b[i * n + j];
}

static long end(long from, long n) {
  return from + BLOCK < n ? from + BLOCK : n;
}

/* Blocks as wide as a line; within one, the loops run along rows. */
static void blocked(long n) {
  for (long ii = 0; ii < n; ii += BLOCK)
    for (long jj = 0; jj < n; jj += BLOCK)
      for (long kk = 0; kk < n; kk += BLOCK)
        for (long i = ii; i < end(ii, n); i++)
          for (long k = kk; k < end(kk, n); k++) {
            const int16_t factor = a[i * n + k];
            for (long j = jj; j < end(jj, n); j++)
              sum[i * n + j] += factor * b[k * n + j];
          }
}

static void check(int status, const char* what) {
  if (status == PAPI_OK) return;
  fprintf(stderr, "mm1: %s: %s\n", what, PAPI_strerror(status));
  exit(3);
}

static int16_t* matrix(long n) {
  int16_t* const all = malloc((size_t)(n * n) * sizeof *all);
  if (all == NULL) exit(3);
  for (long i = 0; i < n * n; i++)
    all[i] = (int16_t)(i % 7);
  return all;
}

int main(int count, char** arguments) {
  const long n = count == 3 ? atol(arguments[2]) : 0;
  const char* const which = count == 3 ? arguments[1] : "";
  void (*const product)(long) = strcmp(which, "straightforward") == 0 ? straightforward
                                : strcmp(which, "transposed") == 0    ? along_rows
                                : strcmp(which, "blocked") == 0       ? blocked
                                                                      : NULL;
  if (product == NULL || n < 1 || n > 10000) {
    fprintf(stderr, "usage: mm1 straightforward|transposed|blocked N\n");
    return 2;
  }
  a = matrix(n);
  b = matrix(n);
  sum = matrix(n);
  transposed = matrix(n);
  transpose(n);

  const int events[] = {PAPI_L1_DCM, PAPI_LD_INS, PAPI_SR_INS, PAPI_TOT_CYC};
  int set = PAPI_NULL;
  long long values[4];
  if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 3;
  check(PAPI_create_eventset(&set), "PAPI_create_eventset");
  for (int i = 0; i < 4; i++)
    check(PAPI_add_event(set, events[i]), "PAPI_add_event");
  check(PAPI_start(set), "PAPI_start");
  product(n);
  check(PAPI_stop(set, values), "PAPI_stop");

  const double accesses = (double)(values[1] + values[2]);
  printf("L1 misses %lld\nloads %lld\nstores %lld\ncycles %lld\nhit rate %.2f %%\n", values[0], values[1],
         values[2], values[3], 100 * (1 - (double)values[0] / accesses));
  return 0;
}
