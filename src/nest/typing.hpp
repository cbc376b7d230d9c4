// Types of values, and what a statement costs.
#pragma once

#include "nest/definition.hpp"

#include <cstdint>
#include <vector>

namespace recount::nest {

/// The types at a point: the choice of each `type` parameter.
using Types = std::vector<Type>;

[[nodiscard]] inline Type type_of(const TypeName& name, const Types& types) {
  return name.choice ? types[*name.choice] : name.type;
}

/// Arithmetic is done in whole numbers of 64 bits that wrap, in f32 or in f64. A number takes the type of
/// what it is combined with.
enum class Arithmetic { number, whole, f32, f64 };
[[nodiscard]] Arithmetic arithmetic_of(Type type);
/// Of the result of an operation.
[[nodiscard]] Arithmetic combined(Arithmetic left, Arithmetic right);

/// Memory accesses and floating-point operations of one execution.
struct Work {
  std::int64_t loads = 0, stores = 0, single_operations = 0, double_operations = 0;
};

/// Throws recount::Error (bad_input) for a quotient of whole numbers and for a floating-point value that is
/// assigned to a whole number.
[[nodiscard]] Work work_of(const Definition& nest, const Statement& statement, const Types& types);

/// Of the target.
[[nodiscard]] Type target_type(const Definition& nest, const Statement& statement, const Types& types);

} // namespace recount::nest
