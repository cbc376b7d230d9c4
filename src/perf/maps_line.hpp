// A line of /proc/PID/maps. Pure.
#pragma once

#include <recount/sampling.hpp>

#include <optional>
#include <string_view>

namespace recount::perf {

/// Nothing if the line is invalid; the file name is a view into it, "//anon" where there is none.
[[nodiscard]] std::optional<Mapping> parse_maps_line(std::string_view line);

} // namespace recount::perf
