// The presets that PAPI itself defines, and the relations between them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::preset {

struct Standard {
  std::string_view name; ///< "PAPI_L1_DCM"
  std::string_view text; ///< what it is meant to count
};

/// All of them, in PAPI's order: a name that is not here gets one of the 20 places that are left.
[[nodiscard]] std::span<const Standard> standard_presets();
[[nodiscard]] const Standard* standard_preset(std::string_view name);

// Relations between presets that hold for any code: data, in data/identities.txt.

enum class CpuKind { any, load_store, cisc };

struct Identity {
  std::string text;              ///< "L1_TCM = L1_DCM + L1_ICM"
  std::vector<std::string> left; ///< "PAPI_L1_TCM"
  std::vector<std::string> right;
  bool at_most = false; ///< left <= right instead of =
  CpuKind kind = CpuKind::any;
  std::string why;

  /// Those of both sides.
  [[nodiscard]] std::vector<std::string> presets() const {
    auto names = left;
    names.insert(names.end(), right.begin(), right.end());
    return names;
  }
  [[nodiscard]] bool applies_to(CpuKind cpu) const { return kind == CpuKind::any || kind == cpu; }
};

/// Reads the format that data/identities.txt explains. Throws Error (bad_input) naming the line at fault.
[[nodiscard]] std::vector<Identity> parse_identities(std::string_view text, const std::string& file);
/// Those built in.
[[nodiscard]] const std::vector<Identity>& identities();

} // namespace recount::preset
