#include "commands/profile/recording.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "base/text.hpp"
#include "count/perf/open_group.hpp"
#include "count/perf/sample_open.hpp"
#include "count/perf/try_open.hpp"
#include "count/symbol/unwinder.hpp"
#include "kernel/command_line.hpp"
#include "run/stat_plan.hpp"
#include "run/stat_run.hpp"
#include "run/witness/counting.hpp"
#include "run/witness/metric_events.hpp"
#include "show/command/measuring.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/hw_breakpoint.h>
#include <sys/ptrace.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ranges>

namespace recount::profile {
namespace {
constexpr auto forms =
    "write EVENT, EVENT:period=N (one sample per N occurrences) or EVENT:freq=F (about F samples per second)";

EventRequest parse_event_request(const std::string& word) {
  EventRequest requested{word};
  const auto take = [&](std::string_view key, std::uint64_t& number) {
    const auto at = requested.name.rfind(key);
    if (at == std::string::npos || requested.name.find(':', at + 1) != std::string::npos) return false;
    const std::string digits = requested.name.substr(at + key.size());
    number = base::parse<std::uint64_t>(digits).value_or(0);
    if (number == 0 || number >> 62U != 0)
      throw bad_input(word, "\"" + digits + "\" is not a whole number from 1 to 2^62-1", forms);
    requested.name.resize(at);
    return true;
  };
  while (take(":period=", requested.period) || take(":freq=", requested.frequency)) {
  }
  if (requested.period != 0 && requested.frequency != 0)
    throw bad_input(word, "has both a period and a frequency", forms);
  if (requested.name.empty()) throw bad_input("-e " + word, "no event", forms);
  return requested;
}
} // namespace

std::vector<EventRequest> parse_event_requests(const std::vector<std::string>& lists) {
  std::vector<EventRequest> all;
  for (const auto& list : lists)
    for (const auto& word : stat::split_names(list))
      all.push_back(parse_event_request(word));
  return all;
}

std::optional<WatchedVariable> parse_watched_variable(const std::string& event) {
  if (!event.starts_with("mem:") || event.size() < 5 || (event[4] >= '0' && event[4] <= '9')) return {};
  const std::string text = event.substr(4);
  // "::" belongs to the name; "/" and a single colon end it.
  std::size_t end = text.find_first_of("/:");
  while (end != std::string::npos && text.compare(end, 2, "::") == 0)
    end = text.find_first_of("/:", end + 2);
  WatchedVariable watched{text.substr(0, end), 0, end == std::string::npos ? "" : text.substr(end)};
  const auto plus = watched.name.rfind('+');
  if (plus == std::string::npos || plus == 0) return watched;
  const std::string digits = watched.name.substr(plus + 1);
  const auto offset = base::parse<std::uint64_t>(digits);
  if (!offset || *offset >> 62U != 0)
    throw bad_input(event, "\"" + digits + "\" is not an offset", "write mem:NAME+8/8:w");
  watched.offset = *offset;
  watched.name.resize(plus);
  return watched;
}

namespace {
/// The one native event that a preset counts, under the preset's name.
std::vector<Event> event_of_preset(const std::string& name, Domain domain) {
  witness::require_known(name);
  witness::MetricEvents found = witness::resolve_metric(name, domain);
  if (!found.refused.empty()) throw Error(ErrorKind::unavailable, {name, found.refused});
  const auto value_at = [&](long long count) {
    return evaluate(
               found.preset->written, [count](const std::string&) { return count; }, found.preset->max_mhz)
        .value;
  };
  if (found.events.size() != 1 || value_at(1) != 1 || value_at(1000) != 1000)
    throw bad_input(name, "is computed from events, and only an event has samples",
                    fmt::format("recount profile -e {}",
                                fmt::join(found.events | std::views::transform(&Event::name), ",")));
  found.events.front().name = name;
  return found.events;
}
} // namespace

std::vector<SampledEvent> sampled_events(const EventRequest& requested, Domain fallback) {
  constexpr std::uint64_t default_frequency = 1000;
  std::vector<SampledEvent> all;
  const bool preset = is_preset(requested.name);
  auto events = preset ? event_of_preset(requested.name, fallback) : encode_each(requested.name, fallback);
  for (Event& event : perf::countable(std::move(events)).events) {
    const auto type = event.attr.type;
    const bool every = (type == PERF_TYPE_SOFTWARE && !is_clock(event)) || type == PERF_TYPE_BREAKPOINT ||
                       type == PERF_TYPE_TRACEPOINT;
    SampledEvent& sampled =
        all.emplace_back(SampledEvent{std::move(event), requested.period, requested.frequency});
    if (sampled.period == 0 && sampled.frequency == 0) // "cpu/cpu-cycles,period=1000/"
      (sampled.event.attr.freq != 0 ? sampled.frequency : sampled.period) = sampled.event.attr.sample_period;
    if (sampled.period == 0 && sampled.frequency == 0)
      (every ? sampled.period : sampled.frequency) = every ? 1 : default_frequency;
  }
  return all;
}

bool reports_next_instruction(const Event& event) {
  return event.attr.type == PERF_TYPE_BREAKPOINT && (event.attr.bp_type & HW_BREAKPOINT_RW) != 0;
}

bool is_clock(const Event& event) {
  return event.attr.type == PERF_TYPE_SOFTWARE &&
         (event.attr.config == PERF_COUNT_SW_CPU_CLOCK || event.attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

double sampling_period(const SampledEvent& event) {
  if (event.frequency != 0 && is_clock(event.event)) return 1e9 / static_cast<double>(event.frequency);
  return static_cast<double>(event.period);
}

std::string amount_text(const SampledEvent& event, double amount) {
  if (!is_clock(event.event)) return base::format_count(std::llrint(amount), "occurrence");
  return amount >= 1e9 ? fmt::format("{:.3g} s", amount / 1e9) : fmt::format("{:.3g} ms", amount / 1e6);
}

namespace {
bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}
} // namespace

Target::Target(const TargetOptions& options, bool stopped) : options_(options), pids_(options.pids) {
  for (const pid_t pid : pids_)
    if (is_gone(pid)) throw bad_input("-p " + std::to_string(pid), "there is no such process");
  if (!started_here()) return;
  start(!stopped, stopped);
  pids_ = {child_->pid()};
  traced_ = stopped && process::stopped_after_exec(pid());
  if (traced_) process::run_to_entry(pid());
}

void Target::start(bool held, bool traced) {
  child_.emplace(process::Spawn{.argv = options_.command,
                                .in = STDIN_FILENO,
                                .inherits = true,
                                .own_group = false,
                                .die_with_parent = false,
                                .cpu = options_.cpu,
                                .traced = traced,
                                .held = held});
}

void Target::go() {
  if (traced_)
    ::ptrace(PTRACE_DETACH, pid(), nullptr, nullptr);
  else if (started_here())
    child_->release();
  else if (!options_.command.empty())
    start(false, false);
}

bool Target::over() {
  const int signal = process::forward(signals_, child_ ? &*child_ : nullptr);
  if (child_ && child_->wait_for(std::chrono::milliseconds(0))) return true;
  return !started_here() && (std::ranges::all_of(pids_, is_gone) || (!child_ && signal != 0));
}

std::chrono::nanoseconds Target::cpu_time() const {
  return started_here() ? child_->cpu_time() : std::chrono::nanoseconds(0);
}

process::Exit Target::end() {
  int signal = 0;
  return child_ ? stat::wait_for_command(*child_, signals_, signal) : process::Exit{};
}

namespace {
/// The address of a variable in the process now: in its program, else in a library that it has mapped.
/// `event` names it in messages.
std::uint64_t variable_address(const WatchedVariable& watched, const std::string& event, pid_t pid) {
  std::vector<std::string> similar;
  for (const MappedModule& mapped : mapped_modules(pid)) {
    const auto variables = mapped.module->variables(watched.name);
    if (variables.size() > 1)
      throw bad_input(event, fmt::format("{} variables in {} have this name", variables.size(), mapped.path),
                      "write the address of one: recount profile -p PID -e mem:ADDRESS");
    const auto linked_at = mapped.module->address(mapped.offset);
    if (!variables.empty() && linked_at)
      return variables[0].start + (mapped.start - *linked_at) + watched.offset;
    for (const auto& variable : mapped.module->variables("*" + watched.name + "*"))
      similar.push_back(variable.name);
  }
  throw bad_input(event, "no such variable in the program and its libraries: " + watched.name,
                  base::did_you_mean(watched.name, similar, "nm -C PROGRAM lists them"));
}

/// The events to open; breakpoints on variables get the addresses of these in the target.
std::vector<SampledEvent> resolve_events(const std::vector<EventRequest>& requests, const Target& target,
                                         Domain domain) {
  std::vector<SampledEvent> events;
  for (const EventRequest& request : requests) {
    EventRequest resolved = request;
    if (const auto watched = parse_watched_variable(request.name))
      resolved.name =
          fmt::format("mem:{:#x}{}", variable_address(*watched, request.name, target.pid()), watched->rest);
    for (SampledEvent& sampled : sampled_events(resolved, domain)) {
      if (resolved.name != request.name) sampled.event.name = request.name; // as the user wrote it
      events.push_back(std::move(sampled));
    }
  }
  return events;
}

/// Bytes of each ring for samples with stacks, which are fifty times as large as others.
std::size_t ring_bytes_for_stacks() {
  constexpr std::size_t all = 512U << 20U, most = 16U << 20U, least = 512U << 10U;
  return std::clamp(all / std::max<std::size_t>(host::online_cpus().size(), 1), least, most);
}

SamplingOptions sampling_options(const RecordSettings& settings, const Target& target, bool stopped) {
  const bool dwarf = settings.call_graph == CallGraph::dwarf;
  return {.pid = target.pid(),
          .inherit = true,
          .enable_on_exec = target.started_here() && !stopped,
          .follow = true,
          .build_ids = true,
          .chains = settings.chains,
          .frames = dwarf ? 0 : settings.frames,
          .user_registers = dwarf ? symbol::Unwinder::registers() : 0,
          .buffer = dwarf ? ring_bytes_for_stacks() : 0,
          .more_pids = {target.pids().begin() + 1, target.pids().end()},
          .user_stack = dwarf ? settings.stack_bytes : 0,
          .branches = settings.call_graph == CallGraph::lbr};
}

/// Takes records into a recording: unwinds stacks and opens mapped files.
class Intake {
public:
  /// `registers`: the mask of the samples; `frames`: of a chain at most; 0: 1024.
  Intake(Recording& into, std::uint64_t registers, unsigned frames)
      : into_(into),
        frames_(frames != 0 ? frames : 1024),
        unwinder_(registers, into.places.spaces(), [&into](std::uint32_t file) {
          return symbol::Unwinder::Opened{into.files.descriptor(into.places.spaces(), file),
                                          into.files.module(into.places.spaces(), file, {}).module};
        }) {}

  void operator()(const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record)) {
      Sample with_chain = *sample;
      if (!sample->user_stack.empty())
        add_unwound(with_chain);
      else if (!sample->branches.empty())
        add_branches(with_chain);
      into_.places.add(with_chain);
      return;
    }
    into_.places.add(record);
    into_.files.add(record, into_.places.spaces());
    if (const auto* name = std::get_if<Name>(&record); name != nullptr && name->exec)
      unwinder_.forget(name->pid);
    if (const auto* end = std::get_if<End>(&record); end != nullptr && end->pid == end->tid)
      unwinder_.forget(end->pid);
  }

  /// How many of the unwound chains are whole; empty: none was unwound.
  [[nodiscard]] std::string note() const {
    if (unwound_ == 0) return {};
    return fmt::format("{} of {} call chains are whole{}", whole_, unwound_,
                       whole_ < unwound_
                           ? "; others end at code without call frame information, or at the end of "
                             "the sampled stack (--call-graph dwarf,BYTES)"
                           : "");
  }

private:
  void add_unwound(Sample& sample) {
    const auto chain = unwinder_.unwind(sample, frames_);
    ++unwound_;
    whole_ += chain.whole ? 1 : 0;
    extend(sample, chain.addresses);
  }

  /// Each entry is a call that has not returned.
  void add_branches(Sample& sample) {
    constexpr std::size_t words = 3;
    std::vector<std::uint64_t> callers;
    for (std::size_t at = 0; at + words <= sample.branches.size(); at += words)
      callers.push_back(sample.branches[at] + 1); // like a return address, behind the start of the call
    extend(sample, callers);
  }

  /// The kernel's part of the chain, then that of user mode.
  void extend(Sample& sample, std::span<const std::uint64_t> user) {
    chain_.clear();
    for (const std::uint64_t address : sample.chain) {
      if (address == PERF_CONTEXT_USER) break;
      chain_.push_back(address);
    }
    chain_.push_back(PERF_CONTEXT_USER);
    chain_.insert(chain_.end(), user.begin(), user.end());
    sample.chain = chain_;
  }

  Recording& into_;
  std::size_t frames_;
  symbol::Unwinder unwinder_;
  std::vector<std::uint64_t> chain_;
  std::uint64_t unwound_ = 0, whole_ = 0;
};

std::vector<bool> next_instruction(const std::vector<SampledEvent>& events) {
  std::vector<bool> after;
  for (const SampledEvent& e : events)
    after.push_back(reports_next_instruction(e.event));
  return after;
}

/// The name and the mappings of a process that runs already.
void existing_process(pid_t pid, const Sampling::Sink& sink) {
  const std::string name = base::read_trimmed(fmt::format("/proc/{}/comm", pid)).value_or("");
  const auto number = static_cast<std::uint32_t>(pid);
  if (!name.empty()) sink(Name{0, number, number, false, name});
  existing_mappings(pid, sink);
}

/// How much of the occurrences has no sample, because tasks ended within a period; empty: little, or the
/// period is unknown.
std::string without_sample(const SampledEvent& event, const SampledCount& count) {
  constexpr double noticeable = 0.1;
  const double period = sampling_period(event), counted = static_cast<double>(count.occurrences),
               missing = counted - static_cast<double>(count.weight);
  if (period == 0 || missing < noticeable * counted || missing <= 2 * period || count.throttled > 0)
    return {};
  const std::string& name = event.event.name;
  return fmt::format(
      "{}: {:.0f} % of {} have no sample: each thread has sampling periods of its own, one on each CPU, and "
      "what is left of them when it ends is not sampled; fix: {}",
      name, 100 * missing / counted, amount_text(event, counted),
      event.frequency != 0 ? fmt::format("a higher frequency, -e {}:freq={}", name, 10 * event.frequency)
                           : fmt::format("a shorter period, -e {}:period={}", name,
                                         std::max<std::uint64_t>(event.period / 10, 1)));
}
} // namespace

