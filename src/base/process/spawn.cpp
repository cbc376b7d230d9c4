#include "base/affinity.hpp"
#include "base/errno_fix.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string_view>

// Between fork and exec: only what signal-safety(7) allows, since other threads may hold any lock.
namespace recount::process {
Child adopt(pid_t pid, bool own_group);

namespace {

/// What the user gave to recount.
struct Inherited {
  std::vector<int> descriptors; ///< from 3 on
  std::vector<int> ignored;     ///< of the signals that record_inherited() sets
  sigset_t blocked{};
};
Inherited inherited; // written before there are threads

constexpr rlim_t not_raised = RLIM_INFINITY;
std::atomic<rlim_t> files_before{not_raised}; ///< the soft limit that raise_open_files() replaced

/// Which step failed in the child, as sent through the pipe.
enum class Step : int { descriptors, cpu, memory, user, trace, held, hold, exec };
struct Report {
  Step step;
  int error;
  int cpu;         ///< the requested one
  Usage used = {}; ///< until a held child waits
};

/// Data for the child, prepared before fork because it allocates.
struct Prepared {
  std::string path;
  std::vector<char*> argv, environment;
  std::vector<std::string> variables;
  char* listen_pid = nullptr;             ///< where its own process ID belongs, see sd_listen_fds(3)
  std::vector<int> kept;                  ///< descriptors that the user gave
  std::vector<std::pair<int, int>> moves; ///< {source, target}; the source is replaced by a high duplicate
  int first_free = 3;                     ///< above every descriptor the child wants
};

/// Valgrind shows /proc/self/exe as the file of the program, but would execute its own. A program that was
/// replaced by a newer one since it was started ("... (deleted)") runs on.
std::string executable(const std::string& file) {
  if (file != "/proc/self/exe") return file;
  std::error_code error;
  const auto target = std::filesystem::read_symlink(file, error);
  const bool other = !error && std::filesystem::exists(target, error) &&
                     !std::filesystem::equivalent(target, file, error) && !error;
  return other ? target.string() : file;
}

Prepared prepare(const Spawn& spawn, int null) {
  Prepared p;
  if (spawn.argv.empty()) throw bad_input("(empty command)", "no program to run");
  const auto path = find_program(spawn.argv[0]);
  // Without a file, exec is still tried with the given name, for its errno.
  p.path = executable(path ? *path : spawn.argv[0]);
  for (const auto& word : spawn.argv)
    p.argv.push_back(const_cast<char*>(word.c_str()));
  p.argv.push_back(nullptr);
  for (const auto& [name, value] : spawn.environment)
    p.variables.push_back(name + "=" + value);
  const std::string listen = "LISTEN_PID=", inherited_here = listen + std::to_string(::getpid());
  for (char** v = environ; v && *v; ++v) {
    const std::string_view variable = *v;
    if (spawn.inherits && variable == inherited_here) {
      p.variables.push_back(listen + std::string(std::numeric_limits<pid_t>::digits10 + 1, '\0'));
      continue;
    }
    const bool replaced = std::any_of(spawn.environment.begin(), spawn.environment.end(), [&](const auto& e) {
      return variable.starts_with(e.first) && variable.substr(e.first.size()).starts_with('=');
    });
    if (!replaced) p.environment.push_back(*v);
  }
  for (auto& v : p.variables) {
    p.environment.push_back(v.data());
    if (v.starts_with(listen) && v.back() == '\0') p.listen_pid = v.data() + listen.size();
  }
  p.environment.push_back(nullptr);
  if (spawn.inherits) p.kept = inherited.descriptors;
  p.moves.emplace_back(spawn.in >= 0 ? spawn.in : null, STDIN_FILENO);
  if (spawn.out >= 0) p.moves.emplace_back(spawn.out, STDOUT_FILENO);
  if (spawn.err >= 0) p.moves.emplace_back(spawn.err, STDERR_FILENO);
  p.moves.insert(p.moves.end(), spawn.descriptors.begin(), spawn.descriptors.end());
  for (const auto& [from, to] : p.moves)
    p.first_free = std::max(p.first_free, to + 1);
  return p;
}

void send_report(int pipe, const Report& report) {
  [[maybe_unused]] const auto written = ::write(pipe, &report, sizeof report);
}

[[noreturn]] void give_up(int pipe, Step step, int cpu = -1) {
  send_report(pipe, {step, errno, cpu, {}});
  ::_exit(127);
}

/// Closes on exec everything but the standard descriptors, the wanted and the kept ones.
void close_the_rest(const Prepared& p) {
  if (::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) != 0) { // Linux before 5.11
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
    for (int fd = 3; fd < last; ++fd)
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  for (const int fd : p.kept)
    ::fcntl(fd, F_SETFD, 0);
  for (const auto& [source, target] : p.moves)
    ::fcntl(target, F_SETFD, 0);
}

/// Two passes, through duplicates above every target, so that no move overwrites the source of another.
bool move_descriptors(Prepared& p) {
  for (auto& [source, target] : p.moves) {
    source = ::fcntl(source, F_DUPFD_CLOEXEC, p.first_free);
    if (source < 0) return false;
  }
  for (const auto& [source, target] : p.moves) {
    if (::dup2(source, target) < 0) return false;
  }
  return true;
}

/// With room for the descriptors that are open: the limit concerns new ones only (getrlimit(2)).
void restore_open_files() {
  const rlim_t before = files_before.load();
  rlimit limit{};
  if (before == not_raised || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(before, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// As the user's commands would have them without recount.
void restore_signals() {
  for (const int number : inherited.ignored)
    ::signal(number, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &inherited.blocked, nullptr);
}

bool limit_memory(const Spawn& spawn) {
  if (!spawn.core_dump) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
  }
  if (!spawn.memory_limit) return true;
  const rlimit most{*spawn.memory_limit, *spawn.memory_limit};
  return ::setrlimit(RLIMIT_AS, &most) == 0;
}

bool become(const std::pair<uid_t, gid_t>& user) {
  return ::setgroups(0, nullptr) == 0 && ::setgid(user.second) == 0 && ::setuid(user.first) == 0;
}

/// The child's ends of the pipes to the parent.
struct Ends {
  int report;    ///< written to when a step fails
  int gate = -1; ///< read from by a held child
};

/// Waits until the parent opens the gate; false if the parent has exited.
bool wait_at(int gate) {
  char go = 0;
  ssize_t got = 0;
  while ((got = ::read(gate, &go, 1)) < 0 && errno == EINTR) {
  }
  return got == 1;
}

[[noreturn]] void run_child(const Spawn& spawn, Prepared& p, Ends ends, pid_t parent) {
  const int report = ::fcntl(ends.report, F_DUPFD_CLOEXEC, p.first_free);
  const int gate = spawn.held ? ::fcntl(ends.gate, F_DUPFD_CLOEXEC, p.first_free) : -1;
  if (spawn.own_group) ::setpgid(0, 0);
  if (!move_descriptors(p)) give_up(report, Step::descriptors);
  close_the_rest(p);
  restore_open_files();
  if (spawn.cpu && !base::pin_to(*spawn.cpu)) give_up(report, Step::cpu, *spawn.cpu);
  if (!limit_memory(spawn)) give_up(report, Step::memory);
  if (spawn.user && !become(*spawn.user)) give_up(report, Step::user);
  if (spawn.fixed_addresses) {
    const int now = ::personality(0xffffffffU);
    if (now >= 0) ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE);
  }
  if (spawn.die_with_parent) { // after setuid, which clears it
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127); // the parent died before prctl
  }
  forget_signal_handlers();
  if (spawn.inherits) restore_signals();
  if (p.listen_pid)
    std::to_chars(p.listen_pid, p.listen_pid + std::numeric_limits<pid_t>::digits10 + 1, ::getpid());
  if (spawn.traced && ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) give_up(report, Step::trace);
  if (spawn.held) {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    send_report(report, {Step::held, 0, -1, make_usage(used)});
    if (!wait_at(gate)) give_up(report, Step::hold);
  }
  ::execve(p.path.c_str(), p.argv.data(), p.environment.data());
  give_up(report, Step::exec);
}

[[noreturn]] void throw_report(const std::string& name, const Report& report) {
  const std::string why = std::strerror(report.error);
  switch (report.step) {
  case Step::descriptors:
    throw unavailable(name, "cannot pass its file descriptors: " + why, {}, base::errno_fix(report.error));
  case Step::cpu:
    throw unavailable(name, "cannot be pinned to CPU " + std::to_string(report.cpu) + ": " + why,
                      "cpus allowed: see Cpus_allowed_list in /proc/self/status", "choose one of these CPUs");
  case Step::memory: throw unavailable(name, "cannot limit its memory: " + why, {}, "ulimit -v");
  case Step::user: throw unavailable(name, "cannot run it as another user: " + why, {}, "run as root");
  case Step::trace: throw unavailable(name, "cannot be traced at its start: " + why);
  case Step::held:
  case Step::hold: throw unavailable(name, "was stopped before exec and never resumed");
  case Step::exec: break;
  }
  if (report.error == ENOENT) throw not_found(name);
  throw CannotRun(unavailable(name, "cannot be run: " + why), 126);
}
} // namespace

CannotRun not_found(const std::string& name) {
  constexpr std::string_view blanks = " \t\n", syntax = "|&;<>()$`\\\"'*?[#~{}!\n";
  std::string cause = "program not found in PATH", fix = "install it, or add its directory to PATH";
  if (name.find('/') != std::string::npos) {
    cause = ::access(name.c_str(), F_OK) == 0
                ? "cannot be run: its interpreter (of the line #!, or the dynamic linker) does not exist"
                : "cannot be run: No such file or directory";
    fix.clear();
  }
  if (name.find_first_of(blanks) != std::string::npos) {
    std::string quoted = name;
    for (auto at = quoted.find('\''); at != std::string::npos; at = quoted.find('\'', at + 4))
      quoted.replace(at, 1, "'\\''");
    cause += "; it is one word with blanks";
    fix = "-- sh -c '" + quoted + "'";
    if (name.find_first_of(syntax) == std::string::npos) fix = "give words: -- " + name + "; or " + fix;
  }
  return {unavailable(name, cause, {}, fix), 127};
}

Error no_fork(const std::string& subject) {
  const int error = errno;
  return unavailable(subject, std::string("fork: ") + std::strerror(error), {},
                     error == EAGAIN ? "ulimit -u" : base::errno_fix(error));
}

void record_inherited() {
  inherited = {};
  ::sigprocmask(SIG_SETMASK, nullptr, &inherited.blocked);
  for (const auto& [number, needed] :
       {std::pair(SIGCHLD, SIG_DFL), std::pair(SIGPIPE, SIG_IGN), std::pair(SIGXFSZ, SIG_IGN)})
    if (::signal(number, needed) == SIG_IGN) inherited.ignored.push_back(number);
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    const int fd = std::atoi(at->path().filename().c_str());
    const int flags = fd > STDERR_FILENO ? ::fcntl(fd, F_GETFD) : -1;
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
      inherited.descriptors.push_back(fd); // exec closed the others
  }
}

