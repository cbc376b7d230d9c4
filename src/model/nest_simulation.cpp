#include "model/nest_simulation.hpp"

#include "model/inner_loop_replay.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace recount::model {

class NestSimulation::Replay {
public:
  Replay(NestSimulation& simulation, Hierarchy& caches)
      : simulation_(simulation),
        caches_(caches),
        leaf_(caches),
        recurs_(simulation.program_.size),
        accessed_(simulation.program_.size, Hierarchy::every) {
    for (std::size_t first = 1; first <= caches.levels(); ++first)
      words_.push_back(static_cast<std::int64_t>(caches.state(first).size()));
    shortest_ = caches.machine().levels.front().line;
    for (const LevelDescription& level : caches.machine().levels)
      shortest_ = std::min(shortest_, level.line);
    if (caches.machine().tlb) shortest_ = std::min(shortest_, caches.machine().tlb->page);
  }

  /// The whole program, or the part of it before a state that an earlier run was in.
  void run() {
    const double whole = static_cast<double>(accesses(simulation_.program_));
    double before = 0;
    for (const Step& step : simulation_.program_.steps) {
      Environment none{};
      const double own = static_cast<double>(accesses({step}, none));
      if (step.leaf)
        leaf(step);
      else if (outermost(step, before / whole, own / whole))
        return;
      before += own;
    }
    if (simulation_.complete_) return;
    simulation_.end_ = caches_.state();
    simulation_.counts_ = caches_.counts();
    simulation_.complete_ = true;
  }

private:
  void leaf(const Step& step) {
    const std::int64_t turns = step.turns(variables_);
    if (turns == 0) return;
    if (!step.bare) variables_[step.variable] = step.first.at(variables_);
    leaf_.run(step, turns, variables_);
  }
  /// `before` and `own`: the shares of the program's accesses that come before the loop and in it. True: the
  /// rest of the program has been counted too.
  bool outermost(const Step& step, double before, double own) {
    const std::int64_t turns = step.turns(variables_);
    const std::int64_t first = step.first.at(variables_);
    for (std::int64_t turn = 0; turn < turns;) {
      turn += segment(step, first, turn, turns - turn);
      caches_.progress.tell(before + own * static_cast<double>(turn) / static_cast<double>(turns));
      if (std::has_single_bit(static_cast<std::uint64_t>(turn)) && compared(step) == caches_.levels() &&
          met(step.id, turn))
        return true;
    }
    return false;
  }
  void sequence(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (step.leaf) {
        leaf(step);
        continue;
      }
      const std::int64_t turns = step.turns(variables_);
      const std::int64_t first = step.first.at(variables_);
      for (std::int64_t turn = 0; turn < turns;)
        turn += segment(step, first, turn, turns - turn);
    }
  }
  /// The next turns of a loop, one or all on the same lines; returns how many.
  std::int64_t segment(const Step& step, std::int64_t first, std::int64_t turn, std::int64_t most) {
    variables_[step.variable] = first + turn * step.step;
    // Longer segments are compared in all caches: the turns before may have accessed fewer.
    constexpr std::int64_t few = 16;
    const std::int64_t same = std::min(most, turns_on_same_lines(step));
    repeat(
        caches_, same, [&] { same > 1 ? turn_counting_caches(step) : sequence(step.body); }, nullptr,
        same > 1 ? std::min(compared(step), same <= few ? accessed_[step.id] : Hierarchy::every) : 0);
    return same;
  }
  /// A turn; stores how many caches it accessed, so that no more are compared next time.
  void turn_counting_caches(const Step& step) {
    std::array<std::int64_t, 4> before{};
    const std::size_t most = std::min(before.size(), caches_.levels());
    for (std::size_t at = 1; at < most; ++at)
      before[at] = caches_.reached(at);
    sequence(step.body);
    std::size_t& accessed = accessed_[step.id];
    for (accessed = 1; accessed < most && caches_.reached(accessed) != before[accessed];)
      ++accessed;
    if (accessed == most) accessed = caches_.levels();
  }

  /// After `turn` turns of an outermost loop: whether an earlier run was here in the same state. Then it ends
  /// as that one did.
  bool met(std::size_t step, std::int64_t turn) {
    if (!simulation_.complete_) {
      simulation_.marks_.push_back({step, turn, caches_.state(), caches_.counts()});
      return false;
    }
    const auto mark = std::ranges::find_if(simulation_.marks_,
                                           [&](const Mark& m) { return m.step == step && m.turn == turn; });
    if (mark == simulation_.marks_.end() || !caches_.is(mark->state)) return false;
    caches_.add(simulation_.counts_, mark->counts, 1);
    caches_.restore(simulation_.end_);
    return true;
  }

  /// Whether turns of a loop around others may touch the lines of the turn before.
  bool may_recur(const Step& step) {
    std::optional<bool>& known = recurs_[step.id];
    if (!known) known = caches_.machine().family.empty() && model::may_recur(step, shortest_);
    return *known;
  }

  /// For how many turns, this one included, the accesses of a loop's body touch the lines that they touch
  /// now, if comparing states takes less time than a turn; else 1.
  [[nodiscard]] std::int64_t turns_on_same_lines(const Step& step) {
    if (!may_recur(step)) return 1;
    std::int64_t turns = std::int64_t{1} << 62;
    for (const Stream& stream : step.streams)
      turns = std::min(turns, stays(stream.start.at(variables_), stream.own, stream.bytes, shortest_));
    return turns >= 3 && compared(step) > 0 ? turns : 1;
  }

  /// The number of caches whose states take less time to compare than a turn. Most turns of a matrix product
  /// do not access the last, largest cache: the others suffice.
  [[nodiscard]] std::size_t compared(const Step& step) {
    const std::int64_t most = 16 * accesses(step.body, variables_);
    return static_cast<std::size_t>(std::ranges::upper_bound(words_, most) - words_.begin());
  }

  NestSimulation& simulation_;
  Hierarchy& caches_;
  InnerLoopReplay leaf_;
  std::vector<std::int64_t> words_;         ///< of the state of the first cache, the first two, ... all
  std::int64_t shortest_;                   ///< bytes of the shortest line
  std::vector<std::optional<bool>> recurs_; ///< by step
  std::vector<std::size_t> accessed_;       ///< by step: caches that a turn accessed
  Environment variables_{};
};

NestSimulation::NestSimulation(const Nest& nest, const MachineDescription& machine)
    : program_(prepare(nest)), sampled_(machine.sampled && SampledReplay(program_).pays()) {}

void NestSimulation::run(Hierarchy& caches) {
  if (sampled_)
    SampledReplay(program_).run(caches);
  else
    Replay(*this, caches).run();
}

void simulate_nest(const Nest& nest, Hierarchy& caches) {
  NestSimulation(nest, caches.machine()).run(caches);
}

void simulate_nest_warm(const Nest& nest, Hierarchy& caches) {
  NestSimulation simulation(nest, caches.machine());
  if (!simulation.sampled()) {
    caches.progress.part(0, 0.5);
    simulation.run(caches);
    caches.reset_counters();
  }
  caches.progress.part(simulation.sampled() ? 0 : 0.5, 1);
  simulation.run(caches);
}

} // namespace recount::model
