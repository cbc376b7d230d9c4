#include "caches/infer/translation.hpp"

#include "base/format.hpp"
#include "caches/infer/colours.hpp"
#include "caches/infer/findings.hpp"
#include "caches/infer/geometry.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::int64_t fewest_pages = 8, most_pages = 8192;
constexpr double least_cost = 0.15; ///< of a miss, as a share of the shortest access; less is no level

/// Shares of the step of a TLB well before and well after its end, at which repeated readings contradict it.
constexpr double most_before = 0.4, least_after = 0.3;

/// Offsets repeat after an odd number of pages. After a power of two, all pages of one offset would have the
/// same low bits where the system places pages in runs, and their lines would share few sets.
std::int64_t offsets_in_page(const Abilities& can, std::int64_t line) {
  return can.page / line - 1;
}

Pattern one_a_page(const Abilities& can, std::int64_t pages, std::int64_t line) {
  Pattern pattern = dense(pages, can.page);
  pattern.shift = line;
  pattern.wrap = offsets_in_page(can, line);
  return pattern;
}

/// As many lines at the same offsets in half as many pages.
Pattern two_a_page(const Abilities& can, std::int64_t lines, std::int64_t line) {
  const std::int64_t offsets = offsets_in_page(can, line), apart = offsets / 2 + 2;
  Pattern pattern = dense(lines, line);
  for (std::int64_t i = 0; i < lines; ++i)
    pattern.slots.push_back(i / 2 * (can.page / line) + (i / 2 * 2 + i % 2 * apart) % offsets);
  return pattern;
}

/// What pages cost beyond `base`, as a share of `step`.
class PageGauge : public Gauge {
public:
  PageGauge(CachedSampler& cached, std::int64_t line, double base, double step)
      : sampler_cache_(cached), line_(line), base_(base), step_(step) {}

  std::vector<double> shares(std::span<const Pattern> patterns) override {
    std::vector<Pattern> wanted(patterns.begin(), patterns.end());
    for (const Pattern& pattern : patterns)
      wanted.push_back(dense(pattern.count, line_));
    const auto readings = sampler_cache_.read(wanted);
    std::vector<double> all;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const char* const missing = "no time was measured over a range of pages";
      const double apart = time_of(readings[i], missing),
                   together = time_of(readings[patterns.size() + i], missing);
      all.push_back((apart - together - base_) / step_);
    }
    return all;
  }
  [[nodiscard]] Fit judge(double share, std::int64_t) const override {
    return share <= 0.04 ? Fit::fits : share < 0.1 ? Fit::unclear : Fit::exceeds;
  }
  [[nodiscard]] std::string thresholds() const override { return "4 % to 10 % of the step"; }

private:
  CachedSampler& sampler_cache_;
  std::int64_t line_;
  double base_, step_;
};

/// Misses of one TLB.
class WalkGauge : public Gauge {
public:
  WalkGauge(CachedSampler& cached, std::size_t level) : sampler_cache_(cached), level_(level) {}
  std::vector<double> shares(std::span<const Pattern> patterns) override {
    std::vector<double> all;
    for (const Reading& reading : sampler_cache_.read(patterns)) {
      if (reading.translations.size() <= level_ || !reading.translations[level_])
        throw Unknown{"TLB misses were not counted at every required point"};
      all.push_back(*reading.translations[level_]);
    }
    return all;
  }
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override {
    if (!sampler_cache_.abilities().exact)
      return share <= 0.02 ? Fit::fits : share < 0.05 ? Fit::unclear : Fit::exceeds;
    return share * static_cast<double>(visits) < 0.1 ? Fit::fits : Fit::exceeds;
  }
  [[nodiscard]] std::string thresholds() const override { return "one miss per pass"; }

private:
  CachedSampler& sampler_cache_;
  std::size_t level_;
};

