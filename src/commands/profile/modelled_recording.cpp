#include "commands/profile/recording.hpp"

#include "base/nearest.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/trace/decoder.hpp"
#include "model/trace/executed.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/memory_map.hpp"
#include "model/trace/miss_kinds.hpp"
#include "model/trace/protocol.h"
#include "model/trace/reader.hpp"
#include "model/trace/session.hpp"
#include "model/trace/simulation.hpp"
#include "run/result/observation.hpp"
#include "run/stat_run.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

namespace recount::profile {
namespace {

using MissKinds = trace::MissKinds;

using ObjectKind = DataObject::Kind;

/// PAPI_L1_DCM, PAPI_L2_LDM, PAPI_TLB_DM, MODEL_L1_WRITE_BACKS ...: a linear combination of counts that do
/// not change on accesses that hit in L1 and in the first TLB level, read without evaluating all metrics.
class MissMetric {
public:
  /// Throws recount::Error (bad_input) if the machine does not have the metric or hits change it.
  MissMetric(std::string name, const model::MachineDescription& machine) : name_(std::move(name)) {
    const auto names = model::metric_names(machine);
    if (std::ranges::count(names, name_) == 0)
      throw bad_input(name_, "the model of " + machine.name + " has no such metric",
                      base::did_you_mean(name_, names, "recount-machines(5) lists its metrics"));
    add_terms(machine, false);
    if (!terms_.empty() || name_.find("TLB") != name_.npos) add_terms(machine, true);
    if (terms_.empty())
      throw bad_input(name_, "changes with accesses that hit",
                      "choose misses, such as PAPI_L1_DCM or PAPI_TLB_DM");
  }
  [[nodiscard]] std::int64_t value(const model::Hierarchy& caches) const {
    std::int64_t sum = 0;
    for (const auto& [tlb, level, field, factor] : terms_)
      sum += factor * count(tlb ? caches.tlb_counts(level) : caches.level(level).counts, field);
    return sum;
  }
  [[nodiscard]] const std::string& name() const { return name_; }

private:
  struct Term {
    bool tlb;
    std::size_t level, field; ///< field: of model::LevelCounts::fields()
    std::int64_t factor;
  };
  static std::int64_t count(const model::LevelCounts& counts, std::size_t field) {
    if (field < model::causes) return counts.accesses[field];
    if (field < 2 * model::causes) return counts.misses[field - model::causes];
    return counts.*model::LevelCounts::others[field - 2 * model::causes];
  }
  // Metrics are linear in the counts: a factor is the value of the metric when only that count is 1.
  void add_terms(const model::MachineDescription& machine, bool tlb) {
    model::Counts counts = model::Hierarchy(machine).counts(); // all are 0
    auto& levels = tlb ? counts.tlb : counts.levels;
    for (std::size_t level = 0; level < levels.size(); ++level)
      for (std::size_t field = 0; field < model::LevelCounts::size; ++field) {
        *levels[level].fields()[field] = 1;
        const std::int64_t factor = model::metrics(counts, machine).at(name_);
        *levels[level].fields()[field] = 0;
        if (factor == 0) continue;
        const bool hits =
            field == model::number(model::Cause::load) || field == model::number(model::Cause::store);
        if (level == 0 && hits) return terms_.clear();
        terms_.push_back({tlb, level, field, factor});
      }
  }
  std::string name_;
  std::vector<Term> terms_;
};

/// The data of all processes of a run, in Recording::objects; [0] is unknown memory. At most a million:
/// others are unknown memory.
class DataObjects {
public:
  /// `debug_path`: see symbol::open_module().
  DataObjects(Recording& recording, const std::string& debug_path)
      : recording_(&recording), debug_path_(debug_path) {
    recording.objects.resize(1);
  }
  /// The number of an object that is equal but for its counts.
  [[nodiscard]] std::uint32_t number(DataObject object) {
    constexpr std::size_t max_objects = 1'000'000;
    auto& all = recording_->objects;
    Key key(object.kind, object.name, object.file, object.calls, object.number);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    if (all.size() >= max_objects) return 0;
    const auto number = static_cast<std::uint32_t>(all.size());
    known_.emplace(std::move(key), number);
    all.push_back(std::move(object));
    return number;
  }
  [[nodiscard]] DataObject& operator[](std::uint32_t number) { return recording_->objects[number]; }
  /// A mapped file to look variables up in; null: it is no program.
  [[nodiscard]] symbol::Module* module(std::uint32_t file) {
    const auto [known, added] = modules_.try_emplace(file);
    if (added)
      known->second = recording_->files.module(recording_->places.spaces(), file, debug_path_).module;
    return known->second.get();
  }

private:
  using Key = std::tuple<ObjectKind, std::string, std::uint32_t, std::vector<std::uint32_t>, std::uint64_t>;
  Recording* recording_;
  std::map<Key, std::uint32_t> known_;
  std::string debug_path_;
  std::map<std::uint32_t, std::unique_ptr<symbol::Module>> modules_;
};

/// The data of one process; copied by a fork.
class ProcessData {
public:
  /// These outlive it.
  ProcessData(DataObjects& objects, Places& places, std::uint32_t pid)
      : objects_(&objects), places_(&places), pid_(pid) {}
  void set_pid(std::uint32_t pid) { pid_ = pid; }
  /// A mapping that `places` has received.
  void module(const trace::Module& module) {
    constexpr std::size_t max_pending = 4096;
    const auto place = places_->spaces().find(pid_, module.start);
    if (!place) return;
    map_.map(module.start, module.end, place->file);
    // Its beginning determines its address; the offset of a later part may belong to two segments.
    if (module.offset == 0 && pending_.size() < max_pending) pending_.push_back({place->file, module.start});
  }
  /// As trace::MemoryMap::take().
  [[nodiscard]] bool memory(std::uint64_t kind, std::span<const std::uint64_t> words) {
    if (!map_.take(kind, words)) return false;
    if (const auto& block = map_.last_added())
      if (const std::uint32_t number = allocated_by(ObjectKind::heap, block->number); number != 0) {
        ++(*objects_)[number].blocks;
        (*objects_)[number].bytes += block->end - block->start;
      }
    const auto [start, end] = map_.gone();
    for (Extents* extents : {&variables_, &modules_})
      extents->erase(extents->lower_bound(start), extents->lower_bound(end));
    if (start < end) loaded_.clear(); // what is loaded there next is looked up again
    return true;
  }
  /// The number of the object at an address; the access counts for it.
  [[nodiscard]] std::uint32_t access(std::uint64_t address) {
    const bool same = last_changes_ == map_.changes() && address >= last_.start && address < last_.end;
    if (!same) last_ = find(address);
    DataObject& object = (*objects_)[last_.number];
    // A mapping may contain other objects, so that it is looked up each time.
    const bool whole = object.kind == ObjectKind::heap || object.kind == ObjectKind::stack ||
                       object.kind == ObjectKind::variable;
    last_changes_ = whole ? map_.changes() : ~std::uint64_t{0};
    if (last_.number != 0 && object.kind != ObjectKind::stack) { // a stack has no meaningful start
      object.low = std::min(object.low, address - last_.start);
      object.high = std::max(object.high, address - last_.start);
    }
    return last_.number;
  }
  /// Bounds of the object of the last access(), if it is a variable or heap block.
  [[nodiscard]] std::optional<std::pair<std::uint64_t, std::uint64_t>> bounds() const {
    const ObjectKind kind = (*objects_)[last_.number].kind;
    if (kind != ObjectKind::heap && kind != ObjectKind::variable) return {};
    return std::pair{last_.start, last_.end};
  }
  /// Sets the bytes of its rows.
  void set_row(std::uint64_t row) { (*objects_)[last_.number].row = row; }
  /// The block that the last memory() allocated; nothing: none.
  [[nodiscard]] const std::optional<trace::MemoryMap::Region>& last_block() const {
    return map_.last_added();
  }

private:
  struct Extent {
    std::uint64_t start = 0, end = 0; ///< end 0: nothing
    std::uint32_t number = 0;
  };
  using Extents = std::map<std::uint64_t, Extent>; ///< by start
  struct Loaded {
    std::uint32_t file = 0;
    std::uint64_t start = 0;
    auto operator<=>(const Loaded&) const = default;
  };

