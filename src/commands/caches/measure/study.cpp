#include "commands/caches/measure/study.hpp"

#include "base/clock.hpp"
#include "base/format.hpp"
#include "base/host/cpu.hpp"
#include "base/host/disturbance.hpp"
#include "base/host/emulation.hpp"
#include "base/json.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/process/signals.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "commands/caches/infer/geometry.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/misses_data.hpp" // made from data/misses.txt by the build
#include "count/event/sysfs.hpp"
#include "kernel/native.hpp"
#include "kernel/point.hpp"
#include "model/machine.hpp"
#include "recount/error.hpp"
#include "run/result/curves.hpp"
#include "run/result/observation.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/stopwatch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace recount {

void from_json(const nlohmann::json& json, Witness& witness) {
  witness = Witness(json.get<std::string>());
}

namespace caches {

// The clock and counters of this machine as a source of readings.

using kernel::Pattern;

namespace {

constexpr int chain_length = 2000;
constexpr double same_rate = 1.02;                            ///< two chains at one clock rate differ by less
constexpr std::int64_t private_bytes = std::int64_t{8} << 20; ///< up to here nothing is shared with others
constexpr int max_tries = 4;                                  ///< of slices that something disturbs
constexpr std::int64_t long_pass = 16384;       ///< visits: a slice takes longer than that of other patterns
constexpr std::int64_t reordered_visits = 4096; ///< of larger patterns, sets average over many orders
/// Slices that a scheduler may interrupt: shorter ones have a minimum that was not.
constexpr double watched_ns = 400'000;
constexpr int max_interrupted = 3; ///< attempts, before an interrupted one counts as disturbed

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
double min_ns(const kernel::Region& region) {
  static const std::int64_t own_ns = witness::own_cost().ns;
  return static_cast<double>(std::max<std::int64_t>(witness::lapse(region).ns - own_ns, 1));
}

/// Follows `steps` pointers and returns nanoseconds; `at` advances.
double follow(void*& at, std::int64_t steps) {
  kernel::native::Chase context{at, steps, nullptr};
  const double ns = min_ns({kernel::native::recount_kernel_chase, &context});
  at = context.end;
  return ns;
}

/// Patterns that fit private caches are visited in many brief slices, whose minimum has no interruption;
/// larger ones in one slice of a few milliseconds per round.
struct Effort {
  int rounds = 6, slices = 3;
  double slice_ns = 40'000;
  int tries = max_tries;
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
  double min_spread = never;
  for (int attempt = 0; attempt < tries && min_spread > same_rate; ++attempt) {
    double least = never, next = never, best = never; // of chains, of slices
    for (int slice = 0; slice <= slices; ++slice) {
      std::uint64_t value = 1;
      if (slice > 0) best = std::min(best, follow(at, steps));
      const double chain = min_ns({multiply_on, &value}) / 1e9;
      next = std::min(next, std::max(chain, least));
      least = std::min(least, chain);
    }
    if (attempt > 0 && next / least >= min_spread) continue;
    min_spread = next / least;
    least_disturbed = {best, least, {}};
  }
  return least_disturbed;
}

/// Time that the scheduler or the hypervisor gave to others is no time of the caches, and what ran then has
/// replaced their contents. The clock rate is accounted for by the reference chains.
TimedChase timed_undisturbed(void*& at, std::int64_t steps, const Effort& effort, double expected_ns) {
  if (expected_ns < watched_ns) return timed_chase(at, steps, effort.slices, effort.tries);
  TimedChase least;
  for (int attempt = 0; attempt < max_interrupted; ++attempt) {
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

/// Whether anything was found, every page was tried, and how many colours there are: the more, the better.
auto rank(const PageColours& colours) {
  return std::tuple(colours.unknown.empty(), decide_colour_sets(colours).ways.has_value(),
                    colours.incomplete.empty(), colours.smallest.size());
}

/// When a measurement ends, and when no repetition starts any more, because it would exceed that.
struct TimeLimits {
  std::chrono::seconds cpu, elapsed, repeat_cpu, repeat_elapsed;
};
constexpr TimeLimits usual_limits{std::chrono::seconds(9), std::chrono::seconds(25), std::chrono::seconds(6),
                                  std::chrono::seconds(17)},
    patient_limits{std::chrono::seconds(115), std::chrono::seconds(115), std::chrono::seconds(100),
                   std::chrono::seconds(100)};

/// What is laid out, as an instance that witnesses can observe.
class LaidInstance : public kernel::Instance {
public:
  LaidInstance(void* start, std::int64_t steps) : context_{start, steps, nullptr} {}
  kernel::Region region() override { return {kernel::native::recount_kernel_chase, &context_}; }
  [[nodiscard]] std::int64_t accesses() const override { return context_.steps; }

private:
  kernel::native::Chase context_;
};

/// Visits patterns in memory of its own: every pattern once a round, in a new random order each round, so
/// that a burst of noise cannot spoil one of them, and with the clock rate of the core measured with each
/// time. Measures with the calling thread, which should be pinned.
class NativeSampler : public Sampler {
  struct Taken {
    TimedRounds times;                       ///< at one clock rate
    std::vector<std::vector<double>> misses; ///< of a level, a round, per visit
    int rounds = 0, look = 0;                ///< so far; in which look the last ones
    std::string why;                         ///< there is nothing
  };
  struct Mapping {
    std::unique_ptr<kernel::Memory> memory;
    std::int64_t bytes = 0, granted = 0; ///< in large pages
  };
  /// A pattern while it is measured.
  struct Laid {
    Pattern pattern; ///< in the order of this round
    std::vector<std::uint64_t> places;
    std::int64_t extent = 0;
    Effort effort;
    Taken* taken = nullptr;
  };

public:
  /// Calls `observed` with each observation as it is made (its run is left empty).
  NativeSampler(const CachesTask& task, const TimeLimits& limits, Observer observed)
      : task_(task),
        limits_(limits),
        observed_(std::move(observed)),
        abilities_(caches_abilities(task)),
        metrics_(base::mapped(task.metrics, &CountedMiss::metric)),
        random_(task.seed) {}
  [[nodiscard]] const Abilities& abilities() const override { return abilities_; }
  /// Throws recount::Error when the memory cannot be had.
  std::vector<Reading> read(std::span<const Pattern> patterns) override {
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
  double quick_time(std::span<const std::uint64_t> places, bool quickly) override {
    std::byte* const base = memory_for(false, static_cast<std::int64_t>(std::ranges::max(places)) + 8).data();
    kernel::link(base, places);
    void* at = base + places.front();
    const auto visits = static_cast<std::int64_t>(places.size());
    static_cast<void>(follow(at, 3 * visits));
    const std::int64_t steps = std::max<std::int64_t>(2 * visits, quickly ? 500 : 1500);
    const auto chase = timed_chase(at, steps, quickly ? 1 : 3, quickly ? 1 : max_tries);
    const double each = chase.ns / static_cast<double>(steps);
    return base_ > 0 ? each * base_ / chase.reference : each;
  }
  PageColours keep(const PageColours& colours) override {
    search_again_ = false;
    ++searches_;
    ++measured_;
    if (!colours_ || rank(colours) > rank(*colours_)) colours_ = colours;
    return *colours_;
  }
  std::optional<PageColours> colours() override { return search_again_ ? std::nullopt : colours_; }
  [[nodiscard]] std::uint64_t searches() const override { return searches_; }
  [[nodiscard]] std::optional<HugePages> huge_pages() const override {
    if (!huge_.memory) return {};
    return HugePages{huge_.bytes, huge_.granted};
  }
  [[nodiscard]] bool out_of_time() const override {
    return cpu_time() > limits_.cpu || elapsed() > limits_.elapsed;
  }
  /// From now on patterns that fit private caches are measured anew when they are first requested again: more
  /// rounds in addition to those taken.
  void repeat_measurements() { ++look_; }
  /// The page colours are searched for once more; the better result of the searches is kept.
  void search_again() { search_again_ = true; }
  /// Makes observations of the page colours.
  void record_colours() const {
    if (!colours_) return;
    for (auto& observation : colour_observations(*colours_, abilities_.page)) {
      observation.witness = Witness::clock;
      observed_(observation);
    }
  }
  /// Of the thread, since construction: the time that others take of its CPU does not count.
  [[nodiscard]] std::chrono::milliseconds cpu_time() const {
    return std::chrono::milliseconds((base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_) / 1'000'000);
  }
  [[nodiscard]] std::chrono::milliseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun_);
  }
  /// Patterns measured and searches made so far.
  [[nodiscard]] std::uint64_t measured() const { return measured_; }

private:
  kernel::Memory& memory_for(bool huge, std::int64_t extent) {
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

  bool wanted(const Pattern& pattern) const {
    const auto found = taken_.find(pattern);
    if (found == taken_.end()) return true;
    return found->second.look < look_ && kernel::extent(pattern) <= private_bytes && !out_of_time();
  }

  /// Puts on record that there was no time for it.
  void refuse(const Pattern& pattern) {
    Taken& taken = taken_[pattern];
    taken.misses.resize(metrics_.size());
    taken.why = gave_up;
    result::Observation o = make_observation(pattern, 1, "seconds");
    o.witness = Witness::clock;
    o.reason = taken.why;
    observed_(o);
  }

  void measure_all(std::span<const Pattern> patterns) {
    std::vector<Laid> all;
    measured_ += patterns.size();
    for (const Pattern& pattern : patterns) {
      Taken& taken = taken_[pattern];
      taken.misses.resize(metrics_.size());
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

  void measure(Laid& laid, int round) {
    // Another order each round: replacement that only approximates the order of use can settle, in some
    // orders, on throwing out again and again what would fit.
    if (round > 0 && laid.pattern.visits() <= reordered_visits) {
      laid.pattern.seed = laid.pattern.seed % seeds_per_round + round * seeds_per_round;
      laid.places = kernel::places(laid.pattern);
    }
    std::byte* const base = memory_for(laid.pattern.huge, laid.extent).data() + laid.pattern.offset;
    kernel::link(base, laid.places);
    void* const start = base + laid.places.front();
    time(laid, round, start);
    if (!metrics_.empty()) count(laid, round, start);
  }

  void time(Laid& laid, int round, void* start) {
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
    if (has_reference) observed_(o);
    o.metric = "seconds";
    o.value = best / 1e9;
    o.accesses = steps;
    if (const auto pages = huge_pages(); pages && laid.pattern.huge) note_huge_pages(o, *pages);
    o.flags = flags;
    // As a reader of the record will have it.
    laid.taken->times.add(
        normalised_time(base_, reference, laid.pattern, result::ns_per_access(o).value_or(0)),
        !result::disturbances(o).empty());
    observed_(o);
  }

  void count(Laid& laid, int round, void* start) {
    const std::int64_t visits = laid.pattern.visits();
    const std::int64_t passes = std::max<std::int64_t>(1, 20'000 / visits);
    LaidInstance instance(start, passes * visits);
    instance.region()();
    const auto point = kernel::to_point(laid.pattern, passes);
    const witness::Task task{"", point.kernel, point.params, round, task_.witness, metrics_};
    const auto all = witness::find(task_.witness).observe(kernel::find(point.kernel), &instance, task);
    for (std::size_t level = 0; level < all.size(); ++level) {
      if (const auto each = result::per_access(all[level])) laid.taken->misses[level].push_back(*each);
      observed_(all[level]);
    }
  }

  const CachesTask& task_;
  const TimeLimits& limits_;
  Observer observed_;
  Abilities abilities_;
  std::vector<std::string> metrics_;
  Mapping small_, huge_;
  std::mt19937_64 random_;
  std::int64_t begin_ = base::clock_ns(CLOCK_THREAD_CPUTIME_ID); ///< CPU time of the thread
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  double base_ = 0; ///< the reference of the first time, seconds
  int look_ = 0;
  bool search_again_ = false;
  std::uint64_t searches_ = 0, measured_ = 0;
  std::map<kernel::Pattern, Taken> taken_;
  std::optional<PageColours> colours_;
};

} // namespace

// What goes through the pipes between recount caches and its measuring process: a request in JSON; then lines
// of JSON, each an observation or {"stage": NAME}.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CountedMiss, metric, name)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CachesTask, witness, metrics, max_bytes, seed, patient, grid, tlb_metrics)

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t longest_request = 1 << 16;

CachesTask read_request(int fd) {
  try {
    return nlohmann::json::parse(base::read_all(fd, longest_request).value_or("")).get<CachesTask>();
  } catch (const Json::exception&) {
    throw bad_input("caches-worker", "stdin has no request of recount caches",
                    "run recount caches, which starts this command itself");
  }
}

void forward_line(std::string_view line, const StageCallback& stage, const Observer& observed) {
  if (line.starts_with(R"({"stage":)")) return stage(Json::parse(line).at("stage").get<std::string>());
  const auto parsed = result::parse_line(line, "the measuring process");
  const auto* const observation = std::get_if<result::Observation>(&parsed);
  if (observation == nullptr)
    throw bad_input("the measuring process", "wrote something other than observations");
  observed(*observation);
}

std::int64_t largest_private(const Caches& found) {
  double largest = 0;
  for (const auto& level : found.levels)
    if (level.capacity.value && !level.effective && level.name != "L3")
      largest = std::max(largest, *level.capacity.value);
  return static_cast<std::int64_t>(largest);
}

/// Other users of the core work for seconds; a patient measurement waits that long between its attempts.
constexpr std::chrono::seconds until_others_end(5);

/// Infers, again with more readings where noise hid something.
Caches infer_patiently(NativeSampler& sampler, bool patient, const TimeLimits& limits,
                       const StageCallback& stage) {
  Caches found = infer_caches(sampler, stage);
  for (std::uint64_t before = 0; sampler.cpu_time() < limits.repeat_cpu &&
                                 sampler.elapsed() < limits.repeat_elapsed && sampler.measured() > before;) {
    before = sampler.measured();
    const Settled parts = settled(found);
    if (parts == Settled::all || (parts == Settled::two_levels && !patient)) break;
    if (patient && found.levels.front().effective) std::this_thread::sleep_for(until_others_end);
    if (parts < Settled::first_level || patient) sampler.repeat_measurements();
    if (parts < Settled::two_levels || patient) sampler.search_again();
    found = infer_caches(sampler, stage);
  }
  return found;
}

bool within(int number, std::string_view ranges) {
  return std::ranges::any_of(base::split(ranges, ','), [&](std::string_view range) {
    const auto dots = range.find("..");
    const int low = base::parse<int>(range.substr(0, dots)).value();
    return low <= number &&
           number <= (dots == range.npos ? low : base::parse<int>(range.substr(dots + 2)).value());
  });
}

/// Of "NAME CODE.UMASK"; nothing of "-".
std::optional<CountedMiss> parse_event(std::string_view cell, const std::string& pmu) {
  const auto parts = base::words(cell);
  if (parts.size() < 2) return {};
  const std::string_view code = parts[1];
  const auto dot = code.find('.');
  return CountedMiss{fmt::format("{}/event=0x{},umask=0x{}/", pmu, code.substr(0, dot), code.substr(dot + 1)),
                     std::string(parts[0])};
}

} // namespace

std::vector<MissEvents> miss_events(const host::Cpu& cpu, std::string_view text) {
  std::vector<MissEvents> all;
  for (const auto& [where, cells] : base::data_rows(text.empty() ? misses_data : text, "misses.txt")) {
    const auto words = base::words(cells.at(0));
    if (words.at(0) != cpu.vendor || base::parse<int>(words.at(1)) != cpu.family ||
        !within(cpu.model, words.at(2)))
      continue;
    MissEvents& row = all.emplace_back(MissEvents{std::string(cells.at(1)), {}, {}});
    row.levels = {parse_event(cells.at(2), row.pmu), parse_event(cells.at(3), row.pmu)};
    row.tlbs = {parse_event(cells.at(4), row.pmu), parse_event(cells.at(5), row.pmu)};
  }
  return all;
}

namespace {

/// Whether the witness counts it here.
bool countable(const Witness& witness, const std::string& metric) {
  const auto& by = witness::find(witness);
  return by.provides(metric) && by.missing({metric}).empty();
}

/// The events of this CPU's type of core; none for PAPI, which has other names for events.
MissEvents own_events(const CachesTask& task) {
  if (task.witness.kind != Witness::perf) return {};
  for (const MissEvents& row : miss_events(host::this_cpu()))
    for (const host::Pmu& pmu : event::pmus())
      if (pmu.name == row.pmu &&
          (!task.cpu || pmu.cpus.empty() || std::ranges::count(pmu.cpus, *task.cpu) > 0))
        return row;
  return {};
}

/// Those countable, up to the first that is not.
std::vector<CountedMiss> first_countable(const Witness& witness,
                                         const std::vector<std::vector<CountedMiss>>& choices) {
  std::vector<CountedMiss> chosen;
  for (const auto& of_level : choices) {
    const auto found = std::ranges::find_if(
        of_level, [&](const CountedMiss& miss) { return countable(witness, miss.metric); });
    if (found == of_level.end()) break;
    chosen.push_back(*found);
  }
  return chosen;
}

} // namespace

void choose_metrics(CachesTask& task) {
  const bool exact = host::this_emulation().repeatable;
  const MissEvents own = own_events(task);
  std::vector<std::vector<CountedMiss>> levels, tlbs;
  for (std::size_t level = 0; level < 2; ++level) {
    auto& choices = levels.emplace_back(1, CountedMiss{miss_metric(level), {}});
    if (level < own.levels.size() && own.levels[level])
      choices.insert(exact ? choices.begin() : choices.end(), *own.levels[level]);
  }
  for (const auto& event : own.tlbs)
    tlbs.push_back(event ? std::vector{*event} : std::vector<CountedMiss>{});
  task.metrics = first_countable(task.witness, levels);
  if (exact && !task.metrics.empty()) task.tlb_metrics = first_countable(task.witness, tlbs);
}

Abilities caches_abilities(const CachesTask& task) {
  Abilities can;
  can.witness = task.witness;
  can.counted = task.metrics.size();
  can.counted_tlbs = task.tlb_metrics.size();
  can.page = ::sysconf(_SC_PAGESIZE);
  can.max_bytes = task.max_bytes;
  const host::Emulation emulation = host::this_emulation();
  can.exact = can.counted > 0 ? emulation.repeatable : emulation.clock;
  can.times = !can.exact || can.counted == 0;
  can.at_once = can.exact ? 1 : 12;
  const bool presets = std::ranges::all_of(task.metrics, [](const CountedMiss& m) { return m.name.empty(); });
  if (!presets) can.events = task.metrics;
  can.tlb_events = task.tlb_metrics;
  return can;
}

bool take_readings(const CachesTask& task, const StageCallback& stage, const Observer& observed) {
  constexpr std::chrono::seconds limit(600);
  process::Spawn spawn;
  spawn.argv = {"/proc/self/exe", "caches-worker"};
  spawn.cpu = task.cpu;
  spawn.fixed_addresses = true;
  const auto deadline = SteadyClock::now() + limit;
  spawn.core_dump = false;
  process::Worker worker = process::start_worker(spawn, nlohmann::json(task).dump());
  while (worker.open()) {
    if (process::stop_signal != 0) return false;
    if (SteadyClock::now() > deadline)
      throw unavailable("recount caches", fmt::format("time-out after {} s", limit.count()), {},
                        "try again when the machine is less busy");
    worker.read(100);
    const std::string lines = worker.lines();
    for (const auto line : base::split(lines, '\n'))
      if (!line.empty()) forward_line(line, stage, observed);
  }
  const process::Exit exit = worker.child().wait(std::chrono::seconds(5));
  if (exit.ok()) return true;
  const std::string words(worker.last_words());
  throw unavailable("recount caches", "the measuring process ended: " + describe(exit) +
                                          (words.empty() ? "" : "; its last output: " + words));
}

namespace {

constexpr std::int64_t smallest_size = 4096, few_rounds_from = std::int64_t{128} << 10, ///< bytes
    largest_chased = std::int64_t{1} << 20, narrowest_chased = 8;
constexpr int grid_repetitions = 3, small_repetitions = 6; // of those that take no time
constexpr const char* grid_cycles = "PAPI_TOT_CYC";

/// Pages of each repetition lie elsewhere: what one placement spoils, another does not.
void observe_point(const CachesTask& task, const kernel::KernelPoint& point, int repetition,
                   const Observer& observed) {
  const auto& kernel = kernel::find(point.kernel);
  const auto instance = kernel.prepare(point.params);
  instance->region()();
  std::vector<Witness> witnesses{Witness::clock};
  std::vector<std::string> counted;
  for (const CountedMiss& miss : task.metrics)
    if (miss.name.empty()) counted.push_back(miss.metric); // a grid has no plan that says what others count
  if (!counted.empty()) witnesses.push_back(task.witness);
  for (const auto& name : witnesses) {
    const auto& witness = witness::find(name);
    auto metrics = name == Witness::clock ? std::vector<std::string>{"seconds"} : counted;
    if (name != Witness::clock && witness.provides(grid_cycles) && witness.missing({grid_cycles}).empty())
      metrics.emplace_back(grid_cycles);
    for (const auto& observation : witness.observe(
             kernel, instance.get(), {"", kernel.name(), point.params, repetition, name, metrics}))
      observed(observation);
  }
}

/// The grid of sizes and strides of powers of two, kernels stride and chase, for a machine whose largest
/// private cache is about so large.
std::vector<kernel::KernelPoint> grid_points(std::int64_t largest_cache) {
  std::int64_t most = std::int64_t{4} << 20;
  while (most < 2 * largest_cache && most < std::int64_t{64} << 20)
    most *= 2;
  std::vector<kernel::KernelPoint> points;
  const auto add = [&](const std::string& name, std::int64_t size, std::int64_t stride, std::int64_t rounds) {
    const auto& kernel = kernel::find(name);
    points.push_back(
        {name, kernel::complete(kernel, {{"size", size}, {"stride", stride}, {"rounds", rounds}})});
  };
  for (std::int64_t size = smallest_size; size <= most; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      add("stride", size, stride, size < few_rounds_from ? 10 : 1); // enough accesses to time
      // The time of stride hides what a miss costs; what waits for the load before shows it.
      if (size <= largest_chased && stride >= narrowest_chased)
        add("chase", size, stride, size < few_rounds_from ? 4 : 1);
    }
  return points;
}

/// Measures the grid in this process and hands the observations on.
void take_grid(const CachesTask& task, std::int64_t largest_cache, const Observer& observed) {
  std::mt19937_64 random(task.seed);
  auto order = grid_points(largest_cache);
  for (int repetition = 0; repetition < small_repetitions; ++repetition) {
    if (repetition == grid_repetitions)
      std::erase_if(order, [](const kernel::KernelPoint& point) {
        return std::get<std::int64_t>(point.params.at("size")) > few_rounds_from;
      });
    base::shuffle(std::span(order), random);
    for (const auto& point : order)
      observe_point(task, point, repetition, observed);
  }
}

} // namespace

int serve_caches(int in, int out) {
  const auto write_line = [out](const std::string& line) {
    if (!process::write_all(out, line + '\n')) ::_exit(3); // the parent is gone
  };
  const CachesTask task = read_request(in);
  const auto observed = [&](const result::Observation& o) { write_line(result::to_line(o)); };
  const auto stage = [&](const std::string& name) { write_line(Json{{"stage", name}}.dump()); };
  Caches found;
  if (caches_abilities(task).exact) {
    ExactSampler sampler(task, observed);
    found = infer_caches(sampler, stage);
  } else {
    const TimeLimits& limits = task.patient ? patient_limits : usual_limits;
    NativeSampler sampler(task, limits, observed);
    found = infer_patiently(sampler, task.patient, limits, stage);
    sampler.record_colours();
  }
  if (task.grid) {
    stage("grid");
    take_grid(task, largest_private(found), observed);
  }
  return 0;
}

} // namespace caches

} // namespace recount
