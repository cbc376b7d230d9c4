// perf_event_open(2), its ioctls, prctl, poll, mmap and read: a line for each call with what it returned.
// Argument: software or hardware. The lines of page faults on Linux and of instructions of an emulated
// machine are equal.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int hardware;
static long page;

static struct perf_event_attr event(void) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  attr.config = hardware ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_SW_PAGE_FAULTS;
  attr.exclude_kernel = attr.exclude_hv = 1;
  return attr;
}

static struct perf_event_attr sampling(void) {
  struct perf_event_attr attr = event();
  attr.sample_period = hardware ? 500 : 5;
  attr.sample_type = PERF_SAMPLE_IP;
  attr.disabled = 1;
  attr.wakeup_events = 1;
  return attr;
}

static int open_in(struct perf_event_attr attr, int group) {
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, 0UL);
}

static void work(void) {
  char* at = mmap(NULL, (size_t)(64 * page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (long i = 0; i < 64; ++i)
    for (long j = 0; j < 64; ++j)
      ((volatile char*)at)[i * page + j] = 1;
  munmap(at, (size_t)(64 * page));
}

static uint64_t value(int fd) {
  uint64_t words[64] = {0};
  return read(fd, words, sizeof words) > 0 ? words[0] : (uint64_t)-1;
}

static void say(const char* name, long result) {
  if (result == -1)
    printf("%s: %s\n", name, strerror(errno));
  else
    printf("%s: %ld\n", name, result);
}
#define SAY(call) (errno = 0, say(#call, call))
/// Of calls that return a descriptor or an address.
#define DONE(call) (errno = 0, say(#call, (call) == -1 ? -1 : 0))

static void copies(void) {
  const int fd = open_in(event(), -1);
  const int fds[] = {dup(fd), dup2(fd, 100), dup3(fd, 101, O_CLOEXEC), fcntl(fd, F_DUPFD, 102),
                     fcntl(fd, F_DUPFD_CLOEXEC, 110)};
  const char* const names[] = {"dup", "dup2", "dup3", "F_DUPFD", "F_DUPFD_CLOEXEC"};
  work();
  SAY(ioctl(fds[0], PERF_EVENT_IOC_DISABLE, 0));
  const uint64_t all = value(fd);
  printf("counted: %d\n", all >= 64);
  for (unsigned i = 0; i < 5; ++i)
    printf("%s: %d, same value %d\n", names[i], fds[i] >= 0, value(fds[i]) == all);
  SAY(dup3(fd, fd, 0));
  SAY(dup2(fd, fd) == fd);
  SAY(close(fd));
  SAY(ioctl(fds[1], PERF_EVENT_IOC_ENABLE, 0));
  work();
  printf("counts after close: %d\n", value(fds[1]) >= all + 64 && value(fds[1]) < (uint64_t)-1);
  const int another = open_in(event(), -1);
  SAY(ioctl(another, PERF_EVENT_IOC_DISABLE, 0));
  SAY(ioctl(fds[1], PERF_EVENT_IOC_DISABLE, 0));
  const uint64_t first = value(fds[1]), second = value(another);
  SAY(dup2(another, fds[0]) == fds[0]);
  printf("replaced: %d %d\n", value(fds[0]) == second, value(fds[2]) == first);
  SAY(dup2(STDIN_FILENO, fds[3]) == fds[3]);
  SAY(ioctl(fds[3], PERF_EVENT_IOC_ENABLE, 0));
  const pid_t child = fork();
  if (child == 0) _exit(value(fds[2]) == first ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  printf("in a child: %d\n", status);
  for (unsigned i = 0; i < 5; ++i)
    close(fds[i]);
  close(another);
  SAY(ioctl(fds[2], PERF_EVENT_IOC_ENABLE, 0));
}

static void controls(void) {
  const int fd = open_in(event(), -1), sampled = open_in(sampling(), -1);
  int none[2];
  SAY(pipe(none));
  uint64_t zero = 0, one = 1000, highest = (uint64_t)1 << 63, id = 0;
  SAY(ioctl(fd, PERF_EVENT_IOC_ID, &id));
  SAY(ioctl(fd, PERF_EVENT_IOC_REFRESH, 1));
  SAY(ioctl(sampled, PERF_EVENT_IOC_REFRESH, 1));
  SAY(ioctl(sampled, PERF_EVENT_IOC_DISABLE, 0));
  SAY(ioctl(fd, PERF_EVENT_IOC_PERIOD, &one));
  SAY(ioctl(sampled, PERF_EVENT_IOC_PERIOD, &zero));
  SAY(ioctl(sampled, PERF_EVENT_IOC_PERIOD, &highest));
  SAY(ioctl(sampled, PERF_EVENT_IOC_PERIOD, NULL));
  SAY(ioctl(sampled, PERF_EVENT_IOC_PERIOD, &one));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, -1L));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, none[0]));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, 999));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sampled));
  SAY(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "x"));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, NULL));
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_BPF, 999));
  struct perf_event_attr attr = event();
  SAY(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
  attr.type = PERF_TYPE_BREAKPOINT;
  SAY(ioctl(fd, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr));
  SAY(ioctl(fd, _IO('$', 99), 0));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(write(fd, &zero, sizeof zero));
  uint64_t before = value(fd);
  SAY(prctl(PR_TASK_PERF_EVENTS_DISABLE));
  before = value(fd);
  work();
  printf("disabled by prctl: %d\n", value(fd) == before);
  SAY(prctl(PR_TASK_PERF_EVENTS_ENABLE));
  work();
  printf("enabled by prctl: %d\n", value(fd) > before);
  close(fd), close(sampled), close(none[0]), close(none[1]);
}

