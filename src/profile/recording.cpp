#include "profile/recording.hpp"

#include "base/format.hpp"
#include "perf/open_group.hpp"
#include "perf/removed.hpp"
#include "perf/try_open.hpp"
#include "process/spawn.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace recount::profile {
namespace {
using Clock = std::chrono::steady_clock;

/// Breakpoints on variables get the address that these have in the target.
std::vector<EventRequest> with_addresses(const std::vector<EventRequest>& requested, const Target& target) {
  std::vector<EventRequest> made = requested;
  for (EventRequest& a : made)
    if (const auto watched = watched_variable(a.name))
      a.name = fmt::format("mem:{:#x}{}", address_of(*watched, a.name, target.pid()), watched->rest);
  return made;
}

std::vector<SampledEvent> sampled_all(const std::vector<EventRequest>& named,
                                      const std::vector<EventRequest>& requested, Domain domain) {
  std::vector<SampledEvent> events;
  for (std::size_t i = 0; i < named.size(); ++i) {
    for (SampledEvent& one : sampled(named[i], domain)) {
      if (watched_variable(requested[i].name)) one.event.name = requested[i].name; // as the user wrote it
      events.push_back(std::move(one));
    }
  }
  return events;
}

bool watches_variables(const std::vector<EventRequest>& requested) {
  return std::ranges::any_of(requested,
                             [](const EventRequest& a) { return watched_variable(a.name).has_value(); });
}

SamplingOptions options_for(const RecordSettings& settings, const Target& target, bool stopped) {
  SamplingOptions options;
  options.pid = target.pid();
  options.more_pids.assign(target.pids().begin() + 1, target.pids().end());
  options.inherit = true;
  options.enable_on_exec = target.started_here() && !stopped;
  options.follow = options.build_ids = true;
  options.chains = settings.chains;
  options.frames = settings.frames;
  options.buffer = settings.buffer;
  return options;
}

/// Conditions not visible in samples: Linux removed the events, or descendants outlived the command.
void judge(Recording& made, std::chrono::nanoseconds used, bool descendants) {
  // Enabled on each CPU of the event while the task runs on one.
  std::uint64_t longest = 0;
  for (const SampledCount& count : made.report.events)
    longest = std::max(longest, count.enabled_ns / std::max<std::uint64_t>(count.opened, 1));
  const std::chrono::nanoseconds enabled(longest);
  if (perf::removed(enabled, used))
    made.not_counted = perf::removed_reason(enabled, used);
  else if (auto part = perf::removed_in_part(enabled, used); !part.empty())
    made.notes.push_back(std::move(part));
  if (descendants) made.notes.emplace_back(perf::outlived);
}

} // namespace

std::string missing_frame_pointers(const Places& places) {
  constexpr std::uint64_t enough = 10;
  const auto& chains = places.chains();
  std::uint64_t all = 0, single = 0;
  for (std::size_t c = 1; c < chains.size(); ++c)
    for (const Tally& tally : places.chain_tally(c)) {
      all += tally.samples;
      single += chains[c].caller == 0 ? tally.samples : 0;
    }
  if (all < enough || 2 * single <= all) return {};
  return fmt::format("{} of {} call chains have one frame: the program was probably compiled without frame "
                     "pointers, which the kernel follows; compile it with -fno-omit-frame-pointer",
                     single, all);
}

bool may_sample_kernel() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.disabled = 1;
  attr.sample_period = 1'000'000'000;
  return static_cast<bool>(perf::open_sized(attr, {}).fd);
}

Recording record(const RecordSettings& settings) {
  if (settings.who.pids.size() > 1 && watches_variables(settings.events))
    throw bad_input("--event", "a variable has a different address in each process",
                    "name one process with -p");
  const bool stopped = settings.who.pids.empty() && watches_variables(settings.events);
  Target target(settings.who, stopped);
  std::vector<std::string> notes;
  const Domain domain = may_sample_kernel() ? Domain::all : Domain::user;
  auto events = sampled_all(with_addresses(settings.events, target), settings.events, domain);
  const auto without = [](const SampledEvent& e) { return !e.event.domain_given; };
  if (domain == Domain::user && std::ranges::any_of(events, without))
    notes.push_back("kernel excluded: this user may not sample the kernel (see recount doctor"
                    ")");
  std::vector<bool> after;
  for (const SampledEvent& e : events)
    after.push_back(reports_next_instruction(e.event));
  Sampling sampling(std::move(events), options_for(settings, target, stopped));
  Recording made{sampling.events(), Places(after, settings.chains), {}, {}, {}, std::move(notes)};
  const Sampling::Sink sink = [&](const Record& record) {
    made.places.add(record);
    if (const auto* mapping = std::get_if<Mapping>(&record))
      made.files.look_at(made.places.spaces(), mapping->pid);
  };
  if (stopped || !target.started_here()) {
    for (const pid_t pid : target.pids())
      existing_mappings(pid, sink);
    sampling.start();
  }
  const auto begin = Clock::now();
  const auto used = target.cpu_time();
  target.go();
  while (sampling.wait(std::chrono::milliseconds(100)) && !target.over())
    sampling.read(sink);
  const bool descendants = target.started_here() && sampling.wait(std::chrono::milliseconds(0));
  sampling.stop();
  made.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  sampling.finish(sink);
  made.report = sampling.report();
  made.exit = target.end();
  judge(made, target.cpu_time() - used, descendants);
  if (auto note = missing_frame_pointers(made.places); !note.empty()) made.notes.push_back(std::move(note));
  return made;
}

