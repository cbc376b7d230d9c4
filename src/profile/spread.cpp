#include "profile/spread.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace recount::profile {

std::size_t Spread::bucket(std::uint64_t value) noexcept {
  constexpr std::uint64_t exact = 1U << bits;
  if (value < exact) return static_cast<std::size_t>(value);
  const auto power = static_cast<unsigned>(std::bit_width(value)) - 1 - bits; // of the width of its bucket
  return (std::size_t{power} << bits) + static_cast<std::size_t>(value >> power);
}

std::uint64_t Spread::middle(std::size_t bucket) noexcept {
  constexpr std::size_t exact = 1U << bits;
  if (bucket < exact) return bucket;
  const std::size_t power = (bucket >> bits) - 1;
  const std::uint64_t low = std::uint64_t{bucket - (power << bits)} << power;
  return low + ((std::uint64_t{1} << power) - 1) / 2;
}

void Spread::add(std::uint64_t value) noexcept {
  least_ = count_ == 0 ? value : std::min(least_, value);
  greatest_ = std::max(greatest_, value);
  ++count_;
  sum_ += static_cast<double>(value);
  ++filled_[bucket(value)];
}

std::uint64_t Spread::quantile(double p) const noexcept {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<std::uint64_t>(std::max(1.0, std::ceil(p * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    seen += filled_[i];
    if (seen >= wanted) return std::clamp(middle(i), least_, greatest_);
  }
  return greatest_;
}

} // namespace recount::profile
