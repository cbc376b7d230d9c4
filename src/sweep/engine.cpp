#include "sweep/engine.hpp"
#include "sweep/run_process.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <list>
#include <poll.h>

namespace recount::sweep {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

bool native(const Job& job) {
  return witness::find(job.witness).native;
}

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
          if (!native(run.job())) outcome_.unfinished.push_back({run.job(), run.simulated().value_or(0)});
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
      p.simulated = running_.front().simulated();
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
      if (const double share = run.simulated().value_or(0); share >= least_share)
        return std::chrono::duration_cast<nanoseconds>(run.running() / share);
    return timed_.done > 0 ? std::optional(timed_.mean()) : std::nullopt;
  }

  /// Of a run under way: by the share that a simulation has done, else what its kind takes in the mean.
  [[nodiscard]] static nanoseconds rest_of(const RunProcess& run, nanoseconds mean) {
    const auto spent = run.running();
    if (const double share = run.simulated().value_or(0); share >= least_share)
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

} // namespace recount::sweep
