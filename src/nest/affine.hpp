// Expressions of a nest evaluated at a point.
#pragma once

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace recount::nest {

/// No constant and no slope is larger: products of two fit 128 bits, and addresses fit 64.
inline constexpr std::int64_t most_coefficient = std::int64_t{1} << 50;

/// `x + y * factor`; nothing if a coefficient exceeds the limit.
[[nodiscard]] std::optional<model::Affine> plus_times(const model::Affine& x, const model::Affine& y,
                                                      std::int64_t factor);

/// Evaluates expressions at a point.
class Evaluator {
public:
  /// Keeps references.
  Evaluator(const Definition& nest, const std::vector<std::int64_t>& parameters)
      : nest_(nest), parameters_(parameters) {}

  /// Throws recount::Error (bad_input): overflow, division by zero.
  [[nodiscard]] model::Affine affine(const Index& index) const;
  /// The end of a loop, which may be the lesser of two.
  [[nodiscard]] model::Bound bound(const Index& index) const;
  /// Of an expression without loop variables.
  [[nodiscard]] std::int64_t number(const Index& index) const { return affine(index).constant; }

private:
  const Definition& nest_;
  const std::vector<std::int64_t>& parameters_;
};

/// A loop around an access, at a point.
struct Around {
  model::Affine first;
  model::Bound last;
  std::int64_t step = 1;
  std::int64_t least = 0, greatest = -1; ///< values of its variable; none if greatest < least
};

/// The greatest and the least value of a form over the turns of the loops around it, outermost first. Bounds
/// that hold always; exact unless a step or the end of a loop depends on loops in a way that only some turns
/// reach. Nothing if a number exceeds the limit.
[[nodiscard]] std::optional<std::int64_t> greatest(const model::Affine& form,
                                                   const std::vector<Around>& loops);
[[nodiscard]] std::optional<std::int64_t> least(const model::Affine& form, const std::vector<Around>& loops);

} // namespace recount::nest