/// By the misses of each TLB.
void count_walks(CachedSampler& cached, std::int64_t line, Translation& found) {
  const Abilities& can = cached.abilities();
  const Family family = [&](std::int64_t n) { return one_a_page(can, n, line); };
  for (std::size_t level = 0; level < can.counted_tlbs; ++level) {
    WalkGauge gauge(cached, level);
    Boundary b = double_until_exceeds(gauge, family, 1, can.most_bytes / can.page);
    if (b.exceeds == 0) throw Unknown{fmt::format("no miss in TLB {} up to {} pages", level + 1, b.fits)};
    if (b.fits > 0) b = narrow(gauge, family, b, can.at_once);
    found.levels.push_back({b, 0, {}, 1, {}, false});
  }
}

/// Of patterns that grow: a longer one cannot take less, and disturbances add time.
std::vector<double> rising_times(CachedSampler& cached, std::span<const Pattern> patterns) {
  std::vector<double> all;
  for (const Reading& reading : cached.read(patterns))
    all.push_back(time_of(reading, "no time was measured over a range of pages"));
  for (std::size_t i = all.size(); i-- > 1;)
    all[i - 1] = std::min(all[i - 1], all[i]);
  return all;
}

std::vector<PagePoint> page_curve(CachedSampler& cached, std::int64_t line) {
  const Abilities& can = cached.abilities();
  std::vector<Pattern> patterns;
  for (double n = fewest_pages; n <= static_cast<double>(std::min(most_pages, can.most_bytes / can.page));
       n *= std::exp2(0.25))
    patterns.push_back(one_a_page(can, std::llround(n), line));
  const auto count = static_cast<std::ptrdiff_t>(patterns.size());
  for (std::ptrdiff_t i = 0; i < count; ++i)
    patterns.push_back(dense(patterns[static_cast<std::size_t>(i)].count, line));
  static_cast<void>(cached.read(patterns)); // interleaved
  const auto apart = rising_times(cached, {patterns.begin(), patterns.begin() + count}),
             together = rising_times(cached, {patterns.begin() + count, patterns.end()});
  std::vector<PagePoint> curve;
  for (std::size_t i = 0; i < apart.size(); ++i)
    curve.push_back({patterns[i].count, apart[i] - together[i]});
  return curve;
}

/// The stretch of four points from `first` on over which the cost hardly changes. Where it falls, it was a
/// bump of the caches: lines of several pages overflow a set before as many adjacent lines do.
std::optional<std::size_t> level_stretch(const std::vector<PagePoint>& curve, std::size_t first,
                                         double base) {
  for (std::size_t i = first; i + 3 < curve.size(); ++i) {
    const auto [least, most] = std::ranges::minmax(std::span(curve).subspan(i, 4), {}, &PagePoint::cost);
    if (curve[i].cost > base && most.cost - least.cost < 0.12 * curve[i].cost) return i;
  }
  return {};
}

/// A TLB has an end at a number of pages, a cache at a number of lines. Half as many pages again as the TLB
/// has entries miss it; the same number of lines in half the pages do not. The median of several such
/// numbers.
std::optional<double> rise_of_lines(CachedSampler& cached, std::int64_t line, double base,
                                    const TranslationLevel& level) {
  const Abilities& can = cached.abilities();
  std::vector<Pattern> patterns;
  for (const std::int64_t eighths : {12, 11, 13}) {
    const std::int64_t lines = std::max(level.pages.fits, level.half) * eighths / 16 * 2;
    patterns.push_back(one_a_page(can, lines, line));
    patterns.push_back(two_a_page(can, lines, line));
    patterns.push_back(dense(lines, line));
  }
  const auto readings = cached.read(patterns);
  std::vector<double> shares;
  for (std::size_t i = 0; i < readings.size(); i += 3) {
    if (!readings[i].ns || !readings[i + 1].ns || !readings[i + 2].ns) continue; // not on record
    const double rise = *readings[i].ns - *readings[i + 2].ns - base;
    shares.push_back(rise > 0 ? (*readings[i + 1].ns - *readings[i + 2].ns - base) / rise : 1.0);
  }
  return shares.empty() ? std::nullopt : std::optional(statistics::median(shares));
}

