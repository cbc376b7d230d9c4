// The presets that PAPI itself defines, and the relations between them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::preset {

struct StandardPreset {
  std::string_view name; ///< "PAPI_L1_DCM"
  std::string_view text; ///< description by PAPI
};

/// In PAPI's order: those of CPUs, or of a component; none for a component whose presets PAPI does not load.
/// Any other name takes one of PAPI's spare preset slots, 20 for CPUs.
[[nodiscard]] std::span<const StandardPreset> standard_presets(std::string_view component = {});
[[nodiscard]] const StandardPreset* standard_preset(std::string_view name, std::string_view component = {});

// Relations between presets that hold for any code: data, in data/identities.txt.

enum class CpuKind { any, load_store, cisc };

struct Identity {
  std::string text;              ///< "L1_TCM = L1_DCM + L1_ICM"
  std::vector<std::string> left; ///< "PAPI_L1_TCM"
  std::vector<std::string> right;
  bool at_most = false; ///< left <= right instead of =
  CpuKind kind = CpuKind::any;
  std::string why;

  /// The presets of both sides.
  [[nodiscard]] std::vector<std::string> presets() const {
    auto names = left;
    names.insert(names.end(), right.begin(), right.end());
    return names;
  }
  [[nodiscard]] bool applies_to(CpuKind cpu) const { return kind == CpuKind::any || kind == cpu; }
};

/// Parses the format of data/identities.txt. Throws Error (bad_input) naming the line at fault.
[[nodiscard]] std::vector<Identity> parse_identities(std::string_view text, const std::string& file);
/// Built-in identities.
[[nodiscard]] const std::vector<Identity>& identities();

} // namespace recount::preset
