#include "base/process/waiter.hpp"

#include "base/format.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

namespace recount::process {

HeldSignals::HeldSignals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP})
    if (number != SIGHUP || !is_ignored(SIGHUP)) // by nohup(1)
      ::sigaddset(&held, number);
  ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  fd_.reset(::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

HeldSignals::~HeldSignals() {
  while (next().number != 0) { // discard late signals: they must not end recount now
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

HeldSignals::Arrived HeldSignals::next() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return {};
  return {static_cast<int>(info.ssi_signo), info.ssi_code <= 0};
}

int forward(const HeldSignals& signals, const Child* child) {
  int last = 0;
  for (auto arrived = signals.next(); arrived.number != 0; arrived = signals.next()) {
    last = arrived.number;
    if (child != nullptr && arrived.from_process) child->signal(arrived.number);
  }
  return last;
}

int shell_status(const Exit& exit) noexcept {
  return exit.how == Exit::How::signalled ? 128 + exit.code : exit.code;
}

ProcessEnd::ProcessEnd(pid_t pid) : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

bool ProcessEnd::reached() const noexcept {
  pollfd now{fd_.get(), POLLIN, 0};
  return fd_ ? ::poll(&now, 1, 0) == 1 : ::kill(pid_, 0) != 0 && errno == ESRCH;
}

void Processes::wait(const HeldSignals& signals, std::optional<std::chrono::steady_clock::time_point> until,
                     std::initializer_list<int> inputs) {
  using std::chrono::milliseconds;
  constexpr milliseconds polling_interval{1}; // before Linux 5.3, and in Valgrind: times are late by it
  milliseconds left(-1);
  if (until)
    left =
        std::max(std::chrono::ceil<milliseconds>(*until - std::chrono::steady_clock::now()), milliseconds(0));
  std::vector<pollfd> polled{{signals.fd(), POLLIN, 0}};
  for (const int input : inputs)
    polled.push_back({input, POLLIN, 0});
  for (const ProcessEnd& one : watched_) {
    polled.push_back({one.fd(), POLLIN, 0}); // a negative one is ignored
    if (one.fd() < 0 && (left < milliseconds(0) || left > polling_interval)) left = polling_interval;
  }
  ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
  std::erase_if(watched_, std::mem_fn(&ProcessEnd::reached));
}

std::vector<pid_t> read_threads(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", error);
  while (!error && at != std::filesystem::directory_iterator()) {
    const std::string name = at->path().filename();
    if (const auto tid = base::parse<pid_t>(name)) found.push_back(*tid);
    at.increment(error);
  }
  std::ranges::sort(found, {}, [pid](pid_t tid) { return std::pair(tid != pid, tid); });
  return found;
}

std::optional<pid_t> read_process(pid_t tid) {
  const std::string status =
      base::read_file("/proc/" + std::to_string(tid) + "/status").value_or(std::string());
  constexpr std::string_view key = "Tgid:\t";
  for (const auto line : base::split(status, '\n'))
    if (line.starts_with(key)) return base::parse<pid_t>(line.substr(key.size()));
  return {};
}

std::size_t each_thread(pid_t pid, const std::function<bool(pid_t)>& attach) {
  std::set<pid_t> seen;
  std::size_t attached = 0;
  for (bool more = true; more;) {
    more = false;
    for (const pid_t tid : read_threads(pid)) {
      if (!seen.insert(tid).second) continue;
      more = true;
      if (attach(tid)) ++attached;
    }
  }
  return attached;
}

} // namespace recount::process
