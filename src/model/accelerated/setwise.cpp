#include "model/accelerated/setwise.hpp"

#include "model/accelerated/level_shapes.hpp"
#include "model/accelerated/set_queue.hpp"

#include <algorithm>
#include <ctime>
#include <exception>
#include <sched.h>
#include <system_error>
#include <thread>

namespace recount::model {

namespace {

/// Of this thread, in nanoseconds: whatever else runs here does not change what pays.
double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
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
  const std::vector<LevelShape> shapes = level_shapes(machine);
  std::vector<StatePlace> in_state;
  std::size_t word = 0;
  // The state holds the caches first, then the TLBs.
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const LevelShape& shape = shapes[(i + tlbs_) % shapes.size()];
    const auto sets = static_cast<std::size_t>(shape.index.sets());
    StatePlace place{word, word + sets * shape.rules.ways, has_word(shape.rules.policy)};
    word = place.words + (place.has_words ? sets : 0) + 1; // and the state of the random numbers
    in_state.push_back(place);
  }
  std::ranges::rotate(in_state, in_state.end() - static_cast<std::ptrdiff_t>(tlbs_));
  while (!shapes[slices_].apart)
    ++slices_;
  for (std::size_t at = 0; at <= slices_; ++at)
    inputs_.emplace_back(shapes[at].index.sets());
  const std::span<const LevelShape> all(shapes);
  const std::span<const StatePlace> places(in_state);
  for (std::size_t at = 0; at < slices_; ++at)
    above_.emplace_back(all[at], places[at], LevelLimits{limits.bytes / 8 * 3, limits.events}, all_.traces,
                        all_.traces);
  for (std::size_t i = threads(); i > 0; --i)
    workers_.emplace_back(all.subspan(slices_), places.subspan(slices_), limits.bytes, limits.events,
                          all_.traces);
}

/// The maximum. Few, because several nests may be simulated at the same time.
std::size_t Setwise::threads() const {
  constexpr std::size_t most = 4;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (limits_.threads > 0) return limits_.threads;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)), 1, most);
}

double Setwise::Budget::spent() const {
  return processor_time() - start;
}

/// Of all threads.
template <class Visit>
void Setwise::for_each_stage(std::size_t at, Visit&& visit) const {
  if (at < slices_) return visit(above_[at]);
  for (const SliceSimulator& worker : workers_)
    visit(worker.stages()[at - slices_]);
}

SetCounts Setwise::counts(std::size_t at) const {
  SetCounts sum{};
  for_each_stage(at, [&](const LevelStage& stage) {
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += stage.simulator.counts()[i];
  });
  return sum;
}

LevelEffort Setwise::effort(std::size_t at) const {
  LevelEffort sum;
  for_each_stage(at, [&](const LevelStage& stage) { sum += stage.simulator.effort(); });
  return sum;
}

/// After a set, before the next. What levels remember may go; traces that sets to come will need cannot.
bool Setwise::free_memory(std::size_t at) {
  if (all_.traces.bytes() > limits_.bytes / 8 * 5) return false;
  for (std::size_t other = 0; other < slices_ && bytes() > limits_.bytes; ++other) {
    if (other != at) above_[other].simulator.forget();
    above_[other].simulator.forget_rows();
    above_[other].splitter.forget();
  }
  return true;
}

/// The traces of a set.
void Setwise::prepare(std::size_t at, std::size_t set) {
  std::vector<PlacedTrace>& in = inputs_[at][set];
  if (gatherer_.bytes() > limits_.bytes / 8) gatherer_.forget();
  if (at > 0) gatherer_.put(in);
  if (at == 0 || at == tlbs_) (at == tlbs_ ? lines_ : *pages_).traces(static_cast<std::int64_t>(set), in);
  // Not for the first cache: told by order, its many requests seldom come to the same, and walks come
  // between.
  if (at >= slices_ && at > tlbs_) all_.order(in, limits_.bytes);
}

