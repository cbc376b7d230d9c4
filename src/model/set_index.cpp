#include "model/set_index.hpp"

#include <algorithm>

namespace recount::model {

std::vector<std::uint64_t> xor_masks(std::int64_t sets) {
  const int k = std::countr_zero(static_cast<std::uint64_t>(sets));
  std::vector<std::uint64_t> masks;
  for (int i = 0; i < k; ++i)
    masks.push_back(std::uint64_t{1} << i | std::uint64_t{1} << (k + i));
  return masks;
}

SetIndex::SetIndex(std::uint64_t sets, std::span<const std::uint64_t> masks)
    : sets_(sets), mask_(masks.empty() && std::has_single_bit(sets) ? sets - 1 : no_mask) {
  for (std::size_t i = 0; i < masks.size(); ++i) {
    invertible_ = invertible_ && (masks[i] & (sets - 1)) == std::uint64_t{1} << i;
    for (std::uint64_t left = masks[i]; left != 0; left &= left - 1) {
      const int right = std::countr_zero(left) - static_cast<int>(i);
      auto term = std::ranges::find(terms_, right, &Term::right);
      if (term == terms_.end()) term = terms_.insert(term, {right, 0});
      term->mask |= std::uint64_t{1} << i;
    }
  }
  if (hashed() && std::ranges::equal(masks, xor_masks(static_cast<std::int64_t>(sets))))
    fold_ = static_cast<unsigned>(std::countr_zero(sets));
}

} // namespace recount::model
