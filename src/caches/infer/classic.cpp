#include "caches/infer/classic.hpp"

#include "base/bytes.hpp"
#include "caches/infer/record.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

namespace recount::analysis {

namespace {

/// Of the way from the floor to the plateau: up to here an access stays, from there on it leaves.
constexpr double classic_flat = 0.05, classic_full = 0.75;
/// A curve of times whose largest is so much of the floor, is flat; passes over few elements cost more for
/// reasons of their own (a load that waits for the store before it).
constexpr double time_flat = 1.25, time_flat_of_stride = 1.5;
constexpr std::int64_t fewest_elements = 128;
constexpr double miss_words = 0.01; ///< what is less is said to be under it
constexpr double least_climb = 1.3; ///< of times, from stride 1 to the plateau: less shows no line

std::string size_words(std::int64_t bytes) {
  return bytes_text(static_cast<double>(bytes));
}

/// The curves of one figure: a value at each size and stride.
class Curves {
public:
  using Measure = std::function<std::optional<double>(const GridRow&)>;
  Curves(const std::vector<GridRow>& rows, const std::string& kernel, const Measure& measure) {
    for (const GridRow& row : rows)
      if (row.kernel == kernel)
        if (const auto value = measure(row)) at_[row.size][row.stride] = *value;
  }
  using Curve = std::map<std::int64_t, double>; ///< by stride
  [[nodiscard]] const std::map<std::int64_t, Curve>& by_size() const { return at_; }
  [[nodiscard]] bool enough() const { return at_.size() >= 3 && at_.rbegin()->second.size() >= 3; }

