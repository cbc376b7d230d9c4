#include "caches/infer/properties.hpp"

#include "base/bytes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace recount::analysis {

namespace {

std::string size_text(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

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
      points.push_back({size_text(pattern.count * stride), by.gauge.share(pattern)});
    } catch (const Unknown&) { // not on record: one point fewer
    }
  }
  return points;
}

void fill_capacity(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  const Shape& shape = g.shapes.front();
  const std::int64_t capacity = shape.capacity(), stride = g.onset_stride;
  p.value = static_cast<double>(capacity);
  p.routes = {{"largest working set that stays", static_cast<double>(g.onset.stays)},
              {"sets x ways x line, from lines that contend for a set", static_cast<double>(capacity)}};
  p.confidence = two_routes(!g.outlier, by.exact);
  p.points = dense_points(
      by, {capacity / 2, g.onset.stays, g.onset.leaves, capacity + capacity / 4, 2 * capacity}, stride);
  p.threshold = by.gauge.thresholds();
  p.against = fmt::format(
      "a working set below {} that leaves {}, or one above it that stays; a number of lines at one stride "
      "that no cache of this size can hold",
      size_text(capacity), by.level);
  std::vector<std::string> rising;
  for (const auto& point : p.points)
    rising.push_back(fmt::format("{} at {}", share_text(point.value), point.at));
  p.words.push_back(fmt::format("{}: {}.", by.quantity, fmt::join(rising, ", ")));
  p.words.push_back(fmt::format("The largest working set that stays has {}, the smallest that leaves {}; {} "
                                "sets of {} ways of {} bytes are {}.",
                                size_text(g.onset.stays), size_text(g.onset.leaves), shape.sets, shape.ways,
                                shape.line, size_text(capacity)));
  if (g.onset_hidden)
    p.words.push_back("The level above holds a part of every working set of that size, so the onset was "
                      "looked for with lines of "
                      "one of its sets only, columns of them side by side.");
}

void fill_ways(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  const Shape& shape = g.shapes.front();
  p.value = static_cast<double>(shape.ways);
  const double from_onset = static_cast<double>(g.onset.stays) / static_cast<double>(shape.way_bytes());
  p.routes = {
      {"most lines of one set that stay", static_cast<double>(shape.ways)},
      {fmt::format("largest working set that stays / {} (bytes a way)", shape.way_bytes()), from_onset}};
  p.confidence =
      two_routes(!g.outlier && std::abs(from_onset - static_cast<double>(shape.ways)) < 0.5, by.exact);
  std::vector<std::string> falling;
  for (const Conflict& c : g.conflicts) {
    p.points.push_back({fmt::format("lines that stay at stride {}", size_text(c.stride)),
                        static_cast<double>(c.lines.stays)});
    falling.push_back(c.lines.leaves == 0
                          ? fmt::format("{} or more at {}", c.lines.stays, size_text(c.stride))
                          : fmt::format("{} at {}", c.lines.stays, size_text(c.stride)));
  }
  p.threshold = by.gauge.thresholds();
  p.against = fmt::format("more than {} lines that stay at a multiple of {} bytes, or fewer that leave",
                          shape.ways, shape.way_bytes());
  p.words.push_back(fmt::format("So many lines stay in {}: {}.", by.level, fmt::join(falling, ", ")));
  p.words.push_back(
      fmt::format("At multiples of {} all lines fall into one set, and the number no longer falls: {} ways.",
                  size_text(shape.way_bytes()), shape.ways));
  if (g.outlier) p.words.push_back("One stride disagrees and was taken for noise.");
  if (g.inclusive)
    p.words.push_back(fmt::format(
        "Fewer lines leave than the level above has ways: {} is inclusive and takes its lines back.",
        by.level));
}

void fill_line(Property& p, const LevelFinding& level, const Witnessed& by) {
  const Geometry& g = level.geometry;
  p.value = static_cast<double>(*g.line);
  p.routes = {{"distance from which on the second touch of a pair leaves", static_cast<double>(*g.line)}};
  if (g.shifted_line)
    p.routes.push_back(
        {"shift that leads lines of one set to the next", static_cast<double>(*g.shifted_line)});
  const bool agree = g.shifted_line == g.line;
  p.confidence = g.shifted_line && !agree ? Confidence::low : two_routes(agree, by.exact);
  std::vector<std::string> pairs;
  for (const PairPoint& pair : g.pairs) {
    p.points.push_back({fmt::format("second touch {} bytes on", pair.distance), pair.near_first});
    if (pair.distance * 2 >= *g.line && pair.distance <= 2 * *g.line)
      pairs.push_back(fmt::format("{} at {} bytes", share_text(pair.near_first), pair.distance));
  }
  p.threshold = "half way between pairs 8 bytes and pairs 512 bytes apart";
  p.against = fmt::format(
      "a pair less than {} bytes apart, from the start of a line, whose second touch leaves as well",
      *g.line);
  p.words.push_back(fmt::format("Two touches in random blocks, {}, both counted: {}.", by.quantity,
                                fmt::join(pairs, ", ")));
  if (g.prefetch_seen)
    p.words.push_back("Touched upwards, pairs further apart come together, touched downwards they do not: "
                      "the next line is prefetched.");
  if (agree)
    p.words.push_back(fmt::format("Twice as many lines as a set holds stay as soon as every second one is "
                                  "shifted by {} bytes: the shift leads to the next set.",
                                  *g.line));
}

} // namespace

std::string working_set_text(std::int64_t bytes, std::int64_t line) {
  return fmt::format("{} ({} lines)", size_text(bytes), bytes / line);
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

} // namespace recount::analysis
