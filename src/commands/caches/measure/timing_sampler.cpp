#include "commands/caches/measure/timing_sampler.hpp"

#include "base/clock.hpp"
#include "run/result/curves.hpp"
#include "run/result/observation.hpp"

#include <algorithm>
#include <ctime>

namespace recount::caches {

namespace {

std::int64_t time(void* start, std::int64_t steps) {
  LaidInstance instance(start, steps);
  const kernel::Region region = instance.region();
  const std::int64_t before = base::clock_ns(CLOCK_THREAD_CPUTIME_ID);
  region();
  return base::clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

} // namespace

std::vector<Reading> TimingSampler::read(std::span<const kernel::Pattern> patterns) {
  std::vector<Reading> all;
  for (const kernel::Pattern& pattern : patterns)
    all.push_back(read(pattern));
  return all;
}

Reading TimingSampler::read(const kernel::Pattern& pattern) {
  const auto places = kernel::places(pattern);
  std::byte* const base = memory_.fresh(kernel::extent(pattern) + pattern.offset) + pattern.offset;
  kernel::link(base, places);
  void* const start = base + places.front();
  const std::int64_t visits = pattern.visits();
  // One miss per pass is some nanoseconds; whole ones, mispredictions and what reading a clock evicts are
  // less in many passes. Larger patterns than fit a second level miss often.
  constexpr std::int64_t many_passes_to = 40'000, min_visits = 65'536;
  const std::int64_t passes = visits <= many_passes_to ? std::max<std::int64_t>(64, min_visits / visits) : 8;
  static_cast<void>(time(start, visits));
  const std::int64_t first = time(start, visits), all = time(start, (1 + passes) * visits);
  result::Observation o = make_observation(pattern, passes, "seconds");
  o.witness = Witness::clock;
  o.accesses = passes * visits;
  o.value = static_cast<double>(all - first) / 1e9;
  observed_(o);
  Reading reading;
  reading.ns = result::ns_per_access(o);
  reading.repeated_ns = reading.ns;
  reading.rounds = 1;
  return reading;
}

} // namespace recount::caches
