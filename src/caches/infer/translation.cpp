#include "caches/infer/translation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace recount::analysis {

namespace {

using kernel::dense;
using kernel::Pattern;

constexpr std::int64_t fewest_pages = 8, most_pages = 8192;
constexpr double least_cost = 0.15; ///< of a miss, as a share of the shortest access; less is no level

Pattern one_a_page(const Abilities& can, std::int64_t pages, std::int64_t line) {
  return spread_over_sets(dense(pages, can.page), line, can.page);
}

/// What pages cost beyond `base`, as a share of `step`.
class PageGauge : public Gauge {
public:
  PageGauge(Notebook& notebook, std::int64_t line, double base, double step)
      : notebook_(notebook), line_(line), base_(base), step_(step) {}

  std::vector<double> shares(std::span<const Pattern> patterns) override {
    std::vector<Pattern> wanted(patterns.begin(), patterns.end());
    for (const Pattern& pattern : patterns)
      wanted.push_back(dense(pattern.count, line_));
    const auto readings = notebook_.read(wanted);
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
    return share <= 0.04 ? Fit::stays : share < 0.1 ? Fit::unclear : Fit::leaves;
  }
  [[nodiscard]] std::string thresholds() const override { return "4 % to 10 % of the step"; }

private:
  Notebook& notebook_;
  std::int64_t line_;
  double base_, step_;
};

/// Misses of one TLB.
class WalkGauge : public Gauge {
public:
  WalkGauge(Notebook& notebook, std::size_t level) : notebook_(notebook), level_(level) {}
  std::vector<double> shares(std::span<const Pattern> patterns) override {
    std::vector<double> all;
    for (const Reading& reading : notebook_.read(patterns)) {
      if (reading.translations.size() <= level_ || !reading.translations[level_])
        throw Unknown{"TLB misses were not counted at every required point"};
      all.push_back(*reading.translations[level_]);
    }
    return all;
  }
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override {
    if (!notebook_.abilities().exact)
      return share <= 0.02 ? Fit::stays : share < 0.05 ? Fit::unclear : Fit::leaves;
    return share * static_cast<double>(visits) < 0.1 ? Fit::stays : Fit::leaves;
  }
  [[nodiscard]] std::string thresholds() const override { return "one miss per pass"; }

private:
  Notebook& notebook_;
  std::size_t level_;
};

/// By the misses of each TLB.
void count_walks(Notebook& notebook, std::int64_t line, Translation& found) {
  const Abilities& can = notebook.abilities();
  const Family family = [&](std::int64_t n) { return one_a_page(can, n, line); };
  for (std::size_t level = 0; level < can.counted_tlbs; ++level) {
    WalkGauge gauge(notebook, level);
    Boundary b = double_until_leaves(gauge, family, 1, can.most_bytes / can.page);
    if (b.leaves == 0) throw Unknown{fmt::format("no miss in TLB {} up to {} pages", level + 1, b.stays)};
    if (b.stays > 0) b = narrow(gauge, family, b, can.at_once);
    found.levels.push_back({b, 0, {}});
  }
}

std::vector<PagePoint> page_curve(Notebook& notebook, std::int64_t line) {
  const Abilities& can = notebook.abilities();
  std::vector<Pattern> patterns;
  for (double n = fewest_pages; n <= static_cast<double>(std::min(most_pages, can.most_bytes / can.page));
       n *= std::exp2(0.25))
    patterns.push_back(one_a_page(can, std::llround(n), line));
  PageGauge gauge(notebook, line, 0, 1);
  const auto costs = gauge.shares(patterns);
  std::vector<PagePoint> curve;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    curve.push_back({patterns[i].count, costs[i]});
  return curve;
}

/// The stretch of four points from `first` on over which the cost hardly rises, as its least cost and place.
std::optional<std::size_t> level_stretch(const std::vector<PagePoint>& curve, std::size_t first,
                                         double base) {
  for (std::size_t i = first; i + 3 < curve.size(); ++i)
    if (curve[i].cost > base && curve[i + 3].cost - curve[i].cost < 0.12 * curve[i].cost) return i;
  return {};
}

/// By time: the cost climbs to a plateau where every visit misses the first TLB, then to the cost of a walk.
void time_walks(Notebook& notebook, std::int64_t line, Translation& found) {
  const double shortest =
      time_of(notebook.read(dense(fewest_pages, line)), "no time of adjacent lines was measured");
  found.curve = page_curve(notebook, line);
  double base = 0;
  std::size_t at = 0;
  for (int level = 0; level < 2; ++level) {
    const auto flat = level_stretch(found.curve, at, base + least_cost * shortest + 0.5 * base);
    if (!flat)
      throw Unknown{
          fmt::format("no plateau after {} TLB levels up to {} pages", level, found.curve.back().pages)};
    const double step = found.curve[*flat].cost - base;
    PageGauge gauge(notebook, line, base, step);
    const Family family = [&](std::int64_t n) { return one_a_page(notebook.abilities(), n, line); };
    Boundary b{found.curve.front().pages, found.curve[*flat].pages};
    for (std::size_t i = at; i < *flat; ++i)
      if (gauge.judge((found.curve[i].cost - base) / step, 0) == Fit::stays) b.stays = found.curve[i].pages;
    b = narrow(gauge, family, b, notebook.abilities().at_once);
    std::int64_t half = 0;
    for (std::size_t i = at; i <= *flat && half == 0; ++i)
      if (found.curve[i].cost - base > 0.5 * step) half = found.curve[i].pages;
    found.levels.push_back({b, half, step});
    base += step;
    at = *flat;
  }
}

double cost_of(const std::vector<TranslationLevel>& levels, const auto& share) {
  double cost = 0;
  for (const TranslationLevel& level : levels)
    cost += level.cost.value_or(0) * share(std::max(level.pages.stays, level.half));
  return cost;
}

} // namespace

double Translation::random_cost(std::int64_t pages) const {
  return cost_of(levels, [&](std::int64_t entries) {
    return std::max(0.0, 1 - static_cast<double>(entries) / static_cast<double>(pages));
  });
}

double Translation::cyclic_cost(std::int64_t pages) const {
  return cost_of(levels, [&](std::int64_t entries) { return pages > entries ? 1.0 : 0.0; });
}

Translation find_translation(Notebook& notebook, std::int64_t line) {
  Translation found;
  try {
    if (notebook.abilities().counted_tlbs > 0)
      count_walks(notebook, line, found);
    else if (notebook.abilities().times)
      time_walks(notebook, line, found);
    else
      found.unknown = "the witness gives neither TLB misses nor times";
  } catch (const Unknown& unknown) {
    found.unknown = unknown.reason;
  }
  return found;
}

} // namespace recount::analysis
