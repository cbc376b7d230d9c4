#include "model/accelerated/replay.hpp"

#include "model/accelerated/inner_loop_replay.hpp"
#include "model/recurrence.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace recount::model {

class Replay::Runs {
public:
  Runs(Replay& replay, Hierarchy& caches)
      : replay_(replay),
        caches_(caches),
        leaf_(caches),
        pace_(replay.program_.size, Pace::unknown),
        asked_(replay.program_.size, Hierarchy::every) {
    for (std::size_t first = 1; first <= caches.levels(); ++first)
      words_.push_back(static_cast<std::int64_t>(caches.state(first).size()));
    shortest_ = caches.machine().levels.front().line;
    for (const LevelDescription& level : caches.machine().levels)
      shortest_ = std::min(shortest_, level.line);
    if (caches.machine().tlb) shortest_ = std::min(shortest_, caches.machine().tlb->page);
  }

  /// The whole program, or what is left of it where an earlier run is met.
  void program() {
    const double whole = static_cast<double>(accesses(replay_.program_));
    double before = 0;
    for (const Step& step : replay_.program_.steps) {
      Environment none{};
      const double own = static_cast<double>(accesses({step}, none));
      if (step.leaf)
        leaf(step);
      else if (outermost(step, before / whole, own / whole))
        return;
      before += own;
    }
    if (replay_.complete_) return;
    replay_.end_ = caches_.state();
    replay_.counts_ = caches_.counts();
    replay_.complete_ = true;
  }

private:
  void leaf(const Step& step) {
    const std::int64_t turns = step.turns(variables_);
    if (turns == 0) return;
    if (!step.bare) variables_[step.variable] = step.first.at(variables_);
    leaf_.run(step, turns, variables_);
  }
  /// `before` and `own`: the shares of the program's accesses that come before the loop and in it. True: what
  /// is left of the program has been counted too.
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
  /// The next turns of a loop, one or all that are alike; returns how many.
  std::int64_t segment(const Step& step, std::int64_t first, std::int64_t turn, std::int64_t most) {
    variables_[step.variable] = first + turn * step.step;
    // Longer segments are compared in all caches: the turns before may have accessed fewer.
    constexpr std::int64_t few = 16;
    const std::int64_t same = std::min(most, alike(step));
    repeat(
        caches_, same, [&] { same > 1 ? watched(step) : sequence(step.body); }, nullptr,
        same > 1 ? std::min(compared(step), same <= few ? asked_[step.id] : Hierarchy::every) : 0);
    return same;
  }
  /// A turn; notes how many caches it accessed, so that no more are compared next time.
  void watched(const Step& step) {
    std::array<std::int64_t, 4> before{};
    const std::size_t most = std::min(before.size(), caches_.levels());
    for (std::size_t at = 1; at < most; ++at)
      before[at] = caches_.reached(at);
    sequence(step.body);
    std::size_t& asked = asked_[step.id];
    for (asked = 1; asked < most && caches_.reached(asked) != before[asked];)
      ++asked;
    if (asked == most) asked = caches_.levels();
  }

  /// After `turn` turns of an outermost loop: whether an earlier run stood here in the same state. Then its
  /// end is this one's.
  bool met(std::size_t step, std::int64_t turn) {
    if (!replay_.complete_) {
      replay_.marks_.push_back({step, turn, caches_.state(), caches_.counts()});
      return false;
    }
    const auto mark =
        std::ranges::find_if(replay_.marks_, [&](const Mark& m) { return m.step == step && m.turn == turn; });
    if (mark == replay_.marks_.end() || !caches_.is(mark->state)) return false;
    caches_.add(replay_.counts_, mark->counts, 1);
    caches_.restore(replay_.end_);
    return true;
  }

  /// Of a loop around others: whether its turns may touch the lines of the turn before.
  enum class Pace { unknown, fast, slow };

  [[nodiscard]] Pace pace(const Step& step) const {
    const bool fast = !caches_.machine().family.empty() || !may_recur(step, shortest_);
    return fast ? Pace::fast : Pace::slow;
  }

  /// For how many turns, this one included, the accesses of a loop's body touch the lines that they touch
  /// now, where it is worth the comparison of states to know; else 1.
  [[nodiscard]] std::int64_t alike(const Step& step) {
    Pace& known = pace_[step.id];
    if (known == Pace::unknown) known = pace(step);
    if (known == Pace::fast) return 1;
    std::int64_t alike = std::int64_t{1} << 62;
    for (const Stream& stream : step.streams)
      alike = std::min(alike, stays(stream.start.at(variables_), stream.own, stream.bytes, shortest_));
    return alike >= 3 && compared(step) > 0 ? alike : 1;
  }

  /// Of how many caches a turn takes longer than to compare their states. Most turns of a matrix product ask
  /// nothing of the last, largest cache: the others tell enough.
  [[nodiscard]] std::size_t compared(const Step& step) {
    const std::int64_t most = 16 * accesses(step.body, variables_);
    return static_cast<std::size_t>(std::ranges::upper_bound(words_, most) - words_.begin());
  }

  Replay& replay_;
  Hierarchy& caches_;
  InnerLoopReplay leaf_;
  std::vector<std::int64_t> words_; ///< of the state of the first cache, the first two, ... all
  std::int64_t shortest_;           ///< bytes of the shortest line
  std::vector<Pace> pace_;          ///< by step
  std::vector<std::size_t> asked_;  ///< likewise
  Environment variables_{};
};

void Replay::run(Hierarchy& caches) {
  Runs(*this, caches).program();
}

} // namespace recount::model
