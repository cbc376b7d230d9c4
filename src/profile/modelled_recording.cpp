#include "profile/modelled_recording.hpp"

#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "profile/data_objects.hpp"
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
#include <unordered_map>
#include <variant>

namespace recount::profile {
namespace {

using MissKinds = trace::MissKinds;

/// What the processes of a run share.
struct ModelledRun {
  const RecordSettings& settings;
  model::MachineDescription machine;
  std::vector<std::variant<trace::MissMetric, MissKinds::Number>> metrics;
  Recording recording;
  bool kinds = false; ///< some metrics are of MissKinds
  trace::Blocks blocks = {};
  bool section_seen = false;
  std::optional<trace::Undecoded> undecoded = {};
  std::optional<trace::Totals> totals = {}; ///< where windows are sampled
};

/// One process: counts each metric by the instruction whose access changed it.
class AttributedProcess {
public:
  AttributedProcess(ModelledRun& run, std::uint32_t pid)
      : run_(&run),
        pid_(pid),
        caches_(run.machine),
        gate_(run.settings.section),
        sampler_(run.settings.sample_every, caches_),
        prefetches_on_hits_(!run.machine.levels.front().prefetch.empty()),
        last_(run.metrics.size()) {
    if (run.kinds) kinds_.emplace(run.machine);
    Recording& r = run.recording;
    if (run.settings.objects) data_.emplace(r.objects, r.places, r.files, pid);
  }

  // The interface that trace::Decoder requires.
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
    const bool kind_changed = kinds_ && classify<store>(address, bytes);
    if (kind_changed || caches_.first_misses() != misses_ || prefetches_on_hits_) attribute(number, address);
  }
  void thread(std::uint64_t number) {
    caches_.select(trace::core_of(number));
    if (kinds_) kinds_->select(trace::core_of(number));
  }

  void module(const trace::Module& module) {
    Recording& recording = run_->recording;
    recording.places.add(Mapping{.pid = pid_,
                                 .tid = pid_,
                                 .start = module.start,
                                 .length = module.end - module.start,
                                 .offset = module.offset,
                                 .build_id = {},
                                 .file = module.file});
    recording.files.open_new(recording.places.spaces(), pid_);
    if (data_) data_->module(module);
  }

  bool memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
    if (!data_) return true;
    if (!data_->memory(kind, words)) return false;
    if (kind == RT_HEAP) place_in(data_->last_block());
    if (kind == RT_HEAP && kinds_) kinds_->forget(words[0]);
    return true;
  }
  void undecoded(const trace::Undecoded& instruction) { run_->undecoded = instruction; }
  void section(std::string_view text) { gate_.take(text); }

  [[nodiscard]] std::unique_ptr<AttributedProcess> forked(std::uint32_t pid) const {
    auto child = std::make_unique<AttributedProcess>(*this);
    child->pid_ = pid;
    if (child->data_) child->data_->set_pid(pid);
    child->counts_.clear();
    child->slots_.clear();
    child->slot_numbers_.clear();
    child->unplaced_.clear();
    child->caches_.reset_counters();
    child->sampler_ = trace::WindowSampler(run_->settings.sample_every, child->caches_);
    child->first_level_ = 0;
    child->begin_part();
    run_->recording.places.add(Fork{0, pid, pid, pid_, pid_});
    return child;
  }