  [[nodiscard]] static double highest(const Curve& curve) {
    return std::ranges::max_element(curve, {}, &Curve::value_type::second)->second;
  }

private:
  std::map<std::int64_t, Curve> at_;
};

/// What separates staying from leaving, in the unit of the curves.
struct Limits {
  double stays = 0, leaves = 0;
};

void read_capacity(ClassicReading& reading, const Curves& curves, const Limits& limits) {
  double highest_flat = 0;
  for (const auto& [size, curve] : curves.by_size()) {
    const double highest = Curves::highest(curve);
    if (highest > limits.stays) {
      reading.capacity.below = size;
      break;
    }
    reading.capacity.value = size;
    highest_flat = std::max(highest_flat, highest);
  }
  if (!reading.capacity.value) {
    reading.capacity.unknown = "no curve stays flat";
  } else if (reading.capacity.below == 0) {
    reading.capacity.value.reset();
    reading.capacity.unknown =
        fmt::format("every curve stays flat, up to {}", size_words(curves.by_size().rbegin()->first));
  } else {
    const auto& leaving = curves.by_size().at(reading.capacity.below);
    const double top = Curves::highest(leaving);
    const auto first = std::ranges::find_if(leaving, [&](const auto& p) { return p.second >= 0.98 * top; });
    reading.words.push_back(fmt::format(
        "{} stay under {:.2f} up to {} for every stride and reach {:.2f} at {} from stride {} on.",
        reading.curves, std::max(highest_flat * 1.005, miss_words), size_words(*reading.capacity.value), top,
        size_words(reading.capacity.below), size_words(first->first)));
  }
}

/// The stride past which curves of large sizes stop climbing; 0: it does not climb.
std::int64_t end_of_climb(const Curves::Curve& curve, double floor) {
  const double top = Curves::highest(curve);
  if (curve.begin()->second - floor > 0.5 * (top - floor)) return 0;
  for (const auto& [stride, value] : curve)
    if (value - floor >= 0.9 * (top - floor)) return stride;
  return 0;
}

void read_line(ClassicReading& reading, const Curves& curves, double floor) {
  std::map<std::int64_t, std::vector<std::int64_t>> sizes_by_line;
  for (const auto& [size, curve] : curves.by_size())
    if (size >= 2 * reading.capacity.below && curve.size() >= 4)
      sizes_by_line[end_of_climb(curve, floor)].push_back(size);
  if (sizes_by_line.empty()) {
    reading.line.unknown = "no size well above the capacity was tried";
  } else if (sizes_by_line.size() > 1 || sizes_by_line.begin()->first == 0) {
    reading.line.unknown = sizes_by_line.size() == 1
                               ? "the curves do not climb with the stride"
                               : "the curves of different sizes stop climbing at different strides";
  } else {
    const auto& [line, sizes] = *sizes_by_line.begin();
    reading.line.value = line;
    const auto& curve = curves.by_size().at(sizes.front());
    const auto before = std::prev(curve.find(line));
    reading.words.push_back(
        fmt::format("From {} on they climb with the stride, {:.2f} at {} and {:.2f} at {}, and then no "
                    "further: as long as several "
                    "accesses fall into a line, only the first of them misses. The line has {} bytes.",
                    size_words(sizes.front()), before->second, size_words(before->first), curve.at(line),
                    size_words(line), line));
  }
}

struct Vanishing {
  std::int64_t size = 0, stride = 0;
  [[nodiscard]] std::int64_t lines() const { return size / stride; }
};

/// The stride from which on a curve that left stays again.
std::optional<Vanishing> vanishes(std::int64_t size, const Curves::Curve& curve, const Limits& limits) {
  std::int64_t stays_from = 0;
  for (auto at = curve.rbegin(); at != curve.rend(); ++at) {
    if (at->second > limits.stays)
      return stays_from > 0 && at->second >= limits.leaves && stays_from == 2 * at->first
                 ? std::optional(Vanishing{size, stays_from})
                 : std::nullopt;
    stays_from = at->first;
  }
  return {};
}

/// From curves of at most `most` bytes.
void read_ways(ClassicReading& reading, const Curves& curves, const Limits& limits, std::int64_t ways_above,
               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::vector<Vanishing> all;
  for (const auto& [size, curve] : curves.by_size())
    if (size >= reading.capacity.below && size <= most)
      if (const auto found = vanishes(size, curve, limits)) all.push_back(*found);
  if (all.size() < 2) {
    reading.ways.unknown = "the curves do not fall back at any stride";
    return;
  }
  const std::int64_t lines = all.front().lines();
  if (std::ranges::any_of(all, [&](const Vanishing& v) { return v.lines() != lines; })) {
    reading.ways.unknown = "the curves fall back at different numbers of lines";
    return;
  }
  reading.words.push_back(fmt::format("At {} they fall back at stride {}, where {} lines are visited that "
                                      "all fall into one set, and not at {}, where "
                                      "{} are; at {} it is stride {} and again {} lines.",
                                      size_words(all.front().size), size_words(all.front().stride), lines,
                                      size_words(all.front().stride / 2), 2 * lines,
                                      size_words(all.back().size), size_words(all.back().stride), lines));
  if (lines <= ways_above) {
    reading.ways.unknown = fmt::format(
        "as few as {} lines stay in the level above, which has room for {} in a set", lines, ways_above);
    reading.words.push_back(
        "So few lines never leave the level above: these curves do not show the ways of this one.");
    return;
  }
  reading.ways.value = lines;
  reading.ways.below = 2 * lines;
  reading.words.push_back(fmt::format("A set has room for {} lines and not for {}: {} ways.", lines,
                                      2 * lines, classic_ways_text(reading)));
}

std::string curves_name(const std::vector<GridRow>& rows, std::size_t level) {
  for (const GridRow& row : rows)
    if (row.kernel == "stride" && row.misses.size() > level && row.misses[level])
      return fmt::format("Average misses ({} by {}) of the kernel stride", miss_metric(level),
                         row.counted_by);
  return {};
}

void read_misses(std::vector<ClassicReading>& all, const std::vector<GridRow>& rows, std::size_t level) {
  const Curves curves(rows, "stride", [level](const GridRow& row) {
    return level < row.misses.size() ? row.misses[level] : std::nullopt;
  });
  if (!curves.enough()) return;
  ClassicReading reading;
  reading.level = level == 0 ? "L1d" : fmt::format("L{}", level + 1);
  reading.curves = curves_name(rows, level);
  const Limits limits{classic_flat, classic_full};
  read_capacity(reading, curves, limits);
  if (reading.capacity.value) {
    read_line(reading, curves, 0);
    read_ways(reading, curves, limits, all.empty() ? 0 : all.back().ways.value.value_or(0));
  } else {
    reading.line.unknown = reading.ways.unknown = "the capacity does not show";
  }
  all.push_back(std::move(reading));
}

/// Of times the floor is a hit, and the plateau that of the first curve well above the capacity.
void read_times(std::vector<ClassicReading>& all, const std::vector<GridRow>& rows,
                const std::string& kernel) {
  const bool waits = kernel == "chase"; // each access for the one before
  const Curves curves(rows, kernel, [&](const GridRow& row) {
    return waits || row.size / row.stride >= fewest_elements ? row.ns : std::nullopt;
  });
  if (!curves.enough()) return;
  ClassicReading reading;
  reading.level = "L1d";
  reading.curves = fmt::format("Times of an access of the kernel {}, in ns,", kernel);
  std::vector<double> smallest;
  for (const auto& [stride, ns] : curves.by_size().begin()->second)
    smallest.push_back(ns);
  const double floor = median(smallest);
  const double flat = (waits ? time_flat : time_flat_of_stride) * floor;
  read_capacity(reading, curves, {flat, flat});
  const auto beyond = curves.by_size().find(2 * reading.capacity.below);
  if (!reading.capacity.value || beyond == curves.by_size().end()) {
    reading.line.unknown = reading.ways.unknown = "the capacity does not show";
    all.push_back(std::move(reading));
    return;
  }
  std::vector<double> plateau;
  for (const auto& [stride, ns] : beyond->second)
    if (stride >= 64 && beyond->first / stride >= 128) plateau.push_back(ns); // lines enough not to fit a set
  const double top = plateau.empty() ? floor : median(plateau);
  if (top < least_climb * floor) {
    reading.line.unknown = reading.ways.unknown =
        "prefetching and overlap hide what a miss costs in this loop";
  } else {
    reading.penalty = top - floor;
    reading.words.push_back(
        fmt::format("An access takes {:.3g} ns where all stay and {:.3g} ns where all leave: the "
                    "difference between the plateaus is a penalty of {:.3g} ns.",
                    floor, top, top - floor));
    if (waits)
      reading.line.unknown = "in a random order the elements of a line are visited too far apart to find it";
    else
      read_line(reading, curves, floor);
    const Limits limits{floor + 0.25 * (top - floor), floor + classic_full * (top - floor)};
    if (waits)
      read_ways(reading, curves, limits, 0, 4 * reading.capacity.below);
    else
      reading.ways.unknown = "passes over so few elements take other times than those of misses";
  }
  all.push_back(std::move(reading));
}

} // namespace

std::vector<ClassicReading> classic_readings(const std::vector<GridRow>& rows) {
  std::vector<ClassicReading> all;
  for (std::size_t level = 0; level < 3; ++level)
    read_misses(all, rows, level);
  for (const char* kernel : {"stride", "chase"})
    read_times(all, rows, kernel);
  return all;
}

std::string classic_capacity_text(const ClassicReading& reading) {
  if (!reading.capacity.value) return "unknown";
  return fmt::format("{} (less than {})", size_words(*reading.capacity.value),
                     size_words(reading.capacity.below));
}
std::string classic_line_text(const ClassicReading& reading) {
  return reading.line.value ? fmt::format("{} B", *reading.line.value) : "unknown";
}
std::string classic_ways_text(const ClassicReading& reading) {
  if (!reading.ways.value) return "unknown";
  return fmt::format("{} (fewer than {})", *reading.ways.value, reading.ways.below);
}

} // namespace recount::analysis
