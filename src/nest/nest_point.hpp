// A loop nest at a point: parameters are numbers, arrays are placed, subscripts are checked.
#pragma once

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace recount::nest {

/// The values of the parameters, in the order of the file.
struct Setting {
  std::vector<std::int64_t> parameters;
  Types types;
  std::int64_t offset = 0; ///< bytes from a page boundary to the first element of each array
};

struct PlacedArray {
  Type type = Type::f64;
  std::vector<std::int64_t> extents, strides; ///< elements
  std::int64_t bytes = 0;
  std::int64_t begin = 0; ///< bytes from the first element of the first array
};

/// Numbers of accesses and turns, estimated from the middle of each loop.
struct Estimate {
  double accesses = 0;
  double most = 0;       ///< accesses if every loop ran as long as it ever does: no fewer iterations
  double in_columns = 0; ///< those that leave their line nearly every turn of the innermost loop
};

/// Keeps a reference to the definition.
class Point {
public:
  /// Throws recount::Error (bad_input) with FILE:LINE:COLUMN: an extent below 1, an array of more than a TiB,
  /// a step below 1, a subscript that leaves its array, numbers that overflow, no access at all.
  Point(const Definition& nest, Setting setting);
  /// Keeps the definition.
  Point(std::shared_ptr<const Definition> nest, Setting setting);

  [[nodiscard]] const Definition& definition() const { return nest_; }
  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] const std::vector<PlacedArray>& arrays() const& { return arrays_; }
  void arrays() const&& = delete; ///< of a point that is gone at once
  /// From the first element of the first array to the end of the last one. Each array begins `offset` bytes
  /// after a page boundary, in the order of the file.
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] const Estimate& estimate() const { return estimate_; }

  /// Loads, stores and operations of the nest, from the bounds of its loops.
  [[nodiscard]] Work work() const;
  /// How often the bodies of all loops are executed that hold other loops, and those loops entered.
  [[nodiscard]] std::int64_t outer_turns() const;
  /// The loops and accesses; `bases`: addresses of the first elements.
  [[nodiscard]] model::Nest recorded(const std::vector<std::uint64_t>& bases) const;

private:
  class Checker;
  std::shared_ptr<const Definition> kept_;
  const Definition& nest_;
  Setting setting_;
  std::vector<PlacedArray> arrays_;
  Estimate estimate_;
};

} // namespace recount::nest
