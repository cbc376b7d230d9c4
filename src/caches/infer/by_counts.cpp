// Misses of every level are counted, and the addresses of a pattern choose the sets: the model, or memory
// that lies as it looks.
#include "caches/infer/properties.hpp"
#include "caches/infer/record.hpp"
#include "caches/infer/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace recount::analysis {

namespace {

/// What is known of the levels above one.
class LevelsAbove {
public:
  LevelsAbove(Notebook& notebook, std::size_t counted) {
    for (std::size_t level = 0; level < counted; ++level)
      gauges_.push_back(std::make_unique<CountGauge>(notebook, level));
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
      return c.lines.leaves != 0 && c.lines.stays == inner_.ways &&
             lines_that_stay(shape, c.stride) < inner_.ways;
    });
  }

  std::vector<std::unique_ptr<CountGauge>> gauges_;
  Inner inner_;
  std::int64_t capacity_ = 0, line_ = 16;
};

const std::vector<std::string> method_by_counts = {
    "Every pattern is visited until the caches are warm; then the misses of further passes are counted.",
    "L1: dense working sets, one access a line, grow until something misses; lines at strides of powers of "
    "two "
    "tell how many fall into one set; pairs of touches tell how long a line is.",
    "From L1 to L2 two things change. Working sets and strides grow with the capacity. And every access must "
    "miss "
    "L1 first, or L2 is never asked: lines are multiples of L1's bytes a way apart, so that all fall into "
    "one "
    "L1 set, and where fewer of them are wanted than L1 has ways, others of that L1 set that lie in other L2 "
    "sets "
    "push them out."};

} // namespace

std::string measure_by_counts(std::size_t level) {
  return fmt::format("misses of {} an access ({})", level_name(level), miss_metric(level));
}

std::string meaning_of_counts(const Abilities& can) {
  if (can.witness.starts_with("model"))
    return "PAPI_L1_DCM, PAPI_L2_DCM stand here for the demand misses of the simulated levels: loads of the "
           "program that a level cannot serve, nothing that a prefetcher or a page walker asks for.";
  return "PAPI_L1_DCM counts lines brought into L1, on many CPUs by whomever: prefetchers and the page "
         "walker are "
         "among them. PAPI_L2_DCM is often derived from references to the last level, which include what the "
         "prefetchers of L2 ask for. So a count is held against a floor and not against 0, and the patterns "
         "give "
         "prefetchers nothing to foresee.";
}

void infer_by_counts(Caches& found, Notebook& notebook, const Stage& stage) {
  const Abilities& can = notebook.abilities();
  LevelsAbove above(notebook, can.counted);
  bool known = true;
  for (std::size_t level = 0; level < can.counted; ++level) {
    LevelFinding finding = unknown_level(level_name(level), "misses are counted here, no time is taken");
    stage(finding.name);
    finding.measure = measure_by_counts(level);
    if (known)
      finding.geometry = find_geometry(notebook, above.gauge(level), above.around(level));
    else
      finding.geometry.unknown = finding.geometry.line_unknown =
          "the level above it is not known well enough";
    fill_from_geometry(finding, {notebook, above.gauge(level), finding.name, finding.measure, can.exact});
    known = known && above.take(finding.geometry);
    found.levels.push_back(std::move(finding));
  }
  if (can.counted_tlbs > 0) {
    stage("TLB");
    const std::int64_t line = found.levels.front().geometry.line.value_or(64);
    found.tlbs = tlb_findings(find_translation(notebook, line), can.exact);
  }
  found.method = method_by_counts;
  found.method.push_back(meaning_of_counts(can));
}

} // namespace recount::analysis
