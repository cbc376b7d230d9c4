#include "count/perf/sample_open.hpp"

#include "base/host/event_class.hpp"
#include "base/host/pmu.hpp"
#include "base/process/waiter.hpp"
#include "base/text.hpp"
#include "count/event/sysfs.hpp"
#include "count/perf/errno_hints.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <ctime>
#include <span>
#include <sys/ioctl.h>
#include <unistd.h>

namespace recount::perf {
namespace {

/// The most precise that an event can be: the PMU says so, or the event is none of a core's.
unsigned max_precise(const Event& event, unsigned wanted) {
  if (event.attr.type == PERF_TYPE_SOFTWARE || event.attr.type == PERF_TYPE_BREAKPOINT) return 0;
  for (const host::Pmu& pmu : event::pmus()) {
    if (pmu.name != event.pmu && pmu.type != event.attr.type) continue;
    const auto cap = pmu.caps.find("max_precise");
    if (cap != pmu.caps.end() && !cap->second.empty())
      return std::min(wanted, static_cast<unsigned>(cap->second.front() - '0') & 3U);
  }
  return std::min(wanted, 3U);
}

bool too_precise(int error) {
  return error == EOPNOTSUPP || error == EINVAL || error == ENODEV;
}

class Opener {
public:
  Opener(OpenSampling& into, std::size_t bytes) : into_(into), bytes_(bytes) {}

  /// False when the thread has ended meanwhile.
  bool open(pid_t tid, int cpu) {
    if (!any_on(cpu)) return true;
    Context context;
    context.tid = tid;
    context.cpu = cpu;
    if (into_.options.follow) {
      const auto attr = following_attr(into_.options, into_.format, into_.has, bytes_);
      context.follower = place(attr, context, -1, into_.events.front().event);
      if (!context.follower) return false;
      context.follower_id = id_of(context.follower.get(), into_.events.front().event);
    }
    for (SampledEvent& sampled : into_.events) {
      context.fds.emplace_back();
      context.ids.push_back(0);
      if (!counts_on(sampled.event, cpu)) continue;
      const int leader = into_.options.group && context.fds.size() > 1 ? context.fds.front().get() : -1;
      context.fds.back() = place(sampled, context, leader);
      if (!context.fds.back()) return false;
      context.ids.back() = id_of(context.fds.back().get(), sampled.event);
    }
    connect(context);
    into_.contexts.push_back(std::move(context));
    return true;
  }

private:
  static bool counts_on(const Event& event, int cpu) {
    const auto& cpus = event::cpus_of(event.attr, event::pmus());
    return cpu < 0 || cpus.empty() || std::ranges::find(cpus, cpu) != cpus.end();
  }
  /// Whether there is something to open on a CPU. A group is opened as a whole or not at all.
  [[nodiscard]] bool any_on(int cpu) const {
    const auto here = [cpu](const SampledEvent& sampled) { return counts_on(sampled.event, cpu); };
    return into_.options.group ? std::ranges::all_of(into_.events, here)
                               : into_.options.follow || std::ranges::any_of(into_.events, here);
  }
  static std::uint64_t id_of(int fd, const Event& event) {
    std::uint64_t id = 0;
    if (ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0)
      throw call_error(Operation::control, event, errno, "PERF_EVENT_IOC_ID");
    return id;
  }

  /// Empty when the thread has ended.
  process::Fd place(const perf_event_attr& attr, const Context& context, int leader, const Event& event) {
    Attempt attempt = open_sized(attr, {context.tid, context.cpu, leader});
    if (attempt.fd || attempt.error == ESRCH) return std::move(attempt.fd);
    if (into_.options.group && into_.options.inherit && attempt.error == EINVAL)
      throw unavailable(event.name,
                        "this kernel cannot read a group in the samples of inherited events (EINVAL)", {},
                        "sample one thread without inherit, or use Linux 6.12 or later");
    if (!can_interrupt(event))
      throw unavailable(event.name,
                        "PMU " + event.pmu + " cannot sample it: the PMU raises no overflow interrupt", {},
                        "count it, or sample perf::CPU-CLOCK in an event group with it");
    GroupOptions options;
    options.pid = context.tid;
    options.cpu = context.cpu;
    options.inherit = into_.options.inherit;
    Event requested = event;
    requested.attr = attr; // the message depends on what was asked for: a period, a frequency
    throw open_error(requested, attempt.error, options);
  }