/// Other orders of the pages at both sides of the boundary: whether they show it elsewhere.
bool contradicted(CachedSampler& cached, std::int64_t line, double base, double step, const Boundary& b) {
  const auto share = [&](std::int64_t pages) -> std::optional<double> {
    std::vector<Pattern> patterns;
    for (const std::int64_t order : {1, 2})
      for (Pattern pattern : {one_a_page(cached.abilities(), pages, line), dense(pages, line)}) {
        pattern.seed += order;
        patterns.push_back(pattern);
      }
    const auto readings = cached.read(patterns);
    if (!std::ranges::all_of(readings, [](const Reading& r) { return r.ns.has_value(); })) return {};
    const double apart = std::min(*readings[0].ns, *readings[2].ns),
                 together = std::min(*readings[1].ns, *readings[3].ns);
    return (apart - together - base) / step;
  };
  return share(b.fits - b.fits / 8).value_or(0) > most_before ||
         share(b.exceeds + b.exceeds / 4).value_or(1) < least_after;
}

/// By time: the cost climbs to a plateau where every visit misses the first TLB, then to the cost of a walk.
void time_walks(CachedSampler& cached, std::int64_t line, Translation& found) {
  const double shortest =
      time_of(cached.read(dense(fewest_pages, line)), "no time of adjacent lines was measured");
  found.curve = page_curve(cached, line);
  double base = 0;
  std::size_t at = 0;
  for (int level = 0; level < 2; ++level) {
    const auto flat = level_stretch(found.curve, at, base + least_cost * shortest + 0.5 * base);
    if (!flat)
      throw Unknown{fmt::format("no plateau after {} up to {} pages", base::format_count(level, "TLB level"),
                                found.curve.back().pages)};
    const double step = found.curve[*flat].cost - base;
    PageGauge gauge(cached, line, base, step);
    const Family family = [&](std::int64_t n) { return one_a_page(cached.abilities(), n, line); };
    Boundary b{found.curve.front().pages, found.curve[*flat].pages};
    for (std::size_t i = at; i < *flat; ++i)
      if (gauge.judge((found.curve[i].cost - base) / step, 0) == Fit::fits) b.fits = found.curve[i].pages;
    b = narrow(gauge, family, b, cached.abilities().at_once);
    std::int64_t half = 0;
    for (std::size_t i = at; i <= *flat && half == 0; ++i)
      if (found.curve[i].cost - base > 0.5 * step) half = found.curve[i].pages;
    const double at_exceeds = b.exceeds > 0 ? gauge.share(family(b.exceeds)) : 0;
    found.levels.push_back({b, half, step, at_exceeds, {}, contradicted(cached, line, base, step, b)});
    found.levels.back().of_lines = rise_of_lines(cached, line, base, found.levels.back());
    base += step;
    at = *flat;
  }
}

} // namespace

double Translation::random_cost(std::int64_t pages) const {
  double cost = 0;
  for (const TranslationLevel& level : levels) {
    const auto entries = static_cast<double>(std::max(level.pages.fits, level.half));
    cost += level.cost.value_or(0) * std::max(0.0, 1 - entries / static_cast<double>(pages));
  }
  return cost;
}

Translation find_translation(CachedSampler& cached, std::int64_t line) {
  Translation found;
  try {
    if (cached.abilities().counted_tlbs > 0)
      count_walks(cached, line, found);
    else if (cached.abilities().times)
      time_walks(cached, line, found);
    else
      found.unknown = "the witness gives neither TLB misses nor times";
  } catch (const Unknown& unknown) {
    found.unknown = unknown.reason;
  }
  return found;
}

