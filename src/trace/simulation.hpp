// The accesses of traced programs in a described machine.
#pragma once

#include "model/hierarchy.hpp"
#include "trace/decoder.hpp"
#include "trace/section_gate.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace recount::trace {

/// What all processes of a run add up to.
struct Totals {
  explicit Totals(const model::MachineDescription& machine) : caches(machine) {}
  model::Hierarchy caches; ///< nothing is simulated in it: the sum of counts
  std::int64_t instructions = 0;
  int processes = 0, threads = 0;
  bool section_seen = false;
  std::optional<Undecoded> undecoded; ///< the last instruction that Valgrind could not execute
};

/// One process: it has the machine for itself, cold when its program begins.
class Simulated {
public:
  /// `section`: the only one that is simulated; empty: everything.
  Simulated(const model::MachineDescription& machine, const std::string& section, Totals& totals)
      : caches_(machine), gate_(section), totals_(&totals) {}

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
    if constexpr (store)
      caches_.store(address, bytes);
    else
      caches_.load(address, bytes);
  }
  void thread(std::uint64_t number) { threads_ = std::max(threads_, static_cast<int>(number & 0xffff)); }
  void module(const Module&) {}
  void undecoded(const Undecoded& instruction) { totals_->undecoded = instruction; }
  void section(std::string_view text) { gate_.take(text); }
  [[nodiscard]] std::unique_ptr<Simulated> forked(std::uint32_t pid) const;
  /// Adds this process to the totals.
  void end();

private:
  model::Hierarchy caches_;
  SectionGate gate_;
  Totals* totals_;
  std::int64_t instructions_ = 0, executing_ = 0;
  int threads_ = 0;
};

/// Simulates every process of a run; outlives its Session.
class Simulation {
public:
  Simulation(const model::MachineDescription& machine, std::string section, FunctionRange functions)
      : machine_(machine), section_(std::move(section)), functions_(std::move(functions)), totals_(machine) {}
  [[nodiscard]] std::unique_ptr<Reader> begin() {
    return std::make_unique<Decoder<Simulated>>(
        blocks_, std::make_unique<Simulated>(machine_, section_, totals_), gate_of(blocks_, functions_));
  }
  static void end(Reader& process) { dynamic_cast<Decoder<Simulated>&>(process).sink().end(); }
  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] const FunctionRange& functions() const { return functions_; }

private:
  model::MachineDescription machine_;
  std::string section_;
  FunctionRange functions_;
  Totals totals_;
  Blocks blocks_;
};

} // namespace recount::trace
