#include "run/engine.hpp"

#include "base/affinity.hpp"
#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "model/trace/request.hpp"
#include "run/program.hpp"
#include "run/result/observation.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/both.hpp"
#include "run/worker.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <utility>

namespace recount::sweep {

std::string show_progress(const Progress& p) {
  std::string text = fmt::format("{} of {}", p.done, base::format_count(p.total, "run"));
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  text += ", " + base::format_duration(p.elapsed) + host::emulated_text();
  if (p.simulated) text += fmt::format(", {:.1f} % of this one simulated", 100 * *p.simulated);
  if (p.remaining && p.done < p.total) text += ", about " + base::format_duration(*p.remaining) + " left";
  return text;
}

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool native(const Job& job) {
  return witness::find(job.witness).native;
}

/// Whether runs are forks of this process: in Valgrind a start takes a second, and processes begin with equal
/// addresses in any case. Elsewhere they are executed, so that they have nothing of this process.
bool forks(const Execution& execution) {
  return host::this_emulation().exact && execution.program.front() == "/proc/self/exe";
}

/// What each fork would load and read again. Where PAPI cannot start, each run gives the reason.
void prepare_forks(const std::vector<Job>& jobs) {
  const auto counted_by_papi = [](const Job& job) {
    return job.witness.kind == Witness::papi || job.witness.kind == Witness::both;
  };
  if (!std::ranges::any_of(jobs, counted_by_papi)) return;
  try {
    papi::initialise();
    for (const Job& job : jobs)
      if (job.witness.kind == Witness::both) witness::prepare_both(job.metrics);
  } catch (const Error&) {
  }
}

/// One run in its own process, which reads a request and answers through a pipe. Destroying it kills the
/// process. Movable.
class RunProcess {
public:
  /// Starts it. Throws recount::Error (unavailable) when the program cannot be started at all.
  RunProcess(const Job& job, const Execution& execution)
      : job_(&job),
        run_(execution.run),
        limit_(native(job) ? execution.limit : execution.model_limit),
        worker_(start(job, execution)) {}

  [[nodiscard]] const Job& job() const { return *job_; }
  [[nodiscard]] int out() const { return worker_.out(); } ///< to poll; -1 once all is read
  [[nodiscard]] int err() const { return worker_.err(); }
  /// When advance() must look at the limit; a later call may give a later time.
  [[nodiscard]] Clock::time_point deadline() const {
    const auto rest = left();
    return rest ? Clock::now() + std::max<nanoseconds>(*rest, milliseconds(native(*job_) ? 0 : 10))
                : Clock::time_point::max();
  }
  /// The completed share of a simulation, from the last progress line.
  [[nodiscard]] double simulated() const { return simulated_; }
  [[nodiscard]] nanoseconds wall() const { return ended_ - started_; }          ///< once ended
  [[nodiscard]] nanoseconds running() const { return Clock::now() - started_; } ///< since its start

  /// Reads available output without waiting; kills the process after its time limit. True: it has ended.
  bool advance() {
    worker_.read();
    simulated_ = take_progress(worker_.answer()).value_or(simulated_);
    const auto rest = left();
    const bool late = rest && rest->count() <= 0;
    if (!late && worker_.open()) return false;
    if (late) {
      exit_ = worker_.child().wait(milliseconds(0));
      if (exit_.how == process::Exit::How::timed_out) exit_.code = static_cast<int>(limit_->count());
    } else if (const auto exit = worker_.child().wait_for(milliseconds(20))) {
      exit_ = *exit;
    } else {
      return false; // has closed its outputs and still runs
    }
    ended_ = Clock::now();
    return true;
  }

