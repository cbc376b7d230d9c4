#include "commands/caches/infer/findings.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "model/machine.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::caches {

const char* to_string(Confidence confidence) {
  constexpr const char* names[] = {"none", "low", "medium", "high"};
  return names[static_cast<std::size_t>(confidence)];
}

const char* to_string(StatedMatch agreement) {
  constexpr const char* names[] = {"not stated", "agrees", "near", "differs", "not found"};
  return names[static_cast<std::size_t>(agreement)];
}

const char* to_string(SharingSign sign) {
  constexpr const char* names[] = {"hit times drift", "next level varies", "later look differs"};
  return names[static_cast<std::size_t>(sign)];
}

Property unknown_property(const std::string& name, const std::string& unit, const Reason& reason) {
  return {.name = name, .unit = unit, .unknown = reason};
}

Property time_property(const std::string& name, double ns, Confidence confidence,
                       const std::string& evidence) {
  return {.name = name, .unit = "ns", .value = ns, .confidence = confidence, .words = {evidence}};
}

std::string level_name(std::size_t level) {
  return level == 0 ? "L1d" : fmt::format("L{}", level + 1);
}
std::string miss_measure(std::size_t level, const Abilities& can) {
  return fmt::format("{} misses per access ({})", level_name(level), can.counted_by(level).text());
}

LevelFinding unknown_level(const std::string& name, const Reason& reason) {
  LevelFinding finding;
  finding.name = name;
  finding.geometry.unknown = finding.geometry.line_unknown = reason;
  finding.capacity = unknown_property("capacity", "bytes", reason);
  finding.line = unknown_property("line", "bytes", reason);
  finding.ways = unknown_property("ways", "lines", reason);
  finding.latency = unknown_property("latency", "ns", reason);
  finding.penalty = unknown_property("penalty", "ns", reason);
  return finding;
}

namespace {

std::string in_unit(const Property& p, double value, bool rough) {
  const std::string about = rough ? "about " : "";
  if (p.unit == "bytes" && p.name != "line") {
    const double unit =
        rough ? std::exp2(std::floor(std::log2(value)) - 4) : 1; // a rough value has no five digits
    return about + base::format_bytes(std::round(value / unit) * unit);
  }
  if (p.unit == "bytes") return fmt::format("{:.0f} B", value);
  if (is_nanoseconds(p.unit)) return fmt::format("{:.{}f} ns", value, value < 10 ? 2 : value < 100 ? 1 : 0);
  return about + fmt::format("{:.0f}", value);
}

/// What is stated, and what that means for the found value.
std::string comparison(const Property& p) {
  const std::string stated = fmt::format("{} states {}", p.stated_by, stated_text(p));
  switch (p.agreement) {
  case StatedMatch::not_stated: return {};
  case StatedMatch::not_found: return stated + ".";
  case StatedMatch::agrees: return stated + ": agrees.";
  case StatedMatch::differs: return fmt::format("{}: differs; {}.", stated, p.remark);
  case StatedMatch::near:
    return fmt::format("{}, which is within the interval {} to {}: near, not confirmed.", stated,
                       in_unit(p, *p.value * (1 - p.tolerance), true),
                       in_unit(p, *p.value * (1 + p.tolerance), true));
  }
  return {};
}

Paragraph argument(const std::string& level, const Property& p) {
  std::vector<std::string> sentences = argument_words(p);
  if (!p.value) sentences.push_back(fmt::format("Unknown: {}.", p.unknown.text()));
  if (p.value && p.routes.size() > 1) {
    std::vector<std::string> routes;
    for (const Route& route : p.routes)
      routes.push_back(fmt::format("{}: {}", route.name, in_unit(p, route.value, false)));
    sentences.push_back(fmt::format("Derivations: {}.", fmt::join(routes, "; ")));
  }
  if (p.value && !p.against.empty()) sentences.push_back(fmt::format("Falsified if {}.", p.against));
  if (p.agreement != StatedMatch::not_stated) sentences.push_back(comparison(p));
  return {fmt::format("{} {}: {}", level, p.name, value_text(p)),
          fmt::format("{}", fmt::join(sentences, " "))};
}

} // namespace

std::vector<std::string> argument_words(const Property& p) {
  std::vector<std::string> sentences = p.words;
  if (p.value && !p.evidence.empty())
    sentences.insert(sentences.begin(), fmt::format("Evidence: {}.", p.evidence));
  return sentences;
}

std::string value_text(const Property& p) {
  return p.value ? in_unit(p, *p.value, p.tolerance > max_of_exact) : "unknown";
}

