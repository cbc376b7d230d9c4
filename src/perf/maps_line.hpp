// A line of /proc/PID/maps. Pure.
#pragma once

#include <recount/sampling.hpp>

#include <optional>
#include <string_view>

namespace recount::perf {

/// None when the line is no such line; the mapping's file is a view into it, "//anon" where there is none.
[[nodiscard]] std::optional<Mapping> parse_maps_line(std::string_view line);

} // namespace recount::perf
