// Repetitions that break the pattern of their siblings: value, never averaged silently. Pure.
#pragma once

#include "matmul/products.hpp"

#include <string>
#include <vector>

namespace recount::matmul {

/// One repetition disturbed.
struct OddRepetition {
  Product product;
  std::string witness, metric;
  int repetition = 0;
  double value = 0;
  double siblings = 0; ///< median of the others
  std::string what;    ///< a clause: "25 % below the other four, which agree within 1 %"
};

/// A repetition this share away from the median of its siblings is odd, provided that it is also further
/// than `times` the whole spread of the siblings.
inline constexpr double odd_share = 0.10, odd_times = 3;

/// Two kinds: one repetition far from siblings that agree among themselves (three of them at least); and one
/// in which two metrics of one witness have exactly the same value, which they have in no other repetition.
/// Modelled values have no repetitions.
[[nodiscard]] std::vector<OddRepetition> odd_repetitions(const Products& group);

} // namespace recount::matmul