std::string stated_text(const Property& p) {
  return p.stated ? in_unit(p, *p.stated, false) : "-";
}

std::string ways_text(const Property& ways) {
  return value_text(ways) + (ways.value == 1 ? " way" : " ways");
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
    case SharingSign::repetition_differs:
      signs.push_back(fmt::format("some seconds later a set retained {:.0f} lines", use.measured));
      break;
    }
  return fmt::format("{}", fmt::join(signs, "; "));
}

std::string boundary_text(const Boundary& onset, std::int64_t capacity) {
  std::string fits = base::format_bytes(onset.fits), exceeds = base::format_bytes(onset.exceeds);
  if (fits == exceeds) fits = fmt::format("{} B", onset.fits), exceeds = fmt::format("{} B", onset.exceeds);
  if (onset.exceeds == 0) return "fits: " + fits;
  return capacity < onset.fits || capacity >= onset.exceeds
             ? fmt::format("misses begin between {} and {}; capacity by conflict misses: {}", fits, exceeds,
                           base::format_bytes(capacity))
             : fmt::format("fits: {}; does not fit: {}", fits, exceeds);
}

std::string rare_text(double probability) {
  return probability < 0.0001 ? "below 0.0001" : fmt::format("{:.4f}", probability);
}

std::vector<std::string> summary_lines(const Caches& found) {
  std::vector<std::string> lines;
  for (const LevelFinding& level : found.levels) {
    std::vector<std::string> parts;
    if (level.capacity.value) parts.push_back(value_text(level.capacity));
    if (level.ways.value) parts.push_back(ways_text(level.ways));
    if (level.line.value) parts.push_back("line " + value_text(level.line));
    if (level.latency.value) parts.push_back("hit " + value_text(level.latency));
    if (level.penalty.value) parts.push_back("miss + " + value_text(level.penalty));
    if (parts.empty()) parts.emplace_back("unknown");
    lines.push_back(fmt::format("{}: {}", level.shared_use.empty() ? level.name : level_text(level),
                                fmt::join(parts, ", ")));
  }
  return lines;
}

std::vector<std::pair<std::string, const Property*>> all_properties(const Caches& found) {
  std::vector<std::pair<std::string, const Property*>> all;
  const auto add = [&](const std::string& name, std::initializer_list<const Property*> properties) {
    for (const Property* p : properties)
      all.emplace_back(name, p);
  };
  for (const auto& level : found.levels)
    add(level_text(level), {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty});
  for (const auto& tlb : found.tlbs)
    add(tlb.name, {&tlb.entries, &tlb.cost});
  if (found.memory.value || found.disturbed > 0) add("memory", {&found.memory});
  return all;
}

std::vector<UnknownProperties> unknown_properties(const LevelFinding& level) {
  std::vector<UnknownProperties> all;
  for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
    if (p->value) continue;
    const auto same = std::ranges::find(all, p->unknown, &UnknownProperties::reason);
    if (same == all.end())
      all.push_back({p->unknown, p->name});
    else
      same->names += ", " + p->name;
  }
  return all;
}

std::vector<Paragraph> justification(const Caches& found) {
  std::vector<Paragraph> all;
  const auto add = [&](const std::string& name, std::initializer_list<const Property*> properties) {
    for (const Property* p : properties)
      if (p->value) all.push_back(argument(name, *p));
  };
  for (const LevelFinding& level : found.levels) {
    if (!level.shared_use.empty())
      all.push_back({fmt::format("{} is an effective share", level.name),
                     fmt::format("Others used a part of it during the measurement, for example on another "
                                 "hardware thread of the core: {}. recount caches --patient waits until "
                                 "this has ended.",
                                 shared_use_text(level))});
    add(level.name, {&level.capacity, &level.line, &level.ways});
    for (const auto& [reason, names] : unknown_properties(level)) {
      std::string text = fmt::format("Unknown: {}.", reason.text());
      for (const Property* p : {&level.capacity, &level.line, &level.ways})
        if (!p->value && p->unknown == reason && p->stated)
          text += fmt::format(" {} states {} {}.", p->stated_by, p->name, stated_text(*p));
      all.push_back({fmt::format("{} {}: unknown", level.name, names), text});
    }
    add(level.name, {&level.latency, &level.penalty});
  }
  for (const TlbFinding& tlb : found.tlbs)
    add(tlb.name, {&tlb.entries, &tlb.cost});
  add("memory", {&found.memory});
  return all;
}

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

Confidence high_if(bool sure) {
  return sure ? Confidence::high : Confidence::medium;
}

/// With noise the probability of the shape decides.
Confidence confidence_in_shape(const Geometry& g) {
  return high_if(g.probability == 0 || g.probability >= high_probability);
}

