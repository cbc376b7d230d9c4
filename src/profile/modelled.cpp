#include "profile/modelled.hpp"

#include "model/machine.hpp"
#include "trace/decoder.hpp"
#include "trace/miss_kinds.hpp"
#include "trace/miss_metric.hpp"
#include "trace/section_gate.hpp"
#include "trace/session.hpp"
#include "trace/tool.hpp"

#include <recount/error.hpp>

#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <variant>

namespace recount::profile {
namespace {

constexpr std::string_view model_prefix = "model:";

/// What the processes of a run share.
struct Run {
  model::MachineDescription machine;
  std::vector<std::variant<trace::MissMetric, std::size_t>> metrics; ///< of the machine, or of MissKinds
  bool kinds = false;                                                ///< some are of MissKinds
  trace::Blocks blocks = {};
  Recording made;
  std::string section = {};
  bool section_seen = false;
  std::optional<trace::Undecoded> undecoded = {};
  trace::FunctionRange functions = {};
};

/// One process: counts each metric by the instruction whose access changed it.
class Attributed {
public:
  Attributed(Run& run, std::uint32_t pid)
      : run_(&run), pid_(pid), caches_(run.machine), gate_(run.section), last_(run.metrics.size()) {
    if (run.kinds) kinds_.emplace(run.machine);
    watches_hits_ = !run.machine.levels.front().prefetch.empty();
  }

  void block(const trace::Blocks::Block&) {}
  void left(unsigned) {}
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t number) {
    if (!gate_.open()) return;
    if constexpr (store)
      caches_.store(address, bytes);
    else
      caches_.load(address, bytes);
    if (kinds_) classify<store>(address, bytes);
    if (caches_.first_misses() != misses_ || watches_hits_) attribute(number);
  }
  void thread(std::uint64_t) {}
  void module(const trace::Module& module) {
    Mapping mapping;
    mapping.pid = mapping.tid = pid_;
    mapping.start = module.start;
    mapping.length = module.end - module.start;
    mapping.offset = module.offset;
    mapping.file = module.file;
    run_->made.places.add(mapping);
    run_->made.files.look_at(run_->made.places.spaces(), pid_);
  }
  void undecoded(const trace::Undecoded& instruction) { run_->undecoded = instruction; }
  void section(std::string_view text) { gate_.take(text); }

  [[nodiscard]] std::unique_ptr<Attributed> forked(std::uint32_t pid) const {
    auto child = std::make_unique<Attributed>(*this);
    child->pid_ = pid;
    child->counts_.clear();
    Fork fork;
    fork.pid = fork.tid = pid;
    fork.parent_pid = fork.parent_tid = pid_;
    run_->made.places.add(fork);
    return child;
  }

  /// Hands the counts on, by the mappings of this process.
  void end() {
    const std::size_t events = last_.size();
    run_->section_seen = run_->section_seen || gate_.seen();
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (counts_[i] > 0)
        run_->made.places.count(pid_,
                                run_->blocks.instruction(static_cast<std::uint32_t>(i / events)).address,
                                i % events, static_cast<std::uint64_t>(counts_[i]));
  }

private:
  template <bool store>
  void classify(std::uint64_t address, unsigned bytes) {
    const model::LevelCounts& first = caches_.level(0).counts;
    const std::int64_t now = first.missed(model::Cause::load) + first.missed(model::Cause::store);
    kinds_->access<store>(address, bytes, now - first_level_);
    first_level_ = now;
  }
  [[nodiscard]] std::int64_t value(std::size_t event) const {
    const auto& metric = run_->metrics[event];
    if (const auto* const kind = std::get_if<std::size_t>(&metric)) return kinds_->count(*kind);
    return std::get<trace::MissMetric>(metric).value(caches_);
  }
  [[gnu::noinline]] void attribute(std::uint32_t number) {
    const std::size_t events = last_.size(), at = run_->blocks.instruction_of(number) * events;
    misses_ = caches_.first_misses();
    if (at >= counts_.size()) counts_.resize(run_->blocks.instruction_count() * events);
    for (std::size_t e = 0; e < events; ++e) {
      const std::int64_t now = value(e);
      counts_[at + e] += now - last_[e];
      last_[e] = now;
    }
  }

