#include "commands/caches/infer/second_level.hpp"

#include "base/format.hpp"
#include "base/statistics/statistics.hpp"
#include "commands/caches/infer/geometry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace recount::caches {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::size_t second = 1; ///< the level, from 0

/// With pages placed at random, this share of the accesses leaves an LRU cache of 4 to 24 ways when the
/// working set is as large as the cache: sets hold more lines or fewer than they have ways.
constexpr double share_at_capacity = 0.54;
/// The crossing of a cache that replaces at random is at up to 1.5 times its capacity, and that of a cache
/// that others use as well was seen at 0.89 of it: the middle of both.
constexpr double crossing_of_some_policy = 0.88;
constexpr double crossing_least = 0.7, crossing_most = 1.6; ///< of crossing / capacity that confirms it
/// Few pages fill some sets early, random replacement keeps lines. Beyond twice this, one of them is noise.
constexpr double crossing_seen_least = 0.5, crossing_seen_most = 2.6, excluded = 2;

constexpr double sure = 0.999;           ///< probability of a value at high confidence
constexpr double neighbour_rise = 1.15;  ///< of the time of pairs, beyond what the line explains
constexpr std::int64_t min_sample = 768; ///< pages

std::string in_bytes(double bytes) {
  return base::format_bytes(std::round(bytes / 1024) * 1024);
}

class SecondLevel {
public:
  SecondLevel(LevelFinding& level, CachedSampler& cached, const SecondLevelTask& task)
      : level_(level), cached_(cached), task_(task) {}

  void fill() {
    level_.capacity = unknown_property("capacity", "bytes", {});
    level_.line = unknown_property("line", "bytes", {});
    level_.ways = unknown_property("ways", "lines", {});
    try {
      find_crossing();
    } catch (const Unknown& unknown) { // the colours do without
      no_crossing_ = unknown.reason;
    }
    try {
      fill_line_by_pairs(level_.line);
    } catch (const Unknown& unknown) {
      level_.line.unknown = unknown.reason;
    }
    try {
      const PageColours colours = page_colours();
      const ColourSets sets = decide_colour_sets(colours);
      if (sets.line) fill_line(level_.line, sets);
      if (!sets.ways) throw Unknown{sets.ways_unknown};
      fill_ways(level_.ways, colours, sets);
      fill_capacity(level_.capacity, colours, *sets.ways);
    } catch (const Unknown& unknown) {
      if (!level_.ways.value) level_.ways.unknown = unknown.reason;
      refuse_capacity(unknown.reason);
    }
  }

private:
  /// Share of the accesses to a dense working set that leave, the cost of translation subtracted.
  [[nodiscard]] double share(std::int64_t bytes, const Reading& reading) const {
    if (reading.misses.size() > second && reading.misses[second]) return *reading.misses[second];
    const double ns = require_time(reading, "no time was taken around its capacity");
    const std::int64_t pages = bytes / cached_.abilities().page;
    return (ns - task_.translation->random_cost(pages) - task_.hit) / (task_.next_hit - task_.hit);
  }

  void find_crossing() {
    std::vector<Pattern> patterns;
    const auto onset = static_cast<double>(task_.onset);
    for (double size = 0.6 * onset; size < 3.2 * onset; size *= std::exp2(0.125))
      patterns.push_back(dense(std::llround(size / 4096) * 4096 / task_.line, task_.line));
    const auto readings = cached_.read(patterns);
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
    level_.capacity.threshold = "a miss rate of 54 %";
  }