static void formats(void) {
  for (unsigned format = 0; format <= PERF_FORMAT_MAX; ++format) {
    struct perf_event_attr attr = event();
    attr.read_format = format;
    const int leader = open_in(attr, -1), sibling = open_in(attr, leader);
    uint64_t words[16];
    memset(words, 0xff, sizeof words);
    const long bytes = leader < 0 ? -1 : read(leader, words, sizeof words);
    printf("format %u: %ld bytes, of the sibling %ld, of too few %ld\n", format, bytes,
           sibling < 0 ? -1 : (long)read(sibling, words, sizeof words),
           leader < 0 ? -1 : (long)read(leader, words, (size_t)bytes - 1));
    close(sibling), close(leader);
  }
  const int fd = open_in(event(), -1);
  uint64_t words[4];
  SAY(read(fd, words, 0));
  SAY(read(fd, words, 7));
  SAY(read(fd, words, 8));
  close(fd);
}

static void attributes(void) {
#define ROW(change)                                                                                          \
  do {                                                                                                       \
    struct perf_event_attr attr = event();                                                                   \
    change;                                                                                                  \
    errno = 0;                                                                                               \
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);                                 \
    printf(#change ": %s, size %u\n", strerror(fd < 0 ? errno : 0), attr.size);                              \
    close(fd);                                                                                               \
  } while (0)
  ROW(attr.size = 0);
  ROW(attr.size = 4);
  ROW(attr.size = 63);
  ROW(attr.size = 64);
  ROW(attr.size = 72);
  ROW(attr.size = 5000);
  ROW(attr.sample_freq = 10000000; attr.freq = 1);
  ROW(attr.sample_freq = 1000; attr.freq = 1);
  ROW(attr.sample_period = (uint64_t)1 << 63);
  ROW(attr.sample_type = (uint64_t)1 << 40; attr.sample_period = 100);
  ROW(attr.read_format = 1 << 20);
  ROW(attr.use_clockid = 1; attr.clockid = 77);
  ROW(attr.use_clockid = 1; attr.clockid = 1);
  ROW(attr.branch_sample_type = 1; attr.sample_type = PERF_SAMPLE_BRANCH_STACK);
  ROW(attr.sample_type = PERF_SAMPLE_REGS_USER; attr.sample_regs_user = (uint64_t)1 << 60);
  ROW(attr.sample_type = PERF_SAMPLE_STACK_USER; attr.sample_stack_user = 3);
  ROW(attr.sample_type = PERF_SAMPLE_STACK_USER; attr.sample_stack_user = 4096);
  ROW(attr.inherit = 1);
  ROW(attr.pinned = 1);
  ROW(attr.exclusive = 1);
  ROW(attr.remove_on_exec = 1);
  ROW(attr.remove_on_exec = attr.enable_on_exec = 1);
  ROW(attr.sigtrap = 1);
  ROW(attr.inherit_thread = 1);
  struct perf_event_attr attr = event();
  const int leader = open_in(attr, -1), sibling = open_in(attr, leader);
  DONE(open_in(attr, sibling));
  DONE(open_in(attr, 999));
  DONE(open_in(attr, STDOUT_FILENO));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, 0, leader, 0UL));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0x100UL));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_NO_GROUP));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_OUTPUT));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_PID_CGROUP));
  DONE((int)syscall(SYS_perf_event_open, &attr, -1, -1, -1, 0UL));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, 100000, -1, 0UL));
  DONE((int)syscall(SYS_perf_event_open, &attr, 0, -2, -1, 0UL));
  DONE((int)syscall(SYS_perf_event_open, &attr, 4194303, -1, -1, 0UL));
  DONE((int)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0UL));
  attr.pinned = 1;
  DONE(open_in(attr, leader));
  attr.pinned = 0;
  attr.exclusive = 1;
  DONE(open_in(attr, leader));
  const int cloexec =
      (int)syscall(SYS_perf_event_open, &(struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .size = 64}, 0,
                   -1, -1, PERF_FLAG_FD_CLOEXEC);
  SAY(fcntl(cloexec, F_GETFD));
}

