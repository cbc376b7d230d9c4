// The descriptions in src/model/data, put into the program when it is built so that it works from anywhere.
#pragma once

#include <span>
#include <string_view>

namespace recount::model {

struct Shipped {
  std::string_view name; ///< the file's name without .json
  std::string_view json;
};
/// Sorted by name.
[[nodiscard]] std::span<const Shipped> shipped_machines();

} // namespace recount::model
