// A median with its confidence interval, and whether it is within given limits. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace recount::statistics {

/// Values of one quantity, a group for each process that measured it: values of one process resemble one
/// another more than those of two.
using Groups = std::vector<std::vector<double>>;

struct Estimate {
  double median = 0;
  double low = 0, high = 0; ///< the interval of 90 %
  std::size_t n = 0;        ///< values behind it
};

/// The median of all values and its bootstrap percentile interval (Efron, "Bootstrap Methods: Another Look at
/// the Jackknife", Annals of Statistics 7, 1979): 999 resamples of groups, and of values in each group drawn.
/// The same seed gives the same interval. Nothing where there are no values. Throws std::invalid_argument
/// when one is not finite.
[[nodiscard]] std::optional<Estimate> estimate(const Groups& groups, std::uint64_t seed = 1);

/// Limits, both included; `low` may be over `high`, and then nothing lies within.
struct Band {
  double low = 0, high = 0;
};

/// An equivalence test by interval: the interval of 90 % wholly inside the band is what two one-sided tests
/// at 5 % each would accept (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987). Wholly
/// outside is a difference. Neither: the values do not decide.
enum class Held { inside, outside, undecided };
[[nodiscard]] Held held(const Estimate& estimate, const Band& band) noexcept;

} // namespace recount::statistics
