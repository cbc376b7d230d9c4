// A nest made ready: for every loop, which streams of addresses it walks and how far.
#pragma once

#include "model/accelerated/nest.hpp"

#include <cstdint>
#include <optional>
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

/// What one access text of a loop touches while the loop runs: start + own * turn + sum of inner[l] * turn of
/// inner loop l. Accesses of the same addresses are one stream.
struct Stream {
  unsigned array = 0, bytes = 1;
  Terms start; ///< with all loops inside at their first turn
  std::int64_t own = 0;
  std::vector<std::int64_t> inner; ///< a number for each of Step::inner; 0 where the access lies elsewhere
  std::int64_t grain = 0;          ///< what all of them are multiples of; 0: the stream does not move
};

/// Accesses of a loop without loops in it, in order.
struct LeafAccess {
  Cause cause = Cause::load;
  unsigned array = 0, bytes = 1;
  Terms start;
  std::int64_t own = 0;
};

/// A loop, or (`bare`) accesses between loops, which are a loop of one turn.
struct Step {
  std::size_t id = 0, variable = 0;
  bool bare = false, leaf = false;
  bool regular = false; ///< the turns of the loops inside depend on nothing inside
  unsigned arrays = 0;  ///< a bit for each array met
  Affine first;
  Bound last;
  std::int64_t step = 1;
  std::vector<Step> body;           ///< empty in a leaf
  std::vector<LeafAccess> accesses; ///< of a leaf
  std::vector<NestLoop> inner;      ///< the loops inside, without their bodies
  std::vector<Stream> streams;

  [[nodiscard]] std::int64_t turns(const Environment& variables) const {
    if (bare) return 1;
    const std::int64_t span = last.at(variables) - first.at(variables);
    return span <= 0 ? 0 : (span + step - 1) / step;
  }
};

struct Program {
  std::vector<Step> steps;
  std::size_t size = 0;          ///< ids are below
  std::size_t most_accesses = 0; ///< in one turn of an innermost loop
};

[[nodiscard]] Program prepare(const Nest& nest);

/// How often the loops inside a segment of `turns` turns that begins at `variables` turn, in the order of
/// Step::inner. False when that is not the same throughout.
[[nodiscard]] bool tell_turns(const Step& step, std::int64_t turns, const Environment& variables,
                              std::array<std::int64_t, nest_depth>& inner);

/// Loads and stores that the program makes.
[[nodiscard]] std::int64_t accesses(const Program& program);
/// Loads and stores that steps make in sequence, the loops around them standing at `variables` (those of the
/// loops inside are changed).
[[nodiscard]] std::int64_t accesses(const std::vector<Step>& steps, Environment& variables);

/// Whether turns of a loop around others may touch, all in all, the lines of `line` bytes that the turn
/// before touched: every access moves by a fraction of a line, and by whole lines in the loops inside.
[[nodiscard]] bool may_recur(const Step& step, std::int64_t line);

/// Whether every access lies within one line of `line` bytes wherever the loops stand: sizes are powers of
/// two and divide every address.
[[nodiscard]] bool aligned(const Nest& nest, std::int64_t line);

} // namespace recount::model
