/* Executes a program instruction by instruction from its entry point on and prints how many it executes:
 * step [FROM] COMMAND... FROM: the address to begin at instead, 0x... An instruction that repeats itself for each element counts once. ptrace(2), PTRACE_SINGLESTEP. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long entry_of(pid_t pid) {
  char name[64];
  unsigned long pair[2];
  snprintf(name, sizeof name, "/proc/%d/auxv", pid);
  const int fd = open(name, O_RDONLY);
  while (read(fd, pair, sizeof pair) == sizeof pair)
    if (pair[0] == AT_ENTRY) return pair[1];
  return 0;
}

int main(int count, char** words) {
  int status = 0;
  unsigned long steps = 0, last = 0;
  const unsigned long from = strncmp(words[1], "0x", 2) == 0 ? strtoul(words[1], NULL, 16) : 0;
  words += from != 0;
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    dup2(open("/dev/null", O_WRONLY), 1);
    execv(words[1], words + 1);
    _exit(127);
  }
  waitpid(pid, &status, 0);
  const unsigned long entry = from != 0 ? from : entry_of(pid);
  const long word = ptrace(PTRACE_PEEKTEXT, pid, entry, 0);
  struct user_regs_struct r;
  ptrace(PTRACE_POKETEXT, pid, entry, (word & ~0xffL) | 0xcc);
  ptrace(PTRACE_CONT, pid, 0, 0);
  waitpid(pid, &status, 0);
  ptrace(PTRACE_GETREGS, pid, 0, &r);
  r.rip = entry;
  ptrace(PTRACE_SETREGS, pid, 0, &r);
  ptrace(PTRACE_POKETEXT, pid, entry, word);
  while (WIFSTOPPED(status)) {
    ptrace(PTRACE_GETREGS, pid, 0, &r);
    steps += r.rip != last; /* a jump to itself does not occur */
    last = r.rip;
    ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
    waitpid(pid, &status, 0);
  }
  printf("%lu\n", steps);
  return count > 1 ? WEXITSTATUS(status) : 2;
}