namespace {

constexpr double beyond_first = 0.2;  ///< least tolerance of a TLB whose end lines that leave L2 obscure
constexpr double most_of_lines = 0.3; ///< of the rise, that as many lines in half as many pages may show
constexpr double least_tolerance = 0.06, widest_tolerance = 0.4;

/// Where a TLB ends: at the first page too many when the cost then jumps; where it rises gradually, as it
/// does when the sets are chosen by a hash or translations are nested, somewhere up to half of the rise.
struct TlbEnd {
  double entries = 0, tolerance = 0;
  bool sharp = false;
};

TlbEnd end_of(const TranslationLevel& level) {
  const auto fits = static_cast<double>(level.pages.fits), exceeds = static_cast<double>(level.pages.exceeds);
  const double half = std::max(static_cast<double>(level.half), exceeds);
  if (level.at_exceeds > 0.5 && 16 * (exceeds - fits) <= fits)
    return {fits, std::max(least_tolerance, exceeds / fits - 1), true};
  return {std::round((fits + half) / 2), (half - fits) / (half + fits) + least_tolerance, false};
}

Property entries_of(const Translation& translation, std::size_t i, bool exact) {
  const TranslationLevel& level = translation.levels[i];
  TlbEnd end = end_of(level);
  if (i > 0) end.tolerance = std::max(end.tolerance, beyond_first);
  Property p = unknown_property("entries", "pages", {});
  p.value = exact ? static_cast<double>(level.pages.fits) : end.entries;
  p.tolerance = exact ? 0 : end.tolerance;
  p.confidence = exact ? Confidence::high : end.sharp ? Confidence::medium : Confidence::low;
  p.quantity = exact ? "misses" : "ns per page beyond the cost of its line";
  for (const PagePoint& point : translation.curve)
    if (const auto pages = static_cast<double>(point.pages);
        pages > end.entries / 3 && pages < 3 * end.entries)
      p.points.push_back({base::format_count(point.pages, "page"), point.cost});
  p.threshold = exact ? "one miss per pass" : "4 % to 10 % of the step, and half of it";
  p.against = "fewer pages had the same cost, or more pages had none";
  p.routes = {{"most pages without cost", static_cast<double>(level.pages.fits)}};
  if (level.half > 0) p.routes.push_back({"pages at half of the rise", static_cast<double>(level.half)});
  p.words.push_back(fmt::format(
      "One line per page, compared with as many adjacent lines: up to {} pages have no {}cost, {} have.",
      level.pages.fits, i == 0 ? "" : "further ", level.pages.exceeds));
  p.evidence = fmt::format("most pages without {}cost: {}; fewest with: {}", i == 0 ? "" : "further ",
                           level.pages.fits, level.pages.exceeds);
  if (!exact && !end.sharp)
    p.words.push_back(
        fmt::format("The cost rises gradually, as with a hashed TLB or nested translation; half of the step "
                    "is reached at about {} pages.",
                    level.half));
  if (!exact && end.tolerance > widest_tolerance) {
    p.value.reset();
    p.unknown = fmt::format("the cost rises gradually between {} and {} pages", level.pages.fits,
                            std::max(level.half, level.pages.exceeds));
  } else if (level.contradicted) {
    p.value.reset();
    p.unknown = fmt::format("readings in another order contradict a rise between {} and {} pages",
                            level.pages.fits, level.pages.exceeds);
  } else if (level.of_lines && *level.of_lines > most_of_lines) {
    p.value.reset();
    p.unknown =
        fmt::format("the cost rises at about {:.0f} pages, but as many lines in half as many pages cost "
                    "{:.0f} % of it: the cache, not the TLB",
                    end.entries, 100 * std::min(1.0, *level.of_lines));
  } else if (level.of_lines) {
    p.words.push_back(fmt::format("As many lines in half as many pages cost {:.0f} % of the rise.",
                                  100 * std::max(0.0, *level.of_lines)));
  }
  return p;
}

} // namespace

