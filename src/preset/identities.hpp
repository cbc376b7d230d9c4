// Relations between presets that hold on any code: data, in data/identities.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace recount::preset {

enum class CpuKind { any, load_store, cisc };

struct Identity {
  std::string text;              ///< "L1_TCM = L1_DCM + L1_ICM"
  std::vector<std::string> left; ///< "PAPI_L1_TCM"
  std::vector<std::string> right;
  bool at_most = false; ///< left <= right instead of =
  CpuKind kind = CpuKind::any;
  std::string why;
};

/// Reads the format that data/identities.txt explains. Throws Error (bad_input) naming the line at fault.
[[nodiscard]] std::vector<Identity> parse_identities(std::string_view text, const std::string& file);
/// Those built in.
[[nodiscard]] const std::vector<Identity>& identities();
/// The text they are built from.
[[nodiscard]] std::string_view identities_text() noexcept;

} // namespace recount::preset
