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
      slices_(tlbs_),
      gatherer_(all_.traces),
      lines_(program, all_.traces, machine.levels.front().sets(), log2_of(machine.levels.front().line),
             true) {
  if (machine.tlb)
    pages_.emplace(program, all_.traces, machine.tlb->levels.front().sets(), log2_of(machine.tlb->page),
                   false);
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
  while (!shapes[slices_].apart)
    ++slices_;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SetTraces &above = (i > slices_ ? slice_ : all_).traces, &below = (i < slices_ ? all_ : slice_).traces;
    simulators_.emplace_back(shapes[i], LevelLimits{limits.bytes / 8 * 3, limits.events}, above, below);
    splitters_.emplace_back(shapes[i].index, shapes[i].below, below);
    inputs_.emplace_back(shapes[i].index.sets());
    places_.push_back(places[(i + shapes.size() - tlbs_) % shapes.size()]);
  }
}

/// All that is kept of slices. It may go after each of them: another slice meets little of it again, and
/// little memory is looked up sooner.
std::size_t Setwise::bytes_of_slices() const {
  std::size_t sum = slice_.traces.bytes() + slice_.sequencer.bytes();
  for (std::size_t at = slices_; at < simulators_.size(); ++at)
    sum += simulators_[at].bytes() + splitters_[at].bytes();
  return sum;
}

void Setwise::forget(std::size_t at) {
  simulators_[at].forget();
  splitters_[at].forget();
}

/// After a set, before the next. What levels remember may go; traces that sets to come will need cannot.
bool Setwise::free_memory(std::size_t at) {
  if (all_.traces.bytes() > limits_.bytes / 8 * 5) return false;
  if (at == slices_ && bytes_of_slices() > limits_.bytes / 256) {
    for (std::size_t level = slices_; level < simulators_.size(); ++level)
      forget(level);
    slice_.sequencer.forget();
    slice_.traces.clear();
  }
  for (std::size_t other = 0; other < slices_ && bytes() > limits_.bytes; ++other) {
    if (other != at) simulators_[other].forget();
    splitters_[other].forget();
  }
  return true;
}

/// The traces of a set.
void Setwise::prepare(std::size_t at, std::size_t set) {
  std::vector<PlacedTrace>& in = inputs_[at][set];
  if (gatherer_.bytes() > limits_.bytes / 8) gatherer_.forget();
  if (at > 0 && at <= slices_) gatherer_.put(in);
  if (at == 0 || at == tlbs_) (at == tlbs_ ? lines_ : *pages_).traces(static_cast<std::int64_t>(set), in);
  // Not for the first cache: told by order, its many requests seldom come to the same, and walks come
  // between.
  Store& store = at > slices_ ? slice_ : all_;
  if (store.sequencer.bytes() > limits_.bytes / 8) store.sequencer.forget();
  if (at >= slices_ && at > tlbs_ && store.traces.bytes() < limits_.bytes / 2) store.sequencer.put(in);
}

/// With a slice, all of it.
bool Setwise::run_set(std::size_t at, std::size_t set, Hierarchy::State& state) {
  LevelSimulator& simulator = simulators_[at];
  const Place& place = places_[at];
  const std::size_t ways = simulator.shape().rules.ways, sets = simulator.shape().index.sets();
  prepare(at, set);
  if (!simulator.run(static_cast<std::int64_t>(set), inputs_[at][set],
                     std::span(state).subspan(place.entries + set * ways, ways),
                     place.has_words ? &state[place.words + set] : nullptr))
    return false;
  inputs_[at][set] = {};
  if (simulator.shape().below.memory) return true;
  simulator.hand_down([&](const PlacedTrace& asked) {
    splitters_[at].split(static_cast<std::int64_t>(set), asked,
                         [&](std::int64_t to, const PlacedTrace& part) {
                           inputs_[at + 1][static_cast<std::size_t>(to)].push_back(part);
                         });
  });
  if (at < slices_) return true;
  if (slice_.traces.bytes() > limits_.bytes / 8 * 5) return false;
  for (std::size_t below = set; below < inputs_[at + 1].size(); below += sets)
    if (!run_set(at + 1, below, state)) return false;
  return true;
}

bool Setwise::run_level(std::size_t at, Hierarchy::State& state, const Budget& budget,
                        const std::function<void(double)>& tell) {
  const std::size_t sets = inputs_[at].size();
  const double before = processor_time() - budget.start;
  double until_last = before;
  for (std::size_t set = 0; set < sets; ++set) {
    if (!run_set(at, set, state) || !free_memory(at)) return false;
    // The first sets meet everything for the first time, the very first one most of all, and a single one may
    // be slow by chance: neither the last one nor their mean alone tells of those to come.
    const double now = processor_time() - budget.start,
                 each = std::min(now - until_last, (now - before) / static_cast<double>(set + 1));
    if (set > 0 && now > 1e8 && now - before > budget.worth / 8 &&
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
  for (Inputs& inputs : inputs_)
    std::ranges::fill(inputs, std::vector<PlacedTrace>());
  std::vector<SetCounts> before;
  for (const LevelSimulator& simulator : simulators_)
    before.push_back(simulator.counts());
  for (std::size_t at = 0; at <= slices_; ++at) {
    const auto tell = [&](double share) {
      caches.progress.tell((static_cast<double>(at) + share) / static_cast<double>(slices_ + 1));
    };
    if (!run_level(at, state, budget, tell)) return false;
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
  std::size_t sum = bytes_of_slices() + all_.traces.bytes() + all_.sequencer.bytes() + gatherer_.bytes() +
                    lines_.bytes() + (pages_ ? pages_->bytes() : 0);
  for (std::size_t at = 0; at < slices_; ++at)
    sum += simulators_[at].bytes() + splitters_[at].bytes();
  return sum;
}

} // namespace recount::model
