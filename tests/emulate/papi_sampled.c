/* PAPI_overflow and PAPI_profil of a loop: papi_sampled PERIOD TURNS. Prints the overflows, those with an address in the loop, the hits of
 * the profile in the loop and outside of it. */
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>

extern const char loop_begin[], loop_end[];
void loop(long n);
__asm__(".text\n.globl loop\nloop:\n.globl loop_begin, loop_end\n"
        "loop_begin: imul $3, %rdi, %rax\n"
        "dec %rdi\n"
        "jnz loop_begin\n"
        "loop_end: ret\n");

static volatile long overflows = 0, inside = 0;

static void handler(int set, void* address, long long vector, void* context) {
  (void)set, (void)vector, (void)context;
  ++overflows;
  inside += (const char*)address >= loop_begin && (const char*)address <= loop_end;
}

static void check(int status, const char* call) {
  if (status == PAPI_OK) return;
  fprintf(stderr, "%s: %s\n", call, PAPI_strerror(status));
  exit(1);
}

static int started(void) {
  int set = PAPI_NULL;
  check(PAPI_create_eventset(&set), "PAPI_create_eventset");
  check(PAPI_add_named_event(set, "PAPI_TOT_INS"), "PAPI_add_named_event");
  return set;
}

int main(int count, char** arguments) {
  if (count < 3 || PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) return 2;
  int code = 0;
  check(PAPI_event_name_to_code("PAPI_TOT_INS", &code), "PAPI_event_name_to_code");
  const int period = atoi(arguments[1]);
  const long turns = atol(arguments[2]);
  long long value = 0;
  int set = started();
  check(PAPI_overflow(set, code, period, 0, handler), "PAPI_overflow");
  check(PAPI_start(set), "PAPI_start");
  loop(turns);
  check(PAPI_stop(set, &value), "PAPI_stop");
  check(PAPI_overflow(set, code, 0, 0, handler), "PAPI_overflow");

  static unsigned short buckets[1 << 14];
  set = started();
  check(PAPI_profil(buckets, sizeof buckets, (vptr_t)((unsigned long)loop_begin & ~0xfffUL), 1 << 16, set, code, period, PAPI_PROFIL_POSIX),
        "PAPI_profil");
  check(PAPI_start(set), "PAPI_start");
  loop(turns);
  check(PAPI_stop(set, &value), "PAPI_stop");
  const unsigned long first = ((unsigned long)loop_begin & 0xfff) / 2, end = first + (unsigned long)(loop_end - loop_begin) / 2 + 1;
  long hits = 0, others = 0;
  for (unsigned long i = 0; i < sizeof buckets / sizeof *buckets; ++i)
    *(i >= first && i <= end ? &hits : &others) += buckets[i];
  printf("%ld %ld %ld %ld\n", overflows, inside, hits, others);
  return 0;
}
