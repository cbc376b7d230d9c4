#include "commands/caches/measure/study.hpp"

#include "base/clock.hpp"
#include "kernel/native.hpp"
#include "run/result/curves.hpp"
#include "run/result/observation.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

namespace recount::caches {

namespace {

/// Passes in which lines of others leave: a line that hits in the level above does not renew its place below,
/// so that one pass may leave some.
constexpr std::int64_t settling = 4;

void chase(void* start, std::int64_t steps) {
  kernel::native::Chase context{start, steps, nullptr};
  kernel::native::recount_kernel_chase(&context);
}

std::int64_t time_of(void* start, std::int64_t steps) {
  const std::int64_t before = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  chase(start, steps);
  return base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

} // namespace

ExactSampler::ExactSampler(CachesTask task, Observer observed)
    : task_(std::move(task)), abilities_(caches_abilities(task_)), observed_(std::move(observed)) {
  for (const auto* misses : {&task_.metrics, &task_.tlb_metrics})
    for (const CountedMiss& miss : *misses)
      metrics_.push_back(miss.metric);
  for (const std::string& metric : metrics_)
    requested_.push_back(witness::resolve_metric(metric));
  const bool perf = task_.witness.kind == Witness::perf;
  const auto alone = [](const witness::Set&) { return false; };
  sets_ = witness::make_sets(requested_, perf ? witness::Fits(witness::fits_one_group) : alone);
  for (const witness::Set& set : sets_) {
    Counting& counting = counting_.emplace_back();
    if (perf)
      counting.perf.emplace(set.events);
    else
      counting.papi.emplace(witness::names_of(set, metrics_), Domain::user);
  }
}

Reading ExactSampler::read_one(const kernel::Pattern& pattern) {
  const auto places = kernel::places(pattern);
  std::byte* const base = memory_.fresh(kernel::extent(pattern) + pattern.offset) + pattern.offset;
  kernel::link(base, places);
  Reading reading;
  if (metrics_.empty())
    time(reading, pattern, base + places.front());
  else
    count(reading, pattern, base + places.front());
  return reading;
}

void ExactSampler::time(Reading& reading, const kernel::Pattern& pattern, void* start) {
  const std::int64_t visits = pattern.visits();
  // One miss per pass is some nanoseconds; whole ones, mispredictions and what reading a clock evicts are
  // less in many passes. Larger patterns than fit a second level miss often.
  constexpr std::int64_t many_passes_to = 40'000, min_visits = 65'536;
  const std::int64_t passes = visits <= many_passes_to ? std::max<std::int64_t>(64, min_visits / visits) : 8;
  static_cast<void>(time_of(start, visits));
  const std::int64_t first = time_of(start, visits), all = time_of(start, (1 + passes) * visits);
  result::Observation o = make_observation(pattern, passes, "seconds");
  o.witness = Witness::clock;
  o.accesses = passes * visits;
  o.value = static_cast<double>(all - first) / 1e9;
  observed_(o);
  reading.ns = reading.repeated_ns = result::ns_per_access(o);
  reading.rounds = 1;
}

void ExactSampler::count(Reading& reading, const kernel::Pattern& pattern, void* start) {
  const std::int64_t visits = pattern.visits();
  reading.misses.resize(task_.metrics.size());
  reading.translations.resize(task_.tlb_metrics.size());
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    // Lines that do not fit miss once per pass at least; a few misses of what happens around an execution are
    // less in more passes.
    constexpr std::int64_t few = 40'000, many = 2'000'000;
    std::int64_t passes = std::clamp<std::int64_t>(few / visits, 8, 32);
    const auto undecided = [&](const Counted& misses) {
      return misses && 4 * std::abs(*misses) > passes && *misses < std::max(2 * passes, visits / 32);
    };
    auto misses = added(set, start, visits, passes);
    while (std::ranges::any_of(misses, undecided) && 4 * passes * visits <= many) {
      passes *= 4;
      misses = added(set, start, visits, passes);
    }
    for (std::size_t i = 0; i < misses.size(); ++i) {
      const std::size_t metric = sets_[set].metrics[i], levels = reading.misses.size();
      result::Observation o = make_observation(pattern, passes, metrics_[metric]);
      o.witness = task_.witness;
      o.accesses = passes * visits;
      if (misses[i])
        o.value = *misses[i];
      else
        o.reason = "not counted all the time";
      (metric < levels ? reading.misses[metric] : reading.translations[metric - levels]) =
          result::per_access(o);
      observed_(o);
    }
  }
}

std::vector<ExactSampler::Counted> ExactSampler::added(std::size_t set, void* start, std::int64_t visits,
                                                       std::int64_t passes) {
  static_cast<void>(counted(set, start, visits));
  const auto first = counted(set, start, settling * visits);
  auto all = counted(set, start, (settling + passes) * visits);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = first[i] && all[i] ? Counted(*all[i] - *first[i]) : std::nullopt;
  return all;
}

std::vector<ExactSampler::Counted> ExactSampler::counted(std::size_t number, void* start,
                                                         std::int64_t steps) {
  const witness::Set& set = sets_[number];
  auto& [perf, papi] = counting_[number];
  std::vector<Count> counts;
  std::vector<long long> values(set.metrics.size());
  if (perf) {
    perf->reset();
    perf->start();
    chase(start, steps);
    perf->stop();
    counts = perf->read();
  } else {
    papi->start();
    chase(start, steps);
    papi->stop(values);
  }
  std::vector<Counted> all;
  for (std::size_t i = 0; i < set.metrics.size(); ++i) {
    result::Observation o;
    if (perf)
      witness::fill(o, requested_[set.metrics[i]], set.counts_of(i, counts));
    else
      o.value = std::int64_t{values[i]};
    const auto* const value = std::get_if<std::int64_t>(&o.value);
    all.push_back(value ? Counted(*value) : std::nullopt);
  }
  return all;
}

std::byte* SparseMemory::fresh(std::int64_t bytes) {
  release();
  bytes_ = static_cast<std::size_t>(bytes) + 4096;
  void* const start =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED)
    throw unavailable("recount caches", fmt::format("mmap of {} bytes: {}", bytes_, std::strerror(errno)), {},
                      "--max-size 8M");
  start_ = start;
  return static_cast<std::byte*>(start_);
}

void SparseMemory::release() {
  if (start_ != nullptr) ::munmap(start_, bytes_);
  start_ = nullptr;
}

} // namespace recount::caches
