#include "caches/measure/measured_sampler.hpp"

#include "base/random.hpp"
#include "caches/infer/colours.hpp"
#include "caches/infer/sampler.hpp"
#include "host/disturbance.hpp"
#include "kernel/native.hpp"
#include "result/curves.hpp"
#include "witness/backend.hpp"
#include "witness/stopwatch.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>
#include <numeric>
#include <tuple>

// Timed pointer chases in brief slices, with the core clock rate, and the sampler that takes them.
namespace recount::caches {

struct TimedChase {
  double ns = 0; ///< of the shortest slice
  /// Seconds of a chain of some thousand dependent multiplications, before, between and after the slices, the
  /// least: it accesses no memory, so it measures the core clock rate.
  double reference = 0;
};

/// Follows `steps` pointers and returns nanoseconds without the overhead of the clock; `at` advances.
[[nodiscard]] double follow(void*& at, std::int64_t steps);

/// Times `slices` slices of `steps` pointers. If the reference chains differ, an interrupt or another user of
/// the CPU disturbed them; it repeats at most `tries` times and returns the least disturbed attempt.
[[nodiscard]] TimedChase timed_chase(void*& at, std::int64_t steps, int slices, int tries);

namespace {

constexpr int chain_length = 2000;
constexpr double same_rate = 1.02; ///< two chains at one clock rate differ by less
constexpr double endless = std::numeric_limits<double>::infinity();

void multiply_on(void* context) {
  auto& value = *static_cast<std::uint64_t*>(context);
  std::uint64_t x = value;
  for (int i = 0; i < chain_length; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x)); // every step, in order
  }
  value = x;
}

double least_ns(const kernel::Region& region) {
  static const std::int64_t own_ns = witness::own_cost().ns;
  return static_cast<double>(std::max<std::int64_t>(witness::lapse(region).ns - own_ns, 1));
}

/// The least chain and the one after it.
class ReferenceChains {
public:
  void look() {
    std::uint64_t value = 1;
    const double seconds = least_ns({multiply_on, &value}) / 1e9;
    second_ = std::min(second_, std::max(seconds, least_));
    least_ = std::min(least_, seconds);
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double spread() const { return second_ / least_; }

private:
  double least_ = endless, second_ = endless;
};

} // namespace

double follow(void*& at, std::int64_t steps) {
  kernel::native::Chase context{at, steps, nullptr};
  const double ns = least_ns({kernel::native::recount_kernel_chase, &context});
  at = context.end;
  return ns;
}

TimedChase timed_chase(void*& at, std::int64_t steps, int slices, int tries) {
  TimedChase least_disturbed;
  double least_spread = endless;
  for (int attempt = 0; attempt < tries && least_spread > same_rate; ++attempt) {
    ReferenceChains chains;
    chains.look();
    double best = endless;
    for (int slice = 0; slice < slices; ++slice) {
      best = std::min(best, follow(at, steps));
      chains.look();
    }
    if (attempt > 0 && chains.spread() >= least_spread) continue;
    least_spread = chains.spread();
    least_disturbed = {best, chains.least()};
  }
  return least_disturbed;
}

using kernel::Pattern;

namespace {

constexpr std::int64_t private_bytes = std::int64_t{8} << 20; ///< up to here nothing is shared with others

constexpr int most_tries = 4; ///< of slices that something disturbs

constexpr std::int64_t long_pass = 16384;       ///< visits: a slice takes longer than that of other patterns
constexpr std::int64_t reordered_visits = 4096; ///< of larger patterns, sets average over many orders

} // namespace

/// Patterns that fit private caches are visited in many brief slices, whose minimum has no interruption;
/// larger ones in one slice of a few milliseconds per round.
struct Effort {
  int rounds = 6, slices = 3;
  double slice_ns = 40'000;
  int tries = most_tries;
  [[nodiscard]] bool whole_passes() const { return slice_ns < 1e6; }
};

