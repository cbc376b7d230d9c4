// The parser of names: what the name of a witness or of a counted quantity states.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace recount {

inline constexpr std::string_view model_prefix = "model:", preset_prefix = "PAPI_";

/// The machine of a witness that simulates a described one: "i7-9700" of "model:i7-9700", with its options
/// ("i7-9700~sample"). Nothing for all others, also for "model", which simulates the machine of its run.
[[nodiscard]] inline std::optional<std::string> described_machine(std::string_view witness) {
  if (!witness.starts_with(model_prefix)) return {};
  return std::string(witness.substr(model_prefix.size()));
}

/// Whether the values of a witness are simulated, not measured.
[[nodiscard]] inline bool is_modelled(std::string_view witness) {
  return witness == "model" || witness.starts_with(model_prefix);
}

/// Whether a metric is a preset of PAPI: "PAPI_L1_DCM".
[[nodiscard]] constexpr bool is_preset(std::string_view metric) {
  return metric.starts_with(preset_prefix);
}

} // namespace recount
