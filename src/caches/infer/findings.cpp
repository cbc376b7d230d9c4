#include "caches/infer/findings.hpp"

#include "base/format.hpp"
#include "base/witness.hpp"
#include "caches/infer/sampler.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace recount::caches {

namespace {

constexpr const char* sources_note = "stated_by";
constexpr const char* otherwise_note = "stated_otherwise";
constexpr const char* shared_note = "shared_by "; // and the level

std::string note_of(const result::Run& run, const std::string& name) {
  const auto found = run.plan.find(name);
  return found == run.plan.end() ? std::string() : found->second;
}

int whole(const std::string& text, int fallback) {
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

StatedCaches stated_by_machine(const std::string& name) {
  const auto machine = model::machine(name);
  StatedCaches stated{"machine " + machine.name, {}, {}, {}};
  for (const auto& level : machine.levels)
    stated.levels.push_back({level.name, level.size, level.line, level.ways, 1});
  return stated;
}

} // namespace

void note_stated(result::Run& run, const StatedNotes& notes) {
  if (!notes.sources.empty()) run.plan[sources_note] = notes.sources;
  if (!notes.otherwise.empty()) run.plan[otherwise_note] = notes.otherwise;
  for (const auto& [level, threads] : notes.shared_by)
    run.plan[shared_note + level] = std::to_string(threads);
}

StatedCaches stated_on_record(const result::Run& run, const std::string& machine) {
  if (!machine.empty()) return stated_by_machine(machine);
  const Witness witness = note_of(run, "witness");
  if (const auto described = witness.described_machine()) return stated_by_machine(*described);
  const std::string sources = note_of(run, sources_note);
  StatedCaches stated{sources.empty() ? "hwloc" : sources, {}, run.virtualised, note_of(run, otherwise_note)};
  for (const auto& cache : run.caches)
    stated.levels.push_back(
        {cache.level, cache.size, cache.line, cache.ways, whole(note_of(run, shared_note + cache.level), 1)});
  return stated;
}

CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                  const std::string& machine) {
  RecordSampler sampler(results, run);
  CachesFindings all;
  all.found = infer_caches(sampler);
  all.stated = stated_on_record(run, machine);
  compare(all.found, all.stated);
  all.rows = grid_rows(results, run);
  all.classic = classic_readings(all.rows);
  std::erase_if(all.classic, [&](const ClassicReading& reading) { return contradicts(reading, all.found); });
  all.cpu_model = run.cpu;
  if (const std::string cpu = note_of(run, "cpu"); !cpu.empty()) all.cpu = whole(cpu, 0);
  return all;
}

bool contradicts(const ClassicReading& reading, const Caches& found) {
  const auto outside = [](const ClassicValue& bounds, const Property& property) {
    return bounds.value && property.value &&
           (*property.value < static_cast<double>(*bounds.value) ||
            (bounds.below > 0 && *property.value >= static_cast<double>(bounds.below)));
  };
  if (reading.misses) return false;
  return std::ranges::any_of(found.levels, [&](const LevelFinding& level) {
    return level.name == reading.level &&
           (outside(reading.capacity, level.capacity) || outside(reading.ways, level.ways));
  });
}

std::vector<Paragraph> justification(const CachesFindings& findings) {
  std::vector<Paragraph> all = justification(findings.found);
  for (const ClassicReading& reading : findings.classic)
    all.push_back({fmt::format("{} from the grid of sizes and strides: {}", reading.level,
                               classic_values_text(reading)),
                   classic_text(reading)});
  if (!findings.stated.otherwise.empty())
    all.push_back({"Sources of the stated values",
                   fmt::format("{} agree; {} differs.", findings.stated.source, findings.stated.otherwise)});
  return all;
}

std::vector<std::string> summary_lines(const Caches& found) {
  std::vector<std::string> lines;
  for (const LevelFinding& level : found.levels) {
    std::vector<std::string> parts;
    const auto add = [&](const Property& p, const char* format) {
      if (p.value) parts.push_back(fmt::format(fmt::runtime(format), value_text(p)));
    };
    add(level.capacity, "{}");
    if (level.ways.value) parts.push_back(ways_text(level.ways));
    add(level.line, "line {}");
    add(level.latency, "hit {}");
    add(level.penalty, "miss + {}");
    lines.push_back(
        fmt::format("{}: {}", level.shared_use.empty() ? level.name : level_text(level),
                    parts.empty() ? std::string("unknown") : fmt::format("{}", fmt::join(parts, ", "))));
  }
  return lines;
}