std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact) {
  std::vector<TlbFinding> findings;
  for (std::size_t i = 0; i < translation.levels.size(); ++i) {
    const auto& cost = translation.levels[i].cost;
    TlbFinding finding{fmt::format("L{} DTLB", i + 1), entries_of(translation, i, exact), {}};
    if (cost)
      finding.cost =
          time_property("cost", *cost, Confidence::medium,
                        {fmt::format("{} takes {:.2f} ns.",
                                     i == 0 ? "A miss that hits in the next TLB" : "A page walk", *cost)});
    else
      finding.cost = unknown_property("cost", "ns", "the witness counts misses and measures no time");
    findings.push_back(std::move(finding));
  }
  return findings;
}

void doubt_tlbs(std::vector<TlbFinding>& tlbs, const Translation& translation, const LevelFinding& first) {
  if (!first.capacity.value || !first.line.value) return;
  const double lines = *first.capacity.value / *first.line.value;
  for (std::size_t i = 1; i < tlbs.size(); ++i) {
    Property& p = tlbs[i].entries;
    if (!p.value || translation.levels[i].of_lines) continue;
    const bool as_lines = *p.value > 0.5 * lines && *p.value < 1.5 * lines;
    const bool as_sets = first.ways.value && std::abs(*p.value * *first.ways.value / lines - 1) < 0.05;
    if (!as_lines && !as_sets) continue;
    p.unknown = fmt::format(
        "the cost rises at about {:.0f} pages, and {} has {:.0f} {}: which of the two ends there "
        "cannot be told",
        *p.value, first.name, as_lines ? lines : lines / *first.ways.value, as_lines ? "lines" : "sets");
    p.value.reset();
  }
}

namespace {

using kernel::dense;
using kernel::Pattern;

/// With pages placed at random, this share of the accesses leaves an LRU cache of 4 to 24 ways when the
/// working set is as large as the cache: sets hold more lines or fewer than they have ways.
constexpr double share_at_capacity = 0.54;
/// The crossing of a cache that replaces at random is at up to 1.5 times its capacity, and that of a cache
/// that others use as well was seen at 0.89 of it: the middle of both.
constexpr double crossing_of_some_policy = 0.88;
constexpr double crossing_least = 0.7, crossing_most = 1.6; ///< of crossing / capacity that confirms it
/// Few pages fill some sets early, random replacement keeps lines. Beyond twice this, one of them is noise.
constexpr double crossing_seen_least = 0.5, crossing_seen_most = 2.6, excluded = 2;

constexpr double sure = 0.999;          ///< probability of a value at high confidence
constexpr double neighbour_rise = 1.15; ///< of the time of pairs, beyond what the line explains

std::string in_bytes(double bytes) {
  return base::format_bytes(std::round(bytes / 1024) * 1024);
}

class PagedLevel {
public:
  PagedLevel(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task)
      : level_(level), sampler_cache_(cached), sampler_(sampler), task_(task) {}

  void fill() {
    level_.capacity = unknown_property("capacity", "bytes", {});
    level_.ways = unknown_property("ways", "lines", {});
    try {
      find_crossing();
    } catch (const Unknown& unknown) { // the colours do without
      no_crossing_ = unknown.reason;
    }
    find_line();
    try {
      fill_from_colours();
    } catch (const Unknown& unknown) {
      if (!level_.ways.value) level_.ways.unknown = unknown.reason;
      fill_from_crossing(unknown.reason);
    }
  }

private:
  /// Share of the accesses to a dense working set that leave, the cost of translation subtracted.
  [[nodiscard]] double share(std::int64_t bytes, const Reading& reading) const {
    if (reading.misses.size() > task_.level && reading.misses[task_.level])
      return *reading.misses[task_.level];
    const double ns = time_of(reading, "no time was taken around its capacity");
    const std::int64_t pages = bytes / sampler_cache_.abilities().page;
    return (ns - task_.translation->random_cost(pages) - task_.hit) / (task_.next_hit - task_.hit);
  }

