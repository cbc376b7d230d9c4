#include "perf/sample_open.hpp"

#include "base/text.hpp"
#include "event/hybrid.hpp"
#include "event/sysfs.hpp"
#include "perf/errno_hints.hpp"
#include "process/threads.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>

namespace recount::perf {
namespace {

std::vector<int> online_cpus() {
  auto cpus = base::parse_cpu_list(
      base::read_line("/sys/devices/system/cpu/online").value_or("0-" + std::to_string(::get_nprocs() - 1)));
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

/// The most precise that an event can be: the PMU says so, or the event is none of a core's.
unsigned most_precise(const Event& event, unsigned wanted) {
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
    Event asked = event;
    asked.attr = attr; // the message depends on what was asked for: a period, a frequency
    throw open_error(asked, attempt.error, options);
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
  SampledEvent& sampled = open.events.at(event);
  for (const auto& context : open.contexts)
    if (context.fds[event] && ioctl(context.fds[event].get(), PERF_EVENT_IOC_PERIOD, &period) != 0)
      throw call_error(Operation::control, sampled.event, errno, "PERF_EVENT_IOC_PERIOD");
  (sampled.frequency != 0 ? sampled.frequency : sampled.period) = period;
}

OpenSampling open_sampling(std::vector<SampledEvent> events, const SamplingOptions& options) {
  check_sampled(events);
  for (SampledEvent& e : events) {
    if (!e.event.present) throw absent_error(e.event);
    e.precise = most_precise(e.event, std::max<unsigned>(e.precise, e.event.attr.precise_ip));
  }
  OpenSampling made;
  made.events = std::move(events);
  made.options = options;
  made.has = features();
  made.format = record_format(options, made.has, false);
  made.with_period = record_format(options, made.has, true);
  const bool by_cpu = options.inherit || options.pid == -1;
  const std::vector<int> cpus = by_cpu ? online_cpus() : std::vector{-1};
  std::size_t rings = by_cpu || options.pid == 0 ? cpus.size() : process::threads_of(options.pid).size();
  for (const pid_t pid : options.more_pids)
    if (!by_cpu) rings += process::threads_of(pid).size();
  for (std::size_t bytes = ring_bytes(options.buffer, rings);;) {
    open_targets(made, bytes, cpus);
    if (made.rings.empty())
      throw unavailable(made.events.front().event.name, made.options.group
                                                            ? "no CPU has the PMUs of all events of the group"
                                                            : "its PMU has none of the CPUs that are online");
    const auto size = [](const CpuRing& r) { return r.ring->bytes(); };
    const std::size_t got = size(*std::ranges::min_element(made.rings, {}, size));
    if (got == bytes) return made;
    bytes = got; // less memory may be locked: repeat with a watermark for the new size
    made.rings.clear();
    made.contexts.clear();
  }
}

} // namespace recount::perf
