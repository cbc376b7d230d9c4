#include "count/perf/open_group.hpp"

#include "base/affinity.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/errno_hints.hpp"

#include <recount/event.hpp>

#include <fmt/core.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>

namespace recount::perf {

namespace {

std::chrono::milliseconds rotation(const Event& event) {
  constexpr long long usual = 4; // PERF_CPU_HRTIMER of kernel/events/core.c
  const host::Pmu* const core = event::core_of(event.attr, event::pmus());
  long long longest = usual;
  for (const host::Pmu& pmu : event::pmus())
    if (core != nullptr ? &pmu == core : pmu.core() || pmu.type == event.attr.type)
      longest = std::max(longest, base::read_number("/sys/bus/event_source/devices/" + pmu.name +
                                                    "/perf_event_mux_interval_ms")
                                      .value_or(usual));
  return std::chrono::milliseconds(longest);
}

/// How long to wait until an enabled event is scheduled: several turns of the rotation among event groups,
/// whose length the PMU states (perf_event_mux_interval_ms in sysfs). They are measured in time for which the
/// event was enabled, which does not pass while the thread is preempted; where that time does not pass at
/// all, as of a group in error, by the clock.
class ScheduleTimeout {
public:
  /// `enabled_ns`: of the event at the beginning.
  ScheduleTimeout(const Event& event, std::uint64_t enabled_ns)
      : limit_(5 * rotation(event)), from_(enabled_ns), since_(std::chrono::steady_clock::now()) {}
  /// Given the enabled time of a read that found the event not scheduled.
  [[nodiscard]] bool expired(std::uint64_t enabled_ns) const {
    const std::chrono::nanoseconds enabled(enabled_ns - from_);
    if (enabled.count() > 0) return enabled >= limit_;
    return std::chrono::steady_clock::now() - since_ > limit_;
  }

private:
  std::chrono::nanoseconds limit_;
  std::uint64_t from_;
  std::chrono::steady_clock::time_point since_;
};

constexpr NoCount times_decreased{"the times of the event group decreased between two reads",
                                  ReasonCode::other};
constexpr NoCount not_started{"not started", ReasonCode::not_started};
constexpr NoCount never_ran{"the event group was never scheduled while enabled: its counters were in use "
                            "(by the NMI watchdog, a pinned group), or it needs more counters than exist",
                            ReasonCode::busy};
constexpr NoCount other_core_type{
    "nothing ran on CPUs of this core type while the event was enabled, or all its "
    "counters were in use",
    ReasonCode::busy};
constexpr NoCount pinned_out{"the pinned group could not be scheduled: its counters were in use",
                             ReasonCode::busy};
constexpr NoCount of_parent{of_another_process, ReasonCode::wrong_process};

} // namespace

OpenGroup::OpenGroup(const GroupOptions& options, OpenCall call) : options_(options), call_(call) {}

perf_event_attr OpenGroup::prepared(const Event& event) const {
  perf_event_attr attr = event.attr;
  attr.inherit = options_.inherit;
  attr.read_format = group_read_format;
  attr.precise_ip = 0; // about samples; the kernel refuses it for events that are only counted
  if (attr.sample_type == 0) attr.sample_period = attr.freq = 0; // of a name, for sampling
  attr.disabled = 0;                                             // see add()
  // A sibling inherits what these say from its leader, and may not have them itself.
  const bool leads = fds_.empty();
  attr.pinned = leads && (options_.pinned || attr.pinned);
  attr.exclusive = leads && (options_.exclusive || attr.exclusive);
  attr.enable_on_exec = leads && options_.enable_on_exec;
  return attr;
}

void OpenGroup::remember(process::Fd fd) {
  std::uint64_t id = 0;
  ioctl(fd.get(), PERF_EVENT_IOC_ID, &id);
  ids_.push_back(id);
  fds_.push_back(std::move(fd));
}

void OpenGroup::forget_last() {
  fds_.pop_back();
  ids_.pop_back();
  events_.pop_back();
  resize();
}

void OpenGroup::resize() {
  now_.assign(layout_.words(fds_.size()), 0);
  base_.assign(now_.size(), 0);
  counts_.assign(events_.size(), Count{});
  reasons_ = false;
}

void OpenGroup::lead_by_slots(const Event& metric) {
  Event slots = metric;
  slots.attr = event::slots_event(metric.attr);
  Attempt attempt = open_sized(prepared(slots), {options_.pid, options_.cpu, -1, options_.cgroup}, call_);
  if (!attempt.fd) return; // the errno of the metric is more specific
  remember(std::move(attempt.fd));
  led_ = 1;
  running_ = true;
}

OpenGroup::Joined OpenGroup::add(const Event& event) {
  if (fds_.empty()) core_ = event::core_of(event.attr, event::pmus());
  if (fds_.empty() && event::is_topdown_metric(event.attr, event::pmus())) lead_by_slots(event);
  if (!events_.empty()) enable();
  const int leader = fds_.empty() ? -1 : fds_.front().get();
  Attempt attempt = open_sized(prepared(event), {options_.pid, options_.cpu, leader, options_.cgroup}, call_);
  Joined joined;
  if (attempt.fd) {
    remember(std::move(attempt.fd));
    events_.push_back(event);
    resize();
    running_ = true;
    if (!runs()) {
      joined.how = Joined::How::never_runs;
      forget_last();
    }
  } else {
    joined.how = Joined::How::refused;
    joined.error = attempt.error;
  }
  if (events_.empty()) { // a leader that was added for nothing
    fds_.clear();
    ids_.clear();
    led_ = 0;
  } else {
    disable();
    reset();
  }
  return joined;
}

void OpenGroup::join(const Event& event) {
  if (!event.present) throw absent_error(event);
  const Joined joined = add(event);
  if (joined.ok()) return;
  std::vector<std::string> others;
  for (const Event& other : events_)
    others.push_back(other.name);
  if (joined.how == Joined::How::refused) throw open_error(event, joined.error, options_, others);
  throw never_runs_error(event, others);
}

// fetch() and deliver() are inlined into every read.
[[gnu::always_inline]] inline bool OpenGroup::fetch() {
  if (!owner_.here()) [[unlikely]]
    return false;
  if (pages_.here() && pages_.read(layout_, now_)) {
    settled_ = false;
    return true;
  }
  const ssize_t got = ::read(fds_.front().get(), now_.data(), now_.size() * sizeof now_.front());
  if (static_cast<std::size_t>(got) != now_.size() * sizeof now_.front() ||
      !layout_.in_order(now_.data(), ids_)) [[unlikely]]
    return fetched(got);
  settled_ = !running_ && !lent_ && !options_.enable_on_exec;
  return true;
}

bool OpenGroup::runs() {
  // Undecidable unless the target is known to run: another process, or another CPU.
  if (options_.cgroup >= 0) return true;
  const bool self = options_.pid == 0 && options_.cpu < 0;
  if (!self && options_.pid >= 0) return true;
  // An event of one core type runs on its CPUs only.
  std::optional<base::Affinity> on_core_type;
  if (self && core_ != nullptr && !core_->cpus.empty()) {
    on_core_type.emplace(core_->cpus);
    if (!on_core_type->restricted()) return true;
  }
  const auto before = read_total(); // the existing group has times already
  if (!before) return false;        // pinned, and in error
  std::optional<ScheduleTimeout> timeout;
  for (auto total = read_total();; total = read_total()) { // most events run at once
    if (!total) return false;
    if (total->running_ns > before->running_ns) return true;
    if (!timeout) timeout.emplace(events_.back(), before->enabled_ns);
    if (timeout->expired(total->enabled_ns)) return false;
  }
}

void OpenGroup::control(unsigned long request, const char* what) {
  if (ioctl(fds_.front().get(), request, 0) == 0) return;
  throw call_error(Operation::control, events_.front(), errno, what);
}

void OpenGroup::enable() {
  running_ = true;
  settled_ = false;
  control(PERF_EVENT_IOC_ENABLE, "PERF_EVENT_IOC_ENABLE");
}

void OpenGroup::disable() {
  control(PERF_EVENT_IOC_DISABLE, "PERF_EVENT_IOC_DISABLE");
  running_ = false;
}

void OpenGroup::start() {
  owner_.require_here(events_.front().name.c_str());
  enable();
  started_ = true;
}

void OpenGroup::stop() {
  if (owner_.here()) disable();
}

bool OpenGroup::fetched(ssize_t got) {
  settled_ = false;
  if (got < 0 && errno == ECHILD)
    got = read_again(fds_.front().get(), now_.data(), now_.size() * sizeof now_.front());
  if (got < 0) throw call_error(Operation::read, events_.front(), errno, "read");
  if (got == 0) return false;
  const auto words = std::span(now_).first(static_cast<std::size_t>(got) / sizeof now_.front());
  if (!layout_.put_in_order(words, ids_))
    throw unavailable(events_.front().name, "the kernel returned events that are not in the group");
  return true;
}

bool OpenGroup::refresh() {
  return fetch();
}

std::optional<OpenGroup::Total> OpenGroup::read_total() {
  if (!fetch()) return {};
  return total(0);
}

void OpenGroup::reset() {
  // Not PERF_EVENT_IOC_RESET, which leaves the times and what ended children counted: a baseline is
  // exact for all three, and needs no system call if nothing has run since the last read().
  if (settled_ || fetch()) count_from_now();
}

void OpenGroup::count_from_now() noexcept {
  std::copy(now_.begin(), now_.end(), base_.begin());
}

[[gnu::always_inline]] inline void OpenGroup::deliver(bool counted) {
  if (!counted) return deliver_reason(owner_.here() ? pinned_out : of_parent, 0, 0);
  const std::uint64_t *now = now_.data(), *base = base_.data();
  const std::uint64_t enabled = now[layout_.enabled()] - base[layout_.enabled()];
  const std::uint64_t running = now[layout_.running()] - base[layout_.running()];
  if (((enabled | running) >> 63) != 0) // less than at the start
    return deliver_reason(times_decreased, 0, 0);
  if (running == 0) { // rare
    if (enabled > 0) return deliver_reason(core_ != nullptr ? other_core_type : never_ran, enabled, running);
    if (!started_ && !options_.enable_on_exec) return deliver_reason(not_started, enabled, running);
  }
  if (reasons_) deliver_reason({"", ReasonCode::other}, 0, 0);
  reasons_ = false;
  std::size_t at = layout_.value(led_);
  for (Count& count : counts_) {
    count.value = now[at] - base[at];
    count.enabled_ns = enabled;
    count.running_ns = running;
    at += layout_.stride();
  }
}

const std::vector<Count>& OpenGroup::read() {
  deliver(fetch());
  return counts_;
}

const std::vector<Count>& OpenGroup::read_and_reset() {
  const bool counted = fetch();
  deliver(counted);
  if (counted) count_from_now();
  return counts_;
}

void OpenGroup::deliver_reason(const NoCount& why, std::uint64_t enabled, std::uint64_t running) {
  const Shared<Reason> reason = Reason(why.cause, why.code);
  for (Count& count : counts_) {
    count.value.reset();
    count.enabled_ns = enabled;
    count.running_ns = running;
    count.reason = reason;
  }
  reasons_ = true;
}

Layout::Layout(std::uint64_t read_format) noexcept {
  if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) enabled_ = header_++;
  if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING) running_ = header_++;
  if (read_format & PERF_FORMAT_LOST) lost_ = stride_++;
}