namespace {

Effort effort_for(const Pattern& pattern) {
  if (kernel::extent(pattern) > private_bytes && pattern.visits() > 4096) return {2, 1, 2'000'000, 1};
  if (pattern.visits() > long_pass) return {6, 1, 40'000, 2}; // an average over that many needs no repetition
  return {};
}

/// What is laid out, as an instance that witnesses can observe.
class LaidInstance : public kernel::Instance {
public:
  LaidInstance(void* start, std::int64_t steps) : context_{start, steps, nullptr} {}
  kernel::Region region() override { return {kernel::native::recount_kernel_chase, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.steps; }

private:
  kernel::native::Chase context_;
};

/// Whether anything was found, every page was tried, and how many colours there are: the more, the better.
auto worth_of(const PageColours& colours) {
  return std::tuple(colours.unknown.empty(), decide_colour_sets(colours).ways.has_value(),
                    colours.incomplete.empty(), colours.smallest.size());
}

/// Slices that a scheduler may interrupt: shorter ones have a minimum that was not.
constexpr double watched_ns = 400'000;
constexpr int most_interrupted = 3; ///< attempts, before an interrupted one counts as disturbed

struct WatchedChase {
  TimedChase chase;
  std::vector<Flag> flags; ///< of host::flags()
};

/// Time that the scheduler or the hypervisor gave to others is no time of the caches, and what ran then has
/// replaced their contents. The clock rate is accounted for by the reference chains.
WatchedChase timed_undisturbed(void*& at, std::int64_t steps, const Effort& effort, double expected_ns) {
  if (expected_ns < watched_ns) return {timed_chase(at, steps, effort.slices, effort.tries), {}};
  WatchedChase least;
  double shortest = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt < most_interrupted; ++attempt) {
    auto before = host::disturbance();
    before.frequency_khz.reset();
    const TimedChase chase = timed_chase(at, steps, effort.slices, effort.tries);
    result::Observation o;
    o.flags = host::flags(before, host::disturbance());
    if (result::disturbances(o).empty()) return {chase, {}};
    if (chase.ns < shortest) least = {chase, o.flags};
    shortest = std::min(shortest, chase.ns);
  }
  return least;
}

std::chrono::nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace

/// A pattern while it is measured.
struct NativeSampler::Laid {
  const Pattern* pattern = nullptr;
  Pattern now; ///< with the seed of this round
  std::vector<std::uint64_t> places;
  std::int64_t extent = 0;
  Effort effort;
  Taken* taken = nullptr;
};

Abilities native_abilities(const NativeOptions& options) {
  Abilities can;
  can.witness = options.witness;
  can.times = true;
  can.counted = options.metrics.size();
  can.page = ::sysconf(_SC_PAGESIZE);
  can.most_bytes = options.most_bytes;
  can.at_once = 12;
  return can;
}

NativeSampler::NativeSampler(NativeOptions options)
    : options_(std::move(options)),
      abilities_(native_abilities(options_)),
      random_(options_.seed),
      begin_(thread_time()) {}

NativeSampler::~NativeSampler() = default;

kernel::Memory& NativeSampler::memory_for(const Pattern& pattern, std::int64_t extent) {
  Mapping& mapping = pattern.huge ? huge_ : small_;
  if (mapping.bytes < extent + 4096) {
    mapping.memory.reset();
    mapping.bytes = std::max(extent + 4096, std::int64_t{16} << 20);
    mapping.memory = std::make_unique<kernel::Memory>(
        mapping.bytes, 0, pattern.huge ? kernel::Memory::Pages::huge : kernel::Memory::Pages::small,
        "recount caches");
    if (pattern.huge) mapping.granted = mapping.memory->placement().huge_bytes;
  }
  return *mapping.memory;
}

std::chrono::milliseconds NativeSampler::cpu_time() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(thread_time() - begin_);
}

std::chrono::milliseconds NativeSampler::elapsed() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun_);
}

bool NativeSampler::out_of_time() const {
  return cpu_time() > options_.limit || elapsed() > options_.elapsed_limit;
}

void NativeSampler::repeat_measurements() {
  ++look_;
}

bool NativeSampler::wanted(const Pattern& pattern) const {
  const auto found = taken_.find(pattern);
  if (found == taken_.end()) return true;
  return !settled_ && found->second.look < look_ && kernel::extent(pattern) <= private_bytes &&
         !out_of_time();
}

/// Puts on record that there was no time for it.
void NativeSampler::refuse(const Pattern& pattern) {
  Taken& taken = taken_[pattern];
  taken.misses.resize(options_.metrics.size());
  taken.why = caches::gave_up;
  if (!options_.observed) return;
  result::Observation o;
  const auto point = kernel::to_point(pattern, 1);
  o.kernel = point.kernel;
  o.params = point.params;
  o.witness = Witness::clock;
  o.metric = "seconds";
  o.reason = taken.why;
  options_.observed(o);
}

std::vector<Reading> NativeSampler::read(std::span<const Pattern> patterns) {
  std::vector<Pattern> fresh;
  std::ranges::copy_if(patterns, std::back_inserter(fresh), [&](const Pattern& p) { return wanted(p); });
  if (out_of_time())
    std::ranges::for_each(fresh, [&](const Pattern& pattern) { refuse(pattern); });
  else
    measure_all(fresh);
  std::vector<Reading> readings;
  for (const Pattern& pattern : patterns) {
    const Taken& taken = taken_.at(pattern);
    auto& reading = readings.emplace_back(caches::summarised(pattern, taken.times, taken.misses));
    if (!reading.ns) reading.why = taken.why;
  }
  return readings;
}