  process::Fd place(SampledEvent& sampled, const Context& context, int leader) {
    while (true) {
      const auto attr = sampling_attr(sampled, into_.options, into_.format_of(sampled), bytes_, leader >= 0);
      if (sampled.precise == 0) return place(attr, context, leader, sampled.event);
      Attempt attempt = open_sized(attr, {context.tid, context.cpu, leader});
      if (attempt.fd) return std::move(attempt.fd);
      if (!too_precise(attempt.error)) return place(attr, context, leader, sampled.event);
      --sampled.precise;
    }
  }

  void connect(const Context& context) {
    const auto same = [&](const CpuRing& r) { return context.cpu >= 0 && r.cpu == context.cpu; };
    auto ring = std::ranges::find_if(into_.rings, same);
    if (ring == into_.rings.end()) {
      int error = 0;
      auto mapped = map_ring(context.first_fd(), bytes_, error);
      if (!mapped) throw call_error(Operation::map, into_.events.front().event, error, "mmap");
      into_.rings.push_back({std::move(mapped), context.cpu, context.first_fd()});
      ring = into_.rings.end() - 1;
    }
    if (context.follower) send(context.follower.get(), ring->owner);
    for (const auto& fd : context.fds)
      if (fd) send(fd.get(), ring->owner);
  }

  void send(int fd, int owner) {
    if (fd != owner && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, owner) != 0)
      throw call_error(Operation::control, into_.events.front().event, errno, "PERF_EVENT_IOC_SET_OUTPUT");
  }

  OpenSampling& into_;
  std::size_t bytes_;
};

void open_targets(OpenSampling& into, std::size_t bytes, const std::vector<int>& cpus) {
  Opener opener(into, bytes);
  const pid_t pid = into.options.pid;
  const auto everywhere = [&](pid_t tid) {
    return std::ranges::all_of(cpus, [&](int cpu) { return opener.open(tid, cpu); });
  };
  if (pid <= 0) {
    everywhere(pid);
    return;
  }
  std::vector<pid_t> pids{pid};
  pids.insert(pids.end(), into.options.more_pids.begin(), into.options.more_pids.end());
  for (const pid_t one : pids)
    if (process::each_thread(one, everywhere) == 0) {
      GroupOptions options;
      options.pid = one;
      throw open_error(into.events.front().event, ESRCH, options);
    }
}

} // namespace

void control(const OpenSampling& open, unsigned long request, const char* what) {
  for (const auto& context : open.contexts)
    for (std::size_t e = 0; e < (open.options.group ? 1 : context.fds.size()); ++e)
      if (context.fds[e] && ioctl(context.fds[e].get(), request, 0) != 0)
        throw call_error(Operation::control, open.events[e].event, errno, what);
}

void set_period(OpenSampling& open, std::size_t event, std::uint64_t period) {
  SampledEvent& sampled = open.events[event];
  for (const auto& context : open.contexts)
    if (context.fds[event] && ioctl(context.fds[event].get(), PERF_EVENT_IOC_PERIOD, &period) != 0)
      throw call_error(Operation::control, sampled.event, errno, "PERF_EVENT_IOC_PERIOD");
  (sampled.frequency != 0 ? sampled.frequency : sampled.period) = period;
}

