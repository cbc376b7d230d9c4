#include "profile/attributed.hpp"

#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "profile/data_objects.hpp"
#include "profile/recording.hpp"
#include "result/observation.hpp"
#include "trace/decoder.hpp"
#include "trace/executed.hpp"
#include "trace/gates.hpp"
#include "trace/miss_kinds.hpp"
#include "trace/protocol.h"
#include "trace/reader.hpp"
#include "trace/session.hpp"
#include "trace/simulation.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

// What simulated processes miss on, by instruction, kind of miss and data object.
namespace recount::profile {

/// What the processes of a run share.
struct AttributedRun {
  model::MachineDescription machine;
  std::vector<std::variant<trace::MissMetric, std::size_t>> metrics; ///< of the machine, or of MissKinds
  bool kinds = false;                                                ///< some are of MissKinds
  trace::Blocks blocks = {};
  Recording made;
  std::string section = {};
  bool objects = false;
  bool section_seen = false;
  std::optional<trace::Undecoded> undecoded = {};
  trace::FunctionRange functions = {};
  std::int64_t every = 0;                   ///< of windows, see trace::WindowSampler
  std::optional<trace::Totals> totals = {}; ///< where windows are sampled
};

/// One process: counts each metric by the instruction whose access changed it.
class Attributed {
public:
  Attributed(AttributedRun& run, std::uint32_t pid)
      : run_(&run),
        pid_(pid),
        caches_(run.machine),
        gate_(run.section),
        sampler_(run.every, caches_),
        last_(run.metrics.size()) {
    if (run.kinds) kinds_.emplace(run.machine);
    if (run.objects) data_.emplace(run.made.objects, run.made.places, run.made.files, pid);
    watches_hits_ = !run.machine.levels.front().prefetch.empty();
  }

  void block(const trace::Blocks::Block&) {}
  void left(unsigned) {}
  template <bool store>
  void access(std::uint64_t address, unsigned bytes, std::uint32_t number) {
    if (!gate_.open()) return;
    if (sampler_.active()) {
      if (!sampler_.take(caches_)) return;
      if (part_ != sampler_.part()) begin_part();
    }
    if constexpr (store)
      caches_.store(address, bytes);
    else
      caches_.load(address, bytes);
    if (!part_) return; // warm-up
    const bool beside = kinds_ && classify<store>(address, bytes);
    if (beside || caches_.first_misses() != misses_ || watches_hits_) attribute(number, address);
  }
  void thread(std::uint64_t number) {
    caches_.select(trace::core_of(number));
    if (kinds_) kinds_->select(trace::core_of(number));
  }
  void module(const trace::Module& module);
  bool memory(std::uint64_t kind, std::span<const std::uint64_t> words);
  void undecoded(const trace::Undecoded& instruction) { run_->undecoded = instruction; }
  void section(std::string_view text) { gate_.take(text); }

  [[nodiscard]] std::unique_ptr<Attributed> forked(std::uint32_t pid) const;

  /// Hands the counts on, by the mappings of this process.
  void end();

private:
  template <bool store>
  bool classify(std::uint64_t address, unsigned bytes) {
    const model::LevelCounts& first = caches_.level(0).counts;
    const std::int64_t now = first.missed(model::Cause::load) + first.missed(model::Cause::store);
    const std::int64_t misses = now - first_level_, coherence = first.coherence_misses - coherence_;
    first_level_ = now;
    coherence_ = first.coherence_misses;
    return kinds_->access<store>(address, bytes, misses, coherence);
  }
  [[nodiscard]] std::int64_t value(std::size_t event) const;
  /// What counts are of: an instruction, or where data objects are recorded, one and the object, see Place.
  struct Slot {
    std::uint32_t instruction = 0, object = 0;
  };
  /// Counts from here on belong to the sampler's part.
  void begin_part();
  /// Misses in unknown memory since the last record of the heap: of an allocator, in a block that it has not
  /// yet handed out.
  struct Unplaced {
    std::uint64_t address = 0;
    std::uint32_t instruction = 0;
    std::size_t part = 0;
    std::vector<std::int64_t> counts;
  };
  std::size_t slot_of(std::uint32_t instruction, std::uint32_t object);
  [[nodiscard]] std::size_t parts() const { return sampler_.active() ? trace::WindowSampler::parts : 1; }
  std::int64_t* counts_of(std::size_t number, std::size_t part);
  void attribute(std::uint32_t number, std::uint64_t address);
  /// The misses of an allocator in a block that it has just handed out are the block's.
  void pad(std::uint64_t address);
  void place_in(const std::optional<trace::MemoryMap::Region>& block);

