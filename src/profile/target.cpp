#include "profile/target.hpp"

#include "process/program.hpp"
#include "profile/entry_stop.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recount::profile {
namespace {
volatile std::sig_atomic_t last_signal = 0;

extern "C" void note_signal(int number) {
  last_signal = number;
}

constexpr int watched_signals[] = {SIGINT, SIGTERM};
struct sigaction signals_before[2];
} // namespace

Target::Target(const Who& who, bool stopped) : command_(who.command), pid_(who.pid) {
  if (who.pid > 0) {
    if (::kill(who.pid, 0) != 0 && errno == ESRCH)
      throw bad_input("-p " + std::to_string(who.pid), "there is no such process");
    return;
  }
  process::Spawn spawn;
  spawn.argv = who.command;
  spawn.in = STDIN_FILENO;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = !stopped;
  spawn.traced = stopped;
  spawn.cpu = who.cpu;
  child_.emplace(spawn);
  pid_ = child_->pid();
  traced_ = stopped;
  if (stopped) stop_at_entry();
}

void Target::stop_at_entry() {
  siginfo_t info{}; // looked at only: how it ended is for the child's owner
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  int status = 0;
  traced_ = info.si_code == CLD_TRAPPED && ::waitpid(pid_, &status, 0) == pid_;
  if (traced_) run_to_entry(pid_);
}

std::string Target::program() const {
  if (child_ && !traced_) return process::find_program(command_.front()).value_or(command_.front());
  return "/proc/" + std::to_string(pid_) + "/exe";
}

void Target::go() {
  if (!child_) return;
  if (traced_)
    ::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
  else
    child_->release();
}

bool Target::ended() {
  if (child_) return child_->wait_for(std::chrono::milliseconds(0)).has_value();
  return ::kill(pid_, 0) != 0 && errno == ESRCH;
}

int Target::status() {
  if (!child_) return 0;
  if (Interrupts::came() == SIGTERM) child_->signal(SIGTERM);
  const process::Exit exit = child_->wait();
  return exit.how == process::Exit::How::signalled ? 128 + exit.code : exit.code;
}

Interrupts::Interrupts() {
  last_signal = 0;
  struct sigaction action {};
  action.sa_handler = note_signal; // without SA_RESTART: waiting ends
  for (int i = 0; i < 2; ++i)
    ::sigaction(watched_signals[i], &action, &signals_before[i]);
}

Interrupts::~Interrupts() {
  for (int i = 0; i < 2; ++i)
    ::sigaction(watched_signals[i], &signals_before[i], nullptr);
}

int Interrupts::came() noexcept {
  return last_signal;
}

} // namespace recount::profile