  /// Pairs far apart enough that the first touch of each leaves the level. Longer lines and lines that come
  /// in pairs look alike.
  void fill_line_by_pairs(Property& p) {
    const auto patterns = pair_patterns(5 * task_.onset / pair_block);
    std::vector<double> ns;
    for (const Reading& reading : cached_.read(patterns))
      ns.push_back(require_time(reading, "the time of pairs was not measured"));
    const auto points = pair_points(patterns, ns);
    const auto line = line_from_pairs(points);
    p.quantity = "ns per access";
    p.threshold = "midpoint between pairs 8 bytes and pairs 512 bytes apart";
    for (const PairPoint& point : points) {
      p.points.push_back({fmt::format("second access {} bytes further", point.distance), point.near_first});
      if (points.back().near_first > neighbour_rise * point.near_first) fetched_to_ = point.distance;
    }
    if (!line) throw Unknown{"the second access of a pair misses at no clear distance"};
    if (line->bytes != task_.line || line->prefetch_seen)
      throw Unknown{fmt::format(
          "accesses {} bytes apart hit together: a line of twice the size, or lines fetched in pairs",
          line->bytes / 2)};
    p.value = static_cast<double>(line->bytes);
    p.confidence = Confidence::medium;
    p.routes = {{"shortest distance at which the second access of a pair misses", *p.value}};
    p.against = "the second access of a pair further apart hit";
    const auto at = std::ranges::find(points, line->bytes, &PairPoint::distance);
    p.evidence = fmt::format("pairs of accesses: {:.1f} ns at {} bytes, {:.1f} ns at {} bytes",
                             (at - 1)->near_first, (at - 1)->distance, at->near_first, at->distance);
  }

  /// Those on record, or those of a search, which are put on record. Throws Unknown where there are none.
  [[nodiscard]] PageColours page_colours() {
    Sampler& sampler = cached_.source();
    auto colours = sampler.colours();
    if (!colours) {
      ColourTask search;
      search.hit = task_.hit;
      // Neighbours can push what leaves this level out of the next one, too; here it only matters whether
      // anything leaves.
      search.penalty = std::min(task_.next_hit - task_.hit, 6 * task_.hit);
      search.line = task_.line;
      search.page = cached_.abilities().page;
      search.capacity = task_.onset / search.page;
      search.sample = std::max(min_sample, 4 * search.capacity);
      search.pages = 3 * search.capacity + search.sample;
      search.ways_above = task_.ways_above;
      search.page_sets_above = task_.page_sets_above;
      search.seed = 1 + 10 * sampler.searches();
      colours = sampler.keep(find_colours(sampler, search));
    }
    if (!colours->unknown.empty()) throw Unknown{colours->unknown};
    return *colours;
  }

  void fill_line(Property& p, const ColourSets& sets) const {
    const auto by_pairs = p.value;
    p.value = static_cast<double>(*sets.line);
    p.unknown = {};
    p.routes = {{"shift that takes lines of one page colour to another set", *p.value}};
    if (by_pairs)
      p.routes.push_back({"shortest distance at which the second access of a pair misses", *by_pairs});
    const bool contradicted = by_pairs && *by_pairs != *p.value;
    p.confidence = contradicted                           ? Confidence::low
                   : sets.with_line == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.against = "lines of one colour still overflowed their set when every second one was shifted that far";
    p.evidence =
        fmt::format("lines of one colour leave their set when shifted by {} bytes, in {} of {} colours",
                    *sets.line, sets.with_line, sets.trials.size());
    if (fetched_to_ > *sets.line)
      p.words.push_back(fmt::format("The second access of a pair costs less up to a distance of {} bytes "
                                    "than further apart, as if neighbouring lines were fetched.",
                                    fetched_to_));
    if (contradicted)
      p.words.push_back(fmt::format("Contradiction: pairs of accesses show {:.0f} bytes.", *by_pairs));
  }

  void fill_ways(Property& p, const PageColours& colours, const ColourSets& sets) const {
    p.value = static_cast<double>(*sets.ways);
    p.confidence = sets.probability < sure                ? Confidence::low
                   : sets.with_ways == sets.trials.size() ? Confidence::high
                                                          : Confidence::medium;
    p.routes = {
        {fmt::format("most lines of one page colour that fit, in {} colours", sets.trials.size()), *p.value}};
    p.quantity = "lines of one page colour that fit";
    for (const ColourTrial& trial : sets.trials)
      if (trial.ways)
        p.points.push_back({fmt::format("colour of page {}", trial.page), static_cast<double>(*trial.ways)});
    p.threshold = "an eighth of the lines missing per pass";
    p.against = "most other colours had another number";
    p.evidence = fmt::format("lines of one page colour that fit: {}, in {} of {} colours", *sets.ways,
                             sets.with_ways, sets.trials.size());
    p.words = {fmt::format("Of {} pages, those of one colour share their sets. Lines of other colours keep "
                           "L1d from holding any. Probability of another number of ways: {}.",
                           colours.pages, rare_text(1 - sets.probability))};
  }