const std::vector<int>& inherited_descriptors() {
  return inherited.descriptors;
}

int free_descriptor() {
  int fd = STDERR_FILENO + 1;
  while (std::ranges::count(inherited.descriptors, fd) > 0)
    ++fd;
  return fd;
}

bool raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return false;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  files_before = before;
  return true;
}

Child::Child(const Spawn& spawn) {
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Prepared prepared = prepare(spawn, null.get());
  Pipe pipe;
  int gate[2] = {-1, -1}; // sockets: writing to a child that was killed raises no SIGPIPE then
  if (spawn.held && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0)
    throw unavailable(spawn.argv[0], std::string("socketpair: ") + std::strerror(errno), {},
                      base::errno_fix(errno));
  gate_.reset(gate[0]);
  const Fd gate_of_child(gate[1]);
  const pid_t parent = ::getpid();
  {
    // A handler of the parent must not run in the child.
    const SignalsBlocked blocked;
    pid_ = ::fork();
    if (pid_ == 0) {
      gate_.reset(); // or it would keep its own gate from closing
      run_child(spawn, prepared, {pipe.write.get(), gate_of_child.get()}, parent);
    }
  }
  if (pid_ < 0) throw no_fork(spawn.argv[0]);
  own_group_ = spawn.own_group;
  if (own_group_) ::setpgid(pid_, pid_); // also here, so that signal() works at once
  name_ = spawn.argv[0];
  report_ = std::move(pipe.read);
  pipe.write.reset();
  await_report(); // a held child reports that it waits
}

