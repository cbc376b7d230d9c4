// The miss rate of a pattern in a level, from counted misses or from time.
#pragma once

#include "caches/infer/sampler.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace recount::caches {

/// Whether a pattern fits a level.
enum class Fit { fits, unclear, exceeds };

/// Miss rate of the visits in one level, 0 to 1 (slightly outside by noise).
class Gauge {
public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;
  virtual ~Gauge() = default;
  /// One share per pattern. Throws Unknown when one cannot be had.
  virtual std::vector<double> shares(std::span<const kernel::Pattern> patterns) = 0;
  /// The same for the patterns whose share can be had, nothing for the others.
  virtual std::vector<std::optional<double>> available_shares(std::span<const kernel::Pattern> patterns);
  double share(const kernel::Pattern& pattern) { return shares(std::span(&pattern, 1)).front(); }
  /// The meaning of a share for a pattern of `visits` visits.
  [[nodiscard]] virtual Fit judge(double share, std::int64_t visits) const = 0;
  /// Whether noise can only increase the reading: a pattern that fits then outweighs a smaller one that seems
  /// not to.
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
  CountGauge(CachedSampler& cached, std::size_t level) : sampler_cache_(cached), level_(level) {}
  std::vector<double> shares(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override;
  [[nodiscard]] std::string thresholds() const override;

private:
  CachedSampler& sampler_cache_;
  std::size_t level_;
};

/// Time beyond a hit in a level, as a share of the miss penalty. Where elements lie pages apart, the
/// same pages are visited again with the elements spread over the cache sets: what that takes beyond a hit is
/// the translation's, and is subtracted.
class TimeGauge : public Gauge {
public:
  /// `hit` and `penalty` in ns, `line` in bytes.
  TimeGauge(CachedSampler& cached, double hit, double penalty, std::int64_t line)
      : sampler_cache_(cached), hit_(hit), penalty_(penalty), line_(line) {}
  std::vector<double> shares(std::span<const kernel::Pattern> patterns) override;
  std::vector<std::optional<double>> available_shares(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override;
  /// Without a control that is subtracted: disturbances add time.
  [[nodiscard]] bool only_too_high(const kernel::Pattern& pattern) const override {
    return !crosses_pages(pattern);
  }
  [[nodiscard]] std::string thresholds() const override;

private:
  [[nodiscard]] bool crosses_pages(const kernel::Pattern& pattern) const;
  struct Pair {
    Reading together, control; ///< control: of patterns that cross pages only
    bool has_control = false;
  };
  [[nodiscard]] std::vector<Pair> readings_of(std::span<const kernel::Pattern> patterns);
  [[nodiscard]] double share_of(const Pair& pair) const;
  CachedSampler& sampler_cache_;
  double hit_, penalty_;
  std::int64_t line_;
};

/// The same elements in the same pages, each in another line of its page.
[[nodiscard]] kernel::Pattern spread_over_sets(const kernel::Pattern& pattern, std::int64_t line,
                                               std::int64_t page);

/// A growing family of patterns: the n-th has n elements, or n times some size.
using Family = std::function<kernel::Pattern(std::int64_t n)>;

/// The largest n known to fit and the smallest known not to. Consecutive without noise.
struct Boundary {
  std::int64_t fits = 0, exceeds = 0;
  [[nodiscard]] bool sharp() const { return exceeds - fits == 1; }
};

/// Narrows a boundary as far as the gauge can tell. `from` is assumed to fit and `to` not to.
[[nodiscard]] Boundary narrow(Gauge& gauge, const Family& family, Boundary from, std::size_t at_once);

/// Doubles from `first` until a member does not fit; smaller ones are assumed to fit. Above `most` it ends
/// with Boundary::exceeds 0. A first member that does not fit gives fits 0.
[[nodiscard]] Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first,
                                            std::int64_t most);

} // namespace recount::caches