  void fill_capacity(Property& p, const PageColours& found, std::int64_t ways) {
    const auto page = static_cast<double>(cached_.abilities().page);
    const CountedColours count = count_colours(found, ways);
    p.value = count.colours * static_cast<double>(ways) * page;
    p.tolerance = count.tolerance;
    const double crossing = crossing_ / *p.value; // 0: there is none
    const bool agrees = crossing > crossing_least && crossing < crossing_most;
    const bool contradicted =
        crossing > 0 && (crossing < crossing_seen_least || crossing > crossing_seen_most);
    p.confidence = !count.stated || contradicted ? Confidence::low
                   : agrees && count.probability >= sure
                       ? level_.ways.confidence
                       : std::min(Confidence::medium, level_.ways.confidence);
    p.routes = {{"page colours x ways x page size", *p.value}};
    if (crossing > 0) p.routes.push_back({"working set with a miss rate of 54 %", crossing_});
    p.against = fmt::format("a page had no colour, or the crossing were outside {} to {} times the product",
                            crossing_seen_least, crossing_seen_most);
    const std::string product =
        fmt::format("{:.0f} page colours{} x {} x {} per page", count.colours,
                    count.stated ? "" : " (estimated)", base::format_count(ways, "way"), in_bytes(page));
    p.evidence = product;
    p.words = {fmt::format("{} colours were found in {} pages.", found.members.size(), found.pages)};
    if (count.sampled)
      p.words.push_back(fmt::format("Of {} other pages, which took no part in that, {} have one of these "
                                    "colours. Probability of another number of colours: {}.",
                                    found.sample, found.in_sample, rare_text(1 - count.probability)));
    add_crossing(p);
    if (!contradicted) return;
    if (crossing * excluded < crossing_seen_least || crossing > excluded * crossing_seen_most)
      p.forget(fmt::format("{} are {}, but misses begin around {}", product, in_bytes(*p.value),
                           in_bytes(crossing_)));
    else
      p.words.push_back("Contradiction: misses begin around " + in_bytes(crossing_) +
                        ": other users of the cache, or a hashed index.");
  }

  void add_crossing(Property& p) const {
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
  /// busy one it gave 576 and 768 KiB for 1 MiB. So it is reported, but no value is stated.
  void refuse_capacity(const Reason& why) {
    Property& p = level_.capacity;
    add_crossing(p);
    if (crossing_ > 0 && task_.next_is_level)
      p.forget(fmt::format(
          "a miss rate of 54 % at {} suggests about {}, but other programs on the core make it less and "
          "another replacement than LRU more; not confirmed independently: {}",
          in_bytes(crossing_), in_bytes(crossing_of_some_policy * crossing_), why.text()));
    else if (crossing_ > 0)
      p.forget("the miss time varies too much to derive the miss rate; " + why.text());
    else
      p.forget(no_crossing_ == why ? why : Reason(no_crossing_.text() + "; " + why.text()));
  }

  LevelFinding& level_;
  CachedSampler& cached_;
  const SecondLevelTask& task_;
  Reason no_crossing_;
  double crossing_ = 0;         ///< bytes
  std::int64_t fetched_to_ = 0; ///< bytes: pairs up to this distance cost less than those furthest apart
  std::vector<std::pair<double, double>> shares_; ///< bytes, share that leaves
};

} // namespace

void fill_second_level(LevelFinding& level, CachedSampler& cached, const SecondLevelTask& task) {
  SecondLevel(level, cached, task).fill();
}

namespace {

constexpr std::int64_t fewest_pages = 8, max_pages = 8192;
constexpr const char* no_time = "no time was measured over a range of pages";
constexpr double min_cost = 0.15; ///< of a miss, as a share of the shortest access; less is no level

/// Shares of the step of a TLB well before and well after its end, at which repeated readings contradict it.
constexpr double max_before = 0.4, min_after = 0.3;

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
      : Gauge({false, "of the step", 0.04, 0.1}), cached_(cached), line_(line), base_(base), step_(step) {}

