#include "profile/recording.hpp"

#include "perf/descendants.hpp"
#include "perf/removed.hpp"
#include "perf/try_open.hpp"
#include "profile/event_request.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount::profile {
namespace {
using Clock = std::chrono::steady_clock;

/// Breakpoints on variables get the address that these have in the target.
std::vector<EventRequest> with_addresses(const std::vector<EventRequest>& asked, const Target& target) {
  std::vector<EventRequest> made = asked;
  for (EventRequest& a : made)
    if (const auto watched = watched_variable(a.name))
      a.name = fmt::format("mem:{:#x}{}", address_of(*watched, a.name, target.pid()), watched->rest);
  return made;
}

std::vector<SampledEvent> sampled_all(const std::vector<EventRequest>& named,
                                      const std::vector<EventRequest>& asked, Domain domain) {
  std::vector<SampledEvent> events;
  for (std::size_t i = 0; i < named.size(); ++i) {
    for (SampledEvent& one : sampled(named[i], domain)) {
      if (watched_variable(asked[i].name)) one.event.name = asked[i].name; // as the user wrote it
      events.push_back(std::move(one));
    }
  }
  return events;
}

bool watches_variables(const std::vector<EventRequest>& asked) {
  return std::ranges::any_of(asked,
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

} // namespace recount::profile