  void find_crossing() {
    std::vector<Pattern> patterns;
    for (double size = 0.6 * static_cast<double>(task_.around);
         size < 3.2 * static_cast<double>(task_.around); size *= std::exp2(0.125))
      patterns.push_back(dense(std::llround(size / 4096) * 4096 / task_.line, task_.line));
    const auto readings = sampler_cache_.read(patterns);
    double highest = 0;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const std::int64_t bytes = patterns[i].count * task_.line;
      highest = std::max(highest, share(bytes, readings[i])); // more data cannot leave less often
      if (!shares_.empty() && crossing_ == 0 && highest > share_at_capacity) {
        const auto& [before, low] = shares_.back();
        const double part = (share_at_capacity - low) / std::max(highest - low, 1e-9);
        crossing_ = before * std::pow(static_cast<double>(bytes) / before, std::clamp(part, 0.0, 1.0));
      }
      shares_.emplace_back(static_cast<double>(bytes), highest);
    }
    if (crossing_ == 0) throw Unknown{"no working set has a miss rate clearly above one half"};
    for (const auto& [bytes, exceeds] : shares_)
      level_.capacity.points.push_back({in_bytes(bytes), exceeds});
    level_.capacity.quantity = fmt::format("{} miss rate", level_.name);
  }

  /// Pairs far apart enough that the first touch of each leaves the level. Longer lines and lines that come
  /// in pairs look alike.
  void find_line() {
    Property& p = level_.line = unknown_property("line", "bytes", {});
    const auto patterns = pair_patterns(5 * task_.around / pair_block);
    std::vector<double> ns;
    try {
      for (const Reading& reading : sampler_cache_.read(patterns))
        ns.push_back(time_of(reading, "the time of pairs was not measured"));
    } catch (const Unknown& unknown) {
      p.unknown = unknown.reason;
      return;
    }
    const auto points = pair_points(patterns, ns);
    const auto line = line_from_pairs(points);
    for (const PairPoint& point : points)
      if (points.back().near_first > neighbour_rise * point.near_first) fetched_to_ = point.distance;
    p.quantity = "ns per access";
    for (const PairPoint& point : points)
      p.points.push_back({fmt::format("second access {} bytes further", point.distance), point.near_first});
    p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
    if (!line) {
      p.unknown = "the second access of a pair misses at no clear distance";
    } else if (line->bytes != task_.line || line->prefetch_seen) {
      p.unknown = fmt::format(
          "accesses {} bytes apart hit together: a line of twice the size, or lines fetched in pairs",
          line->bytes / 2);
    } else {
      p.value = static_cast<double>(line->bytes);
      p.confidence = Confidence::medium;
      p.routes = {{"shortest distance at which the second access of a pair misses", *p.value}};
      p.against = "the second access of a pair further apart hit";
      p.words.push_back(
          fmt::format("Pairs of accesses in random blocks over {}: {:.1f} ns per access at {} bytes, "
                      "{:.1f} ns at {} bytes.",
                      in_bytes(static_cast<double>(patterns.front().count * pair_block)),
                      points[points.size() - 5].near_first, points[points.size() - 5].distance,
                      points[points.size() - 4].near_first, line->bytes));
      p.evidence = fmt::format("pairs of accesses: {:.1f} ns at {} bytes, {:.1f} ns at {} bytes",
                               points[points.size() - 5].near_first, points[points.size() - 5].distance,
                               points[points.size() - 4].near_first, line->bytes);
    }
  }

  void fill_from_colours() {
    const PageColours found = colours_of_level(sampler_, task_);
    const ColourSets sets = decide_colour_sets(found);
    if (sets.line) fill_line(sets);
    if (!sets.ways) throw Unknown{sets.ways_unknown};
    fill_ways(found, sets);
    fill_capacity(found, sets);
  }

