// The table of a profile: places grouped by module, symbol, function, line or address, with their shares.
#pragma once

#include "command/output.hpp"
#include "profile/located.hpp"
#include "profile/recording.hpp"
#include "result/observation.hpp"
#include "verdict/verdict_store.hpp"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recount::profile {

/// `symbol`: the function whose code it is, with what was inlined into it; `function`: the innermost one;
/// `object`: the data that is accessed; `line_object`: by both.
enum class By { module, symbol, function, line, address, object, line_object };
/// Whether data objects are told apart.
[[nodiscard]] bool by_object(By by);
/// Throws Error (bad_input) with the known names.
[[nodiscard]] By parse_by(const std::string& name);
[[nodiscard]] std::string name_of(By by);

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
  std::uint64_t address = 0;         ///< of an address row, or where no line is known
  std::string instruction;           ///< of an address row
  std::uint64_t start = 0, end = 0;  ///< of the function; 0: unknown
  bool inlined = false;              ///< the function was inlined
  std::optional<NamedObject> object; ///< those of one name together
  std::vector<Tally> tallies;        ///< one for each event
};

/// The grouping of the figure for these groupings of tables: by symbol if included or if there is no other,
/// else the first.
[[nodiscard]] By figure_by(const std::vector<By>& ways);

/// Most samples of the first event first. Lines and functions are those of the innermost frame: inlined code
/// counts for the inlined function.
[[nodiscard]] std::vector<ProfileRow> gather(const Places& places, const Naming& naming, By by);

// What `recount profile` prints: tables for people, one JSON object.

/// A profile with names.
struct Profile {
  profile::Recording recording;
  profile::Naming naming;
  std::string subject;  ///< the command or the process
  verdict::Marks marks; ///< of recount check
};

/// What recount check found wrong with an event.
[[nodiscard]] std::string mark_of(const Profile& profile, std::size_t event);
/// Whether each occurrence of an event was sampled: shares are then exact.
[[nodiscard]] bool every_occurrence(const Profile& profile, std::size_t event);

/// The events that tables show: all but those of advice_text().
[[nodiscard]] std::vector<std::size_t> shown_events(const Profile& profile);
/// With the kinds of misses: a sentence on each of the worst lines, about what the simulations beside have
/// shown.
[[nodiscard]] std::string advice_text(const Profile& profile);

/// Samples per event, lost records, overhead and notes.
[[nodiscard]] std::string profile_summary(const Profile& profile);
/// At most `top` rows.
[[nodiscard]] command::Table profile_table(const Profile& profile, profile::By by, std::size_t top);
/// The table with its title, and the sum of the omitted rows.
[[nodiscard]] std::string profile_text(const Profile& profile, profile::By by, std::size_t top,
                                       std::FILE* stream);
/// The `top` call chains that most samples of the first event have, innermost function first.
[[nodiscard]] std::string chains_table(const Profile& profile, std::size_t top);
/// Source text with shares.
[[nodiscard]] std::string annotated_text(const Profile& profile, const std::string& function);
[[nodiscard]] std::string profile_json(const Profile& profile, const std::vector<profile::By>& by);

/// "62 % (59…65)"; the interval alone with few samples; no interval for exact shares.
[[nodiscard]] std::string share_text(const profile::Share& share, std::uint64_t samples);

} // namespace recount::profile

// A profile as results, and the figure of them.
namespace recount::result {
class Writer;
}

namespace recount::profile {

/// Opened before the target starts, so that errors occur before the measurement.
class ProfileResults {
public:
  /// Empty: no such file. `plot` is past check_outputs(). `by`: how the figure attributes. Throws Error for a
  /// results file that cannot be made. `verdicts`: the marks of the events by name.
  ProfileResults(const std::string& output, std::string plot, profile::By by,
                 std::map<std::string, std::string> verdicts);
  ~ProfileResults();
  /// Writes and draws. Throws Error as result::Writer and plot::draw() do.
  void finish(const Profile& profile);

private:
  std::string plot_;
  result::Run header_;
  std::unique_ptr<result::Writer> writer_;
};

} // namespace recount::profile
