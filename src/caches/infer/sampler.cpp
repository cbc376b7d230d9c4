#include "caches/infer/sampler.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>

namespace recount::caches {

namespace {
constexpr std::int64_t shared_from = std::int64_t{8} << 20; ///< bytes; larger patterns reach shared levels
}

double at_clock_of(double base, double reference, const kernel::Pattern& pattern, double ns) {
  if (base <= 0 || reference <= 0 || kernel::extent(pattern) > shared_from) return ns;
  return ns * base / reference;
}

Reading summarised(const kernel::Pattern& pattern, std::span<const double> ns,
                   std::span<const std::vector<double>> misses) {
  Reading reading;
  if (!ns.empty())
    reading.ns = kernel::extent(pattern) > shared_from ? statistics::median(ns) : std::ranges::min(ns);
  for (const auto& rounds : misses)
    reading.misses.push_back(rounds.empty() ? std::nullopt : std::optional(statistics::median(rounds)));
  return reading;
}

} // namespace recount::caches
