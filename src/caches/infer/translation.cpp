#include "caches/infer/translation.hpp"

#include "base/format.hpp"
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
constexpr const char* no_time = "no time was measured over a range of pages";
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
      : cached_(cached), line_(line), base_(base), step_(step) {}

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
  [[nodiscard]] Fit judge(double share, std::int64_t) const override {
    return share <= 0.04 ? Fit::fits : share < 0.1 ? Fit::unclear : Fit::exceeds;
  }
  [[nodiscard]] std::string thresholds() const override { return "4 % to 10 % of the step, and half of it"; }

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
    Boundary b = double_until_exceeds(gauge, family, 1, can.most_bytes / can.page);
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
  const double shortest = require_time(cached.read(dense(fewest_pages, line)), no_time);
  found.curve = page_curve(cached, line);
  double base = 0;
  std::size_t at = 0;
  for (int level = 0; level < 2; ++level) {
    const auto flat = level_stretch(found.curve, at, base + least_cost * shortest + 0.5 * base);
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

constexpr double beyond_first = 0.2;  ///< least tolerance of a TLB whose end lines that leave L2 obscure
constexpr double most_of_lines = 0.3; ///< of the rise, that as many lines in half as many pages may show
constexpr double least_tolerance = 0.06, widest_tolerance = 0.4;

/// Where a TLB ends: at the first page too many when the cost then jumps; where it rises gradually, as it
/// does when the sets are chosen by a hash or translations are nested, somewhere up to half of the rise.
void fill_end(Property& p, const TranslationLevel& level) {
  const auto fits = static_cast<double>(level.pages.fits), exceeds = static_cast<double>(level.pages.exceeds);
  if (level.at_exceeds > 0.5 && 16 * (exceeds - fits) <= fits) {
    p.value = fits;
    p.tolerance = std::max(least_tolerance, exceeds / fits - 1);
    p.confidence = Confidence::medium;
    return;
  }
  const double half = std::max(static_cast<double>(level.half), exceeds);
  p.value = std::round((fits + half) / 2);
  p.tolerance = (half - fits) / (half + fits) + least_tolerance;
  p.confidence = Confidence::low;
  p.words.push_back(
      fmt::format("The cost rises gradually, as with a hashed TLB or nested translation; half of "
                  "the step is reached at about {} pages.",
                  level.half));
  if (p.tolerance > widest_tolerance)
    p.forget(fmt::format("the cost rises gradually between {:.0f} and {:.0f} pages", fits, half));
}

Property entries(const Translation& translation, std::size_t i, bool exact) {
  const TranslationLevel& level = translation.levels[i];
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
  else if (level.of_lines && *level.of_lines > most_of_lines)
    p.forget(fmt::format("the cost rises at about {:.0f} pages, but as many lines in half as many pages cost "
                         "{:.0f} % of it: the cache, not the TLB",
                         *p.value, 100 * std::min(1.0, *level.of_lines)));
  else if (level.of_lines)
    p.words.push_back(fmt::format("As many lines in half as many pages cost {:.0f} % of the rise.",
                                  100 * std::max(0.0, *level.of_lines)));
  return p;
}

} // namespace

std::vector<TlbFinding> tlb_findings(const Translation& translation, bool exact) {
  std::vector<TlbFinding> findings;
  for (std::size_t i = 0; i < translation.levels.size(); ++i) {
    const auto& cost = translation.levels[i].cost;
    findings.push_back(
        {fmt::format("L{} DTLB", i + 1), entries(translation, i, exact),
         cost ? time_property("cost", *cost, Confidence::medium,
                              i == 0 ? "Cost of a miss that hits in the next TLB." : "Cost of a page walk.")
              : unknown_property("cost", "ns", "the witness counts misses and measures no time")});
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
    if (as_lines || as_sets)
      p.forget(fmt::format(
          "the cost rises at about {:.0f} pages, and {} has {:.0f} {}: which of the two ends "
          "there cannot be determined",
          *p.value, first.name, as_lines ? lines : lines / *first.ways.value, as_lines ? "lines" : "sets"));
  }
}

} // namespace recount::caches
