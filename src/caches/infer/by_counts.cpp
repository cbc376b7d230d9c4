// The witness counts misses of every level, and the addresses of a pattern select the sets: the model, or
// physically contiguous memory.
#include "caches/infer/properties.hpp"
#include "caches/infer/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace recount::caches {

namespace {

/// What is known of the levels above one.
class LevelsAbove {
public:
  LevelsAbove(CachedSampler& cached, std::size_t counted) {
    for (std::size_t level = 0; level < counted; ++level)
      gauges_.push_back(std::make_unique<CountGauge>(cached, level));
  }
  [[nodiscard]] CountGauge& gauge(std::size_t level) { return *gauges_[level]; }
  [[nodiscard]] Neighbours around(std::size_t level) const {
    Neighbours n;
    if (level > 0) n.above = gauges_[level - 1].get();
    if (level + 1 < gauges_.size()) n.below = gauges_[level + 1].get();
    n.inner = inner_;
    n.capacity_above = capacity_;
    n.line_above = line_;
    return n;
  }
  /// Takes a level in; false when it is not known well enough to look beyond it.
  bool take(const Geometry& g) {
    if (!g.unknown.empty() || g.shapes.size() != 1) return false;
    const Shape& shape = g.shapes.front();
    if (shape.ways < inner_.ways && !g.inclusive && !seen_hidden(g, shape)) return false;
    inner_.ways = g.inclusive ? shape.ways : std::max(inner_.ways, shape.ways);
    inner_.period = common_multiple(inner_.period, shape.way_bytes());
    if (capacity_ == 0) line_ = shape.line;
    capacity_ = shape.capacity();
    return inner_.period != 0;
  }

private:
  /// Whether lines were seen to stay in the levels above that this one has no room for: it is not inclusive.
  [[nodiscard]] bool seen_hidden(const Geometry& g, const Shape& shape) const {
    return std::ranges::any_of(g.conflicts, [&](const Conflict& c) {
      return c.lines.exceeds != 0 && c.lines.fits == inner_.ways &&
             lines_retained(shape, c.stride) < inner_.ways;
    });
  }

  std::vector<std::unique_ptr<CountGauge>> gauges_;
  Inner inner_;
  std::int64_t capacity_ = 0, line_ = 16;
};

const std::vector<std::string> method_by_counts = {
    "Every pattern is visited until the caches are warm; then the misses of further passes are counted.",
    "L1: dense working sets, one access per line, grow until accesses miss. The number of lines retained at "
    "power-of-two strides gives the ways; pairs of accesses give the line size.",
    "L2: two things change. Working sets and strides grow with the capacity. Every access must miss in L1: "
    "lines are a multiple of the L1 way size apart, so all map to one L1 set. If fewer are needed than L1 "
    "has "
    "ways, further lines of that L1 set, from other L2 sets, evict them."};

} // namespace

std::string measure_by_counts(std::size_t level) {
  return fmt::format("{} misses per access ({})", level_name(level), miss_metric(level));
}

std::string meaning_of_counts(const Abilities& can) {
  if (can.witness.starts_with("model"))
    return "PAPI_L1_DCM, PAPI_L2_DCM: demand misses of the simulated levels. Prefetches and page walks are "
           "not "
           "included.";
  return "PAPI_L1_DCM counts lines brought into L1; on many CPUs prefetches and page walks are included. "
         "PAPI_L2_DCM is often derived from references to the last level, which include the L2 prefetcher. "
         "Counts are therefore compared with a threshold, not with 0, and the patterns are unpredictable for "
         "prefetchers.";
}

void infer_by_counts(Caches& found, CachedSampler& cached, const StageCallback& stage) {
  const Abilities& can = cached.abilities();
  LevelsAbove above(cached, can.counted);
  bool known = true;
  for (std::size_t level = 0; level < can.counted; ++level) {
    LevelFinding finding = unknown_level(level_name(level), "the witness counts misses and measures no time");
    stage(finding.name);
    finding.measure = measure_by_counts(level);
    if (known)
      finding.geometry = find_geometry(cached, above.gauge(level), above.around(level));
    else
      finding.geometry.unknown = finding.geometry.line_unknown = "the level above is not known well enough";
    fill_from_geometry(finding, {cached, above.gauge(level), finding.name, finding.measure, can.exact});
    known = known && above.take(finding.geometry);
    found.levels.push_back(std::move(finding));
  }
  if (can.counted_tlbs > 0) {
    stage("TLB");
    const std::int64_t line = found.levels.front().geometry.line.value_or(64);
    found.tlbs = tlb_findings(find_translation(cached, line), can.exact);
  }
  found.method = method_by_counts;
  found.method.push_back(meaning_of_counts(can));
}

} // namespace recount::caches
