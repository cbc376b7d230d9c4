#include "perf/open_group.hpp"

#include "perf/errno_hints.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <chrono>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::perf {
namespace {

/// Several turns of the kernel's rotation among groups (perf_event_mux_interval_ms, 4 ms unless changed).
constexpr std::chrono::milliseconds patience{20};

constexpr auto not_started = "not started";
constexpr auto never_ran = "the group was never put on the PMU while it was enabled: its counters were taken "
                           "(by the NMI watchdog, a pinned group) or it needs more than there are";
constexpr auto pinned_out = "the pinned group could not be put on the PMU: its counters were taken";

} // namespace

OpenGroup::OpenGroup(const GroupOptions& options, OpenCall call) : options_(options), call_(call) {}

perf_event_attr OpenGroup::prepared(const Event& event) const {
  perf_event_attr attr = event.attr;
  attr.inherit = options_.inherit;
  attr.read_format = read_format_;
  attr.disabled = 0;  // see add()
  if (fds_.empty()) { // a sibling inherits what these say from its leader
    attr.pinned = options_.pinned;
    attr.exclusive = options_.exclusive;
    attr.enable_on_exec = options_.enable_on_exec;
  }
  return attr;
}

void OpenGroup::remember(process::Fd fd, const Event& event) {
  std::uint64_t id = 0;
  ioctl(fd.get(), PERF_EVENT_IOC_ID, &id); // where the kernel has no ids, the layout has none either
  ids_.push_back(id);
  fds_.push_back(std::move(fd));
  events_.push_back(event);
  now_.resize(fds_.size());
  base_.resize(fds_.size());
  counts_.resize(fds_.size());
  buffer_.resize(layout_.words(fds_.size()));
}

void OpenGroup::forget_last() {
  fds_.pop_back();
  ids_.pop_back();
  events_.pop_back();
  now_.pop_back();
  base_.pop_back();
  counts_.pop_back();
  buffer_.resize(layout_.words(fds_.size()));
}

OpenGroup::Joined OpenGroup::add(const Event& event) {
  const bool leads = fds_.empty();
  if (!leads) control(PERF_EVENT_IOC_ENABLE, "PERF_EVENT_IOC_ENABLE");
  const perf_event_attr attr = prepared(event);
  Attempt attempt = leads ? open_leader(attr, {options_.pid, options_.cpu, -1}, call_)
                          : open_sized(attr, {options_.pid, options_.cpu, fds_.front().get()}, call_);
  Joined joined;
  if (attempt.fd) {
    if (leads) {
      read_format_ = attempt.attr.read_format;
      layout_ = Layout(read_format_);
    }
    remember(std::move(attempt.fd), event);
    if (!runs()) {
      joined.how = Joined::How::never_runs;
      forget_last();
    }
  } else {
    joined.how = Joined::How::refused;
    joined.error = attempt.error;
  }
  if (!fds_.empty()) {
    control(PERF_EVENT_IOC_DISABLE, "PERF_EVENT_IOC_DISABLE");
    reset();
  }
  return joined;
}

bool OpenGroup::runs() {
  // Nothing can be said while the target is not known to be running: another process, or another CPU.
  const bool self = options_.pid == 0 && options_.cpu < 0;
  if (!self && options_.pid >= 0) return true;
  const auto before = read_total(); // the group as it was has times already
  const auto end = std::chrono::steady_clock::now() + patience;
  for (auto total = before;; total = read_total()) {
    if (!total.counted) return false; // pinned, and in error
    if (total.times.running > before.times.running) return true;
    if (std::chrono::steady_clock::now() > end) return false;
  }
}

void OpenGroup::control(unsigned long request, const char* what) {
  if (ioctl(fds_.front().get(), request, 0) == 0) return;
  throw call_error(Stage::control, events_.front(), errno, what);
}

void OpenGroup::start() {
  control(PERF_EVENT_IOC_ENABLE, "PERF_EVENT_IOC_ENABLE");
  started_ = true;
}

void OpenGroup::stop() {
  control(PERF_EVENT_IOC_DISABLE, "PERF_EVENT_IOC_DISABLE");
}

OpenGroup::Total OpenGroup::read_total() {
  const std::size_t bytes = buffer_.size() * sizeof buffer_.front();
  const ssize_t got = ::read(fds_.front().get(), buffer_.data(), bytes);
  if (got < 0) throw call_error(Stage::read, events_.front(), errno, "read");
  Total total;
  if (got == 0) return total; // end of file: a pinned group in error (perf_event_open(2))
  total.counted = true;
  const auto words = std::span(buffer_).first(static_cast<std::size_t>(got) / sizeof buffer_.front());
  if (!layout_.take(words, ids_, total.times, now_))
    throw unavailable(events_.front().name, "the kernel gave other events than those of the group");
  return total;
}

void OpenGroup::reset() {
  // Not PERF_EVENT_IOC_RESET, which leaves the times and what ended children counted: remembering is
  // exact for all three and one system call as well.
  const Total total = read_total();
  if (!total.counted) return;
  base_times_ = total.times;
  base_ = now_;
}

const std::vector<Count>& OpenGroup::read() {
  const Total total = read_total();
  const std::uint64_t enabled = total.counted ? total.times.enabled - base_times_.enabled : 0;
  const std::uint64_t running = total.counted ? total.times.running - base_times_.running : 0;
  const bool begun = started_ || options_.enable_on_exec || enabled > 0;
  const char* reason = !total.counted                ? pinned_out
                       : !begun                      ? not_started
                       : enabled > 0 && running == 0 ? never_ran
                                                     : nullptr;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    Count& count = counts_[i];
    count.enabled_ns = enabled;
    count.running_ns = running;
    count.lost = now_[i].lost - base_[i].lost;
    if (reason == nullptr) {
      count.value = now_[i].value - base_[i].value;
      count.reason.clear();
    } else {
      count.value.reset();
      count.reason = reason;
    }
  }
  return counts_;
}

} // namespace recount::perf