  [[nodiscard]] static Extent extent_at(const Extents& all, std::uint64_t address) {
    auto next = all.upper_bound(address);
    if (next == all.begin() || address >= (--next)->second.end) return {};
    return next->second;
  }

  [[nodiscard]] Extent find(std::uint64_t address) {
    using Region = trace::MemoryMap::Region;
    const auto region = map_.find(address);
    const auto whole_region = [&](std::uint32_t number) {
      return Extent{region->start, region->end, number};
    };
    if (region && region->kind == Region::Kind::block)
      return whole_region(allocated_by(ObjectKind::heap, region->number));
    if (region && region->kind == Region::Kind::stack) {
      DataObject stack{.kind = ObjectKind::stack};
      stack.number = region->number;
      return whole_region(objects_->number(std::move(stack)));
    }
    for (const Loaded& module : pending_)
      load_variables(module);
    pending_.clear();
    if (const Extent variable = extent_at(variables_, address); variable.end != 0) return variable;
    Extent found = extent_at(modules_, address); // also its memory that is not in the file
    if (region && region->kind == Region::Kind::file) found = whole_region(region->number);
    if (found.end == 0 && region && region->number != 0)
      return whole_region(allocated_by(ObjectKind::mapped, region->number));
    if (found.end == 0) return {};
    const std::string& path = places_->spaces().files()[found.number].path;
    found.number = objects_->number({.kind = ObjectKind::file, .name = path});
    return found;
  }

