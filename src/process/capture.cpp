#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::process {
Child adopt(pid_t pid, bool own_group);

namespace {
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// One output on its way in; what exceeds `most` is read and dropped, so that the writer never blocks.
struct Stream {
  Fd fd;
  std::string text;
  std::size_t most;

  /// False once the other end is closed, or nothing more is there for now.
  bool take() {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) return true;
    if (got < 0 && errno == EAGAIN) return false;
    if (got <= 0) {
      fd.reset();
      return false;
    }
    text.append(buffer.data(), std::min(static_cast<std::size_t>(got), most - std::min(most, text.size())));
    return true;
  }
};

Captured gather(Child child, Fd out, Fd err, std::optional<milliseconds> limit, std::size_t most) {
  Stream streams[] = {{std::move(out), {}, most}, {std::move(err), {}, most}};
  for (const auto& stream : streams)
    ::fcntl(stream.fd.get(), F_SETFL, O_NONBLOCK);
  const auto deadline = Clock::now() + limit.value_or(std::chrono::hours(24 * 365));
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
  std::optional<Exit> exit;
  while (!exit) {
    const auto left = std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), milliseconds(0));
    if (left.count() == 0) {
      exit = child.wait(milliseconds(0));
      exit->code = exit->how == Exit::How::timed_out ? static_cast<int>(limit->count()) : exit->code;
      break;
    }
    pollfd watched[] = {
        {streams[0].fd.get(), POLLIN, 0}, {streams[1].fd.get(), POLLIN, 0}, {pidfd.get(), POLLIN, 0}};
    const milliseconds step = std::min(left, milliseconds(pidfd ? 60'000 : 5));
    ::poll(watched, 3, static_cast<int>(step.count()));
    for (auto& stream : streams) {
      if (stream.fd) stream.take();
    }
    exit = child.wait_for(milliseconds(0));
  }
  for (auto& stream : streams) {
    while (stream.fd && stream.take()) {
    }
  }
  return {*exit, std::move(streams[0].text), std::move(streams[1].text)};
}

/// A file in memory as stdin: no second thread, no SIGPIPE when the child reads nothing of it.
Fd input_file(std::string_view input) {
  Fd file(::memfd_create("recount-input", MFD_CLOEXEC));
  while (file && !input.empty()) {
    const ssize_t put = ::write(file.get(), input.data(), input.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw unavailable("input of a child", std::strerror(errno));
    input.remove_prefix(static_cast<std::size_t>(put));
  }
  if (!file || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw unavailable("input of a child", std::strerror(errno));
  return file;
}

[[noreturn]] void run_body(const std::function<int(int)>& body, int out, int err, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  forget_signal_handlers(); // a test framework's or a sanitizer's would survive the crash we want to see
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::dup2(err, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  int status = 70;
  try {
    status = body(out);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (...) {
    std::fputs("unknown exception\n", stderr);
  }
  std::fflush(nullptr);
  ::_exit(status);
}
} // namespace

Captured capture(Spawn spawn, std::string_view input, std::optional<milliseconds> limit, std::size_t most) {
  Fd file;
  if (!input.empty()) {
    file = input_file(input);
    spawn.in = file.get();
  }
  Pipe out, err;
  spawn.out = out.write.get();
  spawn.err = err.write.get();
  Child child(spawn);
  out.write.reset();
  err.write.reset();
  return gather(std::move(child), std::move(out.read), std::move(err.read), limit, most);
}

Captured in_fork(const std::function<int(int)>& body, milliseconds limit) {
  Pipe out, err;
  const pid_t parent = ::getpid();
  std::fflush(nullptr); // else the child would write our buffered text again
  pid_t pid = -1;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) run_body(body, out.write.get(), err.write.get(), parent);
  }
  if (pid < 0) throw unavailable("fork", std::strerror(errno), {}, "ulimit -u");
  ::setpgid(pid, pid);
  out.write.reset();
  err.write.reset();
  return gather(adopt(pid, true), std::move(out.read), std::move(err.read), limit, 16 << 20);
}

} // namespace recount::process