void NativeSampler::measure_all(std::span<const Pattern> patterns) {
  std::vector<Laid> all;
  int rounds = 0;
  measured_ += patterns.size();
  for (const Pattern& pattern : patterns) {
    Taken& taken = taken_[pattern];
    taken.misses.resize(options_.metrics.size());
    taken.look = look_;
    all.push_back(
        {&pattern, pattern, kernel::places(pattern), kernel::extent(pattern), effort_for(pattern), &taken});
    rounds = std::max(rounds, all.back().effort.rounds);
  }
  // The largest first, so that memory is mapped once.
  for (const bool huge : {false, true}) {
    const Laid* largest = nullptr;
    for (const Laid& laid : all)
      if (laid.pattern->huge == huge && (!largest || laid.extent > largest->extent)) largest = &laid;
    if (largest) memory_for(*largest->pattern, largest->extent);
  }
  std::vector<Laid*> order;
  for (Laid& laid : all)
    order.push_back(&laid);
  for (int round = 0; round < rounds && (round == 0 || !out_of_time()); ++round) {
    base::shuffle(std::span(order), random_);
    for (Laid* laid : order)
      if (round < laid->effort.rounds) measure(*laid, laid->taken->rounds++);
  }
}

void NativeSampler::measure(Laid& laid, int round) {
  // Another order each round: replacement that only approximates the order of use can settle, in some orders,
  // on throwing out again and again what would fit.
  if (round > 0 && laid.pattern->visits() <= reordered_visits) {
    laid.now = *laid.pattern;
    laid.now.seed += round * caches::seeds_per_round;
    laid.places = kernel::places(laid.now);
  }
  std::byte* const base = memory_for(*laid.pattern, laid.extent).data() + laid.pattern->offset;
  kernel::link(base, laid.places);
  void* const start = base + laid.places.front();
  time(laid, round, start);
  if (!options_.metrics.empty()) count(laid, round, start);
}

void NativeSampler::time(Laid& laid, int round, void* start) {
  const std::int64_t visits = laid.pattern->visits();
  const bool small = laid.effort.whole_passes();
  void* at = start;
  // Laying the pointers out has warmed what can be warm; a pass more lets the order of use settle.
  const double pass = small ? follow(at, visits) : 50.0 * static_cast<double>(visits);
  const double wanted = laid.effort.slice_ns / (pass / static_cast<double>(visits));
  std::int64_t steps = std::max<std::int64_t>(static_cast<std::int64_t>(wanted), 64);
  steps = small ? std::max(steps, visits) : std::min(steps, visits);
  const auto timed = timed_undisturbed(at, steps, laid.effort,
                                       pass * static_cast<double>(steps) / static_cast<double>(visits));
  const auto [best, reference] = timed.chase;
  const bool has_reference = laid.extent <= private_bytes;
  if (base_ == 0 && has_reference) base_ = reference;
  result::Observation o;
  const auto point = kernel::to_point(laid.now, std::max<std::int64_t>(1, steps / visits));
  o.kernel = point.kernel;
  o.params = point.params;
  o.repetition = round;
  o.witness = Witness::clock;
  o.metric = caches::reference_metric;
  o.value = reference;
  if (options_.observed && has_reference) options_.observed(o);
  o.metric = "seconds";
  o.value = best / 1e9;
  o.accesses = steps;
  if (const auto pages = huge_pages(); pages && laid.pattern->huge) caches::note_huge_pages(o, *pages);
  o.flags = timed.flags;
  // As a reader of the record will have it.
  laid.taken->times.add(
      caches::at_clock_of(base_, reference, *laid.pattern, result::ns_per_access(o).value_or(0)),
      !result::disturbances(o).empty());
  if (options_.observed) options_.observed(o);
}

