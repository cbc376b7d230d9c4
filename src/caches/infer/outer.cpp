#include "caches/infer/properties.hpp"

#include "base/format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

/// Bytes: working sets up to here were measured in rounds enough to compare them.
constexpr std::int64_t many_rounds_to = std::int64_t{8} << 20;
constexpr double still_rising = 1.25;     ///< over the last doubling of the working set
constexpr double least_memory_step = 1.5; ///< over the plateau before; else memory follows L2

std::string rounded(double bytes) {
  return base::format_bytes(std::round(bytes / (1 << 20)) * (1 << 20));
}

/// The working set at which the time passes `ns`, between the points of the curve.
double size_at(const std::vector<SizePoint>& curve, double ns) {
  const auto above = std::ranges::find(curve, first_above(curve, ns), &SizePoint::bytes);
  if (above == curve.end() || above == curve.begin()) return 0;
  const auto below = above - 1;
  const double part = std::clamp((ns - below->ns) / (above->ns - below->ns), 0.0, 1.0);
  const auto from = static_cast<double>(below->bytes), to = static_cast<double>(above->bytes);
  return from * std::pow(to / from, part);
}

void fill_effective_capacity(Property& p, const std::vector<SizePoint>& curve, double hit, double memory) {
  const double capacity = size_at(curve, (hit + memory) / 2);
  if (capacity == 0) return;
  p.unknown.clear();
  p.value = capacity;
  p.tolerance = 0.5;
  p.confidence = Confidence::low;
  p.quantity = "ns per access";
  p.threshold = fmt::format("midpoint between {:.0f} ns and {:.0f} ns", hit, memory);
  p.against = "larger working sets had the same time";
  p.routes = {{"working set at the midpoint to memory", capacity}};
  for (const SizePoint& point : curve)
    if (static_cast<double>(point.bytes) > capacity / 6)
      p.points.push_back({base::format_bytes(point.bytes), point.ns});
  p.words.push_back(fmt::format(
      "The access time rises from {:.0f} ns to {:.0f} ns; its midpoint is at about {}: the share of the last "
      "level that this machine has at present.",
      hit, memory, rounded(capacity)));
  p.evidence = fmt::format("midpoint between {:.0f} ns (hit) and {:.0f} ns (memory)", hit, memory);
}

} // namespace

void add_outer_levels(Caches& found, const BeyondSecond& beyond) {
  const auto& curve = found.curve;
  const SizePoint &last = curve.back(), &before = curve[curve.size() - 2];
  LevelFinding finding =
      unknown_level(level_name(found.levels.size()), "it is shared, and its sets are selected by a hash");
  finding.effective = true;
  finding.measure = "access time";
  finding.latency = time_property(
      "latency", beyond.hit, Confidence::medium,
      {fmt::format("Working sets that always miss in L2 take {:.1f} ns per access, TLB misses subtracted.",
                   beyond.hit)});
  if (const std::string noise = noise_of(curve, beyond.from, beyond.to); !noise.empty())
    finding.latency = unknown_property("latency", "ns", noise);
  if (last.ns > still_rising * before.ns) {
    const std::string why = fmt::format("the access time still rises at {}, the largest working set measured",
                                        rounded(static_cast<double>(last.bytes)));
    finding.capacity.unknown = finding.penalty.unknown = why;
    found.memory = unknown_property("latency", "ns", why);
    found.levels.push_back(std::move(finding));
    return;
  }
  std::string noise = noise_of(curve, before.bytes, last.bytes);
  if (noise.empty()) noise = noise_of(curve, many_rounds_to / 2, many_rounds_to);
  if (!noise.empty()) {
    finding.capacity.unknown = finding.penalty.unknown = noise;
    found.memory = unknown_property("latency", "ns", noise);
    found.levels.push_back(std::move(finding));
    return;
  }
  const double memory = std::min(last.ns, before.ns);
  found.memory =
      time_property("latency", memory, Confidence::medium,
                    {fmt::format("Working sets of {} to {} take {:.0f} ns per access, TLB misses included.",
                                 rounded(static_cast<double>(before.bytes)),
                                 rounded(static_cast<double>(last.bytes)), memory)});
  if (memory < least_memory_step * beyond.hit) return; // what follows L2 is memory itself
  fill_effective_capacity(finding.capacity, curve, beyond.hit, memory);
  finding.penalty =
      time_property("penalty", memory - beyond.hit, Confidence::low,
                    {fmt::format("{:.0f} ns from memory - {:.0f} ns for a hit.", memory, beyond.hit)});
  found.levels.push_back(std::move(finding));
}

} // namespace recount::caches
