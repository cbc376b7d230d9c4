#include "sweep/run_process.hpp"
#include "sweep/serve.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <recount/error.hpp>
#include <utility>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;

process::Worker start(const Job& job, const Execution& how,
                      const std::optional<process::TemporaryFolder>& temporary) {
  process::Spawn spawn;
  spawn.argv = how.program;
  if (witness::find(job.witness).native) {
    spawn.cpu = how.cpu;
    spawn.fixed_addresses = true;
  }
  if (temporary) spawn.environment = {{"TMPDIR", temporary->path()}};
  return {std::move(spawn),
          to_request({how.run, job.kernel, job.point, job.repetition, job.witness, job.metrics})};
}

} // namespace

RunProcess::RunProcess(const Job& job, const Execution& how)
    : job_(&job),
      run_(how.run),
      native_(witness::find(job.witness).native),
      limit_(native_ ? how.limit : how.model_limit),
      started_(Clock::now()),
      temporary_(how.temporary && native_ ? std::optional<process::TemporaryFolder>("recount-run")
                                          : std::nullopt),
      worker_(start(job, how, temporary_)) {}

// CPU time: that of a simulation does not depend on how many processes share the processor.
std::optional<std::chrono::nanoseconds> RunProcess::left() const {
  if (!limit_) return {};
  if (native_) return started_ + *limit_ - Clock::now();
  return *limit_ - worker_.child().cpu_time();
}

Clock::time_point RunProcess::deadline() const {
  constexpr std::chrono::milliseconds soon(10);
  const auto rest = left();
  return rest ? Clock::now() + std::max<std::chrono::nanoseconds>(*rest, native_ ? soon * 0 : soon)
              : Clock::time_point::max();
}

bool RunProcess::advance() {
  worker_.read();
  if (const auto share = take_progress(worker_.answer())) simulated_ = share;
  const auto rest = left();
  const bool late = rest && rest->count() <= 0;
  if (!late && worker_.open()) return false;
  if (late) {
    exit_ = worker_.child().wait(std::chrono::milliseconds(0));
    if (exit_.how == process::Exit::How::timed_out) exit_.code = static_cast<int>(limit_->count());
  } else if (const auto exit = worker_.child().wait_for(std::chrono::milliseconds(20))) {
    exit_ = *exit;
  } else {
    return false; // has closed its outputs and still runs
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
  const std::string_view words = worker_.last_words();
  return words.empty() ? reason : fmt::format("{}; last message: {:.300}", reason, words);
}

Answer RunProcess::answer() const {
  Answer all;
  try {
    all = parse_answer(worker_.answer());
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
