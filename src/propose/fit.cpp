#include "propose/fit.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <optional>

namespace recount::propose {
namespace {

/// A count that starting and stopping the counters may cause: 14 instructions through a raw group on arm64.
constexpr double overhead = 64;
constexpr double rounding = 0.5;  ///< counts are whole
constexpr double steady = 0.05;   ///< share by which repetitions of a reproducible event vary
constexpr double constant = 0.02; ///< share by which the counts of a constant event vary over all points
constexpr std::size_t most_fits = 200, most_steps = 400'000, most_terms = 8;

double middle(const std::vector<double>& counts) {
  return statistics::median(counts);
}
double spread(const std::vector<double>& counts) {
  return statistics::quantile(counts, 0.9) - statistics::quantile(counts, 0.1);
}
/// The smallest count anywhere, as far as it can be the overhead of counting.
double overhead_of(const MeasuredEvent& event) {
  double least = overhead;
  for (const auto& counts : event.counts)
    if (!counts.empty()) least = std::min(least, middle(counts));
  return std::max(least, 0.0);
}

} // namespace

std::string_view name_of(Usability usability) noexcept {
  constexpr std::string_view names[] = {"usable", "dead", "constant", "irreproducible"};
  return names[static_cast<std::size_t>(usability)];
}

Usability usability(const MeasuredEvent& event) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  std::size_t points = 0, counting = 0, varying = 0;
  const double floor = 2 * overhead_of(event);
  for (const auto& counts : event.counts) {
    if (counts.empty()) continue;
    ++points;
    const double count = middle(counts);
    least = std::min(least, count);
    most = std::max(most, count);
    if (count <= floor) continue;
    ++counting;
    varying += spread(counts) > steady * count ? 1U : 0U;
  }
  if (counting == 0) return Usability::dead;
  if (points >= 3 && most - least <= constant * most) return Usability::constant;
  return 2 * varying > counting ? Usability::irreproducible : Usability::usable;
}

std::size_t Fit::weight() const {
  std::size_t weight = terms.size() + (divisor == 1 ? 0U : 1U);
  for (const auto& [name, factor] : terms)
    weight += std::abs(factor) == 1 ? 0U : 1U;
  return weight;
}

std::string text_of(const Fit& fit) {
  std::string text;
  for (const bool added : {true, false})
    for (const auto& [name, factor] : fit.terms) {
      if ((factor > 0) != added) continue;
      text += text.empty() ? (added ? "" : "-") : added ? " + " : " - ";
      text += (std::abs(factor) == 1 ? "" : fmt::format("{}*", std::abs(factor))) + name;
    }
  return fit.divisor == 1 ? text : fmt::format("({}) / {}", text, fit.divisor);
}

std::string row_of(const std::string& preset, const Fit& fit) {
  std::vector<std::string> added, subtracted;
  bool factors = fit.divisor != 1;
  for (const auto& [name, factor] : fit.terms) {
    (factor > 0 ? added : subtracted).push_back(name);
    factors = factors || std::abs(factor) != 1;
  }
  std::vector<std::string> all = added;
  all.insert(all.end(), subtracted.begin(), subtracted.end());
  const std::string terms = fmt::format("{}", fmt::join(all, ","));
  if (!factors && subtracted.empty())
    return fmt::format("PRESET,{},{},{}", preset, all.size() == 1 ? "NOT_DERIVED" : "DERIVED_ADD", terms);
  if (!factors && added.size() == 1) return fmt::format("PRESET,{},DERIVED_SUB,{}", preset, terms);
  std::string formula;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int factor = fit.terms.at(all[i]);
    formula += fmt::format("N{}|", i);
    if (std::abs(factor) != 1) formula += fmt::format("{}|*|", std::abs(factor));
    if (i > 0) formula += factor > 0 ? "+|" : "-|";
  }
  if (fit.divisor != 1) formula += fmt::format("{}|/|", fit.divisor);
  return fmt::format("PRESET,{},DERIVED_POSTFIX,{},{}", preset, formula, terms);
}