  /// Once ended. `failed` is set when there is no usable answer.
  [[nodiscard]] Answer answer() const {
    const trace::Pause pause;
    Answer all;
    try {
      all = parse_answer(worker_.answer());
      const auto& backend = witness::find(job_->witness);
      const auto belongs = [&](const auto& o) {
        return o.run == run_ && o.kernel == job_->kernel && o.params == job_->point &&
               backend.could_record(o, job_->repetition, job_->witness);
      };
      if (!std::ranges::all_of(all.observations, belongs))
        throw bad_input("answer", "belongs to another run");
      if (!all.failed.empty() && job_->kernel == program_kernel) add_last_words(all.failed);
      if (!all.failed.empty() || (exit_.ok() && all.kernel_seconds)) return all;
      all.failed = ending("ended without an answer");
    } catch (const Error& error) {
      all.failed = ending(error.problem().subject + " " + error.problem().cause);
    }
    all.observations.clear();
    return all;
  }

private:
  static process::Worker start(const Job& job, const Execution& execution) {
    const std::string request =
        to_request({execution.run, job.kernel, job.point, job.repetition, job.witness, job.metrics});
    const auto cpu = native(job) ? execution.cpu : std::nullopt;
    if (forks(execution))
      return process::fork_worker([&](int out) {
        if (cpu && !base::pin_to(*cpu)) throw unavailable("run", "cannot be pinned to its CPU");
        return serve_request(request, out, kernel::find);
      });
    process::Spawn spawn;
    spawn.argv = execution.program;
    spawn.core_dump = false;
    spawn.cpu = cpu;
    spawn.fixed_addresses = native(job) && job.kernel != program_kernel; // as recount stat executes it
    return process::start_worker(std::move(spawn), request);
  }
  /// Remaining time; nothing without a limit. That of a simulation is CPU time, which does not depend on how
  /// many processes share the processor.
  [[nodiscard]] std::optional<nanoseconds> left() const {
    if (!limit_) return {};
    return native(*job_) ? started_ + *limit_ - Clock::now() : *limit_ - worker_.child().cpu_time();
  }
  /// Why there is no answer. `otherwise`: the cause if the process did not fail.
  [[nodiscard]] Reason ending(const std::string& otherwise) const {
    Reason reason = exit_.ok() ? otherwise : describe(exit_);
    if (!exit_.ok() && !native(*job_)) {
      if (exit_.how == process::Exit::How::timed_out)
        reason.cause = fmt::format("stopped after {} s of CPU time (--timeout)", exit_.code / 1000.0);
      reason.setting = fmt::format("{:.3g} % simulated", 100 * simulated_);
    }
    add_last_words(reason);
    return reason;
  }
  void add_last_words(Reason& reason) const {
    if (const std::string_view words = worker_.last_words(); !words.empty())
      reason.setting += fmt::format("{}last message: {:.300}", reason.setting.empty() ? "" : "; ", words);
  }

  const Job* job_;
  std::string run_;
  std::optional<milliseconds> limit_; ///< wall time of a native run, else CPU time
  Clock::time_point started_ = Clock::now(), ended_;
  process::Worker worker_;
  process::Exit exit_;
  double simulated_ = 0;
};

/// Mean wall time of one kind of run, for the estimate of what remains.
struct Pace {
  std::size_t left = 0, done = 0;
  nanoseconds spent{};
  void ended(nanoseconds wall) {
    --left;
    ++done;
    spent += wall;
  }
  [[nodiscard]] nanoseconds mean() const {
    return done > 0 ? spent / static_cast<long>(done) : nanoseconds(0);
  }
};

class Engine {
public:
  Engine(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener)
      : jobs_(jobs), execution_(execution), listener_(listener) {
    for (const auto& job : jobs)
      ++pace(job).left;
    if (forks(execution)) prepare_forks(jobs);
  }

  Outcome run() {
    while (next_ < jobs_.size() || !running_.empty()) {
      if (listener_.stop && listener_.stop()) {
        outcome_.stopped = true;
        for (const auto& run : running_)
          if (!native(run.job())) outcome_.unfinished.push_back({run.job(), run.simulated()});
        running_.clear(); // kills them
        break;
      }
      launch();
      wait();
      for (auto it = running_.begin(); it != running_.end();) {
        if (!it->advance()) {
          ++it;
          continue;
        }
        const RunProcess ended = std::move(*it);
        it = running_.erase(it);
        take(ended);
      }
      report_long_runs();
    }
    outcome_.elapsed = Clock::now() - begin_;
    return std::move(outcome_);
  }

private:
  Pace& pace(const Job& job) { return native(job) ? timed_ : modelled_; }

  /// Timed runs are exclusive; model runs are limited by execution_.parallel.
  void launch() {
    while (next_ < jobs_.size()) {
      const Job& job = jobs_[next_];
      const bool timed = native(job);
      if (timed ? !running_.empty()
                : (!running_.empty() && native(running_.front().job())) ||
                      running_.size() >= static_cast<std::size_t>(std::max(1, execution_.parallel)))
        return;
      running_.emplace_back(job, execution_);
      ++next_;
    }
  }

