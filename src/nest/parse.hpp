// Reads a loop nest.
#pragma once

#include "nest/definition.hpp"

#include <string>
#include <string_view>

namespace recount::nest {

/// At most, besides model::nest_depth loops and model::nest_arrays arrays.
inline constexpr std::size_t most_bytes = 64 << 10, most_parameters = 16, most_statements = 256,
                             most_scalars = 64, most_dimensions = 8, most_terms = 256;
/// Of a parameter without bounds.
inline constexpr std::int64_t most_value = std::int64_t{1} << 40;

/// `file` names the text in messages. Throws recount::Error (bad_input) with FILE:LINE:COLUMN.
[[nodiscard]] Definition parse(const std::string& file, std::string_view text);

} // namespace recount::nest