namespace {

constexpr double most_of_exact = 0.05; ///< tolerance; a value with a wider interval is an estimate

std::string in_unit(const Property& p, double value, bool rough) {
  const std::string about = rough ? "about " : "";
  if (p.unit == "bytes" && p.name != "line") {
    const double unit =
        rough ? std::exp2(std::floor(std::log2(value)) - 4) : 1; // a rough value has no five digits
    return about + base::format_bytes(std::round(value / unit) * unit);
  }
  if (p.unit == "bytes") return fmt::format("{:.0f} B", value);
  if (p.unit == "ns") return fmt::format("{:.{}f} ns", value, value < 10 ? 2 : value < 100 ? 1 : 0);
  return about + fmt::format("{:.0f}", value);
}

/// Why a capacity may differ.
std::string reason_of_difference(const LevelFinding& level, const Property& p, const StatedLevel& stated,
                                 const StatedCaches& by) {
  const bool virtual_machine = !by.hypervisor.empty();
  if (!level.shared_use.empty())
    return "others used a part of it during the measurement: " + shared_use_text(level);
  if (level.effective)
    return fmt::format(
        "{} is stated as {}{}; this {} has about {} of it, which depends on the other users", level.name,
        stated_text(p),
        stated.shared_by > 1 ? fmt::format(", shared by {} hardware threads", stated.shared_by) : "",
        virtual_machine ? "virtual machine" : "CPU",
        base::format_bytes(*p.value < (1 << 20) ? *p.value : std::round(*p.value / (1 << 20)) * (1 << 20)));
  if (p.name == "capacity" && *p.value < *p.stated)
    return virtual_machine
               ? "another guest on the same core may use part of it, or the hypervisor states the "
                 "value of another CPU"
               : "part of it may be in use by another hardware thread of the core, or reserved by "
                 "way partitioning";
  if (p.name == "capacity")
    return "an exclusive level adds to the one above it, or the stated value is that of another CPU";
  return virtual_machine ? "the hypervisor may state the value of another CPU"
                         : "the stated value contradicts the measurements";
}

void compare_property(const LevelFinding& level, Property& p, std::int64_t value, const StatedLevel& stated,
                      const StatedCaches& by) {
  if (value == 0) return;
  p.stated = static_cast<double>(value);
  p.stated_by = by.source;
  if (!p.value) {
    p.agreement = StatedMatch::not_found;
    return;
  }
  const double off = std::abs(*p.value - *p.stated);
  if (off <= p.tolerance * *p.value + 1e-9) {
    p.agreement = p.tolerance > most_of_exact ? StatedMatch::near : StatedMatch::agrees;
    return;
  }
  p.agreement = StatedMatch::differs;
  p.remark = reason_of_difference(level, p, stated, by);
}

std::string text_of(const Property& p) {
  std::vector<std::string> sentences = p.words;
  if (!p.value) sentences.push_back(fmt::format("Unknown: {}.", p.unknown));
  if (p.value && p.routes.size() > 1) {
    std::vector<std::string> ways;
    for (const Route& route : p.routes)
      ways.push_back(fmt::format("{}: {}", route.name, in_unit(p, route.value, false)));
    sentences.push_back(fmt::format("Independent derivations: {}.", fmt::join(ways, "; ")));
  }
  if (p.value && !p.against.empty()) sentences.push_back(fmt::format("Falsified if {}.", p.against));
  if (p.agreement == StatedMatch::agrees)
    sentences.push_back(fmt::format("{} states {}: agrees.", p.stated_by, stated_text(p)));
  if (p.agreement == StatedMatch::near)
    sentences.push_back(
        fmt::format("{} states {}, which is within the interval {} to {}: near, not confirmed.", p.stated_by,
                    stated_text(p), in_unit(p, *p.value * (1 - p.tolerance), true),
                    in_unit(p, *p.value * (1 + p.tolerance), true)));
  if (p.agreement == StatedMatch::differs)
    sentences.push_back(fmt::format("{} states {}: differs; {}.", p.stated_by, stated_text(p), p.remark));
  if (p.agreement == StatedMatch::not_found)
    sentences.push_back(fmt::format("{} states {}.", p.stated_by, stated_text(p)));
  return fmt::format("{}", fmt::join(sentences, " "));
}

void add_paragraph(std::vector<Paragraph>& all, const std::string& level, const Property& p) {
  all.push_back({fmt::format("{} {}: {}", level, p.name, value_text(p)), text_of(p)});
}

/// Properties that are unknown for one reason, in one paragraph; then there are none.
void add_unknown(std::vector<Paragraph>& all, const std::string& level,
                 std::vector<const Property*>& unknown) {
  if (unknown.size() == 1) add_paragraph(all, level, *unknown.front());
  if (unknown.size() > 1) {
    std::vector<std::string> names, stated;
    for (const Property* p : unknown) {
      names.push_back(p->name);
      if (p->stated) stated.push_back(fmt::format("{} {}", p->name, stated_text(*p)));
    }
    std::string text = fmt::format("Unknown: {}.", unknown.front()->unknown);
    if (!stated.empty())
      text += fmt::format(" {} states {}.", unknown.front()->stated_by, fmt::join(stated, ", "));
    all.push_back({fmt::format("{} {}: unknown", level, fmt::join(names, ", ")), text});
  }
  unknown.clear();
}

} // namespace

