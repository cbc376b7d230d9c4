#include "caches/infer/properties.hpp"

#include "base/format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

namespace {

constexpr double high_probability = 0.999; ///< a wrong value in fewer than one of a thousand

std::string share_text(double share) {
  return share != 0 && share < 0.001 ? fmt::format("{:.5f}", share)
                                     : fmt::format("{:.3f}", std::max(share, 0.0));
}

Confidence two_routes(bool agree, bool exact) {
  return agree || exact ? Confidence::high : Confidence::medium;
}

/// Readings of dense working sets, those that can be had.
std::vector<EvidencePoint> dense_points(const Witnessed& by, const std::vector<std::int64_t>& sizes,
                                        std::int64_t stride) {
  std::vector<EvidencePoint> points;
  for (const std::int64_t bytes : sizes) {
    try {
      const auto pattern = kernel::dense(std::max<std::int64_t>(bytes / stride, 1), stride);
      points.push_back({base::format_bytes(pattern.count * stride), by.gauge.share(pattern)});
    } catch (const Unknown&) { // not on record: one point fewer
    }
  }
  return points;
}

/// By time the probability of the shape decides, and whether the onset of misses confirms it.
Confidence of_shape(const Geometry& g, bool exact, bool routes_agree) {
  if (g.probability == 0) return two_routes(!g.outlier && routes_agree, exact);
  return g.probability >= high_probability ? Confidence::high : Confidence::medium;
}

void add_probability(Property& p, const Geometry& g) {
  if (g.probability > 0)
    p.words.push_back(fmt::format("Probability of any other ways or way size, given the readings of {}: "
                                  "{}.",
                                  base::format_count(g.conflicts.size(), "stride"),
                                  rare_text(1 - g.probability)));
}

void fill_capacity(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  const Shape& shape = g.shapes.front();
  const std::int64_t capacity = shape.capacity(), stride = g.onset_stride;
  p.value = static_cast<double>(capacity);
  p.routes = {{"largest working set that fits", static_cast<double>(g.onset.fits)},
              {"sets x ways x line, from conflict misses", static_cast<double>(capacity)}};
  p.confidence = of_shape(g, by.exact, true);
  p.points = dense_points(
      by, {capacity / 2, g.onset.fits, g.onset.exceeds, capacity + capacity / 4, 2 * capacity}, stride);
  p.threshold = by.gauge.thresholds();
  p.against = fmt::format(
      "a working set below {} missed in {}, or a larger one did not; or more lines were retained at one "
      "stride than a cache of this size can hold",
      base::format_bytes(capacity), by.level);
  std::vector<std::string> rising;
  for (const auto& point : p.points)
    rising.push_back(fmt::format("{} at {}", share_text(point.value), point.at));
  p.words.push_back(fmt::format("{} by working set: {}.", by.quantity, fmt::join(rising, ", ")));
  p.words.push_back(fmt::format("Largest working set that fits: {}; smallest that does not: {}. "
                                "{} x {} x {} bytes = {}.",
                                base::format_bytes(g.onset.fits), base::format_bytes(g.onset.exceeds),
                                base::format_count(shape.sets, "set"), base::format_count(shape.ways, "way"),
                                shape.line, base::format_bytes(capacity)));
  p.evidence = fmt::format("fits: {}; does not fit: {}", base::format_bytes(g.onset.fits),
                           base::format_bytes(g.onset.exceeds));
  add_probability(p, g);
  if (g.onset_hidden)
    p.words.push_back("The level above retains part of every working set of that size. The capacity was "
                      "therefore searched for with columns of lines of one of its sets.");
}

void fill_ways(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  const Shape& shape = g.shapes.front();
  p.value = static_cast<double>(shape.ways);
  const double from_onset = static_cast<double>(g.onset.fits) / static_cast<double>(shape.way_bytes());
  p.routes = {
      {"most lines of one set that are retained", static_cast<double>(shape.ways)},
      {fmt::format("largest working set that fits / {} bytes per way", shape.way_bytes()), from_onset}};
  p.confidence = of_shape(g, by.exact, std::abs(from_onset - static_cast<double>(shape.ways)) < 0.5);
  std::vector<std::string> falling;
  for (const Conflict& c : g.conflicts) {
    p.points.push_back({fmt::format("lines retained at stride {}", base::format_bytes(c.stride)),
                        static_cast<double>(c.lines.fits)});
    falling.push_back(c.lines.exceeds == 0
                          ? fmt::format("at least {} at {}", c.lines.fits, base::format_bytes(c.stride))
                          : fmt::format("{} at {}", c.lines.fits, base::format_bytes(c.stride)));
  }
  p.threshold = by.gauge.thresholds();
  p.against = fmt::format("more than {} retained at a multiple of {} bytes, or fewer were evicted",
                          base::format_count(shape.ways, "line was", "lines were"), shape.way_bytes());
  p.words.push_back(fmt::format("Lines retained in {} by stride: {}.", by.level, fmt::join(falling, ", ")));
  p.words.push_back(
      fmt::format("At multiples of {} all lines map to one set, and the number stops falling: {}.",
                  base::format_bytes(shape.way_bytes()), base::format_count(shape.ways, "way")));
  p.evidence = fmt::format("lines retained at stride {} and beyond: {}",
                           base::format_bytes(shape.way_bytes()), shape.ways);
  add_probability(p, g);
  if (g.outlier) p.words.push_back("One stride disagrees and was treated as noise.");
  if (g.inclusive)
    p.words.push_back(fmt::format("Fewer lines are evicted than the level above has ways: {} is inclusive "
                                  "and invalidates its lines there.",
                                  by.level));
}

void fill_line(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  p.value = static_cast<double>(*g.line);
  if (!g.line_by_shift)
    p.routes = {
        {"shortest distance at which the second access of a pair misses", static_cast<double>(*g.line)}};
  if (g.shifted_line)
    p.routes.push_back({"shift that maps lines to the next set", static_cast<double>(*g.shifted_line)});
  const bool agree = g.shifted_line == g.line;
  p.confidence = g.shifted_line && !agree ? Confidence::low : two_routes(agree && !g.line_by_shift, by.exact);
  std::vector<std::string> pairs;
  for (const PairPoint& pair : g.pairs) {
    p.points.push_back({fmt::format("second access {} bytes further", pair.distance), pair.near_first});
    if (pair.distance * 2 >= *g.line && pair.distance <= 2 * *g.line)
      pairs.push_back(fmt::format("{} at {} bytes", share_text(pair.near_first), pair.distance));
  }
  p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
  p.against = fmt::format(
      "the second access of a pair less than {} bytes apart, from the start of a line, missed as well",
      *g.line);
  p.words.push_back(fmt::format("Pairs of accesses in random blocks, {} over both: {}.", by.quantity,
                                fmt::join(pairs, ", ")));
  if (g.prefetch_seen)
    p.words.push_back("The second access hits further away in ascending than in descending order: the next "
                      "line is prefetched.");
  if (agree)
    p.words.push_back(fmt::format("Twice as many lines as a set holds are retained once every second one is "
                                  "shifted by {} bytes, because the shift maps it to the next set.",
                                  *g.line));
  p.evidence = fmt::format("miss rate of pairs: {}", fmt::join(pairs, ", "));
  if (!g.line_by_shift) return;
  p.words.push_back("The second access of a pair misses at no clear distance, so the shift alone decides.");
  p.against = "lines of one set still overflowed it when every second one was shifted that far";
  p.evidence = fmt::format("lines of one set leave it when shifted by {} bytes", *g.line);
}

} // namespace

std::string rare_text(double probability) {
  return probability < 0.0001 ? "below 0.0001" : fmt::format("{:.4f}", probability);
}

Property unknown_property(const std::string& name, const std::string& unit, const std::string& reason) {
  Property p;
  p.name = name;
  p.unit = unit;
  p.unknown = reason;
  return p;
}

Property time_property(const std::string& name, double ns, Confidence confidence,
                       std::vector<std::string> words) {
  Property p;
  p.name = name;
  p.unit = "ns";
  p.value = ns;
  p.confidence = confidence;
  p.words = std::move(words);
  return p;
}

void fill_from_geometry(LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  level.capacity = unknown_property("capacity", "bytes", g.unknown);
  level.ways = unknown_property("ways", "lines", g.unknown);
  level.line = unknown_property("line", "bytes", g.line_unknown);
  for (Property* p : {&level.capacity, &level.ways, &level.line})
    p->quantity = by.quantity;
  if (g.unknown.empty() && g.shapes.size() == 1) {
    fill_capacity(level.capacity, level, by);
    fill_ways(level.ways, level, by);
  }
  if (g.line) fill_line(level.line, level, by);
}

} // namespace recount::caches