  std::vector<Share> measure(std::span<const Pattern> patterns) override {
    std::vector<Pattern> wanted(patterns.begin(), patterns.end());
    for (const Pattern& pattern : patterns)
      wanted.push_back(dense(pattern.count, line_));
    const auto readings = cached_.read(wanted);
    std::vector<Share> all;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      all.push_back({(require_time(readings[i], no_time) -
                      require_time(readings[patterns.size() + i], no_time) - base_) /
                         step_,
                     {}});
    return all;
  }

private:
  CachedSampler& cached_;
  std::int64_t line_;
  double base_, step_;
};

/// By the misses of each TLB.
void count_walks(CachedSampler& cached, std::int64_t line, Translation& found) {
  const Abilities& can = cached.abilities();
  const Family family = [&](std::int64_t n) { return one_a_page(can, n, line); };
  for (std::size_t level = 0; level < can.counted_tlbs; ++level) {
    CountGauge gauge(cached, level, &Reading::translations);
    Boundary b = double_until_exceeds(gauge, family, 1, can.max_bytes / can.page);
    if (b.exceeds == 0) return; // the rest has more entries than pages fit into memory
    if (b.fits > 0) b = narrow(gauge, family, b, can.at_once);
    found.levels.push_back({b, 0, {}, 1, {}, false});
  }
}

/// Of patterns that grow: a longer one cannot take less, and disturbances add time.
std::vector<double> rising_times(CachedSampler& cached, std::span<const Pattern> patterns) {
  std::vector<double> all;
  for (const Reading& reading : cached.read(patterns))
    all.push_back(require_time(reading, no_time));
  for (std::size_t i = all.size(); i-- > 1;)
    all[i - 1] = std::min(all[i - 1], all[i]);
  return all;
}

