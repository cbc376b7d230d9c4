#include "model/emulate/accounting.hpp"

#include "base/text.hpp"
#include "model/emulate/encoding.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace recount::emulate {

Lineage read_lineage(pid_t process) {
  Lineage all;
  constexpr std::size_t most = 64;
  while (process > 0 && all.size() < most) {
    all.push_back({process});
    const std::string text = base::read_file("/proc/" + std::to_string(process) + "/stat").value_or("");
    const auto name_end = text.rfind(')'); // the name may contain any other character
    process = name_end == text.npos || name_end + 4 >= text.size() ? 0 : std::atoi(&text[name_end + 4]);
  }
  return all;
}

// perf_event_init_task() of kernel/events/core.c: a new task has copies of the events that its creator has.
bool counts_thread(const Slot& slot, pid_t tid, const Lineage& lineage) {
  if (slot.target == tid || slot.target < 0) return true;
  return slot.inherit && std::ranges::any_of(lineage, [&slot](const Ancestor& one) {
           return one.tid == slot.target && slot.order <= one.opened;
         });
}

bool is_enabled(const Shared& shared, const Slot& slot) {
  return slot.enabled && shared.slots[slot.leader].enabled && !shared.slots[slot.leader].failed;
}

namespace {

bool covers(const Slot& slot, const Executor& executor) {
  return (slot.cpu < 0 || slot.cpu == executor.cpu) && counts_thread(slot, executor.tid, executor.lineage);
}

/// The groups of one PMU that want counters, in the order in which Linux takes them.
struct Group {
  std::vector<std::int32_t> slots; ///< simulated ones
  bool pinned = false;
};

std::vector<Group> list_groups(const Shared& shared, std::span<const std::int32_t> slots, int pmu) {
  std::vector<Group> all;
  std::vector<std::int32_t> leaders;
  for (const std::int32_t at : slots) {
    const Slot& slot = shared.slots[at];
    if (!slot.simulated || slot.pmu != pmu) continue;
    const auto known = std::ranges::find(leaders, slot.leader);
    const auto group = static_cast<std::size_t>(known - leaders.begin());
    if (known == leaders.end()) {
      leaders.push_back(slot.leader);
      all.push_back({{}, shared.slots[slot.leader].pinned});
    }
    all[group].slots.push_back(at);
  }
  std::ranges::stable_partition(all, &Group::pinned);
  return all;
}

/// Counters for the groups that get any at one moment.
class Turn {
public:
  Turn(const Shared& shared, const SimulatedPmu& pmu) : shared_(shared), pmu_(pmu) {
    if (settings().watchdog) taken_ = counter_bit(watchdog_counter());
  }
  /// False: it does not fit beside those that have counters.
  bool add(const Group& group) {
    const std::size_t before = demands_.size();
    for (const std::int32_t at : group.slots) {
      const Slot& slot = shared_.slots[at];
      demands_.push_back(demand(pmu_, slot.config, slot.config1));
      who_.push_back(at);
    }
    const auto where = assign(pmu_, demands_, taken_);
    if (where.empty() && !demands_.empty()) {
      demands_.resize(before);
      who_.resize(before);
      return false;
    }
    where_ = where;
    return true;
  }
  [[nodiscard]] const std::vector<std::int32_t>& who() const { return who_; }
  [[nodiscard]] const std::vector<int>& where() const { return where_; }

private:
  [[nodiscard]] int watchdog_counter() const {
    for (std::size_t i = 0; i < pmu_.fixed.size(); ++i)
      if (std::ranges::find(pmu_.fixed[i].codes, pmu_.cycles) != pmu_.fixed[i].codes.end())
        return first_fixed + static_cast<int>(i);
    return 0;
  }

