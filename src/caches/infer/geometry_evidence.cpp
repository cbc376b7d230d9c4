#include "caches/infer/geometry_evidence.hpp"

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

/// Readings of dense working sets, those that can be had.
std::vector<EvidencePoint> dense_points(Gauge& gauge, std::initializer_list<std::int64_t> sizes,
                                        std::int64_t stride) {
  std::vector<kernel::Pattern> patterns;
  for (const std::int64_t bytes : sizes)
    patterns.push_back(kernel::dense(std::max<std::int64_t>(bytes / stride, 1), stride));
  const auto shares = gauge.measure(patterns);
  std::vector<EvidencePoint> points;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (shares[i].value) points.push_back({base::format_bytes(patterns[i].count * stride), *shares[i].value});
  return points;
}

Confidence two_routes(bool agree, bool exact) {
  return agree || exact ? Confidence::high : Confidence::medium;
}

/// With noise the probability of the shape decides.
Confidence confidence_in_shape(const Geometry& g, bool exact, bool routes_agree) {
  return g.probability == 0 ? two_routes(routes_agree, exact)
                            : two_routes(g.probability >= high_probability, false);
}

void add_probability(Property& p, const Geometry& g) {
  if (g.probability > 0)
    p.words.push_back(fmt::format("Probability of any other ways or way size, given the readings of {}: {}.",
                                  base::format_count(g.conflicts.size(), "stride"),
                                  rare_text(1 - g.probability)));
}

void fill_capacity(Property& p, const LevelFinding& level, Gauge& gauge, bool exact) {
  const Geometry& g = level.geometry;
  const Shape& shape = *g.shape;
  const std::int64_t capacity = shape.capacity();
  p.value = static_cast<double>(capacity);
  p.routes = {{"largest working set that fits", static_cast<double>(g.onset.fits)},
              {"sets x ways x line, from conflict misses", static_cast<double>(capacity)}};
  p.confidence = confidence_in_shape(g, exact, true);
  p.points = dense_points(
      gauge, {capacity / 2, g.onset.fits, g.onset.exceeds, capacity + capacity / 4, 2 * capacity},
      g.onset_stride);
  p.against = fmt::format("a working set below {} missed in {}, or a larger one did not",
                          base::format_bytes(capacity), level.name);
  p.evidence = fmt::format("fits: {}; does not fit: {}", base::format_bytes(g.onset.fits),
                           base::format_bytes(g.onset.exceeds));
  std::vector<std::string> rising;
  for (const auto& point : p.points)
    rising.push_back(fmt::format("{} at {}", share_text(point.value), point.at));
  p.words = {fmt::format("{} by working set: {}.", p.quantity, fmt::join(rising, ", ")),
             fmt::format("{} x {} x {} bytes = {}.", base::format_count(shape.sets, "set"),
                         base::format_count(shape.ways, "way"), shape.line, base::format_bytes(capacity))};
  add_probability(p, g);
  if (g.onset_hidden)
    p.words.push_back("The level above retains part of every working set of that size. The capacity was "
                      "therefore searched for with columns of lines of one of its sets.");
}

void fill_ways(Property& p, const LevelFinding& level, bool exact) {
  const Geometry& g = level.geometry;
  const Shape& shape = *g.shape;
  const std::string way = base::format_bytes(shape.way_bytes());
  p.value = static_cast<double>(shape.ways);
  const double from_onset = static_cast<double>(g.onset.fits) / static_cast<double>(shape.way_bytes());
  p.routes = {
      {"most lines of one set that are retained", static_cast<double>(shape.ways)},
      {fmt::format("largest working set that fits / {} bytes per way", shape.way_bytes()), from_onset}};
  p.confidence = confidence_in_shape(g, exact, std::abs(from_onset - static_cast<double>(shape.ways)) < 0.5);
  std::vector<std::string> falling;
  for (const Conflict& c : g.conflicts) {
    const std::string stride = base::format_bytes(c.stride);
    p.points.push_back({"lines retained at stride " + stride, static_cast<double>(c.lines.fits)});
    falling.push_back(
        fmt::format("{}{} at {}", c.lines.exceeds == 0 ? "at least " : "", c.lines.fits, stride));
  }
  p.against = fmt::format("more than {} retained at a multiple of {} bytes, or fewer were evicted",
                          base::format_count(shape.ways, "line was", "lines were"), shape.way_bytes());
  p.evidence = fmt::format("lines retained at stride {} and beyond: {}", way, shape.ways);
  p.words = {fmt::format("Lines retained in {} by stride: {}.", level.name, fmt::join(falling, ", ")),
             fmt::format("At multiples of {} all lines map to one set, and the number stops falling: {}.",
                         way, base::format_count(shape.ways, "way"))};
  add_probability(p, g);
  if (g.inclusive)
    p.words.push_back(fmt::format("Fewer lines are evicted than the level above has ways: {} is inclusive "
                                  "and invalidates its lines there.",
                                  level.name));
}

void fill_line(Property& p, const Geometry& g, bool exact) {
  const std::int64_t line = *g.line;
  p.value = static_cast<double>(line);
  std::vector<std::string> pairs;
  for (const PairPoint& pair : g.pairs) {
    p.points.push_back({fmt::format("second access {} bytes further", pair.distance), pair.near_first});
    if (pair.distance * 2 >= line && pair.distance <= 2 * line)
      pairs.push_back(fmt::format("{} at {} bytes", share_text(pair.near_first), pair.distance));
  }
  p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
  if (g.line_by_shift) {
    p.against = "lines of one set still overflowed it when every second one was shifted that far";
    p.evidence = fmt::format("lines of one set leave it when shifted by {} bytes", line);
    p.words = {"The second access of a pair misses at no clear distance, so the shift alone decides."};
  } else {
    p.routes = {{"shortest distance at which the second access of a pair misses", static_cast<double>(line)}};
    p.against = fmt::format(
        "the second access of a pair less than {} bytes apart, from the start of a line, missed as well",
        line);
    p.evidence = fmt::format("miss rate of pairs: {}", fmt::join(pairs, ", "));
  }
  if (g.shifted_line)
    p.routes.push_back({"shift that maps lines to the next set", static_cast<double>(*g.shifted_line)});
  const bool agree = g.shifted_line == g.line;
  p.confidence = g.shifted_line && !agree ? Confidence::low : two_routes(agree && !g.line_by_shift, exact);
  if (g.prefetch_seen)
    p.words.push_back("The second access hits further away in ascending than in descending order: the next "
                      "line is prefetched.");
  if (agree)
    p.words.push_back(fmt::format("Twice as many lines as a set holds are retained once every second one is "
                                  "shifted by {} bytes, because the shift maps it to the next set.",
                                  line));
}

} // namespace

void fill_from_geometry(LevelFinding& level, Gauge& gauge, const std::string& quantity, bool exact) {
  const Geometry& g = level.geometry;
  level.capacity = unknown_property("capacity", "bytes", g.unknown);
  level.ways = unknown_property("ways", "lines", g.unknown);
  level.line = unknown_property("line", "bytes", g.line_unknown);
  for (Property* p : {&level.capacity, &level.ways, &level.line}) {
    p->quantity = quantity;
    p->threshold = gauge.thresholds();
  }
  if (g.unknown.empty() && g.shape) {
    fill_capacity(level.capacity, level, gauge, exact);
    fill_ways(level.ways, level, exact);
  }
  if (g.line) fill_line(level.line, g, exact);
}

} // namespace recount::caches
