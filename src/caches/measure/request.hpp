// What goes through the pipes between recount caches and its measuring process.
#pragma once

#include "caches/measure/study.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace recount::caches {

[[nodiscard]] std::string to_caches_request(const CachesTask& task);
/// Reads a request to its end. Throws recount::Error (bad_input) when it is none.
[[nodiscard]] CachesTask read_caches_request(int fd);

/// A line that names the stage, and the name that such a line holds.
[[nodiscard]] std::string stage_line(const std::string& name);
[[nodiscard]] std::optional<std::string> stage_of(std::string_view line);

} // namespace recount::caches
