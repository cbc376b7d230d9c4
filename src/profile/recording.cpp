#include "profile/recording.hpp"

#include "perf/try_open.hpp"
#include "profile/variable.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace recount::profile {
namespace {
using Clock = std::chrono::steady_clock;

/// Breakpoints on variables get the address that these have in the target.
std::vector<Asked> with_addresses(const std::vector<Asked>& asked, const Target& target) {
  std::vector<Asked> made = asked;
  for (Asked& a : made)
    if (const auto watched = watched_variable(a.name))
      a.name = fmt::format("mem:{:#x}{}", address_of(*watched, a.name, target.pid()), watched->rest);
  return made;
}

std::vector<SampledEvent> sampled_all(const std::vector<Asked>& named, const std::vector<Asked>& asked,
                                      Domain domain) {
  std::vector<SampledEvent> events;
  for (std::size_t i = 0; i < named.size(); ++i) {
    events.push_back(sampled(named[i], domain));
    events.back().event.name = asked[i].name; // as the user wrote it
  }
  return events;
}

bool watches_variables(const std::vector<Asked>& asked) {
  return std::ranges::any_of(asked, [](const Asked& a) { return watched_variable(a.name).has_value(); });
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

} // namespace

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
    throw bad_input("--event", "a variable has an address of its own in each process",
                    "name one process with -p");
  const bool stopped = settings.who.pids.empty() && watches_variables(settings.events);
  Target target(settings.who, stopped);
  std::vector<std::string> notes;
  const Domain domain = may_sample_kernel() ? Domain::all : Domain::user;
  auto events = sampled_all(with_addresses(settings.events, target), settings.events, domain);
  const auto without = [](const SampledEvent& e) { return !e.event.domain_given; };
  if (domain == Domain::user && std::ranges::any_of(events, without))
    notes.push_back("the kernel is left out: this user may not sample in it (recount doctor says what would "
                    "allow it)");
  std::vector<bool> after;
  for (const SampledEvent& e : events)
    after.push_back(after_the_fact(e.event));
  Sampling sampling(std::move(events), options_for(settings, target, stopped));
  Recording made{sampling.events(), Places(after, settings.chains), {}, {}, std::move(notes)};
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
  target.go();
  while (sampling.wait(std::chrono::milliseconds(100)) && !target.over())
    sampling.read(sink);
  sampling.stop();
  made.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  sampling.finish(sink);
  made.report = sampling.report();
  made.status = target.status();
  return made;
}

} // namespace recount::profile
