#include "caches/measure/native_sampler.hpp"

#include "base/random.hpp"
#include "caches/infer/colour_sets.hpp"
#include "caches/infer/record_sampler.hpp"
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
#include <tuple>

namespace recount::caches {

using kernel::Pattern;

namespace {

constexpr int chain_length = 2000;
constexpr double same_rate = 1.02;                            ///< two chains at one clock rate differ by less
constexpr std::int64_t private_bytes = std::int64_t{8} << 20; ///< up to here nothing is shared with others
constexpr int most_tries = 4;                                 ///< of slices that something disturbs
constexpr std::int64_t long_pass = 16384;       ///< visits: a slice takes longer than that of other patterns
constexpr std::int64_t reordered_visits = 4096; ///< of larger patterns, sets average over many orders
/// Slices that a scheduler may interrupt: shorter ones have a minimum that was not.
constexpr double watched_ns = 400'000;
constexpr int most_interrupted = 3; ///< attempts, before an interrupted one counts as disturbed

void multiply_on(void* context) {
  auto& value = *static_cast<std::uint64_t*>(context);
  std::uint64_t x = value;
  for (int i = 0; i < chain_length; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x)); // every step, in order
  }
  value = x;
}

/// Without the overhead of the clock.
double least_ns(const kernel::Region& region) {
  static const std::int64_t own_ns = witness::own_cost().ns;
  return static_cast<double>(std::max<std::int64_t>(witness::lapse(region).ns - own_ns, 1));
}

/// Follows `steps` pointers and returns nanoseconds; `at` advances.
double follow(void*& at, std::int64_t steps) {
  kernel::native::Chase context{at, steps, nullptr};
  const double ns = least_ns({kernel::native::recount_kernel_chase, &context});
  at = context.end;
  return ns;
}

/// Patterns that fit private caches are visited in many brief slices, whose minimum has no interruption;
/// larger ones in one slice of a few milliseconds per round.
struct Effort {
  int rounds = 6, slices = 3;
  double slice_ns = 40'000;
  int tries = most_tries;
  [[nodiscard]] bool whole_passes() const { return slice_ns < 1e6; }
};

