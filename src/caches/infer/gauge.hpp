// The miss rate of a pattern in a level, from counted misses or from time, and the plateaus of access time.
#pragma once

#include "caches/infer/sampler.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::caches {

/// Whether a pattern fits a level.
enum class Fit { fits, unclear, exceeds };

/// A miss rate, 0 to 1 (slightly outside by noise), or the reason why there is none.
struct Share {
  std::optional<double> value;
  std::string unknown;
};

/// Miss rates of the visits in one level.
class Gauge {
public:
  Gauge() = default;
  Gauge(const Gauge&) = delete;
  Gauge& operator=(const Gauge&) = delete;
  virtual ~Gauge() = default;
  /// One share per pattern.
  virtual std::vector<Share> measure(std::span<const kernel::Pattern> patterns) = 0;
  /// The same; throws Unknown when one cannot be had.
  std::vector<double> shares(std::span<const kernel::Pattern> patterns);
  double share(const kernel::Pattern& pattern) { return shares(std::span(&pattern, 1)).front(); }
  /// The meaning of a share for a pattern of `visits` visits.
  [[nodiscard]] virtual Fit judge(double share, std::int64_t visits) const;
  /// The thresholds in words: "one miss per pass".
  [[nodiscard]] virtual std::string thresholds() const = 0;
};

/// Counted misses per visit of level `level` (0: the first) of the caches or of the data TLBs.
class CountGauge : public Gauge {
public:
  using Counts = std::vector<std::optional<double>> Reading::*;
  CountGauge(CachedSampler& cached, std::size_t level, Counts counts = &Reading::misses)
      : cached_(cached), level_(level), counts_(counts) {}
  std::vector<Share> measure(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] Fit judge(double share, std::int64_t visits) const override;
  [[nodiscard]] std::string thresholds() const override;

private:
  CachedSampler& cached_;
  std::size_t level_;
  Counts counts_;
};

/// Time beyond a hit in a level, as a share of the miss penalty. Where elements lie pages apart, the same
/// pages are visited again with the elements spread over the cache sets: what that takes beyond a hit is
/// the cost of translation, and is subtracted.
class TimeGauge : public Gauge {
public:
  /// `hit` and `penalty` in ns, `line` in bytes.
  TimeGauge(CachedSampler& cached, double hit, double penalty, std::int64_t line)
      : cached_(cached), hit_(hit), penalty_(penalty), line_(line) {}
  std::vector<Share> measure(std::span<const kernel::Pattern> patterns) override;
  [[nodiscard]] std::string thresholds() const override;

private:
  CachedSampler& cached_;
  double hit_, penalty_;
  std::int64_t line_;
};

/// A growing family of patterns: the n-th has n elements, or n times some size.
using Family = std::function<kernel::Pattern(std::int64_t n)>;

/// The largest n known to fit and the smallest known not to. Consecutive without noise.
struct Boundary {
  std::int64_t fits = 0, exceeds = 0;
};

/// Narrows a boundary as far as the gauge can tell. `from` is assumed to fit and `to` not to.
[[nodiscard]] Boundary narrow(Gauge& gauge, const Family& family, Boundary from, std::size_t at_once);

/// Doubles from `first` until a member does not fit; smaller ones are assumed to fit. Above `most` it ends
/// with Boundary::exceeds 0. A first member that does not fit gives fits 0.
[[nodiscard]] Boundary double_until_exceeds(Gauge& gauge, const Family& family, std::int64_t first,
                                            std::int64_t most);

// The curve of access time against the size of the working set, and its plateaus.

/// One dense working set.
struct SizePoint {
  std::int64_t bytes = 0;
  double ns = 0; ///< per access
  /// Reading::repeated_ns / ns: 1 where rounds agree, or are not distinguished.
  double spread = 1;
  bool disturbed = false; ///< every round was interrupted
};

/// Times of dense working sets from 2 KiB to `most` bytes, by rising size. Throws Unknown where a time is
/// missing.
[[nodiscard]] std::vector<SizePoint> survey(CachedSampler& cached, std::int64_t most);
/// The pattern of one of its points.
[[nodiscard]] kernel::Pattern survey_pattern(std::int64_t bytes);

/// The time of the flattest stretch of at least three points with sizes in [from, to]; nothing when times
/// there differ by more than a tenth everywhere.
[[nodiscard]] std::optional<double> flattest(const std::vector<SizePoint>& curve, std::int64_t from,
                                             std::int64_t to);
/// The least time that several points share: one alone that is less is an error. Of a curve that is not
/// empty.
[[nodiscard]] double floor_of(const std::vector<SizePoint>& curve);
/// Whether as many points as `floor_points` are within 1 % of it, and fewer are below: else noise decides it.
[[nodiscard]] bool agree_at_floor(const std::vector<SizePoint>& curve);
inline constexpr std::size_t floor_points = 4;
/// Why no time can be stated from the points with sizes in [from, to]: every round of them was interrupted,
/// or their rounds differ by more than a third. Empty: one can.
[[nodiscard]] std::string noise_of(const std::vector<SizePoint>& curve, std::int64_t from, std::int64_t to);
/// The first size from which on every time exceeds `limit` ns; 0: there is none.
[[nodiscard]] std::int64_t first_above(const std::vector<SizePoint>& curve, double limit);

} // namespace recount::caches
