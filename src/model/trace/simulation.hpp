// Which accesses of a process are simulated where every Nth window is.
#pragma once

#include "model/hierarchy.hpp"
#include "model/nest_simulation.hpp"
#include "model/trace/decoder.hpp"
#include "model/trace/gates.hpp"
#include "model/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace recount::trace {

/// The first windows are simulated completely. Of every `every` windows after them one is counted, at a
/// random place, from empty caches that the windows before it warm up. The windows are dealt out to
/// model::Sampling::samples estimates in turn.
class WindowSampler {
public:
  static constexpr std::int64_t window = model::SampledReplay::min_window,
                                complete = model::SampledReplay::max_windows * window;
  /// 0: everything is simulated.
  WindowSampler(std::int64_t every, const model::Hierarchy& caches);

  [[nodiscard]] bool active() const { return every_ > 0; }
  [[nodiscard]] std::int64_t every() const { return every_; }
  /// Whether what lies between the last access and the next is simulated.
  [[nodiscard]] bool simulates() const { return phase_ != Phase::skip; }
  /// The next access of the process: whether it is simulated.
  [[nodiscard]] bool take(model::Hierarchy& caches) {
    if (left_ == 0) [[unlikely]]
      advance(caches);
    --left_;
    return phase_ != Phase::skip;
  }
  /// What the accesses of the phase count for: 0, themselves alone; 1 to model::Sampling::samples, this
  /// estimate; nothing, while the caches warm up.
  static constexpr std::size_t parts = 1 + model::Sampling::samples;
  [[nodiscard]] std::optional<std::size_t> part() const {
    if (phase_ == Phase::complete) return 0;
    return phase_ == Phase::count ? std::optional(1 + next_) : std::nullopt;
  }
  /// After finish(), which succeeded: how many occurrences one of a part represents.
  [[nodiscard]] double weight(std::size_t part) const;
  /// Adds the estimates of this process, whose caches count no more. False: too few windows for one.
  [[nodiscard]] bool finish(const model::Hierarchy& caches, model::Sampling& sampling) const;

private:
  enum class Phase { complete, skip, warm_up, count };
  void advance(model::Hierarchy& caches);
  void begin_period(const model::Hierarchy& caches);
  void skip(std::int64_t accesses);
  void begin_count(const model::Hierarchy& caches);
  void end_count(const model::Hierarchy& caches);

  std::int64_t every_, warm_;
  Phase phase_ = Phase::complete;
  std::int64_t left_ = complete;  ///< accesses of the phase
  std::int64_t after_ = 0;        ///< accesses to skip after the counted window
  std::int64_t taken_ = complete; ///< accesses before and within the phase
  std::uint64_t random_;
  model::Counts none_, whole_, before_;
  std::vector<std::int64_t> vacancies_;
  std::array<model::Counts, model::Sampling::samples> sums_;
  std::array<std::int64_t, model::Sampling::samples> windows_{};
  std::vector<double> filled_; ///< places that were empty before counted windows, and not after them
  std::size_t next_ = 0;
};

// What the simulated processes of a run add up to.

struct Totals {
  Totals(const model::MachineDescription& machine, bool sampled);
  model::Hierarchy caches;                              ///< nothing is simulated in it: the sum of counts
  std::int64_t instructions = 0, loads = 0, stores = 0; ///< also those that are not simulated
  std::optional<model::Sampling> sampling;              ///< where not everything is
  bool too_few_windows = false;                         ///< in some process
  int processes = 0, threads = 0;
  bool section_seen = false;
  std::optional<Undecoded> undecoded; ///< the last instruction that Valgrind could not execute

  /// Adds a process that has ended, whose caches count no more. False: too few windows.
  bool add(const model::Hierarchy& process, const WindowSampler& sampler);
  /// Metrics of the machine, and the errors of those that are sampled.
  struct Values {
    std::map<std::string, std::int64_t> values;
    std::map<std::string, double> errors;
  };
  [[nodiscard]] Values values() const;
  /// Of the accesses, those that are simulated.
  [[nodiscard]] double percent() const;
};

/// Why there are no estimates where too_few_windows.
inline constexpr const char* too_few_windows =
    "a process has too few windows for an estimate: use a smaller --sample-every, or none";

// The accesses of traced programs in a described machine.