  const Shared& shared_;
  const SimulatedPmu& pmu_;
  std::uint64_t taken_ = 0;
  std::vector<Demand> demands_;
  std::vector<std::int32_t> who_;
  std::vector<int> where_;
};

/// Linux tries pinned groups first, each of them; then flexible ones in turn, until one does not fit
/// (ctx_sched_in() and group_can_go_on() in kernel/events/core.c).
Turn make_turn(const Shared& shared, const SimulatedPmu& pmu, const std::vector<Group>& groups,
               std::size_t rotation, std::vector<std::int32_t>* failed) {
  Turn turn(shared, pmu);
  std::size_t flexible = 0;
  for (const Group& group : groups) {
    if (!group.pinned)
      ++flexible;
    else if (!turn.add(group) && failed != nullptr)
      failed->push_back(shared.slots[group.slots.front()].leader);
  }
  const std::size_t first = groups.size() - flexible;
  for (std::size_t i = 0; i < flexible; ++i)
    if (!turn.add(groups[first + (i + rotation) % flexible])) break;
  return turn;
}

std::size_t turns(const std::vector<Group>& groups) {
  const auto flexible = static_cast<std::size_t>(std::ranges::count(groups, false, &Group::pinned));
  return std::max<std::size_t>(flexible, 1);
}

bool here(const SimulatedPmu& pmu, int cpu) {
  return pmu.cpus.empty() || std::ranges::find(pmu.cpus, cpu) != pmu.cpus.end();
}

/// Shares of an interval for which each slot has a counter, by rotation.
class Shares {
public:
  Shares(Shared& shared, std::span<const std::int32_t> slots, int cpu, double from_ns, double to_ns)
      : shared_(shared), from_(from_ns), to_(to_ns) {
    const auto& pmus = settings().machine.pmus;
    for (std::size_t p = 0; p < pmus.size(); ++p) {
      for (const std::int32_t at : slots)
        if (shared.slots[at].simulated && shared.slots[at].pmu == static_cast<int>(p))
          shared.slots[at].counter = -1;
      if (here(pmus[p], cpu)) fill(pmus[p], list_groups(shared, slots, static_cast<int>(p)));
    }
  }
  [[nodiscard]] double of(std::int32_t slot) const {
    const auto found = shares_.find(slot);
    return found == shares_.end() ? 0 : std::min(found->second, 1.0);
  }

private:
  void fill(const SimulatedPmu& pmu, const std::vector<Group>& groups) {
    const double mux = 1e6 * settings().mux_ms;
    const auto n = static_cast<double>(turns(groups));
    for (std::size_t r = 0; r < turns(groups); ++r) {
      const double weight = weight_of(static_cast<double>(r), n, mux);
      const bool now = std::fmod(std::floor(to_ / mux), n) == static_cast<double>(r);
      if (weight <= 0 && !now) continue;
      std::vector<std::int32_t> failed;
      const Turn turn = make_turn(shared_, pmu, groups, r, &failed);
      for (const std::int32_t leader : failed)
        shared_.slots[leader].failed = true;
      for (std::size_t i = 0; i < turn.who().size(); ++i) {
        if (weight > 0) shares_[turn.who()[i]] += weight;
        if (now) shared_.slots[turn.who()[i]].counter = turn.where()[i];
      }
    }
  }
  /// Share of [from, to] in which rotation r of n is in force.
  [[nodiscard]] double weight_of(double r, double n, double mux) const {
    if (n < 2) return 1;
    if (to_ <= from_) return std::fmod(std::floor(to_ / mux), n) == r ? 1 : 0;
    double covered = 0;
    for (double slice = std::floor(from_ / mux); slice * mux < to_; ++slice)
      if (std::fmod(slice, n) == r)
        covered += std::min(to_, (slice + 1) * mux) - std::max(from_, slice * mux);
    return covered / (to_ - from_);
  }