  void fill_line(const ColourSets& sets) {
    Property& p = level_.line;
    const auto from_pairs = p.value;
    const double line = static_cast<double>(*sets.line);
    p.value = line;
    p.unknown.clear();
    p.routes = {{"shift that takes lines of one page colour to another set", line}};
    if (from_pairs)
      p.routes.push_back({"shortest distance at which the second access of a pair misses", *from_pairs});
    const bool contradicted = from_pairs && *from_pairs != line;
    p.confidence = contradicted                           ? Confidence::low
                   : sets.with_line == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.against = "lines of one colour still overflowed their set when every second one was shifted that far";
    p.evidence =
        fmt::format("lines of one colour leave their set when shifted by {} bytes, in {} of {} colours",
                    *sets.line, sets.with_line, sets.trials.size());
    p.words = {fmt::format(
        "Twice as many lines of one page colour as a set holds overflow it. They fit once every "
        "second one is shifted by {} bytes, and not if it is shifted by less, in {} of {} colours.",
        *sets.line, sets.with_line, sets.trials.size())};
    if (fetched_to_ > *sets.line)
      p.words.push_back(
          fmt::format("The second access of a pair costs less up to a distance of {} bytes than further "
                      "apart: the level fetches neighbouring lines.",
                      fetched_to_));
    if (contradicted)
      p.words.push_back(fmt::format("Contradiction: pairs of accesses show {:.0f} bytes.", *from_pairs));
  }

  void fill_ways(const PageColours& found, const ColourSets& sets) {
    Property& p = level_.ways;
    const std::int64_t ways = *sets.ways;
    p.value = static_cast<double>(ways);
    p.confidence = sets.probability >= sure && sets.with_ways == sets.trials.size() ? Confidence::high
                   : sets.probability >= sure                                       ? Confidence::medium
                                                                                    : Confidence::low;
    p.routes = {{fmt::format("most lines of one page colour that fit, in {} colours", sets.trials.size()),
                 static_cast<double>(ways)}};
    p.quantity = "lines of one page colour that fit";
    for (const ColourTrial& trial : sets.trials)
      if (trial.ways)
        p.points.push_back({fmt::format("colour of page {}", trial.page), static_cast<double>(*trial.ways)});
    p.threshold = "an eighth of the lines missing per pass";
    p.against = "most other colours had another number";
    p.words.push_back(fmt::format(
        "{} {} pages; pages of one colour share {}. Together with lines of other colours, which keep L1d "
        "from holding any, {} of one colour fit {} and {} do not, in {} of {} colours: {}. "
        "Probability of another number: {}.",
        found.whole ? "Several lines in each of" : "One line at the same offset in each of", found.pages,
        found.whole ? "all of their sets" : "a set", base::format_count(ways, "line"), level_.name, ways + 1,
        sets.with_ways, sets.trials.size(), base::format_count(ways, "way"),
        rare_text(1 - sets.probability)));
    p.evidence = fmt::format("lines of one page colour that fit: {}, in {} of {} colours", ways,
                             sets.with_ways, sets.trials.size());
  }

