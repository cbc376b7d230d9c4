/* high_level TURNS: a region of PAPI's high-level interface around a loop of four instructions per turn. */
#include <papi.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  long n = count > 1 ? atol(arguments[1]) : 1;
  if (PAPI_hl_region_begin("turns") != PAPI_OK) return 3;
#if defined(__x86_64__)
  double value = 1;
  __asm__ volatile("1: addsd %1, %1\n mulsd %1, %1\n dec %0\n jnz 1b\n" : "+r"(n), "+x"(value) : : "cc");
#endif
  return PAPI_hl_region_end("turns") == PAPI_OK ? 0 : 3;
}