  Shared& shared_;
  double from_, to_;
  std::map<std::int32_t, double> shares_;
};

/// Normally distributed, of variance 1 (Box and Muller).
double gauss(std::uint64_t& state) {
  const auto uniform = [&] {
    state += 0x9e3779b97f4a7c15U; // splitmix64
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
  };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

/// The same for every slot that counts the event while the same work is executed: two witnesses of it differ
/// by nothing but their intervals.
double draw_noise(const Slot& slot, std::uint64_t execution) {
  constexpr std::uint64_t factor = 0x2545f4914f6cdd1dU;
  std::uint64_t state = settings().seed;
  for (const std::uint64_t word :
       {execution, static_cast<std::uint64_t>(slot.pmu), slot.config, slot.config1})
    state = (state ^ word) * factor + std::rotl(state, 29);
  return std::max(0.0, 1 + settings().noise * gauss(state));
}

} // namespace

Effect::Effect(const Work& work) {
  for (const SimulatedPmu& pmu : settings().machine.pmus)
    values_.push_back(recount::emulate::values(pmu, work));
}

namespace {
Work with_interrupts(Work work, Executor& executor) {
  const double tick = settings().tick, before = std::floor(executor.instructions / tick);
  executor.instructions += work[Quantity::instructions];
  work[Quantity::interrupts] += std::floor(executor.instructions / tick) - before;
  return work;
}
} // namespace

Effect::Effect(Work work, Executor& executor) : Effect(with_interrupts(work, executor)) {}

double Effect::cycles(std::size_t pmu) const {
  return values_[pmu][static_cast<std::size_t>(settings().machine.pmus[pmu].cycles_value)];
}
double nanoseconds(const Effect& effect, int cpu) {
  const auto& pmus = settings().machine.pmus;
  std::size_t core = 0;
  while (core + 1 < pmus.size() && !here(pmus[core], cpu))
    ++core;
  return effect.cycles(core) * 1000 / pmus[core].mhz;
}
double compute_count(const Slot& slot, const Effect& effect) {
  const auto p = static_cast<std::size_t>(slot.pmu);
  double sum = 0;
  for (const SimulatedEvent* row : find_rows(settings().machine.pmus[p], slot.config, slot.config1))
    sum += evaluate(row->count, effect.values(p));
  return std::max(sum, 0.0);
}

namespace {

/// One account: what a thread has executed, applied up to the next sample at a time.
class Account {
public:
  Account(Executor& executor, std::uint64_t now_ns, const Effect* user, const Effect* kernel,
          Observer& observer)
      : user_(user), kernel_(kernel), executor_(executor), observer_(observer) {
    passed_ = executor.last_ns == 0 || now_ns < executor.last_ns ? 0 : now_ns - executor.last_ns;
    executor.last_ns = now_ns;
    const double simulated = (user != nullptr ? nanoseconds(*user, executor.cpu) : 0) +
                             (kernel != nullptr ? nanoseconds(*kernel, executor.cpu) : 0) +
                             std::exchange(executor.kernel_ns, 0);
    // A program takes many times longer under Valgrind: its time there would be no share of anything.
    const bool by_cycles = settings().exact || settings().emulated_time();
    from_ = executor.clock_ns;
    executor.clock_ns += by_cycles ? simulated : std::max(simulated, static_cast<double>(passed_));
    to_ = executor.clock_ns;
    const auto simulated_ns = static_cast<std::uint64_t>(to_) - static_cast<std::uint64_t>(from_);
    // Where no event of Linux keeps times, those of slots are all that there is to be read.
    if (settings().unbacked && !settings().emulated_time())
      passed_ = std::max(passed_, simulated_ns);
    else if (by_cycles)
      passed_ = simulated_ns;
  }

  void apply() {
    // A handler of an overflow may enable and disable events before the rest.
    for (double done = 0; done < 1;) {
      done += part(1 - done);
      observer_.deliver();
      passed_ = 0;
    }
  }

private:
  /// Applies a part of the work, as much as there is up to the next sample, and returns its size.
  double part(double left) {
    const Locked shared;
    const auto covering_slots = covering(*shared);
    if (covering_slots.empty()) return left;
    ++shared->executions;
    const Shares shares(*shared, covering_slots, executor_.cpu, from_, to_);
    std::vector<Increment> increments;
    double step = left;
    for (const std::int32_t i : covering_slots) {
      Slot& slot = shared->slots[i];
      if (slot.clock) tell_time(*shared, slot, shares, covering_slots);
      if (!slot.simulated) continue;
      if (here(pmu_of(slot), executor_.cpu)) {
        const double share = shares.of(i);
        pass(slot, share);
        const double all = share > 0 ? share * increment(*shared, slot) : 0;
        increments.push_back({i, all, share >= 1});
        if (slot.period > 0 && all > 0 && !settings().exact) // else the tool stops at samples
          step = std::min(step, std::max(0.0, slot.next_sample - slot.reset - slot.value) / all);
      } else {
        pass(slot, 0); // on another core type
        increments.push_back({i, 0, false});
      }
    }
    for (const Increment& one : increments) {
      Slot& slot = shared->slots[one.slot];
      // Whole work counts whole occurrences, as hardware does: two events that count alike stay alike. Exact
      // work comes in parts as small as an instruction.
      const bool round = step >= 1 && one.whole && !settings().exact;
      slot.value += round ? std::round(one.all) : step * one.all;
      observer_.changed(slot, one.slot, one.whole);
    }
    for (const Increment& one : increments)
      if (shared->slots[one.slot].period > 0) observer_.sample(*shared, shared->slots[one.slot], one.slot);
    return step;
  }

  struct Increment {
    std::int32_t slot;
    double all; ///< of the whole work
    bool whole; ///< it had a counter all the time
  };