bool Layout::take(std::span<const std::uint64_t> words, std::span<const std::uint64_t> ids, Times& times,
                  std::span<Raw> out) const noexcept {
  const std::size_t events = out.size();
  if (words.size() < this->words(events) || words[0] != events || ids.size() != events) return false;
  times.enabled = enabled_ == none ? 0 : words[enabled_];
  times.running = running_ == none ? 0 : words[running_];
  for (std::size_t i = 0; i < events; ++i) {
    const auto event = words.subspan(header_ + i * stride_, stride_);
    std::size_t place = i;
    if (event[id_] != ids[i]) {
      for (place = 0; place < events && ids[place] != event[id_];)
        ++place;
      if (place == events) return false;
    }
    out[place] = {event[0], lost_ == none ? 0 : event[lost_]};
  }
  return true;
}

bool Layout::put_in_order(std::span<std::uint64_t> words, std::span<const std::uint64_t> ids) const {
  const std::vector<std::uint64_t> as_read(words.begin(), words.end());
  std::vector<Raw> events(ids.size());
  Times times;
  if (!take(as_read, ids, times, events)) return false;
  for (std::size_t i = 0; i < events.size(); ++i) {
    words[value(i)] = events[i].value;
    words[value(i) + id_] = ids[i];
  }
  return true;
}

