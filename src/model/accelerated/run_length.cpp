#include "model/accelerated/run_length.hpp"

#include <algorithm>

namespace recount::model {

namespace {

struct Walker {
  std::int64_t address = 0, step = 0;
  unsigned bytes = 1;
  bool store = false;
};

class Runs {
public:
  explicit Runs(Hierarchy& caches)
      : caches_(caches),
        line_(caches.machine().levels.front().line),
        cuts_(caches.machine().family.empty()),
        stores_stay_(caches.machine().levels.front().write == Write::back) {}

  void sequence(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      const std::int64_t turns = step.turns(variables_);
      if (turns == 0) continue;
      const std::int64_t first = step.bare ? 0 : step.first.at(variables_);
      if (!step.bare) variables_[step.variable] = first;
      if (step.leaf) {
        leaf(step, turns);
        continue;
      }
      for (std::int64_t turn = 0; turn < turns; ++turn) {
        variables_[step.variable] = first + turn * step.step;
        sequence(step.body);
      }
    }
  }

private:
  void leaf(const Step& step, std::int64_t turns) {
    walkers_.clear();
    std::int64_t stores = 0, least = line_;
    for (const LeafAccess& access : step.accesses) {
      walkers_.push_back(
          {access.start.at(variables_), access.own, access.bytes, access.cause == Cause::store});
      stores += walkers_.back().store ? 1 : 0;
      least = std::min(least, line_ / std::max<std::int64_t>(1, std::abs(access.own)));
    }
    const std::int64_t loads = static_cast<std::int64_t>(walkers_.size()) - stores;
    const bool cut = cuts_ && least >= 4 && (stores == 0 || stores_stay_);
    while (turns > 0) {
      const std::int64_t run = cut ? std::min(turns, calm()) : 1;
      turn();
      --turns;
      if (run < 3) continue;
      const std::int64_t before = caches_.first_misses();
      turn();
      --turns;
      if (caches_.first_misses() != before) continue;
      caches_.add_hits((run - 2) * loads, (run - 2) * stores);
      for (Walker& walker : walkers_)
        walker.address += walker.step * (run - 2);
      turns -= run - 2;
    }
  }

  /// For how many turns every access stays in the line it is in; 1 when one crosses lines.
  [[nodiscard]] std::int64_t calm() const {
    std::int64_t calm = std::int64_t{1} << 62;
    for (const Walker& walker : walkers_) {
      const std::int64_t first = walker.address & (line_ - 1), last = first + walker.bytes - 1;
      if (last >= line_) return 1;
      if (walker.step > 0) calm = std::min(calm, (line_ - 1 - last) / walker.step + 1);
      if (walker.step < 0) calm = std::min(calm, first / -walker.step + 1);
    }
    return calm;
  }

  void turn() {
    for (Walker& walker : walkers_) {
      const auto address = static_cast<std::uint64_t>(walker.address);
      if (walker.store)
        caches_.store(address, walker.bytes);
      else
        caches_.load(address, walker.bytes);
      walker.address += walker.step;
    }
  }

  Hierarchy& caches_;
  std::int64_t line_;
  bool cuts_, stores_stay_;
  Environment variables_{};
  std::vector<Walker> walkers_;
};

} // namespace

void replay_runs(const Program& program, Hierarchy& caches) {
  Runs(caches).sequence(program.steps);
}

} // namespace recount::model
