#include "base/clock.hpp"
#include "base/text.hpp"
#include "count/perf/open_group.hpp"
#include "count/perf/owner.hpp"
#include "count/perf/record.hpp"
#include "count/perf/sample_open.hpp"
#include "count/perf/try_open.hpp"

#include <recount/error.hpp>
#include <recount/sampling.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fmt/core.h>
#include <functional>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/mman.h>
#include <system_error>
#include <utility>
#include <vector>

namespace recount::perf {

/// Iterates over the records in the rings at the time of begin(). Records stay in their rings until dropped;
/// nothing is copied. Allocates nothing after construction.
class Merge {
public:
  explicit Merge(const OpenSampling& open) : rings_(open.rings), type_(open.format.sample_type) {
    heap_.reserve(rings_.size());
  }
  /// Looks at all rings.
  void begin() {
    heap_.clear();
    open_ = none;
    for (std::size_t i = 0; i < rings_.size(); ++i) {
      rings_[i].ring->look();
      push(i);
    }
  }
  /// The earliest record that is no younger than `horizon`, already dropped from its ring but valid until
  /// the next call; empty when there is none.
  [[nodiscard]] std::span<const std::uint64_t> next(std::uint64_t horizon) {
    if (open_ != none) {
      rings_[open_].ring->release(); // earlier records are no longer used
      push(open_);
      open_ = none;
    }
    if (heap_.empty() || heap_.front().first > horizon) return {};
    std::ranges::pop_heap(heap_, std::greater<>());
    open_ = heap_.back().second;
    heap_.pop_back();
    auto& records = rings_[open_].ring->records();
    const auto record = records.front();
    records.drop();
    return record;
  }
  /// Returns the space of dropped records to the kernel.
  void release() noexcept {
    for (const CpuRing& r : rings_)
      r.ring->release();
  }

private:
  void push(std::size_t ring) {
    const auto record = rings_[ring].ring->records().front();
    if (record.empty()) return;
    heap_.emplace_back(time_of(record, type_), ring);
    std::ranges::push_heap(heap_, std::greater<>());
  }

  static constexpr std::size_t none = ~std::size_t{0};
  const std::vector<CpuRing>& rings_;
  std::uint64_t type_;
  std::vector<std::pair<std::uint64_t, std::size_t>> heap_; ///< time and ring of each ring's first record
  std::size_t open_ = none;                                 ///< the ring of the last returned record
};

} // namespace recount::perf

namespace recount {
namespace {

/// Adds the processor time of this thread during its lifetime.
class CpuTimer {
public:
  explicit CpuTimer(std::uint64_t& total) : total_(total), from_(base::clock_ns(CLOCK_THREAD_CPUTIME_ID)) {}
  CpuTimer(const CpuTimer&) = delete;
  CpuTimer& operator=(const CpuTimer&) = delete;
  ~CpuTimer() { total_ += static_cast<std::uint64_t>(base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_); }

private:
  std::uint64_t& total_;
  std::int64_t from_;
};

constexpr std::uint64_t everything = ~std::uint64_t{0};

} // namespace

struct Sampling::State {
  explicit State(perf::OpenSampling opened)
      : open(std::move(opened)), ids(open), merge(open), layout(open.format.read_format) {
    report.events.resize(open.events.size());
    report.rings = open.rings.size();
    report.ring_bytes = open.rings.front().ring->bytes();
    values.resize(open.events.size());
    raw.resize(open.events.size());
    for (const auto& context : open.contexts)
      polled.push_back(context.first_fd());
  }

  perf::Owner owner;
  perf::OpenSampling open;
  perf::SampleIds ids;
  perf::Merge merge;
  perf::Layout layout;
  perf::Decoded decoded;
  SamplingReport report;
  std::vector<std::uint64_t> values;
  std::vector<perf::Raw> raw;
  std::vector<int> polled;
  std::vector<pollfd> polls;
  std::uint64_t previous_read = 0, latest = 0;