void NativeSampler::count(Laid& laid, int round, void* start) {
  const std::int64_t visits = laid.pattern->visits();
  const std::int64_t passes = std::max<std::int64_t>(1, 20'000 / visits);
  LaidInstance instance(start, passes * visits);
  instance.region()();
  const auto point = kernel::to_point(laid.now, passes);
  const witness::Task task{"", point.kernel, point.params, round, options_.witness, options_.metrics};
  const auto all = witness::find(options_.witness).observe(kernel::find(point.kernel), &instance, task);
  for (std::size_t level = 0; level < all.size(); ++level) {
    if (const auto each = result::per_access(all[level])) laid.taken->misses[level].push_back(*each);
    if (options_.observed) options_.observed(all[level]);
  }
}

void NativeSampler::keep(const PageColours& colours) {
  search_again_ = false;
  ++searches_;
  ++measured_;
  if (!colours_ || worth_of(colours) > worth_of(*colours_)) colours_ = colours;
}

void NativeSampler::keep_to_record() {
  settled_ = true;
  search_again_ = false;
  if (!options_.observed || !colours_) return;
  for (auto& observation : caches::colour_observations(*colours_, abilities_.page)) {
    observation.witness = Witness::clock;
    options_.observed(observation);
  }
}

std::optional<HugePages> NativeSampler::huge_pages() const {
  if (!huge_.memory) return {};
  return HugePages{huge_.bytes, huge_.granted};
}

double NativeSampler::quick_time(std::span<const std::uint64_t> places, bool quickly) {
  if (settled_) return -1;
  Pattern whole = kernel::dense(1, 64);
  std::byte* const base = memory_for(whole, static_cast<std::int64_t>(std::ranges::max(places)) + 8).data();
  kernel::link(base, places);
  void* at = base + places.front();
  const auto visits = static_cast<std::int64_t>(places.size());
  static_cast<void>(follow(at, 3 * visits));
  const std::int64_t steps = std::max<std::int64_t>(2 * visits, quickly ? 500 : 1500);
  const auto [best, reference] = timed_chase(at, steps, quickly ? 1 : 3, quickly ? 1 : most_tries);
  const double each = best / static_cast<double>(steps);
  return base_ > 0 ? each * base_ / reference : each;
}

namespace {

/// One pass over fresh lines brings every policy but random to where it stays; small patterns get more.
constexpr std::int64_t small_visits = 4096;
constexpr std::uint64_t alignment = std::uint64_t{1} << 21;

std::int64_t demand_misses(const model::LevelCounts& c) {
  return c.missed(model::Cause::load) + c.missed(model::Cause::store);
}

} // namespace

Abilities model_abilities(const model::MachineDescription& machine, const Witness& witness,
                          std::int64_t most_bytes) {
  Abilities can;
  can.witness = witness;
  can.counted = machine.levels.size();
  can.exact = can.contiguous = true;
  can.most_bytes = most_bytes;
  if (machine.tlb) {
    can.counted_tlbs = machine.tlb->levels.size();
    can.page = machine.tlb->page;
  }
  return can;
}

ModelSampler::ModelSampler(const model::MachineDescription& machine, const Witness& witness,
                           std::int64_t most_bytes, std::function<void(const result::Observation&)> observed)
    : caches_(machine),
      must_clear_(std::ranges::any_of(machine.levels,
                                      [](const model::LevelDescription& level) {
                                        return level.policy != model::Policy::lru &&
                                               level.policy != model::Policy::fifo;
                                      })),
      abilities_(model_abilities(machine, witness, most_bytes)),
      observed_(std::move(observed)) {}

std::vector<Reading> ModelSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(read(pattern));
  return all;
}

Reading ModelSampler::read(const kernel::Pattern& pattern) {
  const auto places = kernel::places(pattern);
  const std::int64_t passes = pattern.visits() <= small_visits ? 2 : 1;
  // Where nothing has been visited yet, no line is at hand from an earlier pattern. Emptying large caches
  // takes longer than most patterns, and old lines leave by themselves where the order of use or of arrival
  // decides.
  const auto extent = static_cast<std::uint64_t>(kernel::extent(pattern));
  if (must_clear_ || free_ > std::uint64_t{1} << 58) {
    caches_.clear();
    free_ = kernel::assumed_base;
  }
  const std::uint64_t base = free_ + static_cast<std::uint64_t>(pattern.offset);
  free_ += (extent + static_cast<std::uint64_t>(pattern.offset) + alignment - 1) / alignment * alignment;
  kernel::replay(places, base, passes, caches_);
  caches_.reset_counters();
  kernel::replay(places, base, passes, caches_);
  const model::Counts counts = caches_.counts();
  Reading reading;
  const auto total = static_cast<double>(passes * pattern.visits());
  for (std::size_t level = 0; level < counts.levels.size(); ++level) {
    const std::int64_t misses = demand_misses(counts.levels[level]);
    reading.misses.emplace_back(static_cast<double>(misses) / total);
    report(pattern, passes, caches::miss_metric(level), misses);
  }
  for (std::size_t level = 0; level < counts.tlb.size(); ++level) {
    const std::int64_t misses = demand_misses(counts.tlb[level]);
    reading.translations.emplace_back(static_cast<double>(misses) / total);
    report(pattern, passes, caches::tlb_metric(level), misses);
  }
  return reading;
}

void ModelSampler::report(const kernel::Pattern& pattern, std::int64_t passes, const std::string& metric,
                          std::int64_t misses) const {
  if (!observed_) return;
  const auto point = kernel::to_point(pattern, passes);
  result::Observation o;
  o.kernel = point.kernel;
  o.params = point.params;
  o.witness = abilities_.witness;
  o.metric = metric;
  o.value = misses;
  o.accesses = passes * pattern.visits();
  observed_(o);
}

} // namespace recount::caches