OpenSampling open_sampling(std::vector<SampledEvent> events, const SamplingOptions& options) {
  check_sampled(events);
  for (SampledEvent& e : events) {
    if (!e.event.present) throw absent_error(e.event);
    if (e.event.attr.exclude_kernel && host::occurs_in_kernel_only(e.event.attr))
      throw unavailable(e.event.name, "it occurs in the kernel: user mode alone has no samples",
                        paranoid_setting(), "sample it in the kernel, as a user who may: recount doctor");
    e.precise = max_precise(e.event, std::max<unsigned>(e.precise, e.event.attr.precise_ip));
  }
  OpenSampling opened;
  opened.events = std::move(events);
  opened.options = options;
  opened.has = features();
  opened.format = record_format(options, opened.has, false);
  opened.with_period = record_format(options, opened.has, true);
  const bool by_cpu = options.inherit || options.pid == -1;
  const std::vector<int> cpus = by_cpu ? host::online_cpus() : std::vector{-1};
  std::size_t rings = by_cpu || options.pid == 0 ? cpus.size() : process::read_threads(options.pid).size();
  for (const pid_t pid : options.more_pids)
    if (!by_cpu) rings += process::read_threads(pid).size();
  for (std::size_t bytes = ring_bytes(options.buffer, rings);;) {
    open_targets(opened, bytes, cpus);
    if (opened.rings.empty())
      throw unavailable(opened.events.front().event.name,
                        opened.options.group ? "no CPU has the PMUs of all events of the group"
                                             : "its PMU has none of the CPUs that are online");
    const auto size = [](const CpuRing& r) { return r.ring->bytes(); };
    const std::size_t got = size(*std::ranges::min_element(opened.rings, {}, size));
    if (got == bytes) return opened;
    bytes = got; // less memory may be locked: repeat with a watermark for the new size
    opened.rings.clear();
    opened.contexts.clear();
  }
}

namespace {

constexpr std::uint64_t always_sampled = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                         PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU;

bool opens(const perf_event_attr& attr, OpenCall call) {
  return static_cast<bool>(open_sized(attr, {}, call).fd);
}

/// Common fields of all events of a ring.
void common(perf_event_attr& attr, const SamplingOptions& options, const RecordFormat& format,
            std::size_t ring) {
  attr.sample_type = format.sample_type;
  attr.read_format = format.read_format;
  attr.sample_regs_user = format.user_registers;
  attr.sample_stack_user = options.user_stack;
  attr.branch_sample_type = format.branch_type;
  attr.sample_id_all = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<std::uint32_t>(ring / 4);
  attr.inherit = options.inherit;
}

} // namespace

Features features(OpenCall call) {
  Features has;
  perf_event_attr attr = dummy_attr();
  attr.read_format = PERF_FORMAT_LOST;
  has.lost = opens(attr, call);
  attr = dummy_attr();
  attr.mmap = attr.mmap2 = attr.build_id = 1;
  has.build_ids = opens(attr, call);
  return has;
}

void check_sampled(const std::vector<SampledEvent>& events) {
  const auto samples = [](const SampledEvent& e) { return e.period != 0 || e.frequency != 0; };
  for (const SampledEvent& e : events)
    if (e.period != 0 && e.frequency != 0)
      throw bad_input(e.event.name, "has both a sampling period and a frequency", "use one of them");
  if (std::ranges::none_of(events, samples))
    throw bad_input("sampling", "no event has a period or a frequency", "set one for at least one event");
}

RecordFormat record_format(const SamplingOptions& options, const Features& has, bool frequency) {
  RecordFormat format;
  format.sample_type = always_sampled;
  // Asked for its period, a software event with a fixed one is sampled at every single occurrence
  // (perf_swevent_event() in kernel/events/core.c of Linux).
  if (frequency) format.sample_type |= PERF_SAMPLE_PERIOD;
  if (options.group) format.sample_type |= PERF_SAMPLE_READ;
  if (options.chains) format.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (options.user_registers != 0) format.sample_type |= PERF_SAMPLE_REGS_USER;
  if (options.user_stack != 0) format.sample_type |= PERF_SAMPLE_STACK_USER;
  if (options.branches) {
    format.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    format.branch_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
  }
  format.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
  if (has.lost) format.read_format |= PERF_FORMAT_LOST;
  format.user_registers = options.user_registers;
  return format;
}

