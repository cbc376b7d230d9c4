#include "profile/target.hpp"

#include "process/entry_stop.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace recount::profile {
namespace {
bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}
} // namespace

Target::Target(const TargetOptions& options, bool stopped)
    : options_(options), pids_(options.pids), observed_(options.pids.empty()) {
  for (const pid_t pid : pids_)
    if (is_gone(pid)) throw bad_input("-p " + std::to_string(pid), "there is no such process");
  if (!observed_) return;
  start(!stopped, stopped);
  pids_ = {child_->pid()};
  if (stopped) stop_at_entry();
}

void Target::start(bool held, bool traced) {
  process::Spawn spawn;
  spawn.argv = options_.command;
  spawn.environment = options_.environment;
  spawn.descriptors = options_.descriptors;
  spawn.in = STDIN_FILENO;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  spawn.traced = traced;
  spawn.cpu = options_.cpu;
  child_.emplace(spawn);
}

void Target::stop_at_entry() {
  traced_ = process::stopped_after_exec(pid());
  if (traced_) process::run_to_entry(pid());
}

void Target::go() {
  if (traced_)
    ::ptrace(PTRACE_DETACH, pid(), nullptr, nullptr);
  else if (observed_)
    child_->release();
  else if (!options_.command.empty())
    start(false, false);
}

bool Target::over() {
  const int signal = process::hand_on(signals_, child_ ? &*child_ : nullptr);
  if (child_ && child_->wait_for(std::chrono::milliseconds(0))) return true;
  return !observed_ && (std::ranges::all_of(pids_, is_gone) || (!child_ && signal != 0));
}

std::chrono::nanoseconds Target::cpu_time() const {
  return observed_ ? child_->cpu_time() : std::chrono::nanoseconds(0);
}

process::Exit Target::end() {
  if (!child_) return {};
  process::Processes processes({child_->pid()});
  while (!child_->wait_for(std::chrono::milliseconds(0))) {
    processes.wait(signals_, {});
    process::hand_on(signals_, &*child_);
  }
  return child_->wait();
}

} // namespace recount::profile