namespace {

/// The first few: a note is read by people.
std::string names(const std::vector<Event>& events) {
  constexpr std::size_t shown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(events.size(), shown); ++i)
    text += (text.empty() ? "" : ", ") + events[i].name;
  return events.size() <= shown ? text : fmt::format("{} and {} more", text, events.size() - shown);
}

} // namespace

void Split::add(const Event& event) {
  if (!event.present) throw absent_error(event);
  // A group with events of a core type counts nothing on the others, software events included.
  const host::Pmu* const core = event::core_of(event.attr, event::pmus());
  std::size_t at = 0;
  const auto alone = [](const Event& e) { return e.attr.pinned != 0 || e.attr.exclusive != 0; };
  if (event::is_slots(event.attr, event::pmus()) || alone(event)) at = groups_.size(); // metrics may follow
  while (at < groups_.size() &&
         (groups_[at].core() != core || alone(groups_[at].events().front()) || !groups_[at].add(event).ok()))
    ++at;
  if (at == groups_.size()) open_further(event, core);
  members_[at].push_back(events_.size());
  events_.push_back(event);
}

void Split::open_further(const Event& event, const host::Pmu* core) {
  // The event itself may be the cause: open it alone for the kernel's errno.
  OpenGroup group(options_, call_);
  const auto joined = group.add(event);
  if (joined.how == OpenGroup::Joined::How::never_runs) throw never_runs_error(event, {});
  if (!joined.ok()) throw open_error(event, joined.error, options_);
  const auto rival = std::ranges::find(groups_, core, &OpenGroup::core);
  const bool leads = event::is_slots(event.attr, event::pmus()) ||
                     event::is_topdown_metric(event.attr, event::pmus()) || event.attr.pinned != 0 ||
                     event.attr.exclusive != 0;
  if (rival != groups_.end() && !leads) notes_.push_back(note(event, *rival));
  groups_.push_back(std::move(group));
  members_.emplace_back();
}

