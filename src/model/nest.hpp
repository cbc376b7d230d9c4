// A loop nest as data: which bytes each step of each loop loads and stores.
#pragma once

#include "model/counts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace recount::model {

/// Loops around an access, and arrays of a nest, at most.
inline constexpr std::size_t nest_depth = 8, nest_arrays = 8;
/// The values of the loop variables; variable v is set by the loop with NestLoop::variable v.
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
  // Set by prepare():
  bool innermost = false; ///< holds accesses only
  bool uniform = false;   ///< every iteration makes as many accesses as the first one

  /// Number of iterations.
  [[nodiscard]] std::int64_t trips(const Environment& variables) const {
    const std::int64_t span = last.at(variables) - first.at(variables);
    return span <= 0 ? 0 : (span + step - 1) / step;
  }
};

struct Nest {
  std::vector<NestNode> nodes; ///< executed one after the other
};

/// The same nest for accesses() and for simulation: simpler bounds, and the flags of NestLoop.
[[nodiscard]] Nest prepare(Nest nest);

/// Loads and stores of a prepared nest or loop, the loops around it being at `variables`, those of inner
/// loops are changed.
[[nodiscard]] std::int64_t accesses(const std::vector<NestNode>& nodes, Environment& variables);
[[nodiscard]] std::int64_t accesses(const NestLoop& loop, Environment& variables);
[[nodiscard]] std::int64_t accesses(const Nest& nest);

/// Records a nest while a kernel's text is executed over variables instead of numbers: every loop's body is
/// executed once, its variable being an Affine. Not thread-safe.
class Recorder {
public:
  template <class First, class Last, class Body>
  void loop(const First& first, const Last& last, std::int64_t step, Body&& body) {
    if (depth_ == nest_depth) throw std::logic_error("too many loops in a nest");
    NestLoop loop;
    loop.variable = depth_++;
    loop.first = affine(first);
    loop.last = bound(last);
    loop.step = step;
    std::vector<NestNode>* const outer = body_;
    body_ = &loop.body;
    Affine variable;
    variable.slope[loop.variable] = 1;
    body(variable);
    body_ = outer;
    --depth_;
    body_->emplace_back(std::move(loop));
  }
  void access(Cause cause, unsigned array, const Affine& address, unsigned bytes) {
    if (array >= nest_arrays) throw std::logic_error("too many arrays in a nest");
    body_->emplace_back(NestAccess{cause, array, bytes, address});
  }
  [[nodiscard]] const Nest& nest() const { return nest_; }

  static Affine affine(const Affine& x) { return x; }
  static Affine affine(std::int64_t x) { return {x, {}}; }

private:
  static Bound bound(const Bound& x) { return x; }
  template <class Value>
  static Bound bound(const Value& x) {
    return {affine(x), affine(x)};
  }

  Nest nest_;
  std::vector<NestNode>* body_ = &nest_.nodes;
  std::size_t depth_ = 0;
};

} // namespace recount::model
