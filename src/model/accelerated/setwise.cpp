#include "model/accelerated/setwise.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

namespace recount::model {

namespace {

/// Whether from level `at` on every set asks sets that nobody else asks, down to memory.
bool apart(const MachineDescription& machine, std::size_t at) {
  for (; at + 1 < machine.levels.size(); ++at) {
    const LevelDescription &level = machine.levels[at], &next = machine.levels[at + 1];
    if (next.line != level.line || next.sets() % level.sets() != 0 || !level.index.empty() ||
        !next.index.empty())
      return false;
  }
  return true;
}

/// Of this thread, in nanoseconds: whatever else runs here does not change what pays.
double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

unsigned log2_of(std::int64_t n) {
  return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(n)));
}

/// Of a LevelDescription or a TlbLevel.
SetIndex index_of(const auto& level) {
  return SetIndex(static_cast<std::uint64_t>(level.sets()), level.index);
}

LevelShape cache_shape(const MachineDescription& machine, std::size_t at) {
  const LevelDescription& level = machine.levels[at];
  LevelShape shape;
  shape.rules = {static_cast<std::uint64_t>(level.ways), level.policy, level.write, level.allocate,
                 log2_of(level.line)};
  shape.apart = apart(machine, at);
  shape.index = index_of(level);
  shape.order_shift = 2 * (TraceTime::levels - 1 - static_cast<unsigned>(at));
  if (at + 1 < machine.levels.size()) {
    const LevelDescription& next = machine.levels[at + 1];
    shape.below = {false, false, index_of(next), 0, 0, log2_of(next.line) - log2_of(level.line)};
  }
  return shape;
}

LevelShape tlb_shape(const MachineDescription& machine, std::size_t at) {
  const TlbLevel& level = machine.tlb->levels[at];
  LevelShape shape;
  shape.rules = {static_cast<std::uint64_t>(level.ways), level.policy, Write::back, true, 0};
  shape.index = index_of(level);
  const LevelDescription& first = machine.levels.front();
  if (at + 1 < machine.tlb->levels.size())
    shape.below = {false, false, index_of(machine.tlb->levels[at + 1]), 0, 0, 0};
  else
    shape.below = {false,
                   true,
                   index_of(first),
                   static_cast<std::int64_t>(Hierarchy::page_table),
                   3,
                   log2_of(first.line)};
  return shape;
}

} // namespace

bool Setwise::possible(const MachineDescription& machine) {
  if (machine.levels.size() > TraceTime::levels || !machine.family.empty()) return false;
  if (machine.placement && !machine.placement->contiguous) return false;
  // The accesses of a loop reach the sets of the first level in turn: that must not be hashed.
  const auto told = [](const auto& levels) {
    return levels.front().index.empty() &&
           std::ranges::all_of(levels, [](const auto& level) { return index_of(level).invertible(); });
  };
  if (!told(machine.levels) || (machine.tlb && !told(machine.tlb->levels))) return false;
  // A further hit must change nothing, which ages may not hold to.
  const auto plain = [](const auto& level) {
    return level.policy != Policy::random && level.policy != Policy::qlru;
  };
  if (machine.tlb && (!std::ranges::all_of(machine.tlb->levels, plain) || !machine.tlb->walk.empty()))
    return false;
  for (const LevelDescription& level : machine.levels)
    if (!plain(level) || level.inclusion != Inclusion::non_inclusive || !level.prefetch.empty()) return false;
  return true;
}

Setwise::Setwise(const MachineDescription& machine, const Program& program, const SetwiseLimits& limits)
    : limits_(limits),
      tlbs_(machine.tlb ? machine.tlb->levels.size() : 0),
      sequencer_(traces_),
      lines_(program, traces_, machine.levels.front().sets(), log2_of(machine.levels.front().line), true) {
  if (machine.tlb)
    pages_.emplace(program, traces_, machine.tlb->levels.front().sets(), log2_of(machine.tlb->page), false);
  std::vector<LevelShape> shapes;
  for (std::size_t at = 0; at < tlbs_; ++at)
    shapes.push_back(tlb_shape(machine, at));
  for (std::size_t at = 0; at < machine.levels.size(); ++at)
    shapes.push_back(cache_shape(machine, at));
  std::vector<Place> places;
  std::size_t word = 0;
  // The state holds the caches first, then the TLBs.
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const LevelShape& shape = shapes[(i + tlbs_) % shapes.size()];
    const auto sets = static_cast<std::size_t>(shape.index.sets());
    Place place{word, word + sets * shape.rules.ways, has_word(shape.rules.policy)};
    word = place.words + (place.has_words ? sets : 0) + 1; // and the state of the random numbers
    places.push_back(place);
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    simulators_.emplace_back(shapes[i], LevelLimits{limits.bytes / 8 * 3, limits.events}, traces_);
    places_.push_back(places[(i + shapes.size() - tlbs_) % shapes.size()]);
  }
}

