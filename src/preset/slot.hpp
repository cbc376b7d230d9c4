// One entry of PAPI's array of presets while a table is being read, with the state that remains in it.
#pragma once

#include <recount/preset.hpp>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::preset {

inline constexpr int code_room = 12; ///< PAPI_MAX_INFO_TERMS: what the arrays hold, in 7.0 and after

struct Slot {
  std::optional<std::string> symbol;
  bool fixed = false; ///< a name of PAPI itself: freeing it crashes the process
  Derived type = Derived::none;
  std::string written;
  std::optional<std::string> postfix; ///< kept when the preset is redefined
  std::array<int, code_room + 1> code{};
  int count = 0;
  std::string note, brief, text;
  Place place;
  bool half_read = false;
  std::string undefined;
};

/// Gives each spelling of a native event its code, from 1.
class Codes {
public:
  int of(const std::string& bare, const std::string& spelling) {
    const auto [at, fresh] = codes_.try_emplace(bare, static_cast<int>(names_.size()) + 1);
    if (fresh) names_.push_back(spelling);
    return at->second;
  }
  /// The first spelling; empty for what is no code.
  [[nodiscard]] std::string name(int code) const {
    return code > 0 ? names_.at(static_cast<std::size_t>(code) - 1) : std::string{};
  }

private:
  std::map<std::string, int> codes_;
  std::vector<std::string> names_;
};

/// Puts the natives of the preset `from` into `into`, and reworks its formula, as PAPI does for a term that
/// names a preset. `index` is the number of that term. PAPI's own reworking goes wrong in many cases; this
/// reproduces these errors, and reports in `into.undefined` where PAPI would write beyond its buffers.
void nest(Slot& into, const Slot& from, int index, PapiVersion version);

} // namespace recount::preset