namespace {
constexpr std::uint64_t samples_a_second = 1000;
constexpr auto how =
    "write EVENT, EVENT:period=N (one sample per N occurrences) or EVENT:freq=F (about F samples per second)";

std::vector<std::string> split_outside_slashes(const std::string& list) {
  std::vector<std::string> words(1);
  bool inside = false;
  for (const char c : list) {
    if (c == '/') inside = !inside;
    if (c == ',' && (!inside || words.back().starts_with("mem:"))) {
      words.emplace_back();
      inside = false;
    } else {
      words.back() += c;
    }
  }
  return words;
}

std::uint64_t positive(const std::string& word, std::string_view digits) {
  const auto number = base::parse<std::uint64_t>(digits).value_or(0);
  if (number == 0 || number >> 62U != 0)
    throw bad_input(word, "\"" + std::string(digits) + "\" is not a whole number from 1 to 2^62-1", how);
  return number;
}

EventRequest parse_one(const std::string& word) {
  EventRequest requested{word};
  const auto take = [&](std::string_view key, std::uint64_t& into) {
    const auto at = requested.name.rfind(key);
    if (at == std::string::npos || requested.name.find(':', at + 1) != std::string::npos) return false;
    into = positive(word, std::string_view(requested.name).substr(at + key.size()));
    requested.name.resize(at);
    return true;
  };
  while (take(":period=", requested.period) || take(":freq=", requested.frequency)) {
  }
  if (requested.period != 0 && requested.frequency != 0)
    throw bad_input(word, "has both a period and a frequency", how);
  if (requested.name.empty()) throw bad_input("-e " + word, "no event", how);
  return requested;
}
} // namespace

std::vector<EventRequest> parse_event_requests(const std::vector<std::string>& lists) {
  std::vector<EventRequest> all;
  for (const auto& list : lists)
    for (const auto& word : split_outside_slashes(list))
      all.push_back(parse_one(word));
  return all;
}

std::optional<Watched> watched_variable(const std::string& event) {
  if (!event.starts_with("mem:") || event.size() < 5 || (event[4] >= '0' && event[4] <= '9')) return {};
  const std::string text = event.substr(4);
  // "::" belongs to the name; a single colon begins the access.
  std::size_t end = text.find('/');
  for (std::size_t i = 0; end == std::string::npos && i < text.size(); ++i) {
    if (text[i] != ':') continue;
    if (text.compare(i, 2, "::") == 0)
      ++i;
    else
      end = i;
  }
  Watched watched{text.substr(0, end), 0, end == std::string::npos ? std::string() : text.substr(end)};
  const auto plus = watched.variable.rfind('+');
  if (plus == std::string::npos || plus == 0) return watched;
  const std::string_view digits = std::string_view(watched.variable).substr(plus + 1);
  const auto offset = base::parse<decltype(watched.offset)>(digits);
  if (!offset || *offset >> 62U != 0)
    throw bad_input(event, "\"" + std::string(digits) + "\" is not an offset", "write mem:NAME+8/8:w");
  watched.offset = *offset;
  watched.variable.resize(plus);
  return watched;
}

std::vector<SampledEvent> sampled(const EventRequest& requested, Domain fallback) {
  std::vector<SampledEvent> all;
  for (Event& event : perf::countable(encode_each(requested.name, fallback)).events) {
    SampledEvent& made =
        all.emplace_back(SampledEvent{std::move(event), requested.period, requested.frequency});
    if (requested.period != 0 || requested.frequency != 0) continue;
    const auto type = made.event.attr.type;
    const bool each = (type == PERF_TYPE_SOFTWARE && !is_clock(made.event)) || type == PERF_TYPE_BREAKPOINT ||
                      type == PERF_TYPE_TRACEPOINT;
    (each ? made.period : made.frequency) = each ? 1 : samples_a_second;
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

namespace {
bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}
} // namespace

Target::Target(const TargetOptions& options, bool stopped)
    : options_(options), pids_(options.pids), observed_(options.pids.empty()) {
  for (const pid_t pid : pids_)
    if (is_gone(pid)) throw bad_input("-p " + std::to_string(pid), "there is no such process");
  if (!observed_) return;
  start(!stopped, stopped);
  pids_ = {child_->pid()};
  if (stopped) stop_at_entry();
}

void Target::start(bool held, bool traced) {
  process::Spawn spawn;
  spawn.argv = options_.command;
  spawn.environment = options_.environment;
  spawn.descriptors = options_.descriptors;
  spawn.in = STDIN_FILENO;
  spawn.inherits = true;
  spawn.own_group = false;
  spawn.die_with_parent = false;
  spawn.held = held;
  spawn.traced = traced;
  spawn.cpu = options_.cpu;
  child_.emplace(spawn);
}

void Target::stop_at_entry() {
  traced_ = process::stopped_after_exec(pid());
  if (traced_) process::run_to_entry(pid());
}

void Target::go() {
  if (traced_)
    ::ptrace(PTRACE_DETACH, pid(), nullptr, nullptr);
  else if (observed_)
    child_->release();
  else if (!options_.command.empty())
    start(false, false);
}

bool Target::over() {
  const int signal = process::forward(signals_, child_ ? &*child_ : nullptr);
  if (child_ && child_->wait_for(std::chrono::milliseconds(0))) return true;
  return !observed_ && (std::ranges::all_of(pids_, is_gone) || (!child_ && signal != 0));
}

std::chrono::nanoseconds Target::cpu_time() const {
  return observed_ ? child_->cpu_time() : std::chrono::nanoseconds(0);
}

process::Exit Target::end() {
  if (!child_) return {};
  process::Processes processes({child_->pid()});
  while (!child_->wait_for(std::chrono::milliseconds(0))) {
    processes.wait(signals_, {});
    process::forward(signals_, &*child_);
  }
  return child_->wait();
}

} // namespace recount::profile