/// Samples in the ring since the last time.
static long samples(struct perf_event_mmap_page* ring) {
  long count = 0;
  const char* const data = (const char*)ring + page;
  const uint64_t size = 8 * (uint64_t)page;
  for (; ring->data_tail < ring->data_head; ++count)
    ring->data_tail += ((const struct perf_event_header*)(data + ring->data_tail % size))->size;
  return count;
}

#define MAP(bytes, flags, offset) mmap(NULL, (size_t)(bytes), PROT_READ | PROT_WRITE, flags, fd, offset)

static void rings(void) {
  int fd = open_in(sampling(), -1);
  struct pollfd one = {fd, POLLIN, 0};
  SAY(poll(&one, 1, 0));
  printf("events %d\n", one.revents);
  SAY(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
  DONE((long)MAP(4 * page, MAP_SHARED, 0));
  DONE((long)MAP(9 * page, MAP_PRIVATE, 0));
  DONE((long)MAP(9 * page, MAP_SHARED, page));
  struct perf_event_mmap_page* const ring = MAP(9 * page, MAP_SHARED, 0);
  printf("ring: %d, %lu bytes at %lu\n", (void*)ring != MAP_FAILED, (unsigned long)ring->data_size,
         (unsigned long)ring->data_offset);
  DONE((long)MAP(5 * page, MAP_SHARED, 0));
  DONE((long)MAP(page, MAP_SHARED, 0));
  // Not a second time: Linux 6.18 would never give back the locked memory of the user.
  SAY(poll(&one, 1, 0));
  SAY(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
  work();
  SAY(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
  SAY(poll(&one, 1, 0));
  printf("events %d\n", one.revents);
  printf("samples: %d\n", samples(ring) > 10);
  SAY(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1));
  SAY(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
  work();
  printf("samples while paused: %ld\n", samples(ring));
  SAY(ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
  samples(ring);
  work();
  printf("samples after that: %d\n", samples(ring) > 10);
  SAY(ioctl(fd, PERF_EVENT_IOC_DISABLE, 0));
  const int other = open_in(sampling(), -1);
  SAY(ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, other));
  SAY(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
  samples(ring);
  SAY(ioctl(other, PERF_EVENT_IOC_ENABLE, 0));
  work();
  SAY(ioctl(other, PERF_EVENT_IOC_DISABLE, 0));
  printf("redirected samples: %d\n", samples(ring) > 10);
  SAY(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, -1L));
  SAY(ioctl(other, PERF_EVENT_IOC_ENABLE, 0));
  work();
  SAY(ioctl(other, PERF_EVENT_IOC_DISABLE, 0));
  printf("samples redirected no more: %ld\n", samples(ring));
  // The ring of an event of Linux's own takes them, too.
  struct perf_event_attr attr = sampling();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_PAGE_FAULTS;
  attr.sample_period = 1000000;
  const int first = fd;
  fd = open_in(attr, -1);
  struct perf_event_mmap_page* const own = MAP(9 * page, MAP_SHARED, 0);
  SAY(ioctl(other, PERF_EVENT_IOC_SET_OUTPUT, fd));
  SAY(ioctl(other, PERF_EVENT_IOC_ENABLE, 0));
  work();
  SAY(ioctl(other, PERF_EVENT_IOC_DISABLE, 0));
  printf("samples in a ring of Linux: %d\n", (void*)own != MAP_FAILED && samples(own) > 10);
  close(fd), close(other), close(first);
  fd = open_in(event(), -1);
  DONE((long)MAP(9 * page, MAP_SHARED, 0));
  close(fd);
  attr = sampling();
  attr.inherit = 1;
  fd = open_in(attr, -1);
  DONE((long)MAP(9 * page, MAP_SHARED, 0));
  close(fd);
}

/// What an event has counted, in calls of many().
/// Executes this program again, which the signal of an event of before ends.
static const char* program;
static void ignore(int number) {
  (void)number;
}
static void execute(void) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open_in(sampling(), -1);
    signal(SIGIO, ignore); // until execve(2)
    fcntl(fd, F_SETFL, O_ASYNC);
    fcntl(fd, F_SETOWN, getpid());
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    execl(program, program, hardware ? "hardware" : "software", "formats", (char*)NULL);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("signal after execve: %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void groups(void) {
  struct perf_event_attr point = event();
  static long watched;
  point.type = PERF_TYPE_BREAKPOINT;
  point.config = 0;
  point.bp_type = 3; // reads and writes
  point.bp_addr = (uint64_t)&watched;
  point.bp_len = 8;
  const int at = open_in(point, -1);
  SAY(ioctl(at, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &point));
  close(at);
  struct perf_event_attr attr = sampling();
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
  int fd = open_in(attr, -1);
  struct perf_event_mmap_page* const ring = MAP(9 * page, MAP_SHARED, 0);
  const int sibling = open_in(event(), fd); // without times
  printf("sibling: %d\n", sibling >= 0);
  struct perf_event_attr alone = event();
  const int other =
      (int)syscall(SYS_perf_event_open, &alone, 0, -1, fd, (unsigned long)PERF_FLAG_FD_NO_GROUP);
  work();
  printf("of a group that is off: %d\n", value(sibling) == 0);
  printf("of no group: %d\n", value(other) >= 64 && value(other) < (uint64_t)-1);
  SAY(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
  work();
  printf("bytes of a sample: %d\n", ((const struct perf_event_header*)((const char*)ring + page))->size);
  samples(ring);
  close(fd); // the mapping keeps it
  work();
  printf("samples after close: %d\n", samples(ring) > 10);
  memset(ring, 0x44, (size_t)page); // sizes and all
  work();
  munmap(ring, (size_t)(9 * page));
  close(sibling), close(other);
}

static uint64_t each;
static void many(void) {
  for (int i = 0; i < 16; ++i)
    work();
}
static long calls_counted(int fd) {
  return (long)((value(fd) + each / 2) / each);
}

static int go[2], done[2], inherited = -1;
static pid_t ids[3];

static void* waiting_thread(void* at) {
  char byte = 0;
  *(pid_t*)at = (pid_t)syscall(SYS_gettid);
  if (write(done[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) return NULL;
  many();
  return NULL;
}

static void* forking_thread(void* unused) {
  (void)unused;
  struct perf_event_attr attr = event();
  attr.inherit = 1;
  char byte = 0;
  const pid_t early = fork();
  if (early == 0) {
    if (read(go[0], &byte, 1) == 1) many();
    _exit(0);
  }
  inherited = open_in(attr, -1);
  const pid_t late = fork();
  if (late == 0) {
    many(), many();
    _exit(0);
  }
  waitpid(late, NULL, 0);
  printf("a child of a second thread: %ld\n", calls_counted(inherited));
  if (write(go[1], &byte, 1) == 1) waitpid(early, NULL, 0);
  printf("a child from before the open: %ld\n", calls_counted(inherited));
  return NULL;
}

static void lineage(void) {
  const int self = open_in(event(), -1);
  many();
  each = value(self);
  close(self);
  if (pipe(go) != 0 || pipe(done) != 0) return;
  pthread_t threads[4];
  int fds[4];
  char byte = 0;
  struct perf_event_attr attr = event();
  attr.inherit = 1;
  for (int i = 0; i < 3; ++i) {
    pthread_create(&threads[i], NULL, waiting_thread, &ids[i]);
    if (read(done[0], &byte, 1) != 1) return;
  }
  for (int i = 0; i < 4; ++i)
    fds[i] = (int)syscall(SYS_perf_event_open, &attr, i == 3 ? getpid() : ids[i], -1, -1, 0UL);
  if (write(go[1], "abc", 3) != 3) return;
  for (int i = 0; i < 3; ++i)
    pthread_join(threads[i], NULL);
  pthread_create(&threads[3], NULL, waiting_thread, &ids[0]); // of the first thread, whose event it inherits
  if (read(done[0], &byte, 1) != 1 || write(go[1], "d", 1) != 1) return;
  pthread_join(threads[3], NULL);
  for (int i = 0; i < 4; ++i)
    printf("thread %d: %ld\n", i, calls_counted(fds[i])), close(fds[i]);
  pthread_create(&threads[0], NULL, forking_thread, NULL);
  pthread_join(threads[0], NULL);
}

/// Events until there is no room for more.
static int open_all(void) {
  const struct rlimit limit = {2000, 2000};
  setrlimit(RLIMIT_NOFILE, &limit);
  int number = 0;
  while (open_in(event(), -1) >= 0)
    ++number;
  printf("%d: %s\n", number, strerror(errno));
  return 0;
}

/// A counter in user space, as perf_event_open(2) says.
static int read_in_user_space(void) {
  const int fd = open_in(event(), -1);
  const volatile struct perf_event_mmap_page* const at = MAP(page, MAP_SHARED, 0);
  printf("can: %d\n", (int)at->cap_user_rdpmc);
  if (!at->cap_user_rdpmc) return 0;
#ifdef __x86_64__
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = value(fd);
    int64_t counted = 0;
    uint32_t sequence = 0;
    do {
      sequence = at->lock;
      uint32_t low = 0, high = 0;
      __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(at->index - 1));
      counted = (int64_t)(((uint64_t)high << 32 | low) << (64 - at->pmc_width)) >> (64 - at->pmc_width);
      counted += at->offset;
    } while (at->lock != sequence);
    const uint64_t after = value(fd);
    printf("between: %d\n", before < (uint64_t)counted && (uint64_t)counted < after && after < before + 2000);
    if (i == 0) ioctl(fd, PERF_EVENT_IOC_RESET, 0);
  }
#endif
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  page = sysconf(_SC_PAGESIZE);
  program = argv[0];
  hardware = argc > 1 && strcmp(argv[1], "hardware") == 0;
  if (argc > 1 && strcmp(argv[1], "rdpmc") == 0) {
    hardware = 1;
    return read_in_user_space();
  }
  if (argc > 1 && strcmp(argv[1], "all") == 0) {
    hardware = 1;
    return open_all();
  }
  const int fd = open_in(event(), -1);
  if (fd < 0) return 77;
  close(fd);
  const struct {
    const char* name;
    void (*calls)(void);
  } all[] = {{"copies", copies}, {"controls", controls}, {"formats", formats}, {"attributes", attributes},
             {"rings", rings},   {"groups", groups},     {"execute", execute}, {"lineage", lineage}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    if (argc > 2 && strcmp(argv[2], all[i].name) != 0) continue;
    printf("# %s\n", all[i].name);
    all[i].calls();
  }
  return 0;
}