  void deliver(const Sink& sink, std::uint64_t horizon);
  bool complete(Record& record, const perf::Placed* placed);
  bool complete(Sample& sample, const perf::Placed& placed);
};

/// Sets the event and the values in the order of the events.
bool Sampling::State::complete(Sample& sample, const perf::Placed& placed) {
  sample.event = placed.event;
  const SampledEvent& event = open.events[placed.event];
  if (event.frequency == 0) sample.period = event.period;
  if (open.options.group) {
    perf::Times times;
    if (!layout.take(decoded.group, open.contexts[placed.context].ids, times, raw)) return false;
    std::ranges::transform(raw, values.begin(), &perf::Raw::value);
    sample.values = values;
  }
  SampledCount& count = report.events[placed.event];
  ++count.samples;
  count.weight += sample.period;
  return true;
}

bool Sampling::State::complete(Record& record, const perf::Placed* placed) {
  if (auto* sample = std::get_if<Sample>(&record)) return placed != nullptr && complete(*sample, *placed);
  if (auto* throttle = std::get_if<Throttle>(&record)) {
    if (placed == nullptr) return false;
    throttle->event = placed->event;
    report.events[placed->event].throttled += throttle->stopped ? 1U : 0U;
  } else if (const auto* loss = std::get_if<Loss>(&record)) {
    report.lost_records += loss->records;
  }
  return true;
}

void Sampling::State::deliver(const Sink& sink, std::uint64_t horizon) {
  const struct Release {
    perf::Merge& merge;
    ~Release() { merge.release(); }
  } release{merge};
  merge.begin();
  for (auto split_words = merge.next(horizon); !split_words.empty(); split_words = merge.next(horizon)) {
    const perf::Placed* placed = ids.find(perf::id_of(split_words));
    const auto& format = placed != nullptr ? open.format_of(open.events[placed->event]) : open.format;
    const auto understood = perf::decode(split_words, format, decoded);
    if (understood == perf::Understood::other) continue;
    if (understood == perf::Understood::no || !complete(decoded.record, placed)) {
      ++report.damaged;
      continue;
    }
    ++report.records;
    report.bytes += split_words.size_bytes();
    const std::uint64_t time = std::visit([](const auto& r) { return r.time; }, decoded.record);
    report.late += time < latest ? 1U : 0U;
    latest = std::max(latest, time);
    if (sink) sink(decoded.record);
  }
}

bool SamplingReport::complete() const noexcept {
  const auto whole = [this](const SampledCount& c) { return c.lost ? *c.lost == 0 : full == 0; };
  return lost_records == 0 && lost_followed == 0 && damaged == 0 && std::ranges::all_of(events, whole);
}

Sampling::Sampling(std::vector<SampledEvent> events, const SamplingOptions& options)
    : state_(std::make_unique<State>(perf::open_sampling(std::move(events), options))) {}
Sampling::Sampling(Sampling&&) noexcept = default;
Sampling& Sampling::operator=(Sampling&&) noexcept = default;
Sampling::~Sampling() = default;

void Sampling::start() {
  state_->owner.require_here("sampling");
  perf::control(state_->open, PERF_EVENT_IOC_ENABLE, "PERF_EVENT_IOC_ENABLE");
}

void Sampling::stop() {
  if (!state_->owner.here()) return;
  perf::control(state_->open, PERF_EVENT_IOC_DISABLE, "PERF_EVENT_IOC_DISABLE");
}

void Sampling::set_period(std::size_t event, std::uint64_t period) {
  state_->owner.require_here("sampling");
  require_index("event of a sampling", event, state_->open.events.size());
  perf::set_period(state_->open, event, period);
}

bool Sampling::wait(std::chrono::milliseconds limit) {
  const CpuTimer timer(state_->report.reader_ns);
  if (!state_->owner.here()) return false;
  auto& polls = state_->polls;
  polls.clear();
  for (const int fd : state_->polled)
    polls.push_back({fd, POLLIN, 0});
  if (polls.empty()) return false;
  if (::poll(polls.data(), polls.size(), static_cast<int>(limit.count())) <= 0) return true;
  std::erase_if(state_->polled, [&](int fd) {
    return std::ranges::any_of(polls,
                               [&](const pollfd& p) { return p.fd == fd && (p.revents & POLLHUP) != 0; });
  });
  return !state_->polled.empty();
}

void Sampling::read(const Sink& sink) {
  state_->owner.require_here("sampling");
  const CpuTimer timer(state_->report.reader_ns);
  constexpr std::uint64_t settled = 1'000'000;
  const auto now = static_cast<std::uint64_t>(base::clock_ns(CLOCK_MONOTONIC));
  const std::uint64_t horizon = std::min(state_->previous_read, now - settled);
  state_->previous_read = now;
  state_->deliver(sink, state_->open.rings.size() == 1 ? everything : horizon);
}

void Sampling::finish(const Sink& sink) {
  state_->owner.require_here("sampling");
  const CpuTimer timer(state_->report.reader_ns);
  state_->deliver(sink, everything);
}

const std::vector<SampledEvent>& Sampling::events() const noexcept {
  return state_->open.events;
}

const std::vector<int>& Sampling::descriptors() const noexcept {
  return state_->polled;
}

SamplingReport Sampling::report() {
  state_->owner.require_here("sampling");
  SamplingReport& report = state_->report;
  report.lost_followed = perf::read_counts(state_->open, report.events);
  SamplingReport out = report;
  for (const auto& r : state_->open.rings) {
    out.damaged += r.ring->records().damaged();
    out.full += r.ring->records().full() ? 1U : 0U;
  }
  return out;
}

bool can_interrupt(const Event& event) {
  perf_event_attr attr = event.attr;
  attr.disabled = 1;
  if (!perf::open_sized(attr, {}).fd) return true; // cannot be counted at all: reported elsewhere
  attr.sample_period = std::uint64_t{1} << 30;
  const perf::Attempt sampling = perf::open_sized(attr, {});
  return sampling.fd || (sampling.error != EINVAL && sampling.error != EOPNOTSUPP);
}

void existing_mappings(pid_t pid, const Sampling::Sink& sink) {
  const auto maps = base::read_file(fmt::format("/proc/{}/maps", pid));
  if (!maps) return;
  // Paths as this process sees them, unlike those of Mapping records.
  std::error_code error;
  std::string root = std::filesystem::read_symlink(fmt::format("/proc/{}/root", pid), error);
  if (root == "/") root.clear();
  for (const std::string_view line : base::split(*maps, '\n')) {
    auto mapping = perf::parse_maps_line(line);
    if (!mapping || (mapping->protection & PROT_EXEC) == 0) continue;
    mapping->pid = mapping->tid = static_cast<std::uint32_t>(pid);
    if (mapping->file.starts_with(root + '/')) mapping->file.remove_prefix(root.size());
    sink(*mapping);
  }
}

} // namespace recount