void Child::release() {
  if (!gate_) return;
  [[maybe_unused]] const auto sent = ::send(gate_.get(), "g", 1, MSG_NOSIGNAL); // wait() reports its death
  gate_.reset();
  await_report();
}

/// Until it waits to be released, or its program runs: the pipe closes by itself then.
void Child::await_report() {
  Report report{};
  ssize_t got = 0;
  while ((got = ::read(report_.get(), &report, sizeof report)) < 0 && errno == EINTR) {
  }
  if (got == sizeof report && report.step == Step::held) {
    before_ = report.used;
    return;
  }
  report_.reset();
  if (got != sizeof report) return;
  gate_.reset();
  wait();
  throw_report(name_, report);
}

Child adopt(pid_t pid, bool own_group) {
  Child child;
  child.pid_ = pid;
  child.own_group_ = own_group;
  return child;
}

namespace {
#if defined(__x86_64__)
constexpr std::uint64_t trap = 0xcc, trap_mask = 0xff; // int3
std::uint64_t counter_of(const user_regs_struct& r) {
  return r.rip;
}
/// Past the one byte of int3.
void set_counter(user_regs_struct& r, std::uint64_t to) {
  r.rip = to;
}
constexpr std::uint64_t past_trap = 1;
#elif defined(__aarch64__)
constexpr std::uint64_t trap = 0xd4200000, trap_mask = 0xffffffff; // brk #0
std::uint64_t counter_of(const user_regs_struct& r) {
  return r.pc;
}
void set_counter(user_regs_struct& r, std::uint64_t to) {
  r.pc = to;
}
constexpr std::uint64_t past_trap = 0;
#endif

/// Where the program begins, as the kernel states it (getauxval(3)); 0: unknown.
std::uint64_t entry_of(pid_t pid) {
  const auto vector = base::read_file(fmt::format("/proc/{}/auxv", pid)).value_or("");
  for (std::size_t at = 0; at + 2 * sizeof(std::uint64_t) <= vector.size(); at += 2 * sizeof(std::uint64_t)) {
    std::uint64_t pair[2];
    std::memcpy(pair, vector.data() + at, sizeof pair);
    if (pair[0] == AT_ENTRY) return pair[1];
  }
  return 0;
}

bool poke(pid_t pid, std::uint64_t address, std::uint64_t word) {
  return ::ptrace(PTRACE_POKETEXT, pid, address, word) == 0;
}

/// Waits for the next stop; the signal that made it, 0 when the process ended (which stays to be waited for).
int next_stop(pid_t pid) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WSTOPPED | WNOWAIT) != 0) {
    if (errno != EINTR) return 0;
  }
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) return 0;
  int status = 0;
  return ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/// Puts back what the trap covers, and the program counter onto it.
