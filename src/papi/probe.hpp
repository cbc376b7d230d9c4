// What the forked children of inventory() find out, and how it comes back.
#pragma once

#include <recount/papi.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace recount::papi {

/// In a child: describes components and presets on `fd`, one fact a line, its fields separated by tabs.
void write_claims(int fd);
/// In a child: tries each preset; "try NAME" before and "ok" or "no" and the reason after, so that the parent
/// knows which one ended the child.
void write_trials(int fd, const std::vector<std::string>& presets);

/// The other ends. Pure.
[[nodiscard]] Inventory parse_claims(std::string_view text);
/// Fills in `counts` and `reason` of the presets that `text` reports. Returns the preset that was being
/// tried when the text ended, if any.
[[nodiscard]] std::string parse_trials(std::string_view text, std::vector<Preset>& presets);

} // namespace recount::papi
