#include "plot/gnuplot.hpp"

#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/program.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::plot {
namespace {
constexpr const char* install = "install gnuplot (Debian: apt-get install gnuplot-nox)";

/// Blocks SIGPIPE in this thread; one that comes meanwhile is taken away before it is unblocked.
class NoSigpipe {
public:
  NoSigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec at_once{0, 0};
    if (!was_pending_) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

/// A file in memory: unlike a pipe it never fills, so the child's words need no reader while it runs.
process::Fd memory_file() {
  process::Fd fd(::memfd_create("gnuplot-says", MFD_CLOEXEC));
  if (!fd) throw unavailable("gnuplot", std::string("memfd_create: ") + std::strerror(errno));
  return fd;
}

std::string contents(int fd) {
  std::string text(64 * 1024, '\0');
  const auto n = ::pread(fd, text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.pop_back();
  return text;
}

/// Returns whether gnuplot took everything.
bool feed(process::Fd to, const std::function<void(GnuplotWriter&)>& send) {
  const NoSigpipe guard;
  std::FILE* file = ::fdopen(to.get(), "w");
  if (!file) throw unavailable("gnuplot", std::string("fdopen: ") + std::strerror(errno));
  static_cast<void>(to.release());
  GnuplotWriter gp(file); // closes the file
  send(gp);
  // Reading from a pipe, gnuplot goes on after an error and ends with 0 all the same: ask it.
  gp << "if (GPVAL_ERRNO != 0) { exit status 65 }\n";
  return gp.flush();
}
} // namespace

std::string run_gnuplot(const std::function<void(GnuplotWriter&)>& send) {
  if (!process::find_program("gnuplot"))
    throw unavailable("gnuplot", "not found in PATH, but needed to draw figures", {}, install);
  const process::Fd words = memory_file();
  process::Pipe pipe;
  process::Spawn spawn;
  spawn.argv = {"gnuplot", "--default-settings"};
  // Without a UTF-8 locale gnuplot warns that iconv cannot convert its degree sign (src/encoding.c).
  spawn.environment = {{"LC_ALL", "C.UTF-8"}};
  spawn.in = pipe.read.get();
  spawn.out = words.get();
  spawn.err = words.get();
  process::Child child(spawn);
  pipe.read.reset();
  const bool all = feed(std::move(pipe.write), send);
  const auto exit = child.wait(std::chrono::minutes(2));
  std::string said = contents(words.get());
  if (exit.ok() && all) return said;
  std::string cause = exit.ok() ? "stopped reading its commands" : "failed (" + process::describe(exit) + ")";
  cause += said.empty() ? ", without output" : ", output:\n" + said;
  throw unavailable("gnuplot", cause, {},
                    "gnuplot --version should be 5.2 or later; " + std::string(install));
}

} // namespace recount::plot
