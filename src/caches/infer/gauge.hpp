// How much of what a pattern visits leaves a level: from misses counted, or from time.
#pragma once

#include "caches/infer/notebook.hpp"

#include <string>

namespace recount::analysis {

/// Whether a pattern stays in a level.
enum class Fit { stays, unclear, leaves };

/// Share of the visits that leave one level, 0 to 1 (a little outside by noise).
class Gauge {
public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;
  virtual ~Gauge() = default;
  /// One share a pattern. Throws Unknown when one cannot be had.
  virtual std::vector<double> shares(std::span<const kernel::Pattern> patterns) = 0;
  double share(const kernel::Pattern& pattern) { return shares(std::span(&pattern, 1)).front(); }
  /// What a share means for a pattern of so many visits.
  [[nodiscard]] virtual Fit judge(double share, std::int64_t visits) const = 0;
  /// Whether noise can only make a reading of the pattern too high: one that stays then outweighs a smaller
  /// one that seems to leave.
  [[nodiscard]] virtual bool only_too_high(const kernel::Pattern& pattern) const {
    static_cast<void>(pattern);
    return false;
  }
  /// The thresholds in words: "no miss", "2 % ... 5 % of the accesses".
  [[nodiscard]] virtual std::string thresholds() const = 0;
};

/// Misses of level `level` (0: the first) per visit.
class CountGauge : public Gauge {
public:
  CountGauge(Notebook& notebook, std::size_t level) : notebook_(notebook), level_(level) {}
  std::vector<double> shares(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override;
  [[nodiscard]] std::string thresholds() const override;

private:
  Notebook& notebook_;
  std::size_t level_;
};

/// Time beyond a hit in a level, as a share of what leaving it costs. Where elements lie pages apart, the
/// same pages are visited again with the elements spread over the cache sets: what that takes beyond a hit is
/// the translation's, and is subtracted.
class TimeGauge : public Gauge {
public:
  /// `hit` and `penalty` in ns, `line` in bytes.
  TimeGauge(Notebook& notebook, double hit, double penalty, std::int64_t line)
      : notebook_(notebook), hit_(hit), penalty_(penalty), line_(line) {}
  std::vector<double> shares(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override;
  /// Without a control that is subtracted: disturbances add time.
  [[nodiscard]] bool only_too_high(const kernel::Pattern& pattern) const override {
    return !crosses_pages(pattern);
  }
  [[nodiscard]] std::string thresholds() const override;

private:
  [[nodiscard]] bool crosses_pages(const kernel::Pattern& pattern) const;
  Notebook& notebook_;
  double hit_, penalty_;
  std::int64_t line_;
};

/// The same elements in the same pages, each in another line of its page.
[[nodiscard]] kernel::Pattern spread_over_sets(const kernel::Pattern& pattern, std::int64_t line,
                                               std::int64_t page);

} // namespace recount::analysis
