#include "caches/infer/outer.hpp"

#include "base/bytes.hpp"
#include "caches/infer/properties.hpp"
#include "caches/infer/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::analysis {

namespace {

constexpr double still_rising = 1.25;     ///< over the last doubling of the working set
constexpr double least_memory_step = 1.5; ///< over the plateau before; else memory follows L2

std::string rounded(double bytes) {
  return bytes_text(std::round(bytes / (1 << 20)) * (1 << 20));
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
  p.quantity = "ns an access";
  p.threshold = fmt::format("half way from {:.0f} ns to {:.0f} ns", hit, memory);
  p.against = "a plateau of the time at larger working sets";
  p.routes = {{"working set half way to memory", capacity}};
  for (const SizePoint& point : curve)
    if (static_cast<double>(point.bytes) > capacity / 6)
      p.points.push_back({bytes_text(static_cast<double>(point.bytes)), point.ns});
  p.words.push_back(fmt::format(
      "The time of an access rises from {:.0f} ns to {:.0f} ns and is half way at about {}: so much of the "
      "last level this machine gets, now.",
      hit, memory, rounded(capacity)));
}

} // namespace

void add_outer_levels(Caches& found, const BeyondSecond& beyond) {
  const auto& curve = found.curve;
  const SizePoint &last = curve.back(), &before = curve[curve.size() - 2];
  LevelFinding finding =
      unknown_level(level_name(found.levels.size()), "its sets are shared with others and chosen by a hash");
  finding.effective = true;
  finding.measure = "time of an access";
  finding.latency = time_property(
      "latency", beyond.hit, Confidence::medium,
      {fmt::format("Working sets that leave L2 altogether take {:.1f} ns an access, TLB misses subtracted.",
                   beyond.hit)});
  if (last.ns > still_rising * before.ns) {
    const std::string why =
        fmt::format("the time of an access still rises at {}, the largest working set tried",
                    rounded(static_cast<double>(last.bytes)));
    finding.capacity.unknown = finding.penalty.unknown = why;
    found.memory = unknown_property("latency", "ns", why);
    found.levels.push_back(std::move(finding));
    return;
  }
  const double memory = std::min(last.ns, before.ns);
  found.memory = time_property("latency", memory, Confidence::medium,
                               {fmt::format("From {} to {} an access takes {:.0f} ns, TLB misses included.",
                                            rounded(static_cast<double>(before.bytes)),
                                            rounded(static_cast<double>(last.bytes)), memory)});
  if (memory < least_memory_step * beyond.hit) return; // what follows L2 is memory itself
  fill_effective_capacity(finding.capacity, curve, beyond.hit, memory);
  finding.penalty =
      time_property("penalty", memory - beyond.hit, Confidence::low,
                    {fmt::format("{:.0f} ns from memory, less {:.0f} ns from here.", memory, beyond.hit)});
  found.levels.push_back(std::move(finding));
}

} // namespace recount::analysis