  [[nodiscard]] std::uint32_t allocated_by(ObjectKind kind, std::uint32_t site) {
    const auto [known, added] = sites_.try_emplace({kind, site});
    if (!added) return known->second;
    DataObject object{.kind = kind};
    for (const std::uint64_t call : map_.site(site))
      object.calls.push_back(places_->user_place(pid_, call));
    return known->second = objects_->number(std::move(object));
  }

  /// The variables of a module, at the addresses where it was loaded; once, as it may be mapped in several
  /// parts.
  void load_variables(const Loaded& loaded) {
    constexpr std::size_t max_variables = 1'000'000;
    symbol::Module* const module = objects_->module(loaded.file);
    const auto linked_at = module ? module->address(0) : std::nullopt;
    if (!linked_at || !loaded_.insert(loaded).second) return;
    const std::uint64_t bias = loaded.start - *linked_at;
    modules_[loaded.start] = {loaded.start, module->end() + bias, loaded.file};
    for (const symbol::Named& variable : module->variables("*")) {
      if (variable.end <= variable.start || variables_.size() >= max_variables) continue;
      DataObject object{.kind = ObjectKind::variable, .name = variable.name, .file = loaded.file};
      object.number = variable.start;
      object.bytes = variable.end - variable.start;
      variables_[variable.start + bias] = {variable.start + bias, variable.end + bias,
                                           objects_->number(std::move(object))};
    }
  }