void add_probability(Property& p, const Geometry& g) {
  if (g.probability > 0)
    p.words.push_back(fmt::format("Probability of any other ways or way size, given the readings of {}: {}.",
                                  base::format_count(g.conflicts.size(), "stride"),
                                  rare_text(1 - g.probability)));
}

void fill_capacity(Property& p, const LevelFinding& level, Gauge& gauge) {
  const Geometry& g = level.geometry;
  const Shape& shape = *g.shape;
  const std::int64_t capacity = shape.capacity();
  p.value = static_cast<double>(capacity);
  p.routes = {{"largest working set that fits", static_cast<double>(g.onset.fits)},
              {"sets x ways x line, from conflict misses", static_cast<double>(capacity)}};
  p.confidence = confidence_in_shape(g);
  p.points = dense_points(
      gauge, {capacity / 2, g.onset.fits, g.onset.exceeds, capacity + capacity / 4, 2 * capacity},
      g.onset_stride);
  // With noise, misses may begin somewhat before or beyond the capacity.
  const bool noisy = g.probability > 0;
  p.against = fmt::format("a working set below {} missed in {}, or one above {} did not",
                          base::format_bytes(noisy ? capacity - capacity / 4 : capacity), level.name,
                          base::format_bytes(noisy ? capacity + capacity / 2 : capacity));
  p.evidence = boundary_text(g.onset, capacity);
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

void fill_ways(Property& p, const LevelFinding& level) {
  const Geometry& g = level.geometry;
  const Shape& shape = *g.shape;
  const std::string way = base::format_bytes(shape.way_bytes());
  p.value = static_cast<double>(shape.ways);
  p.routes = {{"most lines of one set that are retained", static_cast<double>(shape.ways)},
              {fmt::format("largest working set that fits / {} bytes per way", shape.way_bytes()),
               static_cast<double>(g.onset.fits) / static_cast<double>(shape.way_bytes())}};
  p.confidence = confidence_in_shape(g);
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
  p.confidence = g.shifted_line && !agree ? Confidence::low : high_if(exact || (agree && !g.line_by_shift));
  if (g.prefetch_seen)
    p.words.push_back("The second access hits further away in ascending than in descending order: the next "
                      "line is prefetched.");
  if (agree)
    p.words.push_back(fmt::format("Twice as many lines as a set holds are retained once every second one is "
                                  "shifted by {} bytes, because the shift maps it to the next set.",
                                  line));
}

} // namespace

void fill_from_geometry(LevelFinding& level, Gauge& gauge) {
  const Geometry& g = level.geometry;
  level.capacity = unknown_property("capacity", "bytes", g.unknown);
  level.ways = unknown_property("ways", "lines", g.unknown);
  level.line = unknown_property("line", "bytes", g.line_unknown);
  for (Property* p : {&level.capacity, &level.ways, &level.line}) {
    p->quantity = level.measure;
    p->threshold = gauge.thresholds();
  }
  if (g.unknown.empty() && g.shape) {
    fill_capacity(level.capacity, level, gauge);
    fill_ways(level.ways, level);
  }
  if (g.line) fill_line(level.line, g, gauge.exact());
}

namespace {

constexpr const char* sources_note = "stated_by";
constexpr const char* otherwise_note = "stated_otherwise";
constexpr const char* shared_note = "shared_by "; // and the level

std::string note(const result::Run& run, const std::string& name) {
  return base::value_at(run.plan, name);
}

StatedCaches stated_by_machine(const std::string& name) {
  const auto machine = model::machine(name);
  StatedCaches stated{"machine " + machine.name};
  for (const auto& level : machine.levels)
    stated.levels.push_back({level.name, level.size, level.line, level.ways});
  return stated;
}

StatedCaches stated_on_record(const result::Run& run, const std::string& machine) {
  if (!machine.empty()) return stated_by_machine(machine);
  const std::string sources = note(run, sources_note);
  StatedCaches stated{sources.empty() ? "hwloc" : sources, run.caches, run.virtualised,
                      note(run, otherwise_note)};
  for (const auto& cache : run.caches)
    stated.shared_by[cache.level] = base::parse<int>(note(run, shared_note + cache.level)).value_or(1);
  return stated;
}

/// Why a value may differ.
std::string reason_of_difference(const LevelFinding& level, const Property& p, const StatedCaches& by) {
  if (!level.shared_use.empty())
    return "others used a part of it during the measurement: " + shared_use_text(level);
  const auto shared = by.shared_by.find(level.name);
  if (level.effective)
    return "others may use a part of it, or pages may be placed unevenly" +
           (shared != by.shared_by.end() && shared->second > 1
                ? fmt::format("; it is stated to be shared by {} hardware threads", shared->second)
                : "");
  const std::string other_cpu = !by.hypervisor.empty() ? "the hypervisor may state the value of another CPU"
                                                       : "the stated value may be wrong";
  if (p.name != "capacity") return other_cpu;
  return (*p.value < *p.stated ? "others on the core may use a part of it; or "
                               : "an exclusive level adds to the one above it; or ") +
         other_cpu;
}

} // namespace

