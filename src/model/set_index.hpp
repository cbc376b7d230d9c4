// Which set of a level holds a line.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace recount::model {

/// The masks of "xor" for a power of two of sets, 2^k: bit i of the set is bit i XOR bit k + i of the line.
[[nodiscard]] std::vector<std::uint64_t> xor_masks(std::int64_t sets);

/// The index function of a level: the line modulo the sets, or a hash. With masks, bit i of the set is the
/// XOR of the line's bits that mask i selects.
class SetIndex {
public:
  /// Without masks: modulo. Else one mask per bit of the set, `sets` being 2 to that number.
  explicit SetIndex(std::uint64_t sets, std::span<const std::uint64_t> masks = {});

  [[gnu::always_inline]] [[nodiscard]] std::uint64_t operator()(std::uint64_t line) const {
    if (mask_ != none) return line & mask_;
    return fold_ != 0 ? (line ^ line >> fold_) & (sets_ - 1) : other(line);
  }
  [[nodiscard]] std::uint64_t sets() const { return sets_; }
  [[nodiscard]] bool hashed() const { return !terms_.empty(); }
  /// Whether the set is the lowest bits of the line.
  [[nodiscard]] bool low_bits() const { return mask_ != none; }
  /// Whether the set is (line ^ line >> fold()) & (sets() - 1).
  [[nodiscard]] bool folds() const { return low_bits() || fold_ != 0; }
  /// Only where folds().
  [[nodiscard]] unsigned fold() const { return low_bits() ? no_fold : fold_; }
  static constexpr unsigned no_fold = 63; ///< where low_bits(): lines are below 2^63
  /// Whether set and line / sets together determine the line by line_of().
  [[nodiscard]] bool invertible() const { return invertible_; }
  /// The line of a set whose number divided by the number of sets is `row`; only if invertible().
  [[nodiscard]] std::uint64_t line_of(std::uint64_t set, std::uint64_t row) const {
    const std::uint64_t first = row * sets_;
    return first + (hashed() ? set ^ (*this)(first) : set);
  }

private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  /// What bits at one distance from their place in the set contribute.
  struct Term {
    int right; ///< distance; negative: to the left
    std::uint64_t mask;
  };
  [[nodiscard]] std::uint64_t other(std::uint64_t line) const {
    if (terms_.empty()) return line % sets_;
    std::uint64_t set = 0;
    for (const Term& term : terms_)
      set ^= std::rotr(line, term.right) & term.mask;
    return set;
  }

  std::uint64_t sets_, mask_;
  unsigned fold_ = 0; ///< of masks as xor_masks() makes them: log2 of the sets
  bool invertible_ = true;
  std::vector<Term> terms_;
};

} // namespace recount::model