  [[nodiscard]] std::vector<std::int32_t> covering(const Shared& shared) const {
    std::vector<std::int32_t> covering_slots;
    for (std::int32_t i = 0; i < shared.end; ++i) {
      const Slot& slot = shared.slots[i];
      if (slot.used && is_enabled(shared, slot) && covers(slot, executor_)) covering_slots.push_back(i);
    }
    std::ranges::sort(covering_slots, {}, [&](std::int32_t i) { return shared.slots[i].order; });
    return covering_slots;
  }
  static const SimulatedPmu& pmu_of(const Slot& slot) {
    return settings().machine.pmus[static_cast<std::size_t>(slot.pmu)];
  }
  /// Where there is any, it shows.
  void pass(Slot& slot, double share) const {
    const auto scheduled = static_cast<std::uint64_t>(share * static_cast<double>(passed_));
    slot.scheduled_ns +=
        share > 0 && slot.scheduled_ns == 0 ? std::max<std::uint64_t>(scheduled, 1) : scheduled;
    if (share >= 1) return;
    slot.unscheduled_ns +=
        slot.unscheduled_ns == 0 ? std::max<std::uint64_t>(passed_ - scheduled, 1) : passed_ - scheduled;
  }
  /// It runs while the others of its group do.
  void tell_time(const Shared& shared, Slot& slot, const Shares& shares,
                 std::span<const std::int32_t> covering) const {
    const auto beside = std::ranges::find_if(covering, [&](std::int32_t i) {
      return shared.slots[i].simulated && shared.slots[i].leader == slot.leader;
    });
    const std::uint64_t before = slot.scheduled_ns;
    pass(slot, beside == covering.end() ? 1 : shares.of(*beside));
    slot.value += static_cast<double>(slot.scheduled_ns - before);
  }
  double increment(const Shared& shared, const Slot& slot) const {
    double more = 0;
    if (user_ != nullptr && !slot.exclude_user) more += compute_count(slot, *user_);
    if (kernel_ != nullptr && !slot.exclude_kernel) more += compute_count(slot, *kernel_);
    if (settings().noise != 0) more *= draw_noise(slot, shared.executions);
    return more;
  }

