// Distribution of values in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace recount::profile {

/// Least, greatest, sum and number of values are exact. Quantiles come from buckets: exact below 32, else
/// within 1/32 of the value, as HdrHistogram has them.
class Spread {
public:
  void add(std::uint64_t value) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t least() const noexcept { return least_; }       ///< 0 without values
  [[nodiscard]] std::uint64_t greatest() const noexcept { return greatest_; } ///< 0 without values
  [[nodiscard]] double sum() const noexcept { return sum_; }
  [[nodiscard]] double mean() const noexcept { return count_ > 0 ? sum_ / static_cast<double>(count_) : 0; }
  /// The value that a share p (0...1) of the values do not exceed; 0 without values.
  [[nodiscard]] std::uint64_t quantile(double p) const noexcept;

private:
  static constexpr unsigned bits = 5; ///< 32 buckets between powers of two
  static constexpr std::size_t buckets = (64 - bits + 1) << bits;
  [[nodiscard]] static std::size_t bucket(std::uint64_t value) noexcept;
  [[nodiscard]] static std::uint64_t middle(std::size_t bucket) noexcept;

  std::uint64_t count_ = 0, least_ = 0, greatest_ = 0;
  double sum_ = 0;
  std::array<std::uint64_t, buckets> filled_{};
};

} // namespace recount::profile
