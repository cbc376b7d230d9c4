// The rows of a profile: places grouped by module, symbol, function, line or address, with their shares.
#pragma once

#include "profile/places.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

/// `symbol`: the function whose code it is, with what was inlined into it; `function`: the innermost one;
/// `object`: the data that is accessed; `line_object`: by both.
enum class By { module, symbol, function, line, address, object, line_object };
/// Whether data objects are distinguished.
[[nodiscard]] bool by_object(By by);
/// Throws Error (bad_input) with the known names.
[[nodiscard]] By parse_by(const std::string& name);
[[nodiscard]] std::string name_of(By by);

/// The grouping of the figure for these groupings of tables: by symbol if included or if there is no other,
/// else the first.
[[nodiscard]] By figure_by(const std::vector<By>& ways);

/// A share of all samples, with its sampling error.
struct Share {
  double value = 0;         ///< 0...1
  double low = 0, high = 1; ///< interval of 95 %
  bool exact = false;       ///< every occurrence was sampled: there is no interval
};
/// The share of k samples out of n, 0 <= k <= n: exact binomial bounds (Clopper and Pearson, Biometrika 26,
/// 1934). Consecutive samples of one loop can be more correlated than that assumes.
[[nodiscard]] Share share_of(double k, double n);
/// The share that `part` has of all samples of an event, by weight; exact when each occurrence was sampled.
[[nodiscard]] Share share_of(const Tally& part, const Places& places, std::size_t event, bool exact);

struct ProfileRow {
  std::string module, function, source; ///< empty: unknown, or not distinguished by this grouping
  std::string file;                     ///< of the source line, with its path
  int line = 0;
  std::uint64_t address = 0;        ///< of an address row, or where no line is known
  std::string instruction;          ///< of an address row
  std::uint64_t start = 0, end = 0; ///< of the function; 0: unknown
  bool inlined = false;             ///< the function was inlined
  std::optional<DataObject> object; ///< the sum of those of one name
  std::vector<Tally> tallies;       ///< one for each event
};

/// Most samples of the first event first. Lines and functions are those of the innermost frame: inlined code
/// counts for the inlined function.
[[nodiscard]] std::vector<ProfileRow> group_places(const Places& places, const Naming& naming, By by);

} // namespace recount::profile