/// Fetches the code of blocks when they have been executed: only then it is known how much of them was.
/// Nothing where the machine has no cache for instructions.
class CodeFetcher {
public:
  CodeFetcher(const Blocks& blocks, const model::MachineDescription& machine)
      : blocks_(&blocks), fetches_(machine.instructions.has_value()) {}
  [[nodiscard]] bool fetches() const { return fetches_; }
  void begin(const Blocks::Block& block, model::Hierarchy& caches) {
    finish(caches);
    stretch_ = block.stretch;
    left_ = block.instructions;
  }
  void leave(std::uint32_t instructions) { left_ = std::min(left_, instructions); }
  void finish(model::Hierarchy& caches) {
    for (; left_ > 0; ++stretch_) {
      const auto [number, instructions] = blocks_->stretch(stretch_);
      const std::uint32_t executed = std::min(left_, instructions);
      const Blocks::Instruction &first = blocks_->instruction(number),
                                &last = blocks_->instruction(number + executed - 1);
      const auto before = static_cast<unsigned>(last.address - first.address);
      caches.fetch(first.address, std::max(1U, before + last.bytes));
      left_ -= executed;
    }
  }

private:
  const Blocks* blocks_;
  bool fetches_;
  std::uint32_t stretch_ = 0, left_ = 0; ///< left_: instructions executed and not yet fetched
};

/// One process: it has the machine for itself, cold when its program begins.
class Simulated {
public:
  /// `section`: the only one that is simulated; empty: everything.
  /// `every`: of windows, see WindowSampler.
  Simulated(const Blocks& blocks, const model::MachineDescription& machine, const std::string& section,
            std::int64_t every, Totals& totals)
      : caches_(machine),
        code_(blocks, machine),
        gate_(section),
        sampler_(every, caches_),
        totals_(&totals) {}

  void block(const Blocks::Block& block) {
    executing_ = gate_.open() ? block.instructions : 0;
    instructions_ += executing_;
    if (!code_.fetches()) return;
    code_.finish(caches_);
    if (gate_.open() && sampler_.simulates()) code_.begin(block, caches_);
  }
  void left(unsigned instructions) {
    if (!gate_.open()) return;
    instructions_ += std::int64_t{instructions} - executing_;
    code_.leave(instructions);
  }
  template <bool store>
  [[gnu::always_inline]] void access(std::uint64_t address, unsigned bytes, std::uint32_t) {
    if (!gate_.open()) return;
    ++(store ? stores_ : loads_);
    if (sampler_.active() && !sampler_.take(caches_)) return;
    if constexpr (store)
      caches_.store(address, bytes);
    else
      caches_.load(address, bytes);
  }
  void flush(std::uint64_t address) {
    if (gate_.open() && sampler_.simulates()) caches_.flush(address);
  }
  /// Takes words up to one that takes more than an access: none where not every access is simulated alike.
  bool plain(const Blocks& blocks, const std::uint64_t*& at, const std::uint64_t* end);
  void thread(std::uint64_t number) {
    code_.finish(caches_);
    threads_ = std::max(threads_, static_cast<int>(number & 0xffff));
    caches_.select(core_of(number));
  }
  void module(const Module&) {}
  void undecoded(const Undecoded& instruction) { totals_->undecoded = instruction; }
  void section(std::string_view text) {
    code_.finish(caches_);
    gate_.take(text);
  }
  [[nodiscard]] std::unique_ptr<Simulated> forked(std::uint32_t pid) const;
  /// Adds this process to the totals.
  void end();

private:
  model::Hierarchy caches_;
  CodeFetcher code_;
  SectionGate gate_;
  WindowSampler sampler_;
  Totals* totals_;
  std::int64_t instructions_ = 0, executing_ = 0, loads_ = 0, stores_ = 0;
  int threads_ = 0;
};

/// Simulates every process of a run; outlives its Session.
class Simulation {
public:
  Simulation(const model::MachineDescription& machine, std::string section, FunctionRange functions,
             std::int64_t every = 0)
      : machine_(machine),
        section_(std::move(section)),
        functions_(std::move(functions)),
        every_(every),
        totals_(machine, every > 0) {}
  [[nodiscard]] std::unique_ptr<Reader> begin() {
    return std::make_unique<Decoder<Simulated>>(
        blocks_, std::make_unique<Simulated>(blocks_, machine_, section_, every_, totals_),
        make_gate(blocks_, functions_));
  }
  static void end(Reader& process) { dynamic_cast<Decoder<Simulated>&>(process).sink().end(); }
  /// Metrics of all processes. After the Session has finished.
  [[nodiscard]] Totals::Values values() const;
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] const FunctionRange& functions() const { return functions_; }

private:
  model::MachineDescription machine_;
  std::string section_;
  FunctionRange functions_;
  std::int64_t every_;
  Totals totals_;
  Blocks blocks_;
};

} // namespace recount::trace
