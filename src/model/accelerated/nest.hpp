// A loop nest as data: which bytes each step of each loop loads and stores.
#pragma once

#include "model/counts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace recount::model {

/// Loops around an access, and arrays of a nest, at most.
inline constexpr std::size_t nest_depth = 8, nest_arrays = 8;
/// The values of the loop variables; variable v is set by the loop that says so.
using Environment = std::array<std::int64_t, nest_depth>;

/// constant + sum of slope[v] * variable v.
struct Affine {
  std::int64_t constant = 0;
  Environment slope{};

  [[nodiscard]] std::int64_t at(const Environment& variables) const {
    std::int64_t sum = constant;
    for (std::size_t v = 0; v < nest_depth; ++v)
      sum += slope[v] * variables[v];
    return sum;
  }
  [[nodiscard]] bool operator==(const Affine&) const = default;

  friend Affine operator+(Affine x, const Affine& y) {
    x.constant += y.constant;
    for (std::size_t v = 0; v < nest_depth; ++v)
      x.slope[v] += y.slope[v];
    return x;
  }
  friend Affine operator+(Affine x, std::int64_t y) {
    x.constant += y;
    return x;
  }
  friend Affine operator*(Affine x, std::int64_t y) {
    x.constant *= y;
    for (std::int64_t& slope : x.slope)
      slope *= y;
    return x;
  }
};

/// The lesser of two values; what ends a loop.
struct Bound {
  Affine one, other;
  [[nodiscard]] std::int64_t at(const Environment& variables) const {
    const std::int64_t x = one.at(variables), y = other.at(variables);
    return x < y ? x : y;
  }
};

/// A load or store (`cause`) of `bytes` at `address`, in array number `array`.
struct NestAccess {
  Cause cause = Cause::load;
  unsigned array = 0, bytes = 1;
  Affine address; ///< bytes
};

struct NestLoop;
using NestNode = std::variant<NestAccess, NestLoop>;

/// for (variable = first; variable < last; variable += step) body, in order.
struct NestLoop {
  std::size_t variable = 0;
  Affine first;
  Bound last;
  std::int64_t step = 1;
  std::vector<NestNode> body;

  /// How often the body is executed.
  [[nodiscard]] std::int64_t trips(const Environment& variables) const {
    const std::int64_t span = last.at(variables) - first.at(variables);
    return span <= 0 ? 0 : (span + step - 1) / step;
  }
};

struct Nest {
  std::vector<NestNode> nodes; ///< executed one after the other
};

/// Drops the bound that is never the lesser, so that blocks that divide a matrix are seen to be all alike.
void settle_bounds(Nest& nest);

} // namespace recount::model
