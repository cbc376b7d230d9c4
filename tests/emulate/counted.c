/* Counts events of its own by perf_event_open(2) around loops: counted EVENT LOOPS [fork|thread|crash], EVENT as config of PMU type 4.
 * Prints the count. EVENT "-": counts nothing. */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static double memory[64];

/* Of each turn: 2 loads, 1 store, 1 multiplication, 1 addition, 1 conditional branch, 6 instructions in all. */
static void turns(long n) {
#if defined(__x86_64__)
  __asm__ volatile("1: movsd (%1), %%xmm0\n mulsd 8(%1), %%xmm0\n addsd %%xmm0, %%xmm0\n movsd %%xmm0, 16(%1)\n dec %0\n jnz 1b\n"
                   : "+r"(n) : "r"(memory) : "xmm0", "memory", "cc");
#else
  (void)n;
#endif
}

static void* in_thread(void* n) {
  turns(*(long*)n);
  return NULL;
}

static void work(const char* how, long n) {
  if (!strcmp(how, "fork")) {
    const pid_t child = fork();
    if (child == 0) {
      turns(n);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  } else if (!strcmp(how, "crash")) {
    const pid_t child = fork();
    if (child == 0) {
      turns(n);
      abort();
    }
    waitpid(child, NULL, 0);
  } else if (!strcmp(how, "thread")) {
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, &n);
    pthread_join(thread, NULL);
  } else {
    turns(n);
  }
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const char* const how = count > 3 ? arguments[3] : "";
  if (!strcmp(arguments[1], "-")) {
    work(how, atol(arguments[2]));
    return 0;
  }
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = 4;
  attr.config = strtoull(arguments[1], NULL, 0);
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  attr.inherit = count > 3;
  const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
  if (fd < 0) {
    perror("perf_event_open");
    return 1;
  }
  ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  work(how, atol(arguments[2]));
  ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
  uint64_t value = 0;
  if (read(fd, &value, sizeof value) != sizeof value) return 1;
  printf("%llu\n", (unsigned long long)value);
  return 0;
}