  AttributedRun* run_;
  std::uint32_t pid_;
  model::Hierarchy caches_;
  trace::SectionGate gate_;
  trace::WindowSampler sampler_;
  std::optional<std::size_t> part_ = 0; ///< of the sampler: what is counted now
  std::optional<trace::MissKinds> kinds_;
  std::int64_t conflicts_ = 0;       ///< of kinds_, so far
  std::int64_t first_level_ = 0;     ///< misses of loads and stores in the first level
  std::int64_t coherence_ = 0;       ///< of them, because of other cores
  bool watches_hits_ = false;        ///< a prefetcher of the first level acts on hits, too
  std::int64_t misses_ = 0;          ///< Hierarchy::first_misses() when the metrics were read last
  std::vector<std::int64_t> last_;   ///< values of the metrics then
  std::vector<std::int64_t> counts_; ///< by slot, part and metric
  std::optional<ProcessData> data_;  ///< where data objects are recorded
  std::vector<Slot> slots_;          ///< those of counts_ then; else they are the instructions
  std::unordered_map<std::uint64_t, std::size_t> slot_numbers_;
  std::vector<Unplaced> unplaced_;
};

void Attributed::module(const trace::Module& module) {
  Mapping mapping;
  mapping.pid = mapping.tid = pid_;
  mapping.start = module.start;
  mapping.length = module.end - module.start;
  mapping.offset = module.offset;
  mapping.file = module.file;
  run_->made.places.add(mapping);
  run_->made.files.look_at(run_->made.places.spaces(), pid_);
  if (data_) data_->module(module);
}

bool Attributed::memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
  if (!data_) return true;
  if (!data_->memory(kind, words)) return false;
  if (kind == RT_HEAP) place_in(data_->made());
  if (kind == RT_HEAP && kinds_) kinds_->forget(words[0]);
  return true;
}

std::unique_ptr<Attributed> Attributed::forked(std::uint32_t pid) const {
  auto child = std::make_unique<Attributed>(*this);
  child->pid_ = pid;
  if (child->data_) child->data_->set_pid(pid);
  child->counts_.clear();
  child->slots_.clear();
  child->slot_numbers_.clear();
  child->unplaced_.clear();
  child->caches_.reset_counters();
  child->sampler_ = trace::WindowSampler(run_->every, child->caches_);
  child->first_level_ = 0;
  child->begin_part();
  Fork fork;
  fork.pid = fork.tid = pid;
  fork.parent_pid = fork.parent_tid = pid_;
  run_->made.places.add(fork);
  return child;
}

void Attributed::end() {
  const std::size_t events = last_.size(), row = events * parts();
  run_->section_seen = run_->section_seen || gate_.seen();
  if (run_->totals && !run_->totals->add(caches_, sampler_)) return;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] <= 0) continue;
    const Slot of = data_ ? slots_[i / row] : Slot{static_cast<std::uint32_t>(i / row), 0};
    const double each = sampler_.active() ? sampler_.weight(i % row / events) : 1;
    run_->made.places.count(pid_, run_->blocks.instruction(of.instruction).address, i % events,
                            static_cast<std::uint64_t>(counts_[i]),
                            static_cast<std::uint64_t>(std::llround(each * static_cast<double>(counts_[i]))),
                            of.object);
  }
}

