// Starting a program without a shell, and learning how it ended.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace recount::process {

/// How to start a child. Descriptors are duplicated onto the child's; every other one is closed on exec.
struct Spawn {
  std::vector<std::string> argv; ///< argv[0] is looked up in PATH when it holds no slash
  std::vector<std::pair<std::string, std::string>> environment; ///< set beside the inherited variables
  int in = -1;    ///< becomes stdin; -1: /dev/null
  int out = -1;   ///< becomes stdout; -1: inherited
  int err = -1;   ///< becomes stderr; -1: inherited
  std::vector<std::pair<int, int>> descriptors; ///< further ones: {ours, theirs}
  bool own_group = true;         ///< own process group: a terminal's Ctrl-C does not reach it
  bool die_with_parent = true;   ///< PR_SET_PDEATHSIG SIGKILL
  bool fixed_addresses = false;  ///< no address randomisation, where allowed
  std::optional<int> cpu;        ///< pinned to this CPU before exec
  std::optional<std::size_t> memory_limit; ///< RLIMIT_AS in bytes
};

/// How a child ended.
struct Exit {
  enum class How { exited, signalled, timed_out } how = How::exited;
  int code = 0; ///< exit status or signal number
  [[nodiscard]] bool ok() const { return how == How::exited && code == 0; }
};
/// "exit status 3", "killed by signal 11 (SIGSEGV)", "still running after 10 s, killed".
[[nodiscard]] std::string describe(const Exit& exit);

/// A running child; destroying it kills its process group (SIGKILL) and reaps it. Movable; one owner thread.
class Child {
public:
  /// Throws recount::Error (unavailable), naming argv[0] and the errno, when it cannot be started (also
  /// when exec itself fails: reported through a close-on-exec pipe).
  explicit Child(const Spawn& spawn);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Waits; with a limit, kills the group once it has passed.
  Exit wait(std::optional<std::chrono::milliseconds> limit = {});
  void signal(int number) const noexcept;

private:
  pid_t pid_ = -1;
};

/// Both outputs of a short-lived child, each cut at `most` bytes.
struct Captured {
  Exit exit;
  std::string out, err;
};
/// Runs to the end, feeding `input` to stdin and gathering both outputs without deadlock.
[[nodiscard]] Captured capture(Spawn spawn, std::string_view input = {},
                               std::optional<std::chrono::milliseconds> limit = {}, std::size_t most = 16 << 20);

/// Runs `body` in a forked child of this process (no exec) and returns how it ended with what it wrote to
/// the descriptor handed to it. For code that may crash: PAPI with a bad table.
template <class Body> [[nodiscard]] Captured in_fork(Body&& body, std::chrono::milliseconds limit);

} // namespace recount::process
