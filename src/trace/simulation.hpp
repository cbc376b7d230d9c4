// What the simulated processes of a run add up to.
#pragma once

#include "model/hierarchy.hpp"
#include "trace/decoder.hpp"
#include "trace/reader.hpp"
#include "trace/gates.hpp"
#include "trace/window_sampler.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace recount::trace {

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

/// One process: it has the machine for itself, cold when its program begins.
class Simulated {
public:
  /// `section`: the only one that is simulated; empty: everything.
  /// `every`: of windows, see WindowSampler.
  Simulated(const model::MachineDescription& machine, const std::string& section, std::int64_t every,
            Totals& totals)
      : caches_(machine), gate_(section), sampler_(every, caches_), totals_(&totals) {}

  void block(const Blocks::Block& block) {
    executing_ = gate_.open() ? block.instructions : 0;
    instructions_ += executing_;
  }
  void left(unsigned instructions) {
    if (gate_.open()) instructions_ += std::int64_t{instructions} - executing_;
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
  /// Takes words up to one that takes more than an access: none where not every access is simulated alike.
  bool plain(const Blocks& blocks, const std::uint64_t*& at, const std::uint64_t* end);
  void thread(std::uint64_t number) {
    threads_ = std::max(threads_, static_cast<int>(number & 0xffff));
    caches_.select(core_of(number));
  }
  void module(const Module&) {}
  void undecoded(const Undecoded& instruction) { totals_->undecoded = instruction; }
  void section(std::string_view text) { gate_.take(text); }
  [[nodiscard]] std::unique_ptr<Simulated> forked(std::uint32_t pid) const;
  /// Adds this process to the totals.
  void end();

private:
  model::Hierarchy caches_;
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
        blocks_, std::make_unique<Simulated>(machine_, section_, every_, totals_),
        gate_of(blocks_, functions_));
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