std::string Split::note(const Event& event, const OpenGroup& first) const {
  const auto others = std::ranges::count(groups_, first.core(), &OpenGroup::core) - 1;
  return fmt::format("{} does not fit into one event group with {}{}: counted in another group, multiplexed "
                     "if counters are scarce",
                     event.name, names(first.events()),
                     others > 0 ? ", nor into " + base::format_count(others, "further group") : "");
}

Countable countable(std::vector<Event> each, const GroupOptions& options) {
  if (each.size() == 1) return {std::move(each), {}};
  Countable out;
  std::optional<Error> first;
  for (Event& event : each) {
    try {
      Split(options).add(event);
      out.events.push_back(std::move(event));
    } catch (const Error& error) {
      if (!first) first = error;
      out.notes.push_back(error.problem().subject +
                          ": not counted on this core type: " + error.problem().cause);
    }
  }
  if (out.events.empty() && first) throw Error(*first);
  return out;
}

std::vector<std::vector<std::size_t>> make_passes(const std::vector<Event>& events,
                                                  const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<std::vector<std::size_t>> passes;
  std::map<const host::Pmu*, std::size_t> used;
  for (const auto& group : groups) {
    const std::size_t pass = used[event::core_of(events[group.front()].attr, event::pmus())]++;
    if (pass == passes.size()) passes.emplace_back();
    passes[pass].insert(passes[pass].end(), group.begin(), group.end());
  }
  return passes;
}

} // namespace recount::perf