  const Effect *user_, *kernel_;
  Executor& executor_;
  Observer& observer_;
  std::uint64_t passed_ = 0;
  double from_ = 0, to_ = 0;
};

} // namespace

void account(Executor& executor, std::uint64_t now_ns, const Effect* user, const Effect* kernel,
             Observer& observer) {
  Account(executor, now_ns, user, kernel, observer).apply();
}

double scheduled_share(const Shared& shared, const Slot& slot) {
  const auto& pmu = settings().machine.pmus[static_cast<std::size_t>(slot.pmu)];
  std::vector<std::int32_t> all;
  for (std::int32_t i = 0; i < shared.end; ++i) {
    const Slot& other = shared.slots[i];
    if (other.used && other.foreign && other.target == slot.target && other.cpu == slot.cpu) all.push_back(i);
  }
  std::ranges::sort(all, {}, [&](std::int32_t i) { return shared.slots[i].order; });
  const auto groups = list_groups(shared, all, slot.pmu);
  const auto self = static_cast<std::int32_t>(&slot - shared.slots);
  double share = 0;
  for (std::size_t r = 0; r < turns(groups); ++r) {
    const Turn turn = make_turn(shared, pmu, groups, r, nullptr);
    if (std::ranges::find(turn.who(), self) != turn.who().end())
      share += 1.0 / static_cast<double>(turns(groups));
  }
  return share > 1 - 1e-9 ? 1 : share;
}

void begin_program(pid_t tid, bool set_user_id) {
  const Locked shared;
  for (Slot& slot : shared->slots) {
    if (!slot.used || slot.target != tid) continue;
    slot.enabled = (slot.enabled || slot.enable_on_exec) && !set_user_id;
    slot.enable_on_exec = false;
    slot.dropped = slot.dropped || set_user_id;
  }
}

namespace {

using enum Quantity;

/// Quantities that an instruction makes once at most, by the countdowns of their instructions.
constexpr Quantity of_loads[] = {loads, prefetches}, of_stores[] = {stores},
                   of_conditional[] = {conditional, taken, mispredicted, mispredicted_taken},
                   of_branches[] = {conditional, taken, mispredicted, mispredicted_taken,   jumps,
                                    indirect,    calls, returns,      mispredicted_indirect};
constexpr struct {
  unsigned countdown;
  std::span<const Quantity> quantities;
} countdown_kinds[] = {{RT_COUNT_LOADS, of_loads},
                       {RT_COUNT_STORES, of_stores},
                       {RT_COUNT_CONDITIONAL, of_conditional},
                       {RT_COUNT_BRANCHES, of_branches}};

/// Quantities that follow from the instruction alone.
bool is_static(std::size_t quantity) {
  return quantity >= plain_quantities || quantity <= static_cast<std::size_t>(prefetches);
}

/// Occurrences, less those of no work at all.
double occurrences(const Slot& slot, const Work& work) {
  const double more = compute_count(slot, Effect(work)) - compute_count(slot, Effect(Work{}));
  return std::isfinite(more) ? std::max(more, 0.0) : 0;
}

/// The quantities that the event depends on, with the occurrences of one.
std::map<std::size_t, double> dependence(const Slot& slot) {
  constexpr double many = 1000;
  std::map<std::size_t, double> all;
  for (std::size_t q = 0; q < all_quantities; ++q) {
    Work work;
    work.of[q] = many;
    if (const double each = occurrences(slot, work) / many; each > 0) all[q] = each;
  }
  return all;
}

/// Occurrences at one instruction: it is one kind of branch, loads or prefetches, and has one quantity of
/// floating point.
double max_at_once(const std::map<std::size_t, double>& by_quantity) {
  const auto of = [&](Quantity q) { return base::value_at(by_quantity, static_cast<std::size_t>(q)); };
  double sum =
      std::max({of(conditional) + of(taken) + of(mispredicted) + of(mispredicted_taken),
                std::max(of(indirect), of(calls)) + of(mispredicted_indirect), of(jumps), of(returns)});
  sum += std::max(of(loads), of(prefetches));
  double floating_point = 0;
  const auto included = [](std::span<const Quantity> some, std::size_t quantity) {
    return std::ranges::find(some, static_cast<Quantity>(quantity)) != some.end();
  };
  for (const auto& [quantity, each] : by_quantity)
    if (quantity >= plain_quantities)
      floating_point = std::max(floating_point, each);
    else if (!included(of_branches, quantity) && !included(of_loads, quantity))
      sum += each;
  return sum + floating_point;
}

Pace find_pace(const Slot& slot) {
  const auto by_quantity = dependence(slot);
  Pace pace;
  pace.most = max_at_once(by_quantity);
  for (const auto& [countdown, quantities] : countdown_kinds) {
    const bool alone = std::ranges::all_of(by_quantity, [&](const auto& one) {
      return std::ranges::find(quantities, static_cast<Quantity>(one.first)) != quantities.end();
    });
    if (!alone) continue;
    pace.countdown = countdown;
    pace.exact = true;
    return pace;
  }
  pace.exact = std::ranges::all_of(by_quantity, [](const auto& one) { return is_static(one.first); });
  return pace;
}

/// Instructions of its kind until the event is to be looked at again, with so many occurrences left.
double instructions_until(const Pace& pace, double left, double period) {
  const double at_least = std::floor(left / pace.most);
  return pace.exact ? std::max(at_least, 1.0) : std::max({at_least, skid, period * skid_share});
}

} // namespace

Pace make_pace(const Slot& slot) {
  static std::map<std::tuple<int, std::uint64_t, std::uint64_t>, Pace> known; // under the lock of the slots
  const std::tuple key(slot.pmu, slot.config, slot.config1);
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, find_pace(slot)).first;
  return found->second;
}

trace::Countdown make_countdown(const Executor& executor) {
  trace::Countdown countdown;
  const Locked shared;
  for (std::int32_t i = 0; i < shared->end; ++i) {
    Slot& slot = shared->slots[i];
    if (!slot.used || !slot.simulated || slot.period == 0 || slot.exclude_user ||
        !is_enabled(*shared, slot) || !counts_thread(slot, executor.tid, executor.lineage))
      continue;
    const Pace pace = make_pace(slot);
    if (pace.most <= 0) continue;
    const auto period = static_cast<double>(slot.period);
    double left = slot.next_sample - slot.reset - slot.value;
    if (left < sample_rounding) {
      countdown.answer = RT_SAMPLE_DUE;
      slot.due = executor.tid;
      left += period * (std::floor((sample_rounding - left) / period) + 1);
    }
    auto& until = countdown.left[pace.countdown];
    until =
        std::min(until, static_cast<std::int64_t>(std::min(instructions_until(pace, left, period), 1e15)));
  }
  return countdown;
}

} // namespace recount::emulate
