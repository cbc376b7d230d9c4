#include "commands/watch/watcher.hpp"

#include "base/names.hpp"
#include "base/process/child.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "count/perf/removed.hpp"
#include "run/stat_plan.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <unistd.h>

namespace recount::watch {
namespace {
std::uint64_t nanoseconds_of(std::chrono::steady_clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}
} // namespace

namespace {
using Steady = std::chrono::steady_clock;

/// The value of a row in an interval: events per second, CPUs for nanoseconds of processor time.
std::optional<double> rate(const stat::PlanRow& row, const result::Observation& observed, double seconds) {
  const auto value = result::as_double(observed.value);
  if (!value || seconds <= 0) return {};
  if (row.kind == stat::RowKind::metric) return value;
  return is_nanoseconds(row.unit) ? *value / seconds / 1e9 : *value / seconds;
}

class Watch {
public:
  Watch(const stat::Plan& plan, const WatchSettings& settings, Observer& observer)
      : plan_(plan), settings_(settings), observer_(observer) {
    if (watches_command()) start(true);
    using When = stat::Attached::When;
    const auto pids = watches_command() ? std::vector{child_->pid()} : settings.pids;
    for (const pid_t pid : pids) {
      watched_.emplace_back(pid);
      if (watched_.back().reached()) throw bad_input("-p " + std::to_string(pid), "there is no such process");
    }
    counters_.emplace(plan, pids, watches_command() ? When::at_exec : When::at_once);
    if (watches_command()) descendants_.emplace(child_->pid());
  }

  int run() {
    const process::Child* const watched = watches_command() ? &*child_ : nullptr;
    intervals_.emplace(plan_, *counters_, watched,
                       watched && perf::removed_at_exec(settings_.command.front()), settings_.interval);
    observer_.message(Hello{settings_.subject, settings_.interval.count(), make_series(plan_)});
    if (watches_command())
      child_->release();
    else if (!settings_.command.empty())
      start(false);
    if (child_ && !watches_command()) until_.emplace(child_->pid());
    if (sections_) sections_->started();
    observer_.started();
    while (!over())
      wait();
    finish();
    return child_ ? process::shell_status(child_->wait()) : 0;
  }

private:
  [[nodiscard]] bool watches_command() const { return settings_.pids.empty(); }
  void start(bool held) {
    process::Spawn spawn{.argv = settings_.command,
                         .in = settings_.in,
                         .out = settings_.out,
                         .err = settings_.err,
                         .inherits = true,
                         .own_group = false,
                         .die_with_parent = false,
                         .held = held};
    if (held) {
      sections_.emplace();
      spawn.descriptors = {{sections_->program_end(), process::free_descriptor()}};
      spawn.environment = {{base::sections_variable, std::to_string(process::free_descriptor())}};
    }
    child_.emplace(spawn);
  }

  bool over() {
    if (child_ && child_->wait_for(std::chrono::milliseconds(0))) return true;
    if (child_) return false; // a process that has ended meanwhile counts nothing more
    return stop_requested_ || std::ranges::all_of(watched_, &process::ProcessEnd::reached);
  }

  void wait() {
    constexpr std::chrono::milliseconds without_pidfd{10};
    std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
    auto left = std::max(std::chrono::ceil<std::chrono::milliseconds>(*intervals_->due() - Steady::now()),
                         std::chrono::milliseconds(0));
    for (const process::ProcessEnd& process : until_ ? std::span(&*until_, 1) : std::span(watched_)) {
      if (process.fd() < 0) left = std::min(left, without_pidfd);
      // One that has ended stays readable: the others are waited for.
      if (process.fd() >= 0 && !process.reached()) polled.push_back({process.fd(), POLLIN, 0});
    }
    if (sections_ && sections_->fd() >= 0) polled.push_back({sections_->fd(), POLLIN, 0});
    observer_.polled(polled);
    ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    take_signals();
    take_sections();
    if (Steady::now() >= *intervals_->due()) close_interval(false);
    observer_.ready(polled);
    if (observer_.enough()) stop_requested_ = true;
  }

  void take_signals() {
    for (auto arrived = signals_.next(); arrived.number != 0; arrived = signals_.next()) {
      if (child_ && arrived.from_process) child_->signal(arrived.number);
      if (observer_.signal(arrived.number)) stop_requested_ = true;
    }
  }
  void take_sections() {
    if (sections_)
      sections_->read([this](std::string_view text) {
        parse_sections(text, nanoseconds_of(intervals_->begin()), nanoseconds_of(Steady::now()),
                       [this](const Message& m) { observer_.message(m); });
      });
  }

  void close_interval(bool ended) {
    const stat::Slice counted = intervals_->next(ended);
    Interval interval{*counted.interval, counted.begin, counted.end, {}};
    for (std::size_t r = 0; r < counted.rows.size(); ++r) {
      interval.values.push_back(rate(plan_.rows[r], counted.rows[r], interval.end - interval.begin));
      interval.shares.push_back(stat::summarise(std::span(&counted, 1), r).share);
    }
    if (std::ranges::all_of(interval.shares, [](double share) { return share >= 1; }))
      interval.shares.clear();
    observer_.message(interval);
    observer_.slice(counted);
  }

  void finish() {
    take_sections();
    close_interval(true);
    stat::Slice total = intervals_->total();
    stat::flag_all(total.rows, descendants_ && descendants_->any() ? perf::outlived : "");
    observer_.slice(total);
    End end{{}, stop_requested_ ? "stopped by the user" : "the process ended"};
    if (child_) {
      const process::Exit exit = child_->wait();
      end = {process::shell_status(exit), fmt::format("the command ended: {}", process::describe(exit))};
    }
    observer_.message(end);
  }

  process::HeldSignals signals_;
  const stat::Plan& plan_;
  const WatchSettings& settings_;
  Observer& observer_;
  std::optional<stat::SectionSocket> sections_;
  std::optional<process::Child> child_;
  std::vector<process::ProcessEnd> watched_;
  std::optional<process::ProcessEnd> until_; ///< a command that is not watched
  std::optional<stat::Attached> counters_;
  std::optional<perf::Descendants> descendants_;
  std::optional<stat::IntervalCounter> intervals_;
  bool stop_requested_ = false;
};
} // namespace

std::vector<Series> make_series(const stat::Plan& plan) {
  std::vector<Series> all;
  for (const stat::PlanRow& row : plan.rows) {
    const bool metric = row.kind == stat::RowKind::metric;
    all.push_back({row.name, metric ? row.unit : is_nanoseconds(row.unit) ? "CPUs" : "/s", row.refused});
  }
  return all;
}

int watch(const stat::Plan& plan, const WatchSettings& settings, Observer& observer) {
  return Watch(plan, settings, observer).run();
}

} // namespace recount::watch