perf_event_attr sampling_attr(const SampledEvent& sampled, const SamplingOptions& options,
                              const RecordFormat& format, std::size_t ring, bool sibling) {
  perf_event_attr attr = sampled.event.attr;
  common(attr, options, format, ring);
  attr.freq = sampled.frequency != 0;
  attr.sample_period = attr.freq ? sampled.frequency : sampled.period;
  attr.precise_ip = sampled.precise & 3U;
  attr.disabled = !sibling;
  if (sibling) attr.pinned = attr.exclusive = 0; // the leader's
  attr.enable_on_exec = options.enable_on_exec && !sibling;
  if (options.chains) {
    attr.sample_max_stack = static_cast<std::uint16_t>(std::min(options.frames, 0xffffU));
    attr.exclude_callchain_kernel = attr.exclude_kernel;
    attr.exclude_callchain_user = options.user_stack != 0 || options.branches; // found otherwise
  }
  return attr;
}

perf_event_attr following_attr(const SamplingOptions& options, const RecordFormat& format,
                               const Features& has, std::size_t ring) {
  perf_event_attr attr = dummy_attr();
  RecordFormat plain = format; // it takes no samples, whose fields may need a permission
  plain.sample_type &= always_sampled;
  common(attr, options, plain, ring);
  attr.sample_regs_user = 0;
  attr.sample_stack_user = 0;
  attr.branch_sample_type = 0;
  attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
  attr.build_id = options.build_ids && has.build_ids;
  return attr;
}

namespace {

/// Reads one descriptor, alone or as the leader of a group.
class ReadBack {
public:
  explicit ReadBack(const OpenSampling& open)
      : open_(open),
        layout_(open.format.read_format),
        words_(layout_.words(open.events.size())),
        raw_(open.events.size()) {}

  /// The events whose ids are given, in their order; empty when there is nothing to read any more.
  std::span<const Raw> read(int fd, std::span<const std::uint64_t> ids, const Event& event) {
    const ssize_t got = read_again(fd, words_.data(), words_.size() * sizeof words_.front());
    if (got < 0) throw call_error(Operation::read, event, errno, "read");
    const auto words = std::span(words_).first(static_cast<std::size_t>(got) / sizeof words_.front());
    const auto out = std::span(raw_).first(ids.size());
    return layout_.take(words, ids, times, out) ? out : std::span<const Raw>{};
  }

  void add(const Context& context, std::uint64_t followed_ns, std::vector<SampledCount>& into) {
    const std::size_t each = open_.options.group ? context.fds.size() : 1;
    for (std::size_t first = 0; first < context.fds.size(); first += each) {
      if (!context.fds[first]) continue;
      const auto ids = std::span(context.ids).subspan(first, each);
      const auto raw = read(context.fds[first].get(), ids, open_.events[first].event);
      for (std::size_t i = 0; i < raw.size(); ++i) {
        add_read(into[first + i], raw[i], times, followed_ns);
        if (open_.has.lost) into[first + i].lost = into[first + i].lost.value_or(0) + raw[i].lost;
      }
    }
  }

  Times times;

private:
  const OpenSampling& open_;
  Layout layout_;
  std::vector<std::uint64_t> words_;
  std::vector<Raw> raw_;
};

} // namespace

void add_read(SampledCount& count, const Raw& raw, const Times& times, std::uint64_t followed_ns) {
  count.occurrences += raw.value;
  count.enabled_ns += times.enabled;
  count.running_ns += times.running;
  // The follower also counts from before start(), and a software event is on the CPU whenever its thread is.
  count.present_ns += std::min(times.enabled, followed_ns);
}

std::uint64_t read_counts(const OpenSampling& open, std::vector<SampledCount>& into) {
  for (SampledCount& count : into) {
    count.occurrences = count.enabled_ns = count.running_ns = count.present_ns = 0;
    count.lost.reset();
  }
  ReadBack reader(open);
  std::uint64_t lost = 0;
  for (const Context& context : open.contexts) {
    std::uint64_t followed_ns = 0;
    if (context.follower) {
      const std::uint64_t id[] = {context.follower_id};
      for (const Raw& raw : reader.read(context.follower.get(), id, open.events.front().event)) {
        lost += raw.lost;
        followed_ns = reader.times.running;
      }
    }
    reader.add(context, followed_ns, into);
  }
  return lost;
}

} // namespace recount::perf