  Run* run_;
  std::uint32_t pid_;
  model::Hierarchy caches_;
  trace::SectionGate gate_;
  std::optional<trace::MissKinds> kinds_;
  std::int64_t first_level_ = 0;     ///< misses of loads and stores in the first level
  bool watches_hits_ = false;        ///< a prefetcher of the first level acts on hits, too
  std::int64_t misses_ = 0;          ///< Hierarchy::first_misses() when the metrics were read last
  std::vector<std::int64_t> last_;   ///< values of the metrics then
  std::vector<std::int64_t> counts_; ///< by instruction and metric
};

using Process = trace::Decoder<Attributed>;

Recording empty_recording(const RecordSettings& settings) {
  std::vector<SampledEvent> events;
  for (const EventRequest& asked : settings.events) {
    SampledEvent& made = events.emplace_back();
    made.event.name = asked.name;
    made.event.attr.type = PERF_TYPE_MAX; // of no PMU
    made.period = 1;
  }
  const std::vector<bool> after(events.size(), false);
  return {std::move(events), Places(after, settings.chains), {}, {}, {}, {}};
}

Run run_of(const RecordSettings& settings) {
  const auto first = *modelled_event(settings.events.front().name);
  Run run{.machine = model::machine(first.machine), .metrics = {}, .made = empty_recording(settings)};
  if (run.machine.sampled || !run.machine.family.empty())
    throw bad_input("-e " + settings.events.front().name, "~sample and ~l1= are for kernels",
                    "omit them; a program is simulated completely, on one machine");
  for (const EventRequest& asked : settings.events) {
    const std::string metric = modelled_event(asked.name)->metric;
    const auto& kinds = trace::MissKinds::names;
    const auto kind = std::ranges::find(kinds, metric);
    if (kind == kinds.end())
      run.metrics.emplace_back(trace::MissMetric(metric, run.machine));
    else
      run.metrics.emplace_back(static_cast<std::size_t>(kind - kinds.begin()));
    run.kinds = run.kinds || kind != kinds.end();
  }
  return run;
}

void fill_report(Recording& made, const trace::Session& session) {
  for (std::size_t e = 0; e < made.events.size(); ++e) {
    SampledCount& count = made.report.events.emplace_back();
    count.samples = count.weight = count.occurrences = made.places.total(e).weight;
    count.lost = 0;
  }
  made.notes.emplace_back(
      "modelled: simulated, not measured; user mode, data accesses; each process has the machine to "
      "itself, and its threads take turns on one core");
  if (auto missing = session.incomplete(); !missing.empty()) made.notes.push_back(std::move(missing));
}

} // namespace

std::vector<EventRequest> with_kinds(const EventRequest& first) {
  std::vector<EventRequest> events{first};
  const auto event = modelled_event(first.name);
  for (const std::string_view kind : trace::MissKinds::names)
    events.push_back(
        {first.name.substr(0, first.name.size() - event->metric.size()) + std::string(kind), 0, 0});
  return events;
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
  Run run = run_of(settings);
  run.section = settings.section;
  run.functions = {settings.from, settings.to};
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
  const auto tool = trace::tool_command(settings.who.command,
                                        {session.channel(), !run.section.empty(), !run.functions.empty()});
  const process::Fd nowhere = trace::message_sink();
  TargetOptions who = settings.who;
  who.descriptors = trace::descriptors(nowhere, !run.section.empty());
  who.command = tool.argv;
  who.environment = tool.environment;
  Target target(who, false);
  target.go();
  run.made.status = target.status();
  session.finish();
  run.made.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (run.made.status != 0) run.made.not_counted = trace::unexecuted(run.undecoded);
  if (!run.section.empty() && !run.section_seen)
    run.made.not_counted = "the program never began the section " + run.section;
  if (auto never = trace::never_entered(run.functions); !never.empty())
    run.made.not_counted = std::move(never);
  fill_report(run.made, session);
  return std::move(run.made);
}

} // namespace recount::profile