void note_stated(result::Run& run, const StatedCaches& stated) {
  run.plan[sources_note] = stated.source;
  if (!stated.otherwise.empty()) run.plan[otherwise_note] = stated.otherwise;
  for (const auto& [level, threads] : stated.shared_by)
    run.plan[shared_note + level] = std::to_string(threads);
}

void compare(Caches& found, const StatedCaches& by) {
  for (LevelFinding& level : found.levels) {
    const auto stated = std::ranges::find(by.levels, level.name, &result::CacheNote::level);
    if (stated == by.levels.end()) continue;
    const std::int64_t lines = stated->line > 0 ? stated->size / stated->line : 0;
    for (const auto& [property, value] :
         {std::pair(&level.capacity, stated->size), std::pair(&level.line, stated->line),
          std::pair(&level.ways, stated->ways < 0 ? lines : stated->ways)}) {
      if (value == 0) continue;
      Property& p = *property;
      p.stated = static_cast<double>(value);
      p.stated_by = by.source;
      if (!p.value)
        p.agreement = StatedMatch::not_found;
      else if (std::abs(*p.value - *p.stated) <= p.tolerance * *p.value + 1e-9)
        p.agreement = p.tolerance > max_of_exact ? StatedMatch::near : StatedMatch::agrees;
      else
        p.agreement = StatedMatch::differs;
      if (p.agreement == StatedMatch::differs) p.remark = reason_of_difference(level, p, by);
    }
  }
}

CachesFindings findings_on_record(const result::Results& results, const result::Run& run,
                                  const std::string& machine) {
  RecordSampler sampler(results, run);
  CachesFindings all;
  all.found = infer_caches(sampler);
  all.stated = stated_on_record(run, machine);
  compare(all.found, all.stated);
  all.rows = grid_rows(results, {&run, 1}).front();
  all.classic = classic_readings(all.rows);
  std::erase_if(all.classic, [&](const ClassicReading& reading) { return contradicts(reading, all.found); });
  all.cpu_model = run.cpu;
  all.cpu = base::parse<int>(note(run, "cpu"));
  return all;
}

bool contradicts(const ClassicReading& reading, const Caches& found) {
  const auto outside = [](const ClassicValue& bounds, const Property& property) {
    return bounds.value && property.value &&
           (*property.value < static_cast<double>(*bounds.value) ||
            (bounds.below > 0 && *property.value >= static_cast<double>(bounds.below)));
  };
  return !reading.misses && std::ranges::any_of(found.levels, [&](const LevelFinding& level) {
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

namespace {

std::string count_text(const CachesFindings& findings, bool reasons) {
  const Caches& found = findings.found;
  std::vector<std::string> differences;
  std::size_t agree = 0, stated = 0, absent = 0;
  for (const auto& level : found.levels)
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      stated += p->agreement == StatedMatch::not_stated ? 0U : 1U;
      absent += p->agreement == StatedMatch::not_found ? 1U : 0U;
      if (p->agreement == StatedMatch::agrees) ++agree;
      if (p->agreement == StatedMatch::differs)
        differences.push_back(
            fmt::format("{} {}", level.name, p->name) +
            (reasons ? fmt::format(": found {}, stated {}: {}", value_text(*p), stated_text(*p), p->remark)
                     : ""));
    }
  return fmt::format(
      "{} of {} {}, {}{}", agree,
      reasons ? base::format_count(stated, "property", "properties") : std::to_string(stated),
      agree == 1 ? "agrees" : "agree", absent == 0 ? "" : fmt::format("{} not found, ", absent),
      differences.empty() ? std::string("none differs")
                          : fmt::format("{}: {}", base::format_count(differences.size(), "differs", "differ"),
                                        fmt::join(differences, reasons ? ". " : ", ")));
}

} // namespace

std::string agreement_text(const CachesFindings& findings) {
  return count_text(findings, false);
}

std::string comparison_text(const CachesFindings& findings) {
  return fmt::format("Compared with the specification ({}): {}.", findings.stated.source,
                     count_text(findings, true));
}

} // namespace recount::caches
