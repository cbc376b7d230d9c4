// What simulated processes miss on, by instruction, kind of miss and data object.
#pragma once

#include "model/hierarchy.hpp"
#include "profile/data_objects.hpp"
#include "profile/recording.hpp"
#include "trace/blocks.hpp"
#include "trace/function_gate.hpp"
#include "trace/miss_kinds.hpp"
#include "trace/miss_metric.hpp"
#include "trace/reader.hpp"
#include "trace/section_gate.hpp"
#include "trace/totals.hpp"
#include "trace/window_sampler.hpp"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

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

} // namespace recount::profile