  void fill_capacity(const PageColours& found, const ColourSets& sets) {
    const std::string each = base::format_count(*sets.ways, "way");
    const auto page = static_cast<double>(sampler_cache_.abilities().page),
               ways = static_cast<double>(*sets.ways);
    const CountedColours count = count_colours(found, *sets.ways);
    const auto groups = static_cast<double>(found.members.size());
    Property& p = level_.capacity;
    p.value = count.colours * ways * page;
    p.tolerance = count.tolerance;
    const bool crossing_agrees =
        crossing_ > crossing_least * *p.value && crossing_ < crossing_most * *p.value;
    const bool contradicted = crossing_ > 0 && (crossing_ < crossing_seen_least * *p.value ||
                                                crossing_ > crossing_seen_most * *p.value);
    p.confidence = !count.stated || contradicted ? Confidence::low
                   : crossing_agrees && count.probability >= sure
                       ? level_.ways.confidence
                       : std::min(Confidence::medium, level_.ways.confidence);
    p.routes = {{"page colours x ways x page size", *p.value}};
    if (crossing_ > 0) p.routes.push_back({"working set with a miss rate of 54 %", crossing_});
    p.threshold = "a miss rate of 54 %";
    p.against = fmt::format("a page had no colour, or the crossing were outside {} to {} times the product",
                            crossing_seen_least, crossing_seen_most);
    if (count.complete)
      p.words.push_back(fmt::format("{0} pages, {1} colours: {1} colours x {2} x {3} per page = {4}.",
                                    found.pages, groups, each, in_bytes(page), in_bytes(*p.value)));
    else if (count.sampled)
      p.words.push_back(fmt::format("{} colours were found. Of {} other pages, which took no part in that, "
                                    "{} have one of these colours: there are {} colours (probability of "
                                    "another number: {}). {} colours x {} x {} per page = {}.",
                                    groups, found.sample, found.in_sample, count.colours,
                                    rare_text(1 - count.probability), count.colours, each, in_bytes(page),
                                    in_bytes(*p.value)));
    else
      p.words.push_back(fmt::format("{} colours were found with a part of {} pages, so there are about "
                                    "{:.0f}: x {} x {} per page = {}.",
                                    groups, found.pages, count.colours, each, in_bytes(page),
                                    in_bytes(*p.value)));
    p.evidence = fmt::format("{:.0f} page colours{} x {} x {} per page", count.colours,
                             count.stated ? "" : " (estimated)", each, in_bytes(page));
    add_crossing_words(p);
    if (contradicted && (crossing_ * excluded < crossing_seen_least * *p.value ||
                         crossing_ > excluded * crossing_seen_most * *p.value)) {
      p.unknown = fmt::format("{} page colours x {} x {} per page are {}, but misses begin around {}",
                              count.colours, each, in_bytes(page), in_bytes(*p.value), in_bytes(crossing_));
      p.value.reset();
    } else if (contradicted)
      p.words.push_back("Contradiction: misses begin around " + in_bytes(crossing_) +
                        ": other users of the cache, or a hashed index.");
  }

  void add_crossing_words(Property& p) const {
    if (crossing_ == 0) return;
    std::vector<std::string> rising;
    double next = 0.05;
    for (const auto& [bytes, exceeds] : shares_) {
      if (exceeds < next) continue;
      rising.push_back(fmt::format("{:.2f} at {}", exceeds, in_bytes(bytes)));
      next = exceeds + 0.2;
    }
    p.words.push_back(
        fmt::format("The {} miss rate rises gradually, because random page placement fills some sets "
                    "before others: {}; 54 % at {}.",
                    level_.name, fmt::join(rising, ", "), in_bytes(crossing_)));
  }

  /// Without colours the rule of 54 % is left. It holds for LRU and for a core without other programs: on a
  /// busy one it gave 576 and 768 KiB for 1 MiB. So it is told, but no value is stated.
  void fill_from_crossing(const std::string& why) {
    Property& p = level_.capacity;
    if (crossing_ == 0 || !task_.next_is_level) {
      p.unknown = (crossing_ == 0 ? no_crossing_ : "the miss time varies too much to derive the miss rate") +
                  "; " + why;
      return;
    }
    p.threshold = "a miss rate of 54 %";
    add_crossing_words(p);
    p.unknown = fmt::format(
        "a miss rate of 54 % at {} suggests about {}, but other programs on the core make it less and "
        "another replacement than LRU more; not confirmed independently: {}",
        in_bytes(crossing_), in_bytes(crossing_of_some_policy * crossing_), why);
  }

  LevelFinding& level_;
  CachedSampler& sampler_cache_;
  Sampler& sampler_;
  const PagedTask& task_;
  std::string no_crossing_;
  double crossing_ = 0;         ///< bytes
  std::int64_t fetched_to_ = 0; ///< bytes: pairs up to this distance cost less than those furthest apart
  std::vector<std::pair<double, double>> shares_; ///< bytes, share that leaves
};

} // namespace

void fill_from_pages(LevelFinding& level, CachedSampler& cached, Sampler& sampler, const PagedTask& task) {
  PagedLevel(level, cached, sampler, task).fill();
}

} // namespace recount::caches
