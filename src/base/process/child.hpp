// Starts a program without a shell, and returns how it ended.
#pragma once

#include "base/process/fd.hpp"

#include <recount/error.hpp>

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::process {

/// Once, first in main(): records what this process inherited for the user's commands (Spawn::inherits), its
/// open descriptors, ignored signals and signal mask. Then sets what recount needs: SIGCHLD at its default,
/// as the kernel reaps children otherwise and wait4(2) fails; SIGPIPE and SIGXFSZ ignored, as errors of
/// write(2).
void record_inherited();
/// From 3 on those that the user's commands inherit.
[[nodiscard]] const std::vector<int>& inherited_descriptors();
/// The smallest descriptor from 3 on that the user's commands do not inherit.
[[nodiscard]] int free_descriptor();
/// Raises the soft limit of open files to the hard one; false: it is there already. Every child that is
/// started afterwards has the previous limit. Thread-safe.
bool raise_open_files();

/// How to start a child. Descriptors are duplicated onto the child's; every other one is closed on exec.
struct Spawn {
  std::vector<std::string> argv; ///< argv[0] is looked up in PATH when it holds no slash
  std::vector<std::pair<std::string, std::string>> environment = {}; ///< set beside the inherited variables
  int in = -1;                                                       ///< becomes stdin; -1: /dev/null
  int out = -1;                                                      ///< becomes stdout; -1: inherited
  int err = -1;                                                      ///< becomes stderr; -1: inherited
  std::vector<std::pair<int, int>> descriptors = {};                 ///< further ones: {source, target}
  bool inherits = false; ///< a command of the user: has what record_inherited() found, besides the above
  bool own_group = true; ///< own process group: a terminal's Ctrl-C does not reach it
  bool die_with_parent = true;  ///< PR_SET_PDEATHSIG SIGKILL; fires when the *thread* that started it ends
  bool fixed_addresses = false; ///< no address randomisation, where allowed
  bool core_dump = true;        ///< false: RLIMIT_CORE 0, for children that are expected to crash
  std::optional<int> cpu = {};  ///< pinned to this CPU before exec
  std::optional<std::size_t> memory_limit = {};     ///< RLIMIT_AS in bytes
  std::optional<std::pair<uid_t, gid_t>> user = {}; ///< runs as this user, without supplementary groups
  bool traced =
      false;         ///< stops (SIGTRAP) as soon as exec is done, for the calling thread to trace (ptrace(2))
  bool held = false; ///< waits just before exec until Child::release(): something to attach events to
};

/// A program that could not be started, distinguished as by shells and env(1): 127 if it does not
/// exist, 126 if it cannot be run.
class CannotRun : public Error {
public:
  CannotRun(const Error& error, int status) : Error(error), status_(status) {}
  [[nodiscard]] int status() const noexcept { return status_; }

private:
  int status_;
};

/// For a program that does not exist, whose name may be a whole command line.
[[nodiscard]] CannotRun not_found(const std::string& name);
/// For a failure of fork(2), after errno.
[[nodiscard]] Error no_fork(const std::string& subject);

/// Resource usage of a child and the descendants that it waited for (getrusage(2)).
struct Usage {
  double user_ns = 0, system_ns = 0;
  double max_rss = 0; ///< bytes, of the largest of these processes; that of the child before exec counts, too
  std::uint64_t switches = 0; ///< context switches, voluntary and involuntary
};

[[nodiscard]] Usage make_usage(const rusage& used);

/// How a child ended.
struct Exit {
  enum class How { exited, signalled, timed_out } how = How::exited;
  int code = 0;           ///< exit status, signal number, or the limit that passed in milliseconds
  Usage before_exec = {}; ///< of a child that was held; contained in the peak of `usage`, not in its times
  std::optional<Usage> usage = {}; ///< none where the child was reaped by somebody else
  [[nodiscard]] bool ok() const { return how == How::exited && code == 0; }
};
/// "exit status 3", "killed by signal 11 (SIGSEGV)", "still running after 10 s, killed".
[[nodiscard]] std::string describe(const Exit& exit);
/// "SIGSEGV"; "signal 34" where the number has no name.
[[nodiscard]] std::string signal_name(int number);

/// What a Child holds.
struct ChildState {
  pid_t pid_ = -1;
  bool own_group_ = false;
  std::optional<Exit> ended_;
  std::chrono::nanoseconds used_{0}; ///< once it has ended
  Usage before_;                     ///< of a held child, until it waited
  std::string name_;                 ///< argv[0], for messages
  Fd report_, gate_;                 ///< reports exec; a held child waits for the gate
};

/// A running child; destroying it kills its process group (SIGKILL) and reaps it. Movable; one owner thread.
class Child : ChildState {
public:
  /// Throws recount::Error (unavailable), naming argv[0] and the errno, when it cannot be started (also
  /// when exec itself fails, then as CannotRun: reported through a close-on-exec pipe; that of a held child
  /// by release()).
  explicit Child(const Spawn& spawn);
  Child(Child&& other) noexcept : ChildState(std::exchange(other.state(), {})) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(state(), other.state()); // the destructor of other ends the previous child
    return *this;
  }
  ~Child();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Lets a held child execute its program; once.
  void release();
  /// Waits; with a limit, kills the group once it has passed. Afterwards the same Exit is returned again.
  Exit wait(std::optional<std::chrono::milliseconds> limit = {});
  /// Waits up to the limit and does not kill: no value if it still runs. Returns early, also without a value,
  /// after a signal handler ran, so that the caller can check its flags.
  std::optional<Exit> wait_for(std::chrono::milliseconds limit);
  /// Processor time: while it runs, its own; once it has ended, also that of the descendants that it waited
  /// for.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;
  /// Context switches; 0 while it runs, or where somebody else reaped it.
  [[nodiscard]] std::uint64_t switches() const {
    return ended_ && ended_->usage ? ended_->usage->switches : 0;
  }
  /// Sends a signal to the group (or to the child when it has none of its own); nothing once it is reaped.
  void signal(int number) const noexcept;

private:
  friend Child adopt(pid_t pid, bool own_group);
  Child() = default;
  [[nodiscard]] ChildState& state() noexcept { return *this; }
  std::optional<Exit> reap(bool block);
  void await_report();
};