std::vector<PagePoint> page_curve(CachedSampler& cached, std::int64_t line) {
  const Abilities& can = cached.abilities();
  std::vector<Pattern> patterns;
  for (double n = fewest_pages; n <= static_cast<double>(std::min(max_pages, can.max_bytes / can.page));
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
  return share(b.fits - b.fits / 8).value_or(0) > max_before ||
         share(b.exceeds + b.exceeds / 4).value_or(1) < min_after;
}

/// By time: the cost climbs to a plateau where every visit misses the first TLB, then to the cost of a walk.
void time_walks(CachedSampler& cached, std::int64_t line, Translation& found) {
  const double shortest = require_time(cached.read(dense(fewest_pages, line)), no_time);
  found.curve = page_curve(cached, line);
  double base = 0;
  std::size_t at = 0;
  for (int level = 0; level < 2; ++level) {
    const auto flat = level_stretch(found.curve, at, base + min_cost * shortest + 0.5 * base);
    if (!flat) return;
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
  } catch (const Unknown&) { // the levels found so far remain
  }
  return found;
}

namespace {

constexpr double beyond_first = 0.2; ///< least tolerance of a TLB whose end lines that leave L2 obscure
constexpr double max_of_lines = 0.3; ///< of the rise, that as many lines in half as many pages may show
constexpr double min_tolerance = 0.06, widest_tolerance = 0.4;

/// Where a TLB ends: at the first page too many when the cost then jumps; where it rises gradually, as it
/// does when the sets are chosen by a hash or translations are nested, somewhere up to half of the rise.
void fill_end(Property& p, const TranslationLevel& level) {
  const auto fits = static_cast<double>(level.pages.fits), exceeds = static_cast<double>(level.pages.exceeds);
  if (level.at_exceeds > 0.5 && 16 * (exceeds - fits) <= fits) {
    p.value = fits;
    p.tolerance = std::max(min_tolerance, exceeds / fits - 1);
    p.confidence = Confidence::medium;
    return;
  }
  const double half = std::max(static_cast<double>(level.half), exceeds);
  p.value = std::round((fits + half) / 2);
  p.tolerance = (half - fits) / (half + fits) + min_tolerance;
  p.confidence = Confidence::low;
  p.evidence = fmt::format("pages before the cost rises: {:.0f}; at half of the step: {:.0f}", fits, half);
  p.words.emplace_back("The cost rises gradually, as with a hashed TLB or nested translation.");
  if (p.tolerance > widest_tolerance)
    p.forget(fmt::format("the cost rises gradually between {:.0f} and {:.0f} pages", fits, half));
}

Property entries(const Translation& translation, std::size_t i) {
  const TranslationLevel& level = translation.levels[i];
  const bool exact = !level.cost; // counted
  const auto fits = static_cast<double>(level.pages.fits);
  Property p = unknown_property("entries", "pages", {});
  p.quantity = exact ? "misses" : "ns per page beyond the cost of its line";
  p.threshold = exact ? "one miss per pass" : "4 % to 10 % of the step, and half of it";
  p.against = "fewer pages had the same cost, or more pages had none";
  p.routes = {{"most pages without cost", fits}};
  if (level.half > 0) p.routes.push_back({"pages at half of the rise", static_cast<double>(level.half)});
  p.evidence = fmt::format("most pages without {}cost: {}; fewest with: {}", i == 0 ? "" : "further ",
                           level.pages.fits, level.pages.exceeds);
  if (exact) {
    p.value = fits;
    p.confidence = Confidence::high;
    return p;
  }
  fill_end(p, level);
  if (!p.value) return p;
  if (i > 0) p.tolerance = std::max(p.tolerance, beyond_first);
  for (const PagePoint& point : translation.curve)
    if (const auto pages = static_cast<double>(point.pages); pages > *p.value / 3 && pages < 3 * *p.value)
      p.points.push_back({base::format_count(point.pages, "page"), point.cost});
  if (level.contradicted)
    p.forget(fmt::format("readings in another order contradict a rise between {} and {} pages",
                         level.pages.fits, level.pages.exceeds));
  else if (level.of_lines && *level.of_lines > max_of_lines)
    p.forget(fmt::format("the cost rises at about {:.0f} pages, but as many lines in half as many pages cost "
                         "{:.0f} % of it: the cache, not the TLB",
                         *p.value, 100 * std::min(1.0, *level.of_lines)));
  else if (level.of_lines)
    p.words.push_back(fmt::format("As many lines in half as many pages cost {:.0f} % of the rise.",
                                  100 * std::max(0.0, *level.of_lines)));
  return p;
}

} // namespace

std::vector<TlbFinding> tlb_findings(const Translation& translation) {
  std::vector<TlbFinding> findings;
  for (std::size_t i = 0; i < translation.levels.size(); ++i) {
    const auto& cost = translation.levels[i].cost;
    findings.push_back(
        {fmt::format("L{} DTLB", i + 1), entries(translation, i),
         cost ? time_property("cost", *cost, Confidence::medium,
                              i == 0 ? "Cost of a miss that hits in the next TLB." : "Cost of a page walk.")
              : unknown_property("cost", "ns", "the witness counts misses and measures no time")});
  }
  return findings;
}

void discard_cache_effects(std::vector<TlbFinding>& tlbs, const Translation& translation,
                           const LevelFinding& first) {
  if (!first.capacity.value || !first.line.value) return;
  const double lines = *first.capacity.value / *first.line.value;
  for (std::size_t i = 1; i < tlbs.size(); ++i) {
    Property& p = tlbs[i].entries;
    if (!p.value || translation.levels[i].of_lines) continue;
    const bool as_lines = *p.value > 0.5 * lines && *p.value < 1.5 * lines;
    const bool as_sets = first.ways.value && std::abs(*p.value * *first.ways.value / lines - 1) < 0.05;
    if (as_lines || as_sets)
      p.forget(fmt::format(
          "the cost rises at about {:.0f} pages, and {} has {:.0f} {}: which of the two ends "
          "there cannot be determined",
          *p.value, first.name, as_lines ? lines : lines / *first.ways.value, as_lines ? "lines" : "sets"));
  }
}

} // namespace recount::caches