void Attributed::begin_part() {
  part_ = sampler_.part();
  misses_ = caches_.first_misses();
  for (std::size_t e = 0; e < last_.size(); ++e)
    last_[e] = value(e);
}

std::int64_t Attributed::value(std::size_t event) const {
  const auto& metric = run_->metrics[event];
  if (const auto* const kind = std::get_if<std::size_t>(&metric)) return kinds_->count(*kind);
  return std::get<trace::MissMetric>(metric).value(caches_);
}

std::size_t Attributed::slot_of(std::uint32_t instruction, std::uint32_t object) {
  const auto [at, added] =
      slot_numbers_.try_emplace(std::uint64_t{instruction} << 32 | object, slots_.size());
  if (added) slots_.push_back({instruction, object});
  return at->second;
}

std::int64_t* Attributed::counts_of(std::size_t number, std::size_t part) {
  const std::size_t events = last_.size(), row = events * parts();
  if ((number + 1) * row > counts_.size())
    counts_.resize((data_ ? slots_.size() : run_->blocks.instruction_count()) * row);
  return counts_.data() + number * row + part * events;
}

void Attributed::attribute(std::uint32_t number, std::uint64_t address) {
  constexpr std::uint32_t unknown = 1;
  constexpr std::size_t most_unplaced = 1 << 16;
  const std::uint32_t instruction = run_->blocks.instruction_of(number);
  const std::uint32_t object = data_ ? data_->access(address) + 1 : 0;
  misses_ = caches_.first_misses();
  if (data_ && kinds_) pad(address);
  std::int64_t* const counts = counts_of(data_ ? slot_of(instruction, object) : instruction, *part_);
  const bool unplaced = object == unknown && unplaced_.size() < most_unplaced;
  if (unplaced) unplaced_.push_back({address, instruction, *part_, last_});
  for (std::size_t e = 0; e < last_.size(); ++e) {
    const std::int64_t now = value(e);
    counts[e] += now - last_[e];
    if (unplaced) unplaced_.back().counts[e] = now - last_[e];
    last_[e] = now;
  }
}

// After access() of the data.
void Attributed::pad(std::uint64_t address) {
  const std::int64_t conflicts = kinds_->count(trace::MissKinds::conflict);
  const bool conflict = conflicts != conflicts_;
  conflicts_ = conflicts;
  const auto bounds = data_->rows();
  if (!conflict || !bounds) return;
  if (const auto row = kinds_->pad(bounds->first, bounds->second, address)) data_->set_row(*row);
}

void Attributed::place_in(const std::optional<trace::MemoryMap::Region>& block) {
  for (const Unplaced& miss : unplaced_) {
    if (!block || miss.address < block->start || miss.address >= block->end) continue;
    const std::size_t from = slot_of(miss.instruction, 1);
    const std::size_t to = slot_of(miss.instruction, data_->access(miss.address) + 1);
    for (std::size_t e = 0; e < last_.size(); ++e) {
      counts_of(from, miss.part)[e] -= miss.counts[e];
      counts_of(to, miss.part)[e] += miss.counts[e];
    }
  }
  unplaced_.clear();
}

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
  for (const EventRequest& requested : settings.events) {
    SampledEvent& made = events.emplace_back();
    made.event.name = settings.sample_every > 0 ? sampled_name(requested.name) : requested.name;
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
  for (const EventRequest& requested : settings.events) {
    const std::string metric = modelled_event(requested.name)->metric;
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
  const auto machine = [](const EventRequest& requested) {
    const auto event = modelled_event(requested.name);
    return event ? event->machine : std::string();
  };
  const std::string first = events.empty() ? "" : machine(events.front());
  for (const EventRequest& requested : events) {
    if (machine(requested) != first)
      throw bad_input("-e " + requested.name, "one profile is either measured or modelled on one machine",
                      "run recount profile once for each");
    if (!first.empty() && (requested.period > 1 || requested.frequency != 0))
      throw bad_input("-e " + requested.name, "takes no period: every occurrence is simulated",
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
