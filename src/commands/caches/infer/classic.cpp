// Cache properties from the curves of a grid of power-of-two sizes and strides, as read by eye from its
// figure.
#include "base/format.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/witness.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "model/hierarchy.hpp"
#include "run/result/curves.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <limits>
#include <map>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/map.hpp>
#include <ranges>
#include <tuple>

namespace recount::caches {

namespace {

/// Miss rates: up to the first a curve is flat, from the second on nearly every access misses.
constexpr double flat_miss_rate = 0.05, full_miss_rate = 0.75;
/// A curve of times whose maximum is below this multiple of the floor is flat; passes over few elements cost
/// more for reasons of their own (a load that waits for the store before it).
constexpr double time_flat = 1.25, time_flat_of_stride = 1.5;
constexpr std::int64_t fewest_elements = 128;
constexpr double min_printed = 0.01; ///< lower values are reported as below it
constexpr double min_rise = 1.3;     ///< of times, from the floor to the plateau: less shows no line
constexpr std::int64_t largest_size = std::int64_t{1} << 40; ///< bytes; larger cells are left out
constexpr std::int64_t max_possible_ways = 256;              ///< more than a set of any cache has

using Curve = std::map<std::int64_t, double>; ///< by stride
using Curves = std::map<std::int64_t, Curve>; ///< by size
using Measure = std::function<std::optional<double>(const GridRow&)>;

/// The curves of one figure; nothing with fewer than three sizes or strides.
std::optional<Curves> make_curves(const std::vector<GridRow>& rows, const std::string& kernel,
                                  const Measure& measure) {
  Curves curves;
  for (const GridRow& row : rows)
    if (row.kernel == kernel)
      if (const auto value = measure(row)) curves[row.size][row.stride] = *value;
  if (curves.size() < 3 || curves.rbegin()->second.size() < 3) return {};
  return curves;
}

double highest(const Curve& curve) {
  return std::ranges::max(curve | std::views::values);
}

/// Lines fit up to `fits` and conflict from `exceeds` on, in the unit of the curves.
struct Limits {
  double fits = 0, exceeds = 0;
};

void read_capacity(ClassicReading& reading, const Curves& curves, const Limits& limits) {
  const auto exceeding = std::ranges::find_if(
      curves, [&](const auto& size_and_curve) { return highest(size_and_curve.second) > limits.fits; });
  if (exceeding == curves.begin()) {
    reading.capacity.unknown = "no curve is flat";
  } else if (exceeding == curves.end()) {
    reading.capacity.unknown =
        fmt::format("every curve is flat up to {}", base::format_bytes(curves.rbegin()->first));
  } else {
    reading.capacity.value = std::prev(exceeding)->first;
    reading.capacity.below = exceeding->first;
    double highest_flat = 0;
    for (auto at = curves.begin(); at != exceeding; ++at)
      highest_flat = std::max(highest_flat, highest(at->second));
    const double top = highest(exceeding->second);
    const auto first =
        std::ranges::find_if(exceeding->second, [&](const auto& p) { return p.second >= 0.98 * top; });
    reading.words.push_back(fmt::format(
        "{} are {} up to {} at every stride{} and reach {:.2f} at {}, stride {}.", reading.curves,
        highest_flat < min_printed ? fmt::format("below {}", min_printed)
                                   : fmt::format("at most {:.2f}", highest_flat),
        base::format_bytes(*reading.capacity.value),
        reading.misses || reading.kernel != "stride"
            ? "" // shorter passes take no part in times, see time_flat
            : fmt::format(" of at least {} accesses per pass", fewest_elements),
        first->second, base::format_bytes(reading.capacity.below), base::format_bytes(first->first)));
  }
}

/// The stride from which on a curve is within a tenth of its maximum; 0: it does not rise with the stride.
std::int64_t saturating_stride(const Curve& curve, double floor) {
  const double top = highest(curve);
  if (top <= floor || curve.begin()->second - floor > 0.5 * (top - floor)) return 0;
  for (const auto& [stride, value] : curve)
    if (value - floor >= 0.9 * (top - floor)) return stride;
  return 0;
}

/// The line between two strides that misses of stride over line state: the same at each of two or more
/// strides up to `last`. Nothing where they do not.
std::optional<std::int64_t> proportional_line(const Curve& curve, std::int64_t last, std::int64_t above) {
  constexpr double near = 0.05; // of the line
  std::optional<std::int64_t> line;
  if (curve.begin()->first == last) return {};
  for (const auto& [stride, misses] : curve) {
    if (stride > last) break;
    const double stated = static_cast<double>(stride) / misses;
    if (!line) line = std::int64_t{1} << std::lround(std::log2(std::clamp(stated, 1.0, 1e6)));
    if (std::abs(stated / static_cast<double>(*line) - 1) > near) return {};
  }
  return line && *line > last && *line <= above ? line : std::nullopt;
}

void read_line(ClassicReading& reading, const Curves& curves, double floor) {
  std::map<std::int64_t, std::vector<std::int64_t>> sizes_by_line;
  for (const auto& [size, curve] : curves)
    // Misses beyond the capacity are all or nothing; times rise over a range of sizes.
    if (size >= (reading.misses ? 1 : 2) * reading.capacity.below && curve.size() >= 4)
      sizes_by_line[saturating_stride(curve, floor)].push_back(size);
  if (sizes_by_line.empty()) {
    reading.line.unknown = "no size well above the capacity was measured";
  } else if (sizes_by_line.size() > 1 || sizes_by_line.begin()->first == 0) {
    reading.line.unknown = sizes_by_line.size() == 1
                               ? "the curves do not rise with the stride"
                               : "the curves of different sizes stop rising at different strides";
  } else {
    const auto& [line, sizes] = *sizes_by_line.begin();
    const auto& curve = curves.at(sizes.front());
    const auto before = std::prev(curve.find(line));
    if (2 * before->first != line) { // the line may be any size between
      if (const auto between =
              reading.misses ? proportional_line(curve, before->first, line) : std::nullopt) {
        reading.line.value = *between;
        reading.words.push_back(fmt::format("At {} they are stride over line, {:.3f} at {} and {:.3f} at {}, "
                                            "as only the first of the accesses "
                                            "to a line misses. Line size: {} bytes.",
                                            base::format_bytes(sizes.front()), curve.begin()->second,
                                            base::format_bytes(curve.begin()->first), before->second,
                                            base::format_bytes(before->first), *between));
        return;
      }
      reading.line.unknown = fmt::format("stride {} was not measured", base::format_bytes(line / 2));
      return;
    }
    reading.line.value = line;
    reading.words.push_back(fmt::format(
        "From {} they rise with the stride, {:.2f} at {} and {:.2f} at {}, and then by less than a tenth: "
        "while several accesses share a line, only the first misses. Line size: {} bytes.",
        base::format_bytes(sizes.front()), before->second, base::format_bytes(before->first), curve.at(line),
        base::format_bytes(line), line));
  }
}

/// The stride at which the conflict misses of a curve end: so few lines fit a set.
struct ConflictEnd {
  std::int64_t size = 0, stride = 0;
  [[nodiscard]] std::int64_t lines() const { return size / stride; }
};

std::optional<ConflictEnd> end_of_conflicts(std::int64_t size, const Curve& curve, const Limits& limits) {
  std::int64_t fits_from = 0;
  for (auto at = curve.rbegin(); at != curve.rend(); ++at) {
    if (at->second > limits.fits)
      return fits_from > 0 && at->second >= limits.exceeds && fits_from == 2 * at->first
                 ? std::optional(ConflictEnd{size, fits_from})
                 : std::nullopt;
    fits_from = at->first;
  }
  return {};
}

/// Whether `lines` lines of one set fit a level of `ways` ways below one of `ways_above`, and twice as many
/// do not. Simulated, because writing back a dirty line from the level above makes it the most recently used
/// of this one.
bool would_fit(std::int64_t lines, std::int64_t ways_above, std::int64_t ways, const Limits& limits) {
  constexpr std::int64_t line = 64;
  model::MachineDescription machine;
  for (const std::int64_t one : {ways_above, ways}) {
    auto& level = machine.levels.emplace_back();
    level.name = level_name(machine.levels.size() - 1);
    level.size = one * line;
    level.ways = one;
  }
  const auto misses_per_visit = [&](std::int64_t visited) {
    model::Hierarchy caches(machine);
    for (int pass = 0; pass < 4; ++pass) {
      if (pass == 2) caches.reset_counters();
      for (std::int64_t i = 0; i < visited; ++i) {
        caches.load(static_cast<std::uint64_t>(i * line), 8);
        caches.store(static_cast<std::uint64_t>(i * line), 8);
      }
    }
    const model::LevelCounts& counts = caches.level(1).counts;
    return static_cast<double>(counts.missed(model::Cause::load) + counts.missed(model::Cause::store)) /
           static_cast<double>(2 * visited);
  };
  return misses_per_visit(lines) <= limits.fits && misses_per_visit(2 * lines) >= limits.exceeds;
}

/// Why the ways of a level cannot be inferred from this number of lines, with so many ways above it; empty:
/// they can. The kernel stride loads and stores.
std::string hidden_ways(std::int64_t lines, const ClassicValue& above, const Limits& limits) {
  if (!above.value) return "this reading does not determine those of the level above";
  if (lines <= *above.value)
    return fmt::format("{} the level above, which has {} or more",
                       base::format_count(lines, "line fits", "lines fit"),
                       base::format_count(*above.value, "way"));
  for (std::int64_t ways_above = *above.value; ways_above < above.below; ++ways_above)
    if (lines > 1 && would_fit(lines, ways_above, lines / 2, limits))
      return fmt::format("{} under a level of {} would give the same curve",
                         base::format_count(lines / 2, "way"), ways_above);
  return {};
}

/// From curves of at most `most` bytes.
void read_ways(ClassicReading& reading, const Curves& curves, const Limits& limits,
               const std::optional<ClassicValue>& ways_above = {},
               std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  std::vector<ConflictEnd> all;
  for (const auto& [size, curve] : curves)
    if (size >= reading.capacity.below && size <= most)
      if (const auto found = end_of_conflicts(size, curve, limits)) all.push_back(*found);
  if (all.size() < (reading.misses ? 1U : 2U)) {
    reading.ways.unknown =
        fmt::format("fewer than {} from {:.2f} or more to {:.2f} or less "
                    "between a stride and its double, and stay there",
                    reading.misses ? "one curve falls" : "two curves fall", limits.exceeds, limits.fits);
    return;
  }
  const std::int64_t lines = all.front().lines();
  if (std::ranges::any_of(all, [&](const ConflictEnd& end) { return end.lines() != lines; })) {
    reading.ways.unknown = "the curves fall at different numbers of lines";
    return;
  }
  std::string words =
      fmt::format("At {} they fall at stride {}, where {} to one set, but not at {} with {} lines",
                  base::format_bytes(all.front().size), base::format_bytes(all.front().stride),
                  base::format_count(lines, "line maps", "lines map"),
                  base::format_bytes(all.front().stride / 2), 2 * lines);
  if (all.size() > 1)
    words += fmt::format("; at {} they fall at stride {}, again {}", base::format_bytes(all.back().size),
                         base::format_bytes(all.back().stride), base::format_count(lines, "line"));
  reading.words.push_back(words + ".");
  if (lines > max_possible_ways)
    reading.ways.unknown = fmt::format("no cache has sets of {} lines", lines);
  else if (ways_above)
    reading.ways.unknown = hidden_ways(lines, *ways_above, limits);
  if (!reading.ways.unknown.empty()) return;
  reading.ways.value = lines;
  reading.ways.below = 2 * lines;
  reading.words.push_back(fmt::format("A set holds {} and not {}; ways: {}.",
                                      base::format_count(lines, "line"), 2 * lines,
                                      classic_ways_text(reading)));
}

/// `above`: the reading of the level above.
std::optional<ClassicReading> misses_reading(const std::vector<GridRow>& rows, std::size_t level,
                                             const std::optional<ClassicReading>& above) {
  ClassicReading reading;
  reading.level = level_name(level);
  reading.kernel = "stride";
  reading.misses = true;
  const auto curves = make_curves(rows, "stride", [&](const GridRow& row) -> std::optional<double> {
    if (level >= row.misses.size() || !row.misses[level]) return {};
    reading.curves = fmt::format("Average misses ({}, {}, kernel stride)", miss_metric(level),
                                 base::format_witness(row.counted_by));
    reading.modelled = row.counted_by.modelled();
    return row.misses[level];
  });
  if (!curves) return {};
  const Limits limits{flat_miss_rate, full_miss_rate};
  read_capacity(reading, *curves, limits);
  if (reading.capacity.value) {
    read_line(reading, *curves, 0);
    read_ways(reading, *curves, limits,
              level == 0 ? std::nullopt : std::optional(above ? above->ways : ClassicValue{}));
  } else {
    reading.line.unknown = reading.ways.unknown = "the capacity is unknown";
  }
  return reading;
}

/// The floor is the time of a hit, the plateau that of the first curve well above the capacity.
ClassicReading times_reading(const Curves& curves, const std::string& kernel,
                             statistics::Statistic statistic) {
  const bool dependent = kernel == "chase"; // each load waits for the one before
  ClassicReading reading;
  reading.level = level_name(0);
  reading.kernel = kernel;
  reading.curves = fmt::format("Times per access (kernel {}, ns, {} of the repetitions)", kernel,
                               statistics::name_of(statistic));
  const auto unknown = [&](const std::string& why) {
    reading.line.unknown = reading.ways.unknown = why;
    return reading;
  };
  const double floor =
      statistics::median(curves.begin()->second | ranges::views::values | ranges::to<std::vector>);
  const double flat = (dependent ? time_flat : time_flat_of_stride) * floor;
  read_capacity(reading, curves, {flat, flat});
  if (!reading.capacity.value) return unknown("the capacity is unknown");
  const auto beyond = curves.find(2 * reading.capacity.below);
  if (beyond == curves.end())
    return unknown(fmt::format("{} was not measured", base::format_bytes(2 * reading.capacity.below)));
  std::vector<double> plateau;
  for (const auto& [stride, ns] : beyond->second)
    if (stride >= 64 && beyond->first / stride >= 128) plateau.push_back(ns); // more lines than fit a set
  const double top = plateau.empty() ? floor : statistics::median(plateau);
  if (top < min_rise * floor) return unknown("prefetching and overlap hide the misses in this loop");
  if (dependent) {
    reading.penalty = top - floor;
    reading.words.push_back(fmt::format("Average access time = hit time + miss rate x penalty: {:.3g} ns "
                                        "where all accesses hit, {:.3g} ns where all miss, so the penalty is "
                                        "{:.3g} ns.",
                                        floor, top, top - floor));
    reading.line.unknown = "in random order, accesses to one line are too far apart to show it";
    read_ways(reading, curves, {floor + 0.25 * (top - floor), floor + full_miss_rate * (top - floor)}, {},
              4 * reading.capacity.below);
  } else {
    reading.words.push_back("Its accesses overlap and are prefetched, so the times show no miss penalty.");
    read_line(reading, curves, floor);
    reading.ways.unknown = "passes over few elements have overheads larger than a miss";
  }
  return reading;
}

} // namespace

std::vector<ClassicReading> classic_readings(const std::vector<GridRow>& rows) {
  std::vector<ClassicReading> all;
  std::optional<ClassicReading> above;
  for (std::size_t level = 0; level < counted_levels; ++level)
    if (above = misses_reading(rows, level, above); above) all.push_back(*above);
  for (const char* kernel : {"stride", "chase"})
    if (const auto curves = make_curves(rows, kernel, [&](const GridRow& row) {
          const bool enough = row.kernel == "chase" || row.size / row.stride >= fewest_elements;
          return !row.disturbed && enough ? row.ns : std::nullopt;
        })) {
      all.push_back(times_reading(*curves, kernel, rows.front().times));
      const auto left_out = std::ranges::count_if(
          rows, [&](const GridRow& row) { return row.kernel == kernel && row.disturbed; });
      if (left_out > 0)
        all.back().words.push_back(fmt::format("Left out: {} whose repetitions were all disturbed.",
                                               base::format_count(left_out, "cell")));
    }
  return all;
}

std::string classic_ways_text(const ClassicReading& reading) {
  if (!reading.ways.value) return "unknown";
  if (reading.ways.below == *reading.ways.value + 1) return std::to_string(*reading.ways.value);
  return fmt::format("{} to {}", *reading.ways.value, reading.ways.below - 1);
}

std::string classic_values_text(const ClassicReading& reading) {
  std::string capacity = "unknown";
  if (reading.capacity.value) {
    const std::string least = base::format_bytes(*reading.capacity.value),
                      most = base::format_bytes(reading.capacity.below);
    const auto unit = least.find(' '); // "between 32 and 64 KiB"
    capacity = fmt::format("between {} and {}",
                           most.ends_with(least.substr(unit)) ? least.substr(0, unit) : least, most);
  }
  const std::string line = reading.line.value ? fmt::format("{} B", *reading.line.value) : "unknown";
  return fmt::format("capacity {}, line {}, ways {}", capacity, line, classic_ways_text(reading));
}

std::string classic_text(const ClassicReading& reading) {
  std::vector<std::string> sentences = reading.words;
  std::map<std::string, std::vector<std::string>> unknown; // by reason
  for (const auto& [name, value] :
       {std::pair("capacity", &reading.capacity), std::pair("line", &reading.line),
        std::pair("number of ways", &reading.ways)})
    if (!value->unknown.empty()) unknown[value->unknown].push_back(name);
  for (const auto& [reason, names] : unknown)
    sentences.push_back(fmt::format("Unknown: {}, because {}.", fmt::join(names, ", "), reason));
  return fmt::format("{}", fmt::join(sentences, " "));
}

namespace {

struct GridCell {
  TimedRounds times;
  std::vector<double> cycles;
  std::array<std::vector<double>, counted_levels> misses;
  Witness counted_by;
};

std::int64_t power_of_two(const result::Observation& o, const std::string& name) {
  const std::int64_t number = result::integer(o.params, name).value_or(0);
  const bool valid =
      number > 0 && number <= largest_size && std::has_single_bit(static_cast<std::uint64_t>(number));
  return valid ? number : 0;
}

void take(GridCell& cell, const result::Observation& o) {
  if (is_seconds(o.metric) && (o.witness == Witness::clock || o.witness == Witness::published)) {
    if (const auto ns = result::ns_per_access(o)) cell.times.add(*ns, !result::disturbances(o).empty());
    return;
  }
  const auto each = result::per_access(o);
  if (!each) return;
  if (o.metric == "PAPI_TOT_CYC") cell.cycles.push_back(*each);
  const auto level = level_of_misses(o.metric);
  if (!level) return;
  if (cell.counted_by.empty()) cell.counted_by = o.witness;
  if (cell.counted_by == o.witness) cell.misses[*level].push_back(*each); // one witness at a time
}

/// Of a run, by kernel, size and stride.
struct GridCells {
  bool record = false;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, GridCell> cells = {};
};

std::vector<GridRow> make_rows(const GridCells& run, statistics::Statistic statistic) {
  const auto& [record, cells] = run;
  std::vector<GridRow> rows;
  for (const auto& [key, cell] : cells) {
    const auto& [kernel, size, stride] = key;
    GridRow row{.kernel = kernel, .size = size, .stride = stride, .counted_by = cell.counted_by};
    row.times = record ? statistics::Statistic::minimum : statistic;
    row.disturbed = cell.times.undisturbed.empty();
    auto ns = row.disturbed || !record ? cell.times.disturbed : std::vector<double>();
    if (!row.disturbed) ns.insert(ns.end(), cell.times.undisturbed.begin(), cell.times.undisturbed.end());
    if (!ns.empty()) row.ns = statistics::summarise(ns, row.times).value;
    row.disturbed = row.disturbed && row.ns;
    if (!cell.cycles.empty()) row.cycles = statistics::median(cell.cycles);
    for (const auto& misses : cell.misses)
      row.misses.push_back(misses.empty() ? std::nullopt : std::optional(statistics::median(misses)));
    while (!row.misses.empty() && !row.misses.back())
      row.misses.pop_back();
    if (row.ns || row.cycles || !row.misses.empty()) rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace

std::vector<std::vector<GridRow>> grid_rows(const result::Results& results,
                                            std::span<const result::Run> runs) {
  std::vector<GridCells> all;
  std::unordered_map<std::string, std::size_t> numbers;
  for (const result::Run& run : runs) {
    numbers.try_emplace(run.id, all.size());
    all.push_back({result::is_inference(run)});
  }
  for (const auto& o : results.observations) {
    if (o.kernel != "stride" && o.kernel != "chase") continue;
    const auto number = numbers.find(o.run);
    if (number == numbers.end()) continue;
    auto& [record, cells] = all[number->second];
    if (record && result::is_reading(o)) continue;
    const std::int64_t size = power_of_two(o, "size"), stride = power_of_two(o, "stride");
    if (size > 0 && stride > 0 && stride <= size) take(cells[{o.kernel, size, stride}], o);
  }
  std::vector<std::vector<GridRow>> rows;
  for (const GridCells& cells : all)
    rows.push_back(make_rows(cells, results.statistic));
  return rows;
}

} // namespace recount::caches
