#include "base/process/child.hpp"

#include "base/errno_fix.hpp"
#include "base/process/signals.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>

namespace recount::process {
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Fd null_output() {
  return Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

Pipe::Pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw unavailable("pipe", std::strerror(errno), {}, base::errno_fix(errno));
  read.reset(ends[0]);
  write.reset(ends[1]);
}

Fd text_file(std::string_view text) {
  if (text.size() <= PIPE_BUF) {
    Pipe pipe;
    if (!write_all(pipe.write.get(), text)) throw unavailable("input of a child", std::strerror(errno));
    return std::move(pipe.read);
  }
  Fd file(::memfd_create("recount-input", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), text) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw unavailable("input of a child", std::string("memfd_create: ") + std::strerror(errno));
  return file;
}

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

std::string describe(const Exit& exit) {
  switch (exit.how) {
  case Exit::How::exited: return fmt::format("exit status {}", exit.code);
  case Exit::How::signalled:
    return fmt::format("killed by signal {} ({})", exit.code, signal_name(exit.code));
  case Exit::How::timed_out: return fmt::format("still running after {} s, killed", exit.code / 1000.0);
  }
  return {};
}

Child::~Child() {
  if (pid_ < 0 || ended_) return;
  signal(SIGKILL);
  reap(true);
}

void Child::signal(int number) const noexcept {
  if (pid_ <= 0 || ended_) return;
  if (!own_group_ || ::kill(-pid_, number) != 0) ::kill(pid_, number);
}

Usage make_usage(const rusage& used) {
  const auto ns = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return {ns(used.ru_utime), ns(used.ru_stime), static_cast<double>(used.ru_maxrss) * 1024,
          static_cast<std::uint64_t>(used.ru_nvcsw + used.ru_nivcsw)};
}

std::optional<Exit> Child::reap(bool block) {
  int status = 0;
  pid_t got = 0;
  rusage used{};
  while ((got = ::wait4(pid_, &status, block ? 0 : WNOHANG, &used)) < 0 && errno == EINTR) {
  }
  if (got == 0) return {};
  const Usage usage = make_usage(used);
  used_ = std::chrono::nanoseconds(std::llround(usage.user_ns + usage.system_ns));
  if (got < 0)
    ended_ = Exit{Exit::How::exited, 127}; // already reaped (SIGCHLD ignored)
  else if (WIFSIGNALED(status))
    ended_ = Exit{Exit::How::signalled, WTERMSIG(status)};
  else
    ended_ = Exit{Exit::How::exited, WEXITSTATUS(status)};
  if (got > 0) {
    ended_->usage = {std::max(0.0, usage.user_ns - before_.user_ns),
                     std::max(0.0, usage.system_ns - before_.system_ns), usage.max_rss, usage.switches};
    ended_->before_exec = before_;
  }
  return ended_;
}

std::chrono::nanoseconds Child::cpu_time() const {
  clockid_t clock{};
  timespec used{};
  if (ended_ || ::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return used_;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::optional<Exit> Child::wait_for(milliseconds limit) {
  if (ended_) return ended_;
  const auto deadline = Clock::now() + limit;
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  while (true) {
    if (auto exit = reap(false)) return exit;
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return {};
    // Where pidfd_open is missing or forbidden, look again every millisecond.
    const milliseconds step = pidfd ? std::min(left, milliseconds(3'600'000)) : milliseconds(1);
    pollfd watched{pidfd.get(), POLLIN, 0};
    if (::poll(&watched, pidfd ? 1 : 0, static_cast<int>(step.count())) < 0) return reap(false);
  }
}

Exit Child::wait(std::optional<milliseconds> limit) {
  if (ended_) return *ended_;
  if (!limit) return *reap(true);
  const auto deadline = Clock::now() + *limit;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (auto exit = wait_for(std::max(left, milliseconds(0)))) return *exit;
    if (left.count() <= 0) break;
  }
  signal(SIGKILL);
  reap(true);
  ended_ = Exit{Exit::How::timed_out, static_cast<int>(limit->count())};
  return *ended_;
}

Child adopt(pid_t pid, bool own_group);

namespace {

/// Appends what a non-blocking descriptor holds now. Closes it at its end.
void drain(Fd& fd, std::string& text, std::size_t most) {
  char block[1 << 14];
  while (fd) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return fd.reset();
    text.append(block, std::min(static_cast<std::size_t>(got), most - std::min(most, text.size())));
  }
}

Captured gather(Worker worker, std::optional<milliseconds> limit) {
  Child& child = worker.child();
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
    pollfd watched[] = {{worker.out(), POLLIN, 0}, {worker.err(), POLLIN, 0}, {pidfd.get(), POLLIN, 0}};
    const milliseconds step = std::min(left, milliseconds(pidfd ? 60'000 : 5));
    ::poll(watched, 3, static_cast<int>(step.count()));
    worker.read();
    exit = child.wait_for(milliseconds(0));
  }
  worker.read();
  return {*exit, std::move(worker.answer()), std::move(worker.words())};
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

Worker::Worker(Child child, Fd out, Fd err, std::size_t most)
    : child_(std::move(child)), out_(std::move(out)), err_(std::move(err)), most_(most) {
  for (const int fd : {out_.get(), err_.get()})
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

Worker start_worker(Spawn spawn, std::string_view request, std::size_t most) {
  Fd file;
  if (!request.empty()) {
    file = text_file(request);
    spawn.in = file.get();
  }
  Pipe out, err;
  spawn.out = out.write.get();
  spawn.err = err.write.get();
  return {Child(spawn), std::move(out.read), std::move(err.read), most};
}

void Worker::read(int wait_ms) {
  if (wait_ms > 0) {
    pollfd waits[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    ::poll(waits, 2, wait_ms);
  }
  drain(out_, answer_, most_);
  drain(err_, words_, most_);
}

std::string Worker::lines() {
  const std::size_t end = answer_.rfind('\n') + 1; // 0: there is none
  std::string whole = answer_.substr(0, end);
  answer_.erase(0, end);
  return whole;
}

std::string_view Worker::last_words() const {
  const std::string_view words = std::string_view(words_).substr(0, words_.find_last_not_of('\n') + 1);
  return words.substr(words.rfind('\n') + 1);
}

Captured capture(Spawn spawn, std::string_view input, std::optional<milliseconds> limit, std::size_t most) {
  return gather(start_worker(std::move(spawn), input, most), limit);
}

Worker fork_worker(const std::function<int(int)>& body) {
  Pipe out, err;
  const pid_t parent = ::getpid();
  std::fflush(nullptr); // else the child would write the buffered text again
  pid_t pid = -1;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) run_body(body, out.write.get(), err.write.get(), parent);
  }
  if (pid < 0) throw no_fork("fork");
  ::setpgid(pid, pid);
  return {adopt(pid, true), std::move(out.read), std::move(err.read), 16 << 20};
}

Captured in_fork(const std::function<int(int)>& body, milliseconds limit) {
  return gather(fork_worker(body), limit);
}

} // namespace recount::process