  void wait() const {
    std::vector<pollfd> fds;
    // A stop may go unnoticed for so long. The end of a wait would advance the emulated clock of the run.
    auto until = Clock::now() + milliseconds(host::this_emulation().clock ? 60'000 : 250);
    for (const auto& run : running_) {
      until = std::min(until, run.deadline());
      for (const int fd : {run.out(), run.err()})
        if (fd >= 0) fds.push_back({fd, POLLIN, 0});
    }
    if (fds.empty()) return; // advance() waits for the end of a process that has closed its outputs
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    static_cast<void>(::poll(fds.data(), fds.size(), static_cast<int>(std::max<long>(0, left))));
  }

  /// Reports progress of a long simulation every second; timed runs are not disturbed.
  void report_long_runs() {
    if (!listener_.progress || running_.empty() || native(running_.front().job())) return;
    if (const auto now = Clock::now(); now - reported_ > std::chrono::seconds(1)) {
      reported_ = now;
      Progress p = progress(running_.front().job());
      if (const double share = running_.front().simulated(); share > 0) p.simulated = share;
      listener_.progress(p);
    }
  }

  void take(const RunProcess& ended) {
    const Job& job = ended.job();
    pace(job).ended(ended.wall());
    const Answer answer = ended.answer();
    ++outcome_.runs;
    if (!answer.failed.empty()) {
      ++outcome_.failures;
      if (listener_.failure)
        listener_.failure(
            {execution_.run, job.kernel, job.point, job.repetition, job.witness, answer.failed});
    } else {
      const auto kernel = std::chrono::duration_cast<nanoseconds>(
          std::chrono::duration<double>(answer.kernel_seconds.value_or(0)));
      outcome_.overheads.push_back(ended.wall() - kernel);
      for (const auto& observation : answer.observations) {
        ++outcome_.observations;
        if (listener_.observation) listener_.observation(observation);
      }
    }
    reported_ = Clock::now();
    if (listener_.progress) listener_.progress(progress(job));
  }

  [[nodiscard]] Progress progress(const Job& job) const {
    Progress p;
    p.done = outcome_.runs;
    p.total = jobs_.size();
    p.failed = outcome_.failures;
    p.elapsed = Clock::now() - begin_;
    p.job = &job;
    p.remaining = remaining();
    return p;
  }

  /// What one simulation takes: the mean of those that ended, or by the share that one under way has done.
  [[nodiscard]] std::optional<nanoseconds> simulation() const {
    if (modelled_.done > 0) return modelled_.mean();
    for (const auto& run : running_)
      if (const double share = run.simulated(); share >= min_share)
        return std::chrono::duration_cast<nanoseconds>(run.running() / share);
    if (timed_.done == 0) return {};
    return timed_.mean() * (jobs_.front().kernel == program_kernel ? simulated_per_native : 1);
  }

  /// Of a run under way: by the share that a simulation has done, else what its kind takes in the mean.
  [[nodiscard]] static nanoseconds rest_of(const RunProcess& run, nanoseconds mean) {
    const auto spent = run.running();
    if (const double share = run.simulated(); share >= min_share)
      return std::chrono::duration_cast<nanoseconds>(spent * ((1 - share) / share));
    return std::max(mean - spent, nanoseconds(0));
  }

  /// Nothing before anything is known.
  [[nodiscard]] std::optional<nanoseconds> remaining() const {
    const auto modelled = simulation();
    if (!modelled && timed_.done == 0) return {};
    const nanoseconds timed = timed_.done > 0 ? timed_.mean() : *modelled;
    const nanoseconds simulated = modelled.value_or(timed);
    nanoseconds of_timed = timed * static_cast<long>(timed_.left);
    nanoseconds of_simulated = simulated * static_cast<long>(modelled_.left);
    for (const auto& run : running_) { // the means hold for those that have not started
      const nanoseconds mean = native(run.job()) ? timed : simulated;
      (native(run.job()) ? of_timed : of_simulated) += rest_of(run, mean) - mean;
    }
    return of_timed + of_simulated / std::max(1, execution_.parallel);
  }

  static constexpr double min_share = 0.01; ///< of a simulation; a smaller one tells nothing
  /// Run time of a program that is simulated, measured of examples/mm.cpp: an estimate before the first one.
  static constexpr int simulated_per_native = 50;
  const std::vector<Job>& jobs_;
  const Execution& execution_;
  const Listener& listener_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point reported_ = begin_; ///< time of the last progress report
  std::list<RunProcess> running_;
  std::size_t next_ = 0;
  Pace timed_, modelled_;
  Outcome outcome_;
};

} // namespace

Outcome execute(const std::vector<Job>& jobs, const Execution& execution, const Listener& listener) {
  return Engine(jobs, execution, listener).run();
}

void limit_runs(Execution& execution, const std::string& timeout, std::chrono::seconds default_timeout) {
  execution.limit = default_timeout;
  if (timeout.empty()) return;
  const auto seconds = base::parse<double>(timeout);
  if (!seconds || !(*seconds > 0) || *seconds > 1e6)
    throw bad_input("--timeout " + timeout, "must be a number of seconds above 0 and up to 1000000");
  execution.limit = milliseconds(static_cast<long>(*seconds * 1000) + 1);
  execution.model_limit = execution.limit;
}

} // namespace recount::sweep
