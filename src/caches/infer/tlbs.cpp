// TLBs as properties.
#include "base/format.hpp"
#include "caches/infer/properties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::caches {

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

} // namespace recount::caches