std::string value_text(const Property& p) {
  return p.value ? in_unit(p, *p.value, p.tolerance > most_of_exact) : "unknown";
}

std::string level_text(const LevelFinding& level) {
  return level.name + (level.effective ? " (effective)" : "");
}

std::string shared_use_text(const LevelFinding& level) {
  std::vector<std::string> signs;
  for (const SharedUse& use : level.shared_use)
    switch (use.sign) {
    case SharingSign::hit_times_drift:
      signs.push_back(fmt::format("{} within it take {:.2f} ns, smaller working sets {:.2f} ns",
                                  base::format_bytes(use.bytes), use.measured, use.expected));
      break;
    case SharingSign::next_level_varies:
      signs.push_back(fmt::format("rounds at {} in L2 differ by a factor of {:.1f}",
                                  base::format_bytes(use.bytes), use.measured));
      break;
    case SharingSign::later_look_differs:
      signs.push_back(fmt::format("some seconds later a set retained {:.0f} lines", use.measured));
      break;
    }
  return fmt::format("{}", fmt::join(signs, "; "));
}

std::string ways_text(const Property& ways) {
  return value_text(ways) + (ways.value == 1 ? " way" : " ways");
}

std::string stated_text(const Property& p) {
  if (!p.stated) return "-";
  return *p.stated < 0 ? "full" : in_unit(p, *p.stated, false);
}

void compare(Caches& found, const StatedCaches& by) {
  for (LevelFinding& level : found.levels) {
    const auto stated = std::ranges::find(by.levels, level.name, &StatedLevel::name);
    if (stated == by.levels.end()) continue;
    const bool full = stated->ways < 0 && stated->line > 0;
    compare_property(level, level.capacity, stated->size, *stated, by);
    compare_property(level, level.line, stated->line, *stated, by);
    compare_property(level, level.ways, full ? stated->size / stated->line : stated->ways, *stated, by);
  }
}

std::vector<Paragraph> justification(const Caches& found) {
  std::vector<Paragraph> all;
  for (const LevelFinding& level : found.levels) {
    if (!level.shared_use.empty())
      all.push_back({fmt::format("{} is an effective share", level.name),
                     fmt::format("Others used a part of it during the measurement, for example on another "
                                 "hardware thread of the core: {}. recount caches --patient waits until "
                                 "this has ended.",
                                 shared_use_text(level))});
    std::vector<const Property*> unknown; // for one reason
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      if (p->value || (!unknown.empty() && unknown.front()->unknown != p->unknown))
        add_unknown(all, level.name, unknown);
      if (p->value)
        add_paragraph(all, level.name, *p);
      else
        unknown.push_back(p);
    }
    add_unknown(all, level.name, unknown);
    for (const Property* p : {&level.latency, &level.penalty})
      if (p->value) add_paragraph(all, level.name, *p);
  }
  for (const TlbFinding& tlb : found.tlbs)
    for (const Property* p : {&tlb.entries, &tlb.cost})
      if (p->value) add_paragraph(all, tlb.name, *p);
  if (found.memory.value) add_paragraph(all, "memory", found.memory);
  return all;
}

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
