#include "sweep/engine.hpp"

#include "base/format.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "host/pmu.hpp"
#include "process/child.hpp"
#include "process/temporary_folder.hpp"
#include "sweep/serve.hpp"
#include "witness/backend.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool native(const Job& job) {
  return witness::find(job.witness).native;
}

/// One run in its own process, which reads a request and answers through a pipe. Destroying it kills the
/// process. Movable.
class RunProcess {
public:
  /// Starts it. Throws recount::Error (unavailable) when the program cannot be started at all.
  RunProcess(const Job& job, const Execution& how)
      : job_(&job),
        run_(how.run),
        limit_(native(job) ? how.limit : how.model_limit),
        temporary_(how.temporary && native(job) ? std::optional<process::TemporaryFolder>("recount-run")
                                                : std::nullopt),
        worker_(start(job, how, temporary_)) {}

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
      if (!all.failed.empty() || (exit_.ok() && all.kernel_seconds)) return all;
      all.failed = with_last_message(exit_.ok() ? "ended without an answer" : ending());
    } catch (const Error& error) {
      all.failed =
          with_last_message(exit_.ok() ? error.problem().subject + " " + error.problem().cause : ending());
    }
    all.observations.clear();
    return all;
  }

private:
  static process::Worker start(const Job& job, const Execution& how,
                               const std::optional<process::TemporaryFolder>& temporary) {
    process::Spawn spawn;
    spawn.argv = how.program;
    spawn.core_dump = false;
    if (native(job)) spawn.cpu = how.cpu;
    spawn.fixed_addresses = native(job);
    if (temporary) spawn.environment = {{"TMPDIR", temporary->path()}};
    return process::start_worker(std::move(spawn), to_request({how.run, job.kernel, job.point, job.repetition,
                                                               job.witness, job.metrics}));
  }
  [[nodiscard]] std::string with_last_message(std::string reason) const {
    const std::string_view words = worker_.last_words();
    return words.empty() ? reason : fmt::format("{}; last message: {:.300}", reason, words);
  }
  /// Remaining time; nothing without a limit. That of a simulation is CPU time, which does not depend on how
  /// many processes share the processor.
  [[nodiscard]] std::optional<nanoseconds> left() const {
    if (!limit_) return {};
    return native(*job_) ? started_ + *limit_ - Clock::now() : *limit_ - worker_.child().cpu_time();
  }
  [[nodiscard]] std::string ending() const {
    if (native(*job_)) return describe(exit_);
    const std::string text =
        exit_.how == process::Exit::How::timed_out
            ? fmt::format("stopped after {} s of CPU time (--timeout)", exit_.code / 1000.0)
            : describe(exit_);
    return fmt::format("{}, {:.3g} % simulated", text, 100 * simulated_);
  }

  const Job* job_;
  std::string run_;
  std::optional<milliseconds> limit_; ///< wall time of a native run, else CPU time
  Clock::time_point started_ = Clock::now(), ended_;
  std::optional<process::TemporaryFolder> temporary_; ///< removed after the process has ended
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
  Engine(const std::vector<Job>& jobs, const Execution& how, const Listener& listener)
      : jobs_(jobs), how_(how), listener_(listener) {
    for (const auto& job : jobs)
      ++pace(job).left;
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

  /// Timed runs are exclusive; model runs are limited by how_.parallel.
  void launch() {
    while (next_ < jobs_.size()) {
      const Job& job = jobs_[next_];
      const bool timed = native(job);
      if (timed ? !running_.empty()
                : (!running_.empty() && native(running_.front().job())) ||
                      running_.size() >= static_cast<std::size_t>(std::max(1, how_.parallel)))
        return;
      running_.emplace_back(job, how_);
      ++next_;
    }
  }

  void wait() const {
    std::vector<pollfd> fds;
    auto until = Clock::now() + milliseconds(250); // how long a stop may go unnoticed
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
        listener_.failure({how_.run, job.kernel, job.point, job.repetition, job.witness, answer.failed});
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
      if (const double share = run.simulated(); share >= least_share)
        return std::chrono::duration_cast<nanoseconds>(run.running() / share);
    return timed_.done > 0 ? std::optional(timed_.mean()) : std::nullopt;
  }

  /// Of a run under way: by the share that a simulation has done, else what its kind takes in the mean.
  [[nodiscard]] static nanoseconds rest_of(const RunProcess& run, nanoseconds mean) {
    const auto spent = run.running();
    if (const double share = run.simulated(); share >= least_share)
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
    return of_timed + of_simulated / std::max(1, how_.parallel);
  }

  static constexpr double least_share = 0.01; ///< of a simulation; a smaller one tells nothing
  const std::vector<Job>& jobs_;
  const Execution& how_;
  const Listener& listener_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point reported_ = begin_; ///< time of the last progress report
  std::list<RunProcess> running_;
  std::size_t next_ = 0;
  Pace timed_, modelled_;
  Outcome outcome_;
};

} // namespace

