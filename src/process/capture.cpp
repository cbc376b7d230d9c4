#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/signals.hpp"
#include "process/worker.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::process {
Child adopt(pid_t pid, bool own_group);

namespace {
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// One output being read.
struct Stream {
  Fd fd;
  std::string text;
};

Captured gather(Child child, Fd out, Fd err, std::optional<milliseconds> limit, std::size_t most) {
  Stream streams[] = {{std::move(out), {}}, {std::move(err), {}}};
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
    for (auto& stream : streams)
      drain(stream.fd, stream.text, most);
    exit = child.wait_for(milliseconds(0));
  }
  for (auto& stream : streams)
    drain(stream.fd, stream.text, most);
  return {*exit, std::move(streams[0].text), std::move(streams[1].text)};
}

[[noreturn]] void run_body(const std::function<int(int)>& body, int out, int err, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  forget_signal_handlers(); // handlers of a test framework or a sanitizer would hide the crash
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
    file = text_file(input);
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
  std::fflush(nullptr); // else the child would write the buffered text again
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