  /// Adds the counts to the recording, by the mappings of this process.
  void end() {
    const std::size_t events = last_.size(), row = events * parts();
    run_->section_seen = run_->section_seen || gate_.seen();
    if (run_->totals && !run_->totals->add(caches_, sampler_)) return;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] <= 0) continue;
      const Slot slot = data_ ? slots_[i / row] : Slot{static_cast<std::uint32_t>(i / row), 0};
      const double each = sampler_.active() ? sampler_.weight(i % row / events) : 1;
      const Tally tally{static_cast<std::uint64_t>(counts_[i]),
                        static_cast<std::uint64_t>(std::llround(each * static_cast<double>(counts_[i])))};
      run_->recording.places.count(pid_, run_->blocks.instruction(slot.instruction).address, i % events,
                                   tally, slot.object);
    }
  }

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
  /// An instruction, and the object that it accesses, see Place; 0 where objects are not recorded.
  struct Slot {
    std::uint32_t instruction = 0, object = 0;
  };
  /// Misses in unknown memory since the last record of the heap: of an allocator, in a block that it has not
  /// yet returned.
  struct Unplaced {
    std::uint64_t address = 0;
    std::uint32_t instruction = 0;
    std::size_t part = 0;
    std::vector<std::int64_t> counts;
  };
  static constexpr std::uint32_t unknown_memory = 1; ///< as Slot::object

  void begin_part() {
    part_ = sampler_.part();
    misses_ = caches_.first_misses();
    for (std::size_t e = 0; e < last_.size(); ++e)
      last_[e] = value(e);
  }

  [[nodiscard]] std::int64_t value(std::size_t event) const {
    const auto& metric = run_->metrics[event];
    if (const auto* const kind = std::get_if<MissKinds::Number>(&metric)) return kinds_->count(*kind);
    return std::get<trace::MissMetric>(metric).value(caches_);
  }

  [[nodiscard]] std::size_t slot_number(const Slot& slot) {
    if (!data_) return slot.instruction;
    const std::uint64_t key = std::uint64_t{slot.instruction} << 32 | slot.object;
    const auto [at, added] = slot_numbers_.try_emplace(key, slots_.size());
    if (added) slots_.push_back(slot);
    return at->second;
  }
  [[nodiscard]] std::size_t parts() const { return sampler_.active() ? trace::WindowSampler::parts : 1; }

  /// One count per event; valid until the next call.
  std::int64_t* slot_counts(std::size_t number, std::size_t part) {
    const std::size_t events = last_.size(), row = events * parts();
    if ((number + 1) * row > counts_.size())
      counts_.resize((data_ ? slots_.size() : run_->blocks.instruction_count()) * row);
    return counts_.data() + number * row + part * events;
  }

  void attribute(std::uint32_t number, std::uint64_t address) {
    constexpr std::size_t most_unplaced = 1 << 16;
    const Slot slot{run_->blocks.instruction_of(number), data_ ? data_->access(address) + 1 : 0};
    misses_ = caches_.first_misses();
    if (data_ && kinds_) pad_rows(address);
    std::int64_t* const counts = slot_counts(slot_number(slot), *part_);
    const bool unplaced = slot.object == unknown_memory && unplaced_.size() < most_unplaced;
    if (unplaced) unplaced_.push_back({address, slot.instruction, *part_, last_});
    for (std::size_t e = 0; e < last_.size(); ++e) {
      const std::int64_t now = value(e);
      counts[e] += now - last_[e];
      if (unplaced) unplaced_.back().counts[e] = now - last_[e];
      last_[e] = now;
    }
  }

  /// After ProcessData::access(): a conflict miss may show that rows should be longer.
  void pad_rows(std::uint64_t address) {
    const std::int64_t conflicts = kinds_->count(MissKinds::conflict);
    const bool is_conflict = conflicts != std::exchange(conflicts_, conflicts);
    const auto bounds = is_conflict ? data_->bounds() : std::nullopt;
    if (!bounds) return;
    if (const auto row = kinds_->pad(bounds->first, bounds->second, address)) data_->set_row(*row);
  }

  /// Misses of an allocator in a block that it has just returned count for the block.
  void place_in(const std::optional<trace::MemoryMap::Region>& block) {
    for (const Unplaced& miss : unplaced_) {
      if (!block || miss.address < block->start || miss.address >= block->end) continue;
      const std::size_t from = slot_number({miss.instruction, unknown_memory});
      const std::size_t to = slot_number({miss.instruction, data_->access(miss.address) + 1});
      for (std::size_t e = 0; e < last_.size(); ++e) {
        slot_counts(from, miss.part)[e] -= miss.counts[e];
        slot_counts(to, miss.part)[e] += miss.counts[e];
      }
    }
    unplaced_.clear();
  }

  ModelledRun* run_;
  std::uint32_t pid_;
  model::Hierarchy caches_;
  trace::SectionGate gate_;
  trace::WindowSampler sampler_;
  bool prefetches_on_hits_;             ///< a prefetcher of the first level
  std::optional<std::size_t> part_ = 0; ///< of the sampler: what is counted now
  std::optional<MissKinds> kinds_;
  std::int64_t conflicts_ = 0;       ///< of kinds_, so far
  std::int64_t first_level_ = 0;     ///< misses of loads and stores in the first level
  std::int64_t coherence_ = 0;       ///< of them, because of other cores
  std::int64_t misses_ = 0;          ///< Hierarchy::first_misses() when the metrics were read last
  std::vector<std::int64_t> last_;   ///< values of the metrics then
  std::vector<std::int64_t> counts_; ///< by slot, part and metric
  std::optional<ProcessData> data_;  ///< where objects are recorded
  std::vector<Slot> slots_;          ///< those of counts_ then; else the instructions are the slots
  std::unordered_map<std::uint64_t, std::size_t> slot_numbers_;
  std::vector<Unplaced> unplaced_;
};

constexpr std::string_view model_prefix = "model:";

Recording empty_recording(const RecordSettings& settings) {
  std::vector<SampledEvent> events;
  for (const EventRequest& requested : settings.events) {
    const ModelledEvent modelled = *modelled_event(requested.name);
    SampledEvent& event = events.emplace_back();
    event.event.name = settings.sample_every > 0 // the label of sampled simulations in all commands
                           ? fmt::format("{}{}~sample:{}", model_prefix, modelled.machine, modelled.metric)
                           : requested.name;
    event.event.attr.type = PERF_TYPE_MAX; // of no PMU
    event.period = 1;
  }
  const std::vector<bool> after(events.size(), false);
  return {std::move(events), Places(after, settings.chains), {}, {}, {}, {}};
}