Outcome execute(const std::vector<Job>& jobs, const Execution& how, const Listener& listener) {
  return Engine(jobs, how, listener).run();
}

void limit_runs(Execution& how, const std::string& text, std::chrono::seconds otherwise) {
  how.limit = otherwise;
  if (text.empty()) return;
  const auto seconds = base::parse<double>(text);
  if (!seconds || !(*seconds > 0) || *seconds > 1e6)
    throw bad_input("--timeout " + text, "must be a number of seconds above 0 and up to 1000000");
  how.limit = milliseconds(static_cast<long>(*seconds * 1000) + 1);
  how.model_limit = how.limit;
}

std::string show_time(std::chrono::nanoseconds time) {
  const long s = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
  return fmt::format("{} h {} min", s / 3600, s / 60 % 60);
}

std::string format_seconds(double seconds) {
  constexpr double longest = 9e9; // longer times would overflow the nanoseconds
  return show_time(std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * std::min(seconds, longest))));
}

std::string show_progress(const sweep::Progress& p) {
  std::string text = fmt::format("{} of {}", p.done, base::format_count(p.total, "run"));
  if (p.failed > 0) text += fmt::format(", {} failed", p.failed);
  text += ", " + show_time(p.elapsed);
  if (p.simulated) text += fmt::format(", {:.1f} % of this one simulated", 100 * *p.simulated);
  if (p.remaining && p.done < p.total) text += ", about " + show_time(*p.remaining) + " left";
  return text;
}

ProgressLine::ProgressLine(bool quiet, std::string command)
    : command_(std::move(command)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + (terminal_ ? std::chrono::milliseconds(0) : std::chrono::minutes(1))) {}

void ProgressLine::show(const sweep::Progress& progress) {
  if (quiet_ || Clock::now() < next_) return;
  std::string text = show_progress(progress);
  if (!terminal_) {
    command::note("recount {}: {}\n", command_, text);
    next_ = Clock::now() + std::chrono::minutes(1);
    return;
  }
  if (progress.job) text += ": " + progress.job->witness.name() + " " + result::describe(progress.job->point);
  text.resize(std::min(text.size(), command::line_width(stderr) - 1)); // a wrapped one cannot be written over
  command::print(stderr, "\r{}\033[K", text);
  shown_ = true;
  next_ = Clock::now() + std::chrono::milliseconds(100);
}

void ProgressLine::clear() {
  if (shown_) command::print(stderr, "\r\033[K");
  shown_ = false;
}

std::vector<Job> remaining(const std::vector<Job>& jobs, const result::Results& there) {
  using Key = std::tuple<std::string, result::Params, int, Witness>;
  std::map<Key, std::set<std::string>> metrics;
  std::set<Key> failed;
  for (const auto& o : there.observations)
    metrics[{o.kernel, o.params, o.repetition, o.witness}].insert(o.metric);
  for (const auto& f : there.failures)
    failed.emplace(f.kernel, f.params, f.repetition, f.witness);

  // A run is complete when all that it gives is there: each pass of each of its witnesses.
  const auto is_complete = [&](const Job& job, const std::string& metric) {
    const auto& backend = witness::find(job.witness);
    for (const auto& name : backend.recorded_witnesses(job.witness))
      for (int pass = 0; pass < backend.passes; ++pass) {
        const auto found =
            metrics.find({job.kernel, job.point, job.repetition * backend.passes + pass, name});
        if (found == metrics.end() || !found->second.contains(metric)) return false;
      }
    return true;
  };
  std::vector<Job> left;
  for (const auto& job : jobs) {
    if (failed.contains({job.kernel, job.point, job.repetition, job.witness})) continue;
    Job rest = job;
    std::erase_if(rest.metrics, [&](const std::string& metric) { return is_complete(job, metric); });
    if (!rest.metrics.empty()) left.push_back(std::move(rest));
  }
  return left;
}

} // namespace recount::sweep