Measured::Measured(const std::vector<MeasuredEvent>& events) {
  for (const MeasuredEvent& event : events) {
    if (usability(event) != Usability::usable) continue;
    Column column{{event.name}, {}, {}, {}};
    const double slack = overhead_of(event);
    for (const auto& counts : event.counts) {
      column.counted.push_back(!counts.empty());
      column.counts.push_back(counts.empty() ? 0 : middle(counts));
      column.noise.push_back(counts.empty() ? 0 : spread(counts) + slack);
    }
    const auto same = std::ranges::find_if(columns_, [&](const Column& other) {
      for (std::size_t i = 0; i < column.counts.size(); ++i)
        if (column.counted[i] != other.counted[i] ||
            std::abs(column.counts[i] - other.counts[i]) > std::max(column.noise[i], other.noise[i]))
          return false;
      return true;
    });
    if (same == columns_.end())
      columns_.push_back(std::move(column));
    else
      same->names.push_back(event.name);
  }
}

std::vector<std::string> Measured::same_as(const std::string& event) const {
  for (const Column& column : columns_)
    if (std::ranges::find(column.names, event) != column.names.end()) {
      auto names = column.names;
      std::erase(names, event);
      return names;
    }
  return {};
}

/// One search: columns that are counted at all points of the expectations.
class Measured::Search {
public:
  Search(const Measured& measured, std::vector<Expected> expected)
      : measured_(measured), expected_(std::move(expected)) {
    // The narrowest bounds first: they exclude most.
    std::ranges::stable_sort(expected_, {}, [](const Expected& e) {
      return e.accepted.high <= 0 ? 0 : (e.accepted.high - e.accepted.low) / e.accepted.high;
    });
    fits_.points = expected_.size();
    for (const Expected& e : expected_)
      fits_.positive += e.accepted.low > 0 ? 1U : 0U;
    for (std::size_t c = 0; c < measured.columns_.size(); ++c)
      if (std::ranges::all_of(expected_,
                              [&](const Expected& e) { return measured.columns_[c].counted[e.point]; }))
        columns_.push_back(c);
  }

  Fits run(const std::vector<Fit>& suggested) && {
    if (fits_.positive == 0) return std::move(fits_);
    for (const Fit& fit : suggested)
      suggest(fit);
    singles();
    pairs();
    if (fits_.found.empty()) triples();
    if (fits_.found.empty()) sums({}, 1);
    return std::move(fits_);
  }

private:
  using Terms = std::vector<std::pair<std::size_t, int>>; ///< column, factor