  DataObjects* objects_;
  Places* places_;
  std::uint32_t pid_;
  trace::MemoryMap map_;
  Extents variables_, modules_; ///< numbers: of objects; of files
  std::vector<Loaded> pending_; ///< modules whose variables were not looked up yet
  std::set<Loaded> loaded_;
  std::map<std::pair<DataObject::Kind, std::uint32_t>, std::uint32_t> sites_; ///< objects
  Extent last_;
  std::uint64_t last_changes_ = 0; ///< of map_, when last_ was found
};

/// What the processes of a run share.
struct ModelledRun {
  const RecordSettings& settings;
  model::MachineDescription machine;
  std::vector<std::variant<MissMetric, MissKinds::Number>> metrics;
  Recording recording;
  bool kinds = false; ///< some metrics are of MissKinds
  trace::Blocks blocks = {};
  bool section_seen = false;
  std::optional<trace::Undecoded> undecoded = {};
  std::optional<trace::Totals> totals = {}; ///< where windows are sampled
  std::optional<DataObjects> objects = {};  ///< where they are recorded
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
    if (run.objects) data_.emplace(*run.objects, run.recording.places, pid);
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
  void flush(std::uint64_t address) {
    if (!gate_.open() || !sampler_.simulates()) return;
    caches_.flush(address);
    if (kinds_) kinds_->flush(address);
  }
  void thread(std::uint64_t number) {
    caches_.select(trace::core_of(number));
    if (kinds_) kinds_->select(trace::core_of(number));
  }

  void module(const trace::Module& module) {
    Recording& recording = run_->recording;
    const Record mapping = Mapping{.pid = pid_,
                                   .tid = pid_,
                                   .start = module.start,
                                   .length = module.end - module.start,
                                   .offset = module.offset,
                                   .build_id = {},
                                   .file = module.file};
    recording.places.add(mapping);
    recording.files.add(mapping, recording.places.spaces());
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
    return std::get<MissMetric>(metric).value(caches_);
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
    constexpr std::size_t max_unplaced = 1 << 16;
    const Slot slot{run_->blocks.instruction_of(number), data_ ? data_->access(address) + 1 : 0};
    misses_ = caches_.first_misses();
    if (data_ && kinds_) pad_rows(address);
    std::int64_t* const counts = slot_counts(slot_number(slot), *part_);
    const bool unplaced = slot.object == unknown_memory && unplaced_.size() < max_unplaced;
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
      run.metrics.emplace_back(MissMetric(metric, run.machine));
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
  if (auto doubts = session.doubts(); !doubts.empty()) recording.notes.push_back(std::move(doubts));
}

/// The share that is simulated, and the error of each event.
void fill_sampled(ModelledRun& run) {
  const trace::Totals::Values values = run.totals->values();
  for (const auto& metric : run.metrics)
    run.recording.sampled.push_back(
        result::sampled_flag(run.totals->percent(), values.errors.at(std::get<MissMetric>(metric).name())));
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
  if (settings.objects) run.objects.emplace(recording, settings.debug_path);
  using Process = trace::Decoder<AttributedProcess>;
  const auto begin = [&](std::uint32_t pid, std::uint32_t) -> std::unique_ptr<trace::Reader> {
    recording.places.add(Name{.pid = pid, .tid = pid, .exec = true, .name = {}});
    return std::make_unique<Process>(run.blocks, std::make_unique<AttributedProcess>(run, pid),
                                     trace::make_gate(run.blocks, functions));
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
  const process::Fd sink = process::null_output();
  int signal = 0;
  recording.exit =
      stat::execute(tool.argv, signals, signal, tool.environment, trace::descriptors(sink, sections));
  session.finish();
  recording.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (run.totals) fill_sampled(run);
  if (auto why = trace::unexecuted(run.undecoded, recording.exit); !why.empty())
    recording.not_counted = std::move(why);
  if (auto why = session.missing(recording.exit); !why.empty()) recording.not_counted = std::move(why);
  if (sections && !run.section_seen)
    recording.not_counted = "the program never began the section " + settings.section;
  if (auto never = trace::never_entered(functions); !never.empty()) recording.not_counted = std::move(never);
  fill_report(recording, session);
  if (recording.not_counted.empty() && run.undecoded) recording.notes.emplace_back(trace::handled_undecoded);
  return std::move(recording);
}

} // namespace recount::profile
