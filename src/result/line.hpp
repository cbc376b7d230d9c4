// One line of a results file, to and from text. The format is documented in recount-results(5).
#pragma once

#include "result/observation.hpp"
#include "result/run.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace recount::result {

/// JSON on one line, without the newline. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_line(const Run& run);
[[nodiscard]] std::string to_line(const Observation& observation);
[[nodiscard]] std::string to_line(const Failure& failure);
[[nodiscard]] std::string to_line(const Section& section);

using Line = std::variant<Run, Observation, Failure, Section>;
/// Throws recount::Error (bad_input); its subject is `where` ("FILE:LINE").
[[nodiscard]] Line parse_line(std::string_view text, const std::string& where);

/// {"size":32768,"stride":64} as text, and back (throws as parse_line does).
[[nodiscard]] std::string params_json(const Params& params);
[[nodiscard]] Params parse_params(std::string_view json, const std::string& where);

} // namespace recount::result
