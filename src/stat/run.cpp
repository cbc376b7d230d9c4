#include "stat/run.hpp"

#include "process/waiter.hpp"
#include "stat/attached.hpp"
#include "stat/evaluate.hpp"

#include <unistd.h>
#include <utility>

namespace recount::stat {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration of) {
  return std::chrono::duration<double>(of).count();
}

/// The counts of one or several processes.
class Counting {
public:
  Counting(const Plan& plan, const std::vector<pid_t>& pids, Attached::When when) {
    for (const pid_t pid : pids)
      attached_.emplace_back(plan, pid, when);
  }
  void stop() {
    for (Attached& one : attached_)
      one.stop();
  }
  std::vector<Count> read() {
    std::vector<Count> sums = attached_.front().read();
    for (std::size_t i = 1; i < attached_.size(); ++i) {
      const auto more = attached_[i].read();
      for (std::size_t e = 0; e < sums.size(); ++e)
        add(sums[e], more[e]);
    }
    return sums;
  }

private:
  std::vector<Attached> attached_;
};

/// One repetition: from its beginning to its end, in intervals where they are asked for.
class Repetition {
public:
  Repetition(const Plan& plan, const Request& request, const Listener& listener, int number,
             Counting& counting)
      : plan_(plan),
        interval_(request.interval),
        listener_(listener),
        counting_(counting),
        first_(counting.read()),
        last_(first_),
        begin_(Clock::now()),
        tick_(begin_ + interval_) {
    whole_.repetition = number;
  }

  /// When the next interval ends; none: there are none.
  [[nodiscard]] std::optional<Clock::time_point> next() const {
    return interval_.count() > 0 ? std::optional(tick_) : std::nullopt;
  }
  void look() {
    if (interval_.count() == 0 || Clock::now() < tick_) return;
    end_interval();
    while (tick_ <= Clock::now())
      tick_ += interval_; // one that was missed is part of the next
  }
  /// `exit`: of the command, where one was counted.
  Slice finish(const process::Exit& exit) {
    whole_.end = seconds(Clock::now() - begin_);
    const auto now = counting_.read();
    if (interval_.count() > 0) close_interval(now, whole_.end);
    fill(whole_, first_, now);
    fill_usage(plan_, exit, whole_.rows);
    if (listener_) listener_(whole_);
    return std::move(whole_);
  }

private:
  void end_interval() {
    const auto now = counting_.read();
    close_interval(now, seconds(Clock::now() - begin_));
  }
  void close_interval(const std::vector<Count>& now, double end) {
    Slice slice;
    slice.repetition = whole_.repetition;
    slice.interval = intervals_++;
    slice.begin = std::exchange(slice_begin_, end);
    slice.end = end;
    fill(slice, last_, now);
    last_ = now;
    if (listener_) listener_(slice);
  }
  void fill(Slice& slice, const std::vector<Count>& from, const std::vector<Count>& to) const {
    for (std::size_t e = 0; e < to.size(); ++e)
      slice.counts.push_back(difference(to[e], from[e]));
    slice.rows = evaluate(plan_, slice.counts, slice.end - slice.begin);
  }

  const Plan& plan_;
  std::chrono::milliseconds interval_;
  const Listener& listener_;
  Counting& counting_;
  Slice whole_;
  std::vector<Count> first_, last_;
  Clock::time_point begin_, tick_;
  double slice_begin_ = 0;
  int intervals_ = 0;
};

process::Child start(const std::vector<std::string>& command, bool held) {
  process::Spawn spawn{command};
  spawn.in = STDIN_FILENO;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  return process::Child(spawn);
}

/// Waits for the command; the intervals end meanwhile.
process::Exit attend(process::Child& child, const process::HeldSignals& signals, Repetition& repetition,
                     int& signal) {
  process::Processes processes({child.pid()});
  try {
    while (true) {
      if (const auto exit = child.wait_for(std::chrono::milliseconds(0))) return *exit;
      processes.wait(signals, repetition.next());
      if (const int arrived = hand_on(signals, &child)) signal = arrived;
      repetition.look();
    }
  } catch (...) {
    child.wait(); // a fault of ours is not to end somebody's work
    throw;
  }
}

void keep(Ended& ended, const process::Exit& exit) {
  if (!ended.exit || !exit.ok() || ended.exit->ok()) ended.exit = exit;
}

/// Counts the command from exec to end.
Slice count_command(const Plan& plan, const Request& request, const Listener& listener, int number,
                    const process::HeldSignals& signals, Ended& ended) {
  process::Child child = start(request.command, true);
  Counting counting(plan, {child.pid()}, Attached::When::at_exec);
  Repetition repetition(plan, request, listener, number, counting);
  child.release();
  const process::Exit exit = attend(child, signals, repetition, ended.signal);
  keep(ended, exit);
  return repetition.finish(exit);
}

/// Counts processes that run already, until they have ended, or for as long as the command takes.
Slice count_processes(const Plan& plan, const Request& request, const Listener& listener, int number,
                      const process::HeldSignals& signals, Ended& ended) {
  Counting counting(plan, request.pids, Attached::When::at_once);
  Repetition repetition(plan, request, listener, number, counting);
  if (!request.command.empty()) {
    process::Child child = start(request.command, false);
    keep(ended, attend(child, signals, repetition, ended.signal));
  } else {
    process::Processes processes(request.pids);
    while (!processes.all_ended() && ended.signal == 0) {
      processes.wait(signals, repetition.next());
      ended.signal = hand_on(signals, nullptr);
      repetition.look();
    }
  }
  counting.stop();
  return repetition.finish({});
}

} // namespace

Ended run(const Plan& plan, const Request& request, const Listener& listener) {
  const process::HeldSignals signals;
  Ended ended;
  const auto count = request.pids.empty() ? count_command : count_processes;
  for (int number = 0; number < request.repeat && ended.signal == 0; ++number)
    ended.repetitions.push_back(count(plan, request, listener, number, signals, ended));
  return ended;
}

} // namespace recount::stat