void add_limitations(Recording& recording, const perf::Removals& removals, pid_t command,
                     std::chrono::nanoseconds used) {
  const SamplingReport& report = recording.report;
  std::uint64_t longest = 0;
  for (const SampledCount& count : report.events)
    longest = std::max(longest, count.present_ns);
  const std::chrono::nanoseconds counted(longest);
  const bool observed = !removals.programs().empty() && report.lost_records == 0 && report.lost_followed == 0;
  const bool all = observed && (perf::removed(counted, used) ||
                                std::ranges::any_of(removals.programs(), [&](const auto& program) {
                                  return program.first && program.pid == static_cast<std::uint32_t>(command);
                                }));
  if (all)
    recording.not_counted = perf::removed_reason(counted, used);
  else if (observed)
    recording.notes.push_back(perf::removed_in_part(removals, counted, used));
  for (std::size_t e = 0; !all && report.complete() && e < report.events.size(); ++e)
    if (auto note = without_sample(recording.events[e], report.events[e]); !note.empty())
      recording.notes.push_back(std::move(note));
}

std::string missing_frame_pointers(const Places& places) {
  constexpr std::uint64_t enough = 10;
  const auto& chains = places.chains();
  std::uint64_t all = 0, single = 0;
  for (std::size_t c = 1; c < chains.size(); ++c)
    for (const Tally& tally : places.chain_tally(c)) {
      all += tally.samples;
      single += places.is_single(c) ? tally.samples : 0;
    }
  if (all < enough || 2 * single <= all) return {};
  return fmt::format("{} of {} call chains have one frame: the program was probably compiled without frame "
                     "pointers, which the kernel follows; use --call-graph dwarf, or compile it with "
                     "-fno-omit-frame-pointer",
                     single, all);
}