/// What other levels remember may go; traces cannot.
bool Setwise::free_memory(std::size_t at) {
  if (traces_.bytes() > limits_.bytes / 8 * 5) return false;
  for (std::size_t other = 0; other < simulators_.size() && bytes() > limits_.bytes; ++other)
    if (other != at) simulators_[other].forget();
  return true;
}

bool Setwise::run_level(std::size_t at, Inputs& in, Inputs& out, Hierarchy::State& state,
                        const Budget& budget, const std::function<void(double)>& tell) {
  LevelSimulator& simulator = simulators_[at];
  const Place& place = places_[at];
  const std::size_t ways = simulator.shape().rules.ways;
  const auto sets = static_cast<std::size_t>(simulator.shape().index.sets());
  // Not for the first cache: told by order, its many requests seldom come to the same, and walks come
  // between.
  const bool sequenced = simulator.shape().apart && at > tlbs_;
  const double before = processor_time() - budget.start;
  double until_last = before;
  for (std::size_t set = 0; set < sets; ++set) {
    std::uint64_t* const tree = place.has_words ? &state[place.words + set] : nullptr;
    if (sequencer_.bytes() > limits_.bytes / 8) sequencer_.forget();
    if (sequenced && traces_.bytes() < limits_.bytes / 2) sequencer_.put(in[set]);
    if (!simulator.run(static_cast<std::int64_t>(set), in[set],
                       std::span(state).subspan(place.entries + set * ways, ways), tree))
      return false;
    if (!out.empty())
      simulator.hand_down([&](std::int64_t to, const PlacedTrace& trace) {
        out[static_cast<std::size_t>(to)].push_back(trace);
      });
    in[set] = {};
    if (!free_memory(at)) return false;
    // The first sets meet everything for the first time, and a single one may be slow by chance: neither the
    // last one nor their mean alone tells of those to come.
    const double now = processor_time() - budget.start,
                 each = std::min(now - until_last, (now - before) / static_cast<double>(set + 1));
    if (now > 1e8 && now > budget.worth / 8 &&
        now + each * static_cast<double>(sets - set - 1) > budget.worth)
      return false;
    until_last = now;
    tell(static_cast<double>(set + 1) / static_cast<double>(sets));
  }
  return true;
}

bool Setwise::run(Hierarchy& caches, double worth) {
  const Budget budget{processor_time(), worth};
  Hierarchy::State state = caches.state();
  std::vector<SetCounts> before;
  for (const LevelSimulator& simulator : simulators_)
    before.push_back(simulator.counts());
  Inputs in, out;
  for (std::size_t at = 0; at < simulators_.size(); ++at) {
    if (at == 0 || at == tlbs_) {
      Source& source = at == tlbs_ ? lines_ : *pages_;
      std::vector<PlacedTrace> walks;
      in.resize(static_cast<std::size_t>(simulators_[at].shape().index.sets()));
      for (std::size_t set = 0; set < in.size(); ++set) {
        walks.swap(in[set]);
        source.traces(static_cast<std::int64_t>(set), in[set]);
        in[set].insert(in[set].end(), walks.begin(), walks.end());
        walks.clear();
      }
    }
    out.assign(
        at + 1 < simulators_.size() ? static_cast<std::size_t>(simulators_[at + 1].shape().index.sets()) : 0,
        {});
    const auto tell = [&](double share) {
      caches.progress.tell((static_cast<double>(at) + share) / static_cast<double>(simulators_.size()));
    };
    if (!run_level(at, in, out, state, budget, tell)) return false;
    in.swap(out);
  }
  Counts none = caches.counts();
  for (LevelCounts& level : none.levels)
    level = {};
  for (LevelCounts& level : none.tlb)
    level = {};
  none.memory = {};
  none.loads = none.stores = 0;
  Counts all = none;
  for (std::size_t at = 0; at < simulators_.size(); ++at) {
    const SetCounts& now = simulators_[at].counts();
    std::size_t i = 0;
    for (std::int64_t* const field : (at < tlbs_ ? all.tlb[at] : all.levels[at - tlbs_]).fields()) {
      *field = now[i] - before[at][i];
      ++i;
    }
    for (std::size_t cause = 0; cause < causes; ++cause, ++i)
      all.memory.accesses[cause] += now[i] - before[at][i];
  }
  all.loads = all.levels.front().accessed(Cause::load);
  all.stores = all.levels.front().accessed(Cause::store);
  caches.restore(state);
  caches.add(all, none, 1);
  return true;
}

std::size_t Setwise::bytes() const {
  std::size_t sum = traces_.bytes() + sequencer_.bytes() + lines_.bytes() + (pages_ ? pages_->bytes() : 0);
  for (const LevelSimulator& simulator : simulators_)
    sum += simulator.bytes();
  return sum;
}

} // namespace recount::model