Effort effort_for(const Pattern& pattern) {
  if (kernel::extent(pattern) > private_bytes && pattern.visits() > 4096) return {2, 1, 2'000'000, 1};
  if (pattern.visits() > long_pass) return {6, 1, 40'000, 2}; // an average over that many needs no repetition
  return {};
}

struct TimedChase {
  double ns = 0; ///< of the shortest slice
  /// Seconds of a chain of dependent multiplications, before, between and after the slices, the least: it
  /// accesses no memory, so it measures the core clock rate.
  double reference = 0;
  std::vector<Flag> flags; ///< of host::flags()
};

/// Times slices of `steps` pointers. If the reference chains differ, an interrupt or another user of the CPU
/// disturbed them; it repeats at most `tries` times and returns the least disturbed attempt.
TimedChase timed_chase(void*& at, std::int64_t steps, int slices, int tries) {
  TimedChase least_disturbed;
  constexpr double never = std::numeric_limits<double>::infinity();
  double least_spread = never;
  for (int attempt = 0; attempt < tries && least_spread > same_rate; ++attempt) {
    double least = never, next = never, best = never; // of chains, of slices
    for (int slice = 0; slice <= slices; ++slice) {
      std::uint64_t value = 1;
      if (slice > 0) best = std::min(best, follow(at, steps));
      const double chain = least_ns({multiply_on, &value}) / 1e9;
      next = std::min(next, std::max(chain, least));
      least = std::min(least, chain);
    }
    if (attempt > 0 && next / least >= least_spread) continue;
    least_spread = next / least;
    least_disturbed = {best, least, {}};
  }
  return least_disturbed;
}

/// Time that the scheduler or the hypervisor gave to others is no time of the caches, and what ran then has
/// replaced their contents. The clock rate is accounted for by the reference chains.
TimedChase timed_undisturbed(void*& at, std::int64_t steps, const Effort& effort, double expected_ns) {
  if (expected_ns < watched_ns) return timed_chase(at, steps, effort.slices, effort.tries);
  TimedChase least;
  for (int attempt = 0; attempt < most_interrupted; ++attempt) {
    auto before = host::disturbance();
    before.frequency_khz.reset();
    TimedChase chase = timed_chase(at, steps, effort.slices, effort.tries);
    result::Observation o;
    o.flags = host::flags(before, host::disturbance());
    if (result::disturbances(o).empty()) return chase;
    chase.flags = o.flags;
    if (attempt == 0 || chase.ns < least.ns) least = std::move(chase);
  }
  return least;
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
auto rank(const PageColours& colours) {
  return std::tuple(colours.unknown.empty(), decide_colour_sets(colours).ways.has_value(),
                    colours.incomplete.empty(), colours.smallest.size());
}

std::chrono::nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

} // namespace

/// A pattern while it is measured.
struct NativeSampler::Laid {
  Pattern pattern; ///< in the order of this round
  std::vector<std::uint64_t> places;
  std::int64_t extent = 0;
  Effort effort;
  Taken* taken = nullptr;
};

Abilities NativeSampler::abilities_for(const Witness& witness, std::size_t metrics, std::int64_t most_bytes) {
  Abilities can;
  can.witness = witness;
  can.times = true;
  can.counted = metrics;
  can.page = ::sysconf(_SC_PAGESIZE);
  can.most_bytes = most_bytes;
  can.at_once = 12;
  return can;
}

NativeSampler::NativeSampler(NativeOptions options)
    : options_(std::move(options)),
      abilities_(abilities_for(options_.witness, options_.metrics.size(), options_.most_bytes)),
      random_(options_.seed),
      begin_(thread_time()) {}

kernel::Memory& NativeSampler::memory_for(bool huge, std::int64_t extent) {
  Mapping& mapping = huge ? huge_ : small_;
  if (mapping.bytes < extent + 4096) {
    mapping.memory.reset();
    mapping.bytes = std::max(extent + 4096, std::int64_t{16} << 20);
    mapping.memory = std::make_unique<kernel::Memory>(
        mapping.bytes, 0, huge ? kernel::Memory::Pages::huge : kernel::Memory::Pages::small,
        "recount caches");
    if (huge) mapping.granted = mapping.memory->placement().huge_bytes;
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
  return cpu_time() > options_.cpu_limit || elapsed() > options_.elapsed_limit;
}

bool NativeSampler::wanted(const Pattern& pattern) const {
  const auto found = taken_.find(pattern);
  if (found == taken_.end()) return true;
  return found->second.look < look_ && kernel::extent(pattern) <= private_bytes && !out_of_time();
}

/// Puts on record that there was no time for it.
void NativeSampler::refuse(const Pattern& pattern) {
  Taken& taken = taken_[pattern];
  taken.misses.resize(options_.metrics.size());
  taken.why = gave_up;
  result::Observation o = make_observation(pattern, 1, "seconds");
  o.witness = Witness::clock;
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
    auto& reading = readings.emplace_back(make_reading(pattern, taken.times, taken.misses));
    if (!reading.ns) reading.why = taken.why;
  }
  return readings;
}

void NativeSampler::measure_all(std::span<const Pattern> patterns) {
  std::vector<Laid> all;
  measured_ += patterns.size();
  for (const Pattern& pattern : patterns) {
    Taken& taken = taken_[pattern];
    taken.misses.resize(options_.metrics.size());
    taken.look = look_;
    all.push_back({pattern, kernel::places(pattern), kernel::extent(pattern), effort_for(pattern), &taken});
  }
  // The largest first, so that memory is mapped once.
  std::ranges::sort(all, std::ranges::greater{}, &Laid::extent);
  for (const Laid& laid : all)
    memory_for(laid.pattern.huge, laid.extent);
  const int rounds = all.empty() ? 0 : std::ranges::max(all, {}, [](const Laid& laid) {
                                         return laid.effort.rounds;
                                       }).effort.rounds;
  for (int round = 0; round < rounds && (round == 0 || !out_of_time()); ++round) {
    base::shuffle(std::span(all), random_);
    for (Laid& laid : all)
      if (round < laid.effort.rounds) measure(laid, laid.taken->rounds++);
  }
}

void NativeSampler::measure(Laid& laid, int round) {
  // Another order each round: replacement that only approximates the order of use can settle, in some orders,
  // on throwing out again and again what would fit.
  if (round > 0 && laid.pattern.visits() <= reordered_visits) {
    laid.pattern.seed = laid.pattern.seed % seeds_per_round + round * seeds_per_round;
    laid.places = kernel::places(laid.pattern);
  }
  std::byte* const base = memory_for(laid.pattern.huge, laid.extent).data() + laid.pattern.offset;
  kernel::link(base, laid.places);
  void* const start = base + laid.places.front();
  time(laid, round, start);
  if (!options_.metrics.empty()) count(laid, round, start);
}

void NativeSampler::time(Laid& laid, int round, void* start) {
  const std::int64_t visits = laid.pattern.visits();
  const bool small = laid.effort.whole_passes();
  void* at = start;
  // Laying the pointers out has warmed what can be warm; a pass more lets the order of use settle.
  const double pass = small ? follow(at, visits) : 50.0 * static_cast<double>(visits);
  const double wanted = laid.effort.slice_ns / (pass / static_cast<double>(visits));
  std::int64_t steps = std::max<std::int64_t>(static_cast<std::int64_t>(wanted), 64);
  steps = small ? std::max(steps, visits) : std::min(steps, visits);
  const auto [best, reference, flags] = timed_undisturbed(
      at, steps, laid.effort, pass * static_cast<double>(steps) / static_cast<double>(visits));
  const bool has_reference = laid.extent <= private_bytes;
  if (base_ == 0 && has_reference) base_ = reference;
  result::Observation o =
      make_observation(laid.pattern, std::max<std::int64_t>(1, steps / visits), reference_metric);
  o.repetition = round;
  o.witness = Witness::clock;
  o.value = reference;
  if (has_reference) options_.observed(o);
  o.metric = "seconds";
  o.value = best / 1e9;
  o.accesses = steps;
  if (const auto pages = huge_pages(); pages && laid.pattern.huge) note_huge_pages(o, *pages);
  o.flags = flags;
  // As a reader of the record will have it.
  laid.taken->times.add(normalised_time(base_, reference, laid.pattern, result::ns_per_access(o).value_or(0)),
                        !result::disturbances(o).empty());
  options_.observed(o);
}

void NativeSampler::count(Laid& laid, int round, void* start) {
  const std::int64_t visits = laid.pattern.visits();
  const std::int64_t passes = std::max<std::int64_t>(1, 20'000 / visits);
  LaidInstance instance(start, passes * visits);
  instance.region()();
  const auto point = kernel::to_point(laid.pattern, passes);
  const witness::Task task{"", point.kernel, point.params, round, options_.witness, options_.metrics};
  const auto all = witness::find(options_.witness).observe(kernel::find(point.kernel), &instance, task);
  for (std::size_t level = 0; level < all.size(); ++level) {
    if (const auto each = result::per_access(all[level])) laid.taken->misses[level].push_back(*each);
    options_.observed(all[level]);
  }
}

PageColours NativeSampler::keep(const PageColours& colours) {
  search_again_ = false;
  ++searches_;
  ++measured_;
  if (!colours_ || rank(colours) > rank(*colours_)) colours_ = colours;
  return *colours_;
}

void NativeSampler::record_colours() const {
  if (!colours_) return;
  for (auto& observation : colour_observations(*colours_, abilities_.page)) {
    observation.witness = Witness::clock;
    options_.observed(observation);
  }
}

std::optional<HugePages> NativeSampler::huge_pages() const {
  if (!huge_.memory) return {};
  return HugePages{huge_.bytes, huge_.granted};
}

double NativeSampler::quick_time(std::span<const std::uint64_t> places, bool quickly) {
  std::byte* const base = memory_for(false, static_cast<std::int64_t>(std::ranges::max(places)) + 8).data();
  kernel::link(base, places);
  void* at = base + places.front();
  const auto visits = static_cast<std::int64_t>(places.size());
  static_cast<void>(follow(at, 3 * visits));
  const std::int64_t steps = std::max<std::int64_t>(2 * visits, quickly ? 500 : 1500);
  const auto chase = timed_chase(at, steps, quickly ? 1 : 3, quickly ? 1 : most_tries);
  const double each = chase.ns / static_cast<double>(steps);
  return base_ > 0 ? each * base_ / chase.reference : each;
}

} // namespace recount::caches