bool take_away(pid_t pid, std::uint64_t entry, std::uint64_t word) {
  user_regs_struct registers{};
  iovec where{&registers, sizeof registers};
  if (!poke(pid, entry, word) || ::ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &where) != 0) return false;
  if (counter_of(registers) != entry + past_trap) return false;
  set_counter(registers, entry);
  return ::ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &where) == 0;
}
} // namespace

bool stopped_after_exec(pid_t pid) {
  return next_stop(pid) == SIGTRAP;
}

bool run_to_entry(pid_t pid, std::uint64_t past) {
  const std::uint64_t known = entry_of(pid), entry = known + past;
  errno = 0;
  const auto word = static_cast<std::uint64_t>(::ptrace(PTRACE_PEEKTEXT, pid, entry, nullptr));
  if (known == 0 || errno != 0 || !poke(pid, entry, (word & ~trap_mask) | trap)) return false;
  for (int signal = 0;;) {
    if (::ptrace(PTRACE_CONT, pid, nullptr, signal) != 0) return false;
    signal = next_stop(pid);
    if (signal == 0) return false;
    if (signal == SIGTRAP) return take_away(pid, entry, word);
  }
}

namespace {
bool runnable(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}
} // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return runnable(name) ? std::optional(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  for (const auto folder :
       base::split(std::string_view(variable ? variable : "/usr/local/bin:/usr/bin:/bin"), ':'))
    if (const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name); runnable(file))
      return file;
  return {};
}

std::string this_program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw unavailable("/proc/self/exe", error.message(), {}, "mount -t proc proc /proc");
  return path.string();
}

std::vector<std::string> command_line() {
  const std::string text = base::read_file("/proc/self/cmdline").value_or("");
  std::vector<std::string> words;
  for (const auto word : base::split(text, '\0'))
    words.emplace_back(word);
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

} // namespace recount::process
