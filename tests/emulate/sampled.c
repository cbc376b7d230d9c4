/* Samples its own loop: sampled EVENT PERIOD SAMPLES. EVENT: instructions, loads, stores, branches, config of another event of PMU type 4.
 * The handler of each sample keeps registers, by which the occurrences in the loop are known; prints the number of samples, of intervals
 * between two in the loop, of those that have exactly PERIOD occurrences, of samples in the ring that have the handler's address, the least
 * and the greatest interval. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* Of each turn: 7 instructions, 2 loads, 1 store, 2 branches, one of which is taken. */
extern const char turn_0[], turn_1[], turn_2[], turn_3[], turn_4[], turn_5[], turn_6[], turn_end[];
void turns(int64_t n, double* memory);
__asm__(".text\n.globl turns\nturns:\n"
        "turn_0: movsd (%rsi), %xmm0\n"
        "turn_1: addsd 8(%rsi), %xmm0\n"
        "turn_2: test %rdi, %rdi\n"
        "turn_3: js turn_end\n"
        "turn_4: movsd %xmm0, 16(%rsi)\n"
        "turn_5: dec %rdi\n"
        "turn_6: jnz turn_0\n"
        "turn_end: ret\n"
        ".globl turn_0, turn_1, turn_2, turn_3, turn_4, turn_5, turn_6, turn_end\n");
static const char* const places[] = {turn_0, turn_1, turn_2, turn_3, turn_4, turn_5, turn_6};
/* Occurrences in a turn before each instruction, and in the whole turn. */
static const struct {
  const char* name;
  uint64_t config;
  int before[8];
} events[] = {{"instructions", 0xc0, {0, 1, 2, 3, 4, 5, 6, 7}},
              {"loads", 0x81d0, {0, 1, 2, 2, 2, 2, 2, 2}},
              {"stores", 0x82d0, {0, 0, 0, 0, 0, 1, 1, 1}},
              {"branches", 0xc4, {0, 0, 0, 0, 1, 1, 1, 2}}};

/* Of the handler, which the event counts, too. */
static const int in_handler[] = {9, 5, 3, 1};

enum { EVENTS = sizeof events / sizeof *events, MOST = 1 << 17, PAGES = 1024 };

int64_t taken = 0;
struct {
  const char* at;
  int64_t turns_left;
} samples[MOST];

/* Keeps instruction and loop counter of what it interrupts: gregs[REG_RIP], gregs[REG_RDI] of the context. */
void handler(int number, siginfo_t* info, void* context);
__asm__("handler: incq taken(%rip)\n"
        "movq taken(%rip), %rax\n"
        "movq 168(%rdx), %rcx\n"
        "movq 104(%rdx), %rsi\n"
        "leaq samples(%rip), %r8\n"
        "shlq $4, %rax\n"
        "movq %rcx, (%r8,%rax)\n"
        "movq %rsi, 8(%r8,%rax)\n"
        "ret\n");

/* Occurrences in the loop up to a sample; -1: it is outside of the loop. */
static int64_t occurrences(int event, int64_t turns_in_all, int64_t sample) {
  int place = 0;
  while (place < 7 && places[place] != samples[sample].at)
    ++place;
  if (place == 7) return -1;
  /* `dec` is instruction 5: after it, the turn is counted in the register already. */
  const int64_t done = turns_in_all - samples[sample].turns_left - (place > 5 ? 1 : 0);
  return done * events[event].before[7] + events[event].before[place];
}

static int matching(const struct perf_event_mmap_page* page) {
  const char* const data = (const char*)page + page->data_offset;
  int same = 0;
  int64_t i = 1;
  for (uint64_t at = 0; at < page->data_head; ++i) {
    struct perf_event_header header;
    uint64_t address;
    memcpy(&header, data + at % page->data_size, sizeof header);
    memcpy(&address, data + (at + sizeof header) % page->data_size, sizeof address);
    at += header.size;
    same += header.type == PERF_RECORD_SAMPLE && i < MOST && samples[i].at == (const char*)address;
  }
  return same;
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  int event = 0;
  while (event < EVENTS && strcmp(events[event].name, arguments[1]) != 0)
    ++event;
  const uint64_t config = event < EVENTS ? events[event].config : strtoull(arguments[1], NULL, 0);
  if (event == EVENTS) event = 0; /* intervals in instructions */
  const int64_t period = atol(arguments[2]), most = atol(arguments[3]);
  const int64_t n = (2 * most + 1) * (period - in_handler[event]) / (2 * events[event].before[7]);
  if (most + 2 > MOST) return 2;
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = 4;
  attr.config = config;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.sample_period = (uint64_t)period;
  attr.sample_type = PERF_SAMPLE_IP;
  const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (fd < 0) {
    perror("perf_event_open");
    return 1;
  }
  void* const page = mmap(NULL, (1 + PAGES) * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    perror("mmap");
    return 1;
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGIO, &action, NULL);
  fcntl(fd, F_SETOWN, getpid());
  fcntl(fd, F_SETFL, O_ASYNC);
  double memory[4] = {0};
  ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  turns(n, memory);
  ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  int64_t intervals = 0, exact = 0, least = INT64_MAX, greatest = 0, last = -1;
  for (int64_t i = 1; i <= taken; ++i) {
    const int64_t now = occurrences(event, n, i);
    if (now >= 0 && last >= 0) {
      const int64_t interval = now - last + in_handler[event];
      ++intervals;
      exact += interval == period;
      if (interval < least) least = interval;
      if (interval > greatest) greatest = interval;
    }
    last = now;
  }
  printf("%lld %lld %lld %d %lld %lld\n", (long long)taken, (long long)intervals, (long long)exact, matching(page), (long long)least,
         (long long)greatest);
  return 0;
}