bool Setwise::run_level(std::size_t at, Hierarchy::State& state, const Budget& budget, const Tell& tell) {
  const std::size_t sets = inputs_[at].size();
  SetQueue queue(sets, 1, budget.spent(), budget.worth);
  double until_last = budget.spent();
  for (std::size_t set = 0; set < sets; ++set) {
    prepare(at, set);
    if (!above_[at].run(set, inputs_[at][set], state)) return false;
    inputs_[at][set] = {};
    above_[at].hand_down(set, [&](std::int64_t to, const PlacedTrace& part) {
      inputs_[at + 1][static_cast<std::size_t>(to)].push_back(part);
    });
    const double now = budget.spent();
    if (!free_memory(at) || !queue.done(now - until_last)) return false;
    until_last = now;
    tell(queue.share());
  }
  return true;
}

/// The slices, each by one thread. The traces that they are given are complete before the first.
bool Setwise::run_slices(Hierarchy::State& state, const Budget& budget, const Tell& tell) {
  constexpr std::uint64_t many = 10'000'000; // with fewer accesses, threads save some tens of milliseconds
  Inputs& inputs = inputs_[slices_];
  std::uint64_t events = 0;
  for (std::size_t set = 0; set < inputs.size(); ++set) {
    prepare(slices_, set);
    for (const PlacedTrace& trace : inputs[set])
      events += all_.traces.about(trace.id).events;
    if (!free_memory(slices_) || budget.spent() > std::max(1e8, budget.worth)) return false;
  }
  SetQueue queue(inputs.size(), workers_.size(), budget.spent(), budget.worth);
  std::exception_ptr failure; // the first
  const auto work = [&](SliceSimulator& slices, bool here) {
    try {
      double until_last = processor_time();
      for (std::size_t set = queue.next(); set < inputs.size(); set = queue.next()) {
        if (!slices.run(set, inputs[set], state)) {
          queue.give_up();
          return;
        }
        inputs[set] = {};
        const double now = processor_time();
        if (!queue.done(now - until_last)) return;
        until_last = now;
        if (here) tell(queue.share());
      }
    } catch (...) {
      if (queue.give_up()) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    const bool alone = limits_.threads == 0 && events < many;
    try {
      for (std::size_t i = 1; i < workers_.size() && !alone; ++i)
        threads.emplace_back([&work, &slices = workers_[i]] { work(slices, false); });
    } catch (const std::system_error&) {
      // As many as the system allows.
    }
    work(workers_.front(), true);
  }
  if (failure) std::rethrow_exception(failure);
  return !queue.given_up();
}

bool Setwise::run(Hierarchy& caches, double worth) {
  const Budget budget{processor_time(), worth};
  Hierarchy::State state = caches.state();
  for (Inputs& inputs : inputs_)
    std::ranges::fill(inputs, std::vector<PlacedTrace>());
  std::vector<SetCounts> before;
  for (std::size_t at = 0; at < levels(); ++at)
    before.push_back(counts(at));
  for (std::size_t at = 0; at <= slices_; ++at) {
    const auto tell = [&](double share) {
      caches.progress.tell((static_cast<double>(at) + share) / static_cast<double>(slices_ + 1));
    };
    if (!(at < slices_ ? run_level(at, state, budget, tell) : run_slices(state, budget, tell))) return false;
  }
  Counts none = caches.counts();
  for (LevelCounts& level : none.levels)
    level = {};
  for (LevelCounts& level : none.tlb)
    level = {};
  none.memory = {};
  none.loads = none.stores = 0;
  Counts all = none;
  for (std::size_t at = 0; at < levels(); ++at) {
    const SetCounts now = counts(at);
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
  std::size_t sum = all_.traces.bytes() + all_.sequencer.bytes() + gatherer_.bytes() + lines_.bytes() +
                    (pages_ ? pages_->bytes() : 0);
  for (const LevelStage& stage : above_)
    sum += stage.bytes();
  for (const SliceSimulator& worker : workers_)
    sum += worker.bytes();
  return sum;
}

} // namespace recount::model
