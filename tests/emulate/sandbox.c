/* sandbox COMMAND...: executes COMMAND as the default seccomp profile of containers does: no perf_event_open,
 * no namespaces, no mounts, no capabilities. As user "nobody" where that user can execute COMMAND. Exit
 * status 77: this Linux has no seccomp filters. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(FIELD) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, FIELD))
#define REFUSE(ERROR) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (ERROR))
#define REFUSE_CALL(NUMBER, ERROR) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 0, 1), REFUSE(ERROR)

static int filter(void) {
  struct sock_filter code[] = {
      LOAD(nr),
      REFUSE_CALL(SYS_perf_event_open, EPERM),
      REFUSE_CALL(SYS_unshare, EPERM),
      REFUSE_CALL(SYS_setns, EPERM),
      REFUSE_CALL(SYS_mount, EPERM),
      REFUSE_CALL(SYS_umount2, EPERM),
      REFUSE_CALL(SYS_pivot_root, EPERM),
      REFUSE_CALL(SYS_bpf, EPERM),
      REFUSE_CALL(SYS_clone3, ENOSYS), /* its flags are in memory, where a filter cannot look */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      LOAD(args[0]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER | CLONE_NEWNS, 0, 1),
      REFUSE(EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void drop_privileges(const char* command) {
  const uid_t nobody = 65534;
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  char path[PATH_MAX]; /* whole: a relative one may pass below a folder that the user cannot enter */
  if (geteuid() == 0) {
    if (realpath(command, path) && seteuid(nobody) == 0) {
      const int executable = faccessat(-100, path, X_OK, 0x200 /* AT_EACCESS */) == 0;
      if (seteuid(0) != 0) exit(125);
      if (executable && (setresgid(nobody, nobody, nobody) || setresuid(nobody, nobody, nobody))) exit(125);
    }
  }
  if (syscall(SYS_capset, &header, none) != 0) perror("capset");
}

int main(int count, char** arguments) {
  if (count < 2) return 125;
  drop_privileges(arguments[1]);
  if (filter()) {
    perror("SKIP: seccomp");
    return 77;
  }
  execvp(arguments[1], arguments + 1);
  perror(arguments[1]);
  return 127;
}
