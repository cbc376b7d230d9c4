#include "profile/modelled.hpp"

#include "model/machine.hpp"
#include "profile/attributed.hpp"
#include "result/observation.hpp"
#include "trace/decoder.hpp"
#include "trace/session.hpp"
#include "trace/tool.hpp"

#include <recount/error.hpp>

#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace recount::profile {
namespace {

constexpr std::string_view model_prefix = "model:";

/// As values of a sampled simulation are labelled everywhere: model:NAME~sample.
std::string sampled_name(const std::string& event) {
  const auto modelled = modelled_event(event);
  return fmt::format("{}{}~sample:{}", model_prefix, modelled->machine, modelled->metric);
}

using Process = trace::Decoder<Attributed>;

Recording empty_recording(const RecordSettings& settings) {
  std::vector<SampledEvent> events;
  for (const EventRequest& asked : settings.events) {
    SampledEvent& made = events.emplace_back();
    made.event.name = settings.sample_every > 0 ? sampled_name(asked.name) : asked.name;
    made.event.attr.type = PERF_TYPE_MAX; // of no PMU
    made.period = 1;
  }
  const std::vector<bool> after(events.size(), false);
  return {std::move(events), Places(after, settings.chains), {}, {}, {}, {}};
}

AttributedRun run_of(const RecordSettings& settings) {
  const auto first = *modelled_event(settings.events.front().name);
  AttributedRun run{
      .machine = model::machine(first.machine), .metrics = {}, .made = empty_recording(settings)};
  if (run.machine.sampled || !run.machine.family.empty())
    throw bad_input("-e " + settings.events.front().name, "~sample and ~l1= are for kernels",
                    "omit them; --sample-every N samples a program");
  for (const EventRequest& asked : settings.events) {
    const std::string metric = modelled_event(asked.name)->metric;
    const auto& kinds = trace::MissKinds::names;
    const auto known = trace::MissKinds::names_of(run.machine);
    const auto kind = std::ranges::count(known, metric) > 0 ? std::ranges::find(kinds, metric) : kinds.end();
    if (kind == kinds.end())
      run.metrics.emplace_back(trace::MissMetric(metric, run.machine));
    else
      run.metrics.emplace_back(static_cast<std::size_t>(kind - kinds.begin()));
    run.kinds = run.kinds || kind != kinds.end();
  }
  if (run.kinds && settings.sample_every > 0)
    throw bad_input(fmt::format("--sample-every {}", settings.sample_every),
                    "cannot be combined with kinds of misses: the first miss of a line may lie in no sample",
                    "omit one of them");
  run.every = settings.sample_every;
  if (run.every > 0) run.totals.emplace(run.machine, true);
  return run;
}

void fill_report(Recording& made, const trace::Session& session) {
  for (std::size_t e = 0; e < made.events.size(); ++e) {
    SampledCount& count = made.report.events.emplace_back();
    count.samples = made.places.total(e).samples;
    count.weight = count.occurrences = made.places.total(e).weight;
    count.lost = 0;
  }
  made.notes.emplace_back(
      "modelled: simulated, not measured; user mode, data accesses; each process has the machine to "
      "itself, and its threads are distributed over the cores");
  if (auto missing = session.incomplete(); !missing.empty()) made.notes.push_back(std::move(missing));
}

/// The share that is simulated, and the error of each event.
void fill_sampled(AttributedRun& run) {
  const trace::Totals::Values values = run.totals->values();
  for (const auto& metric : run.metrics)
    run.made.sampled.push_back(result::sampled_flag(
        run.totals->percent(), values.errors.at(std::get<trace::MissMetric>(metric).name())));
  if (run.totals->too_few_windows) run.made.not_counted = trace::too_few_windows;
}

} // namespace

std::vector<EventRequest> with_kinds(const EventRequest& first) {
  std::vector<EventRequest> events{first};
  const auto event = modelled_event(first.name);
  for (const std::string_view kind : trace::MissKinds::names_of(model::machine(event->machine)))
    events.push_back(
        {first.name.substr(0, first.name.size() - event->metric.size()) + std::string(kind), 0, 0});
  return events;
}

bool only_advises(const std::string& event) {
  const auto& names = trace::MissKinds::names;
  const auto modelled = modelled_event(event);
  return modelled &&
         std::ranges::count(std::span(names).subspan(trace::MissKinds::if_full), modelled->metric) > 0;
}

std::optional<ModelledEvent> modelled_event(const std::string& event) {
  if (!event.starts_with(model_prefix)) return {};
  const std::string rest = event.substr(model_prefix.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == rest.npos) return ModelledEvent{"host", rest};
  return ModelledEvent{rest.substr(0, colon), rest.substr(colon + 1)};
}

bool are_modelled(const std::vector<EventRequest>& events) {
  const auto machine = [](const EventRequest& asked) {
    const auto event = modelled_event(asked.name);
    return event ? event->machine : std::string();
  };
  const std::string first = events.empty() ? "" : machine(events.front());
  for (const EventRequest& asked : events) {
    if (machine(asked) != first)
      throw bad_input("-e " + asked.name, "one profile is either measured or modelled on one machine",
                      "run recount profile once for each");
    if (!first.empty() && (asked.period > 1 || asked.frequency != 0))
      throw bad_input("-e " + asked.name, "takes no period: every occurrence is simulated",
                      "remove the period");
  }
  return !first.empty();
}

Recording record_modelled(const RecordSettings& settings) {
  if (!settings.who.pids.empty() || settings.who.cpu)
    throw bad_input("-e " + settings.events.front().name,
                    "simulates a command from its start: neither -p nor --cpu",
                    "recount profile -e model:PAPI_L1_DCM -- COMMAND");
  static_cast<void>(trace::tool_command(settings.who.command, {})); // refused before anything is executed
  trace::demand_functions(settings.who.command, {settings.from, settings.to});
  AttributedRun run = run_of(settings);
  run.section = settings.section;
  run.objects = settings.objects;
  run.functions = {settings.from, settings.to};
  run.made.objects.set_debug_path(settings.debug_path);
  const auto begin = [&](std::uint32_t pid) -> std::unique_ptr<trace::Reader> {
    Name exec;
    exec.pid = exec.tid = pid;
    exec.exec = true;
    run.made.places.add(exec);
    return std::make_unique<Process>(run.blocks, std::make_unique<Attributed>(run, pid),
                                     trace::gate_of(run.blocks, run.functions));
  };
  const auto end = [](trace::Reader& process) { dynamic_cast<Process&>(process).sink().end(); };
  const auto started = std::chrono::steady_clock::now();
  const process::HeldSignals signals; // also of the session's thread
  trace::Session session(begin, end);
  const auto tool = trace::tool_command(settings.who.command, {.channel = session.channel(),
                                                               .sections = !run.section.empty(),
                                                               .objects = run.objects,
                                                               .exact = !run.functions.empty()});
  const process::Fd nowhere = trace::message_sink();
  TargetOptions who = settings.who;
  who.descriptors = trace::descriptors(nowhere, !run.section.empty());
  who.command = tool.argv;
  who.environment = tool.environment;
  Target target(who, false);
  target.go();
  run.made.exit = target.end();
  session.finish();
  run.made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (run.totals) fill_sampled(run);
  if (!run.made.exit.ok()) run.made.not_counted = trace::unexecuted(run.undecoded);
  if (!run.section.empty() && !run.section_seen)
    run.made.not_counted = "the program never began the section " + run.section;
  if (auto never = trace::never_entered(run.functions); !never.empty())
    run.made.not_counted = std::move(never);
  fill_report(run.made, session);
  return std::move(run.made);
}

} // namespace recount::profile