Domain permitted_domain() {
  perf_event_attr attr = perf::dummy_attr();
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.exclude_kernel = attr.exclude_hv = 0;
  attr.sample_period = 1'000'000'000;
  attr.disabled = 1;
  return perf::open_sized(attr, {}).fd ? Domain::all : Domain::user;
}

Recording record(const RecordSettings& settings) {
  using Clock = std::chrono::steady_clock;
  const bool variables = std::ranges::any_of(settings.events, [](const EventRequest& requested) {
    return parse_watched_variable(requested.name).has_value();
  });
  if (settings.who.pids.size() > 1 && variables)
    throw bad_input("--event", "a variable has a different address in each process",
                    "name one process with -p");
  const bool stopped = settings.who.pids.empty() && variables;
  if (settings.call_graph == CallGraph::dwarf && symbol::Unwinder::registers() == 0)
    throw unavailable("--call-graph dwarf",
                      "this recount cannot unwind stacks (no libdw, or another architecture)", {},
                      "use --call-graph fp");
  Target target(settings.who, stopped);
  const Domain domain = permitted_domain();
  auto events = resolve_events(settings.events, target, domain);
  std::vector<std::string> notes;
  if (domain == Domain::user &&
      std::ranges::any_of(events, [](const SampledEvent& e) { return !e.event.domain_given; }))
    notes.emplace_back("kernel excluded: this user may not sample the kernel (see recount doctor)");
  const auto options = sampling_options(settings, target, stopped);
  Sampling sampling(std::move(events), options);
  Recording recording{
      sampling.events(), Places(next_instruction(sampling.events()), settings.chains), {}, {}, {},
      std::move(notes)};
  Intake intake(recording, options.user_registers, settings.frames);
  perf::Removals removals;
  const Sampling::Sink sink = [&](const Record& record) {
    removals.add(record);
    intake(record);
  };
  if (stopped || !target.started_here()) {
    for (const pid_t pid : target.pids())
      existing_process(pid, sink);
    sampling.start();
  }
  const auto begin = Clock::now();
  const auto used = target.cpu_time();
  target.go();
  while (sampling.wait(std::chrono::milliseconds(100)) && !target.over())
    sampling.read(sink);
  const bool descendants = target.started_here() && sampling.wait(std::chrono::milliseconds(0));
  sampling.stop();
  recording.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  sampling.finish(sink);
  recording.report = sampling.report();
  recording.exit = target.end();
  // recount emulate --exact does not count the start of Valgrind, and loses no program.
  add_limitations(recording, removals, target.started_here() ? target.pid() : 0,
                  host::this_emulation().exact ? std::chrono::nanoseconds(0) : target.cpu_time() - used);
  if (descendants) recording.notes.emplace_back(perf::outlived);
  if (auto note = missing_frame_pointers(recording.places); !note.empty())
    recording.notes.push_back(std::move(note));
  if (auto note = intake.note(); !note.empty()) recording.notes.push_back(std::move(note));
  return recording;
}

} // namespace recount::profile
