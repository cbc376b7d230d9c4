// A nest prepared for simulation: for every loop, which streams of addresses it walks and how far.
#pragma once

#include "model/nest.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace recount::model {

/// An affine form as its few terms.
struct Terms {
  std::int64_t constant = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> slopes;

  Terms() = default;
  explicit Terms(const Affine& form) : constant(form.constant) {
    for (std::size_t v = 0; v < nest_depth; ++v)
      if (form.slope[v] != 0) slopes.emplace_back(v, form.slope[v]);
  }
  [[nodiscard]] std::int64_t at(const Environment& variables) const {
    std::int64_t sum = constant;
    for (const auto& [v, slope] : slopes)
      sum += slope * variables[v];
    return sum;
  }
};

/// Addresses of one access of a loop while the loop runs: start + own * turn + sum of inner[l] * turn of
/// inner loop l. Accesses of the same addresses are one stream.
struct Stream {
  unsigned bytes = 1;
  Terms start; ///< with all inner loops at their first turn
  std::int64_t own = 0;
  std::vector<std::int64_t> inner; ///< one per Step::inner; 0 where the access is not inside that loop
};

/// An access of an innermost loop.
struct LeafAccess {
  Cause cause = Cause::load;
  unsigned bytes = 1;
  Terms start;
  std::int64_t own = 0;
};

/// A loop, or (`bare`) accesses between loops, which are a loop of one turn.
struct Step {
  std::size_t id = 0, variable = 0;
  bool bare = false, leaf = false;
  bool regular = false; ///< the numbers of turns of the inner loops do not depend on one another
  Affine first;
  Bound last;
  std::int64_t step = 1;
  std::vector<Step> body;           ///< empty in a leaf
  std::vector<LeafAccess> accesses; ///< of a leaf, in order
  std::vector<NestLoop> inner;      ///< the inner loops, without their bodies
  std::vector<Stream> streams;

  [[nodiscard]] std::int64_t turns(const Environment& variables) const {
    if (bare) return 1;
    const std::int64_t span = last.at(variables) - first.at(variables);
    return span <= 0 ? 0 : (span + step - 1) / step;
  }
};

struct Program {
  std::vector<Step> steps;
  std::size_t size = 0; ///< ids are below
};

[[nodiscard]] Program prepare(const Nest& nest);

/// Loads and stores that the program makes.
[[nodiscard]] std::int64_t accesses(const Program& program);
/// Loads and stores that steps make in sequence, the outer loops being at `variables` (those of the inner
/// loops are changed).
[[nodiscard]] std::int64_t accesses(const std::vector<Step>& steps, Environment& variables);

/// Whether turns of an outer loop may touch exactly the lines of `line` bytes that the turn before touched:
/// every access moves by a fraction of a line, and by whole lines in the inner loops.
[[nodiscard]] bool may_recur(const Step& step, std::int64_t line);

} // namespace recount::model
