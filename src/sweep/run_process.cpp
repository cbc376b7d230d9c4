#include "sweep/run_process.hpp"
#include "sweep/serve.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <recount/error.hpp>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t longest_answer = 16 << 20, longest_words = 4096;

/// The request as a file in memory: read by the child whenever it likes, no pipe to break.
process::Fd request_file(const std::string& text) {
  process::Fd fd(::memfd_create("recount-request", MFD_CLOEXEC));
  if (!fd || ::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw unavailable("recount sweep", std::string("memfd_create: ") + std::strerror(errno));
  return fd;
}

process::Child start(const Job& job, const Execution& how, int out, int err) {
  const auto in =
      request_file(to_request({how.run, job.kernel, job.point, job.repetition, job.witness, job.metrics}));
  process::Spawn spawn;
  spawn.argv = how.program;
  spawn.in = in.get();
  spawn.out = out;
  spawn.err = err;
  spawn.core_dump = false;
  if (witness::find(job.witness).native) {
    spawn.cpu = how.cpu;
    spawn.fixed_addresses = true;
  }
  return process::Child(spawn);
}

/// Of a process that has not been waited for; 0 where the system does not tell.
std::chrono::nanoseconds cpu_time(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Reads what is there into `text`, at most `most` bytes of it; closes the descriptor at its end.
void drain(process::Fd& fd, std::string& text, std::size_t most) {
  char block[1 << 14];
  while (fd) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return fd.reset();
    text.append(block, std::min(static_cast<std::size_t>(got), most - std::min(most, text.size())));
  }
}

} // namespace

RunProcess::RunProcess(const Job& job, const Execution& how) : RunProcess(job, how, {}) {}

RunProcess::RunProcess(const Job& job, const Execution& how, std::pair<process::Pipe, process::Pipe> pipes)
    : job_(&job),
      run_(how.run),
      native_(witness::find(job.witness).native),
      limit_(native_ ? how.limit : how.model_limit),
      started_(Clock::now()),
      child_(start(job, how, pipes.first.write.get(), pipes.second.write.get())),
      out_(std::move(pipes.first.read)),
      err_(std::move(pipes.second.read)) {
  for (const int fd : {out_.get(), err_.get()})
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

// CPU time, because a simulation takes the same CPU time however many others share the processor.
std::optional<std::chrono::nanoseconds> RunProcess::left() const {
  if (!limit_) return {};
  if (native_) return started_ + *limit_ - Clock::now();
  return *limit_ - cpu_time(child_.pid());
}

Clock::time_point RunProcess::deadline() const {
  constexpr std::chrono::milliseconds soon(10);
  const auto rest = left();
  return rest ? Clock::now() + std::max<std::chrono::nanoseconds>(*rest, native_ ? soon * 0 : soon)
              : Clock::time_point::max();
}

bool RunProcess::advance() {
  drain(out_, answer_, longest_answer);
  drain(err_, words_, longest_words);
  if (const auto share = take_progress(answer_)) simulated_ = share;
  const auto rest = left();
  const bool late = rest && rest->count() <= 0;
  if (!late && (out_ || err_)) return false;
  if (late) {
    exit_ = child_.wait(std::chrono::milliseconds(0));
    if (exit_.how == process::Exit::How::timed_out) exit_.code = static_cast<int>(limit_->count());
  } else if (const auto exit = child_.wait_for(std::chrono::milliseconds(20))) {
    exit_ = *exit;
  } else {
    return false; // has closed its outputs and lives on
  }
  ended_ = Clock::now();
  return true;
}

std::string RunProcess::ending() const {
  if (native_) return describe(exit_);
  std::string text = exit_.how == process::Exit::How::timed_out
                         ? fmt::format("stopped after {} s of CPU time (--timeout)", exit_.code / 1000.0)
                         : describe(exit_);
  return text + fmt::format(", {:.3g} % simulated", 100 * simulated_.value_or(0));
}

std::string RunProcess::with_last_words(std::string reason) const {
  std::string_view words = words_;
  while (!words.empty() && words.back() == '\n')
    words.remove_suffix(1);
  const std::size_t line = words.rfind('\n');
  if (line != words.npos) words.remove_prefix(line + 1);
  return words.empty() ? reason : fmt::format("{}; last message: {:.300}", reason, words);
}

Answer RunProcess::answer() const {
  Answer all;
  try {
    all = parse_answer(answer_);
    const bool foreign = std::any_of(all.observations.begin(), all.observations.end(), [&](const auto& o) {
      return o.run != run_ || o.kernel != job_->kernel || o.params != job_->point ||
             !witness::find(job_->witness).gave(o, job_->repetition, job_->witness);
    });
    if (foreign) throw bad_input("answer", "belongs to another run");
    if (!all.failed.empty()) return all;
    if (exit_.ok() && all.kernel_seconds) return all;
    all.failed = with_last_words(exit_.ok() ? "ended without an answer" : ending());
  } catch (const Error& error) {
    all.failed =
        with_last_words(exit_.ok() ? error.problem().subject + " " + error.problem().cause : ending());
  }
  all.observations.clear();
  return all;
}

} // namespace recount::sweep