  struct Value {
    double sum = 0, noise = 0;
  };
  [[nodiscard]] Value value(const Terms& terms, std::size_t point) const {
    Value all;
    for (const auto& [c, factor] : terms) {
      all.sum += factor * measured_.columns_[c].counts[point];
      all.noise += std::abs(factor) * measured_.columns_[c].noise[point];
    }
    return all;
  }
  /// The largest residual; none when it does not fit.
  std::optional<double> residual(const Terms& terms, int divisor) {
    double worst = 0;
    for (const Expected& e : expected_) {
      const auto [total, spread] = value(terms, e.point);
      const double sum = total / divisor, noise = spread / divisor + rounding;
      const double outside = std::max({e.accepted.low - sum, sum - e.accepted.high, 0.0});
      if (outside > noise) return {};
      worst = std::max(worst, outside / noise);
    }
    return worst;
  }
  /// Whether a formula that was found already is part of this one: the others then do not matter.
  bool has_part(const Terms& terms) const {
    return std::ranges::any_of(found_, [&](const Terms& part) {
      return std::ranges::all_of(part, [&](const auto& term) {
        return std::ranges::any_of(terms, [&](const auto& t) { return t.first == term.first; });
      });
    });
  }
  void offer(const Terms& terms, int divisor = 1) {
    const auto how = residual(terms, divisor);
    if (!how || has_part(terms)) return;
    found_.push_back(terms);
    Fit fit{{}, divisor, *how};
    for (const auto& [c, factor] : terms)
      fit.terms[measured_.columns_[c].names.front()] = factor;
    if (std::ranges::find(fits_.found, fit) == fits_.found.end()) fits_.found.push_back(std::move(fit));
  }
  /// With the names of the suggestion, though other events have the same counts.
  void suggest(const Fit& fit) {
    Terms terms;
    for (const auto& [name, factor] : fit.terms) {
      const auto at = std::ranges::find_if(columns_, [&](std::size_t c) {
        return std::ranges::find(measured_.columns_[c].names, name) != measured_.columns_[c].names.end();
      });
      if (at == columns_.end()) return;
      terms.emplace_back(*at, factor);
    }
    const auto how = residual(terms, fit.divisor);
    if (!how) return;
    fits_.found.push_back(fit);
    fits_.found.back().residual = *how;
    found_.push_back(terms);
  }
  void singles() {
    for (const std::size_t c : columns_) {
      for (const int factor : {1, 2, 4, 8})
        offer({{c, factor}});
      for (const int divisor : {2, 4})
        offer({{c, 1}}, divisor);
    }
  }
  void pairs() {
    for (const std::size_t a : columns_)
      for (const std::size_t b : columns_) {
        if (a == b || fits_.found.size() >= most_fits) continue;
        offer({{a, 1}, {b, -1}});
        if (a < b) offer({{a, 1}, {b, 1}});
        for (const int factor : {2, 4, 8})
          offer({{a, 1}, {b, factor}});
      }
  }
  void triples() {
    for (const std::size_t a : columns_)
      for (const std::size_t b : columns_)
        for (const std::size_t c : columns_) {
          if (b >= c || a == b || a == c || fits_.found.size() >= most_fits) continue;
          offer({{a, 1}, {b, -1}, {c, -1}});
          offer({{b, 1}, {c, 1}, {a, -1}});
        }
  }
  /// Sums of more terms: an event is added with each factor that nowhere exceeds what is accepted, beginning
  /// where most is missing.
  void sums(const Terms& terms, int depth) {
    if (++steps_ > most_steps || fits_.found.size() >= most_fits) {
      fits_.complete = false;
      return;
    }
    const Expected* most = nullptr;
    double missing = 0;
    for (const Expected& e : expected_) {
      const auto [sum, spread] = value(terms, e.point);
      const double noise = spread + rounding;
      if (sum - e.accepted.high > noise) return;
      const double share = (e.accepted.low - sum - noise) / std::max(e.accepted.low, 1.0);
      if (share > missing) {
        missing = share;
        most = &e;
      }
    }
    if (!most) return offer(terms);
    if (depth > static_cast<int>(most_terms)) return;
    for (const std::size_t c : columns_) {
      const Column& column = measured_.columns_[c];
      if (column.counts[most->point] <= 2 * column.noise[most->point]) continue;
      if (std::ranges::any_of(terms, [&](const auto& term) { return term.first == c; })) continue;
      for (const int factor : {1, 2, 4, 8, 16, 32}) {
        Terms more = terms;
        more.emplace_back(c, factor);
        sums(more, depth + 1);
      }
    }
  }

  const Measured& measured_;
  std::vector<Expected> expected_;
  std::vector<std::size_t> columns_;
  std::vector<Terms> found_;
  Fits fits_;
  std::size_t steps_ = 0;
};

Fits Measured::fits(const std::vector<Expected>& expected, const std::vector<Fit>& suggested) const {
  Fits fits = Search(*this, expected).run(suggested);
  // Those of relatives stay first among formulas of the same size.
  std::ranges::stable_sort(fits.found, {}, [&](const Fit& fit) {
    return std::ranges::find(suggested, fit) != suggested.end() ? 0 : fit.weight();
  });
  return fits;
}

} // namespace recount::propose