/// A descriptor from which this text can be read: a child's input without a second thread. Up to PIPE_BUF
/// bytes a pipe, which holds that much at any setting (pipe(7)) and is not subject to RLIMIT_FSIZE; else a
/// file in memory (memfd_create(2)). Throws recount::Error (unavailable).
[[nodiscard]] Fd text_file(std::string_view text);

/// A child whose outputs are read, each cut at `most` bytes so that it never blocks. Owned by one thread;
/// destroying it kills the child. Movable. Not usable in a forked child.
class Worker {
public:
  /// `out`, `err`: the read ends of its outputs.
  Worker(Child child, Fd out, Fd err, std::size_t most);

  /// Reads available bytes of both outputs; waits at most `wait_ms` for more.
  void read(int wait_ms = 0);
  [[nodiscard]] int out() const { return out_.get(); } ///< for poll(2); -1 after its end
  [[nodiscard]] int err() const { return err_.get(); }
  /// Whether an output is still open.
  [[nodiscard]] bool open() const { return out_ || err_; }
  /// Its stdout, without the lines removed by lines().
  [[nodiscard]] const std::string& answer() const { return answer_; }
  [[nodiscard]] std::string& answer() { return answer_; }
  /// Removes the whole lines from the answer and returns them.
  [[nodiscard]] std::string lines();
  [[nodiscard]] std::string& words() { return words_; } ///< its stderr
  /// The last line of its stderr; empty when there is none.
  [[nodiscard]] std::string_view last_words() const;
  [[nodiscard]] Child& child() { return child_; }
  [[nodiscard]] const Child& child() const { return child_; }

private:
  Child child_;
  Fd out_, err_;
  std::string answer_, words_;
  std::size_t most_;
};
/// Starts the program with the request as its standard input, if there is one. Throws as Child does.
[[nodiscard]] Worker start_worker(Spawn spawn, std::string_view request, std::size_t most = 16 << 20);

/// Both outputs of a short-lived child, each cut at `most` bytes.
struct Captured {
  Exit exit;
  std::string out, err;
};
/// Runs to the end, feeding `input` to stdin and gathering both outputs without deadlock. Does not wait for
/// output of grandchildren after the end of the child. Throws as Child does.
[[nodiscard]] Captured capture(Spawn spawn, std::string_view input = {},
                               std::optional<std::chrono::milliseconds> limit = {},
                               std::size_t most = 16 << 20);

/// Runs `body` in a forked child of this process (no exec) and returns how it ended: its exit status is the
/// body's value, 70 when the body threw (what() is then in `err`). `out` is what the body wrote to the
/// descriptor handed to it, `err` what it wrote to stdout and stderr. For code that may crash: PAPI with a
/// bad table. Call it before starting threads: only the calling thread exists in the child.
[[nodiscard]] Captured in_fork(const std::function<int(int fd)>& body, std::chrono::milliseconds limit);

// Stops a program at its entry point: its libraries are mapped, none of its code has run.

/// Waits until a process that is started with Spawn::traced, by the calling thread, has stopped after exec.
/// False: it has ended, and stays to be waited for.
bool stopped_after_exec(pid_t pid);

/// Lets a process that is stopped right after exec, and traced by the calling thread, run its dynamic linker
/// up to `past` bytes behind the entry point of the program, and stops it there. False if it ended before.
bool run_to_entry(pid_t pid, std::uint64_t past = 0);

// Finds programs.

/// The file that exec would run for `name`: itself when it holds a slash, else the first executable regular
/// file of that name along PATH. Nothing when there is none.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

/// The file of the running program (/proc/self/exe), to start it again. Throws recount::Error (unavailable)
/// where /proc is not mounted.
[[nodiscard]] std::string this_program();

/// The command line as it was typed, from /proc/self/cmdline.
[[nodiscard]] std::vector<std::string> command_line();

/// As in_fork(), while it runs: the answer is what the body writes to the descriptor, the words are what it
/// writes to stdout and stderr. Call it before starting threads: only the calling thread exists in the child.
[[nodiscard]] Worker fork_worker(const std::function<int(int fd)>& body);

} // namespace recount::process