ModelledRun make_run(const RecordSettings& settings) {
  const std::string& first = settings.events.front().name;
  ModelledRun run{.settings = settings,
                  .machine = model::machine(modelled_event(first)->machine),
                  .metrics = {},
                  .recording = empty_recording(settings)};
  if (run.machine.sampled || !run.machine.family.empty())
    throw bad_input("-e " + first, "~sample and ~l1= are for kernels",
                    "omit them; --sample-every N samples a program");
  const auto kinds = MissKinds::names_of(run.machine);
  for (const EventRequest& requested : settings.events) {
    const std::string metric = modelled_event(requested.name)->metric;
    if (std::ranges::find(kinds, metric) == kinds.end()) {
      run.metrics.emplace_back(trace::MissMetric(metric, run.machine));
    } else {
      const auto kind = std::ranges::find(MissKinds::names, metric) - MissKinds::names.begin();
      run.metrics.emplace_back(static_cast<MissKinds::Number>(kind));
      run.kinds = true;
    }
  }
  if (run.kinds && settings.sample_every > 0)
    throw bad_input(fmt::format("--sample-every {}", settings.sample_every),
                    "cannot be combined with kinds of misses: the first miss of a line may lie in no sample",
                    "omit one of them");
  if (settings.sample_every > 0) run.totals.emplace(run.machine, true);
  return run;
}

void fill_report(Recording& recording, const trace::Session& session) {
  for (std::size_t e = 0; e < recording.events.size(); ++e) {
    SampledCount& count = recording.report.events.emplace_back();
    count.samples = recording.places.total(e).samples;
    count.weight = count.occurrences = recording.places.total(e).weight;
    count.lost = 0;
  }
  recording.notes.emplace_back(
      "modelled: simulated, not measured; user mode, data accesses; each process has the machine to "
      "itself, and its threads are distributed over the cores");
  if (auto missing = session.incomplete(); !missing.empty()) recording.notes.push_back(std::move(missing));
}

/// The share that is simulated, and the error of each event.
void fill_sampled(ModelledRun& run) {
  const trace::Totals::Values values = run.totals->values();
  for (const auto& metric : run.metrics)
    run.recording.sampled.push_back(result::sampled_flag(
        run.totals->percent(), values.errors.at(std::get<trace::MissMetric>(metric).name())));
  if (run.totals->too_few_windows) run.recording.not_counted = trace::too_few_windows;
}

} // namespace

std::optional<ModelledEvent> modelled_event(const std::string& event) {
  if (!event.starts_with(model_prefix)) return {};
  const std::string rest = event.substr(model_prefix.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == rest.npos) return ModelledEvent{"host", rest};
  return ModelledEvent{rest.substr(0, colon), rest.substr(colon + 1)};
}

std::vector<EventRequest> with_kinds(const EventRequest& first) {
  std::vector<EventRequest> events{first};
  const ModelledEvent event = *modelled_event(first.name);
  const std::string prefix = first.name.substr(0, first.name.size() - event.metric.size());
  for (const std::string_view kind : MissKinds::names_of(model::machine(event.machine)))
    events.push_back({prefix + std::string(kind)});
  return events;
}

bool only_advises(const std::string& event) {
  const auto advising = std::span(MissKinds::names).subspan(MissKinds::if_full);
  const auto modelled = modelled_event(event);
  return modelled && std::ranges::count(advising, modelled->metric) > 0;
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
  static_cast<void>(trace::tool_command(settings.who.command, {})); // errors before anything is executed
  trace::FunctionRange functions{settings.from, settings.to};
  trace::demand_functions(settings.who.command, functions);
  ModelledRun run = make_run(settings);
  Recording& recording = run.recording;
  recording.objects.set_debug_path(settings.debug_path);
  using Process = trace::Decoder<AttributedProcess>;
  const auto begin = [&](std::uint32_t pid) -> std::unique_ptr<trace::Reader> {
    recording.places.add(Name{.pid = pid, .tid = pid, .exec = true, .name = {}});
    return std::make_unique<Process>(run.blocks, std::make_unique<AttributedProcess>(run, pid),
                                     trace::gate_of(run.blocks, functions));
  };
  const auto end = [](trace::Reader& process) { dynamic_cast<Process&>(process).sink().end(); };
  const auto started = std::chrono::steady_clock::now();
  const process::HeldSignals signals; // also of the session's thread
  trace::Session session(begin, end);
  const bool sections = !settings.section.empty();
  const auto tool = trace::tool_command(settings.who.command, {.channel = session.channel(),
                                                               .sections = sections,
                                                               .objects = settings.objects,
                                                               .exact = !functions.empty()});
  const process::Fd sink = trace::message_sink();
  TargetOptions who = settings.who;
  who.descriptors = trace::descriptors(sink, sections);
  who.command = tool.argv;
  who.environment = tool.environment;
  Target target(who, false);
  target.go();
  recording.exit = target.end();
  session.finish();
  recording.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (run.totals) fill_sampled(run);
  if (!recording.exit.ok()) recording.not_counted = trace::unexecuted(run.undecoded);
  if (sections && !run.section_seen)
    recording.not_counted = "the program never began the section " + settings.section;
  if (auto never = trace::never_entered(functions); !never.empty()) recording.not_counted = std::move(never);
  fill_report(recording, session);
  return std::move(recording);
}

} // namespace recount::profile
