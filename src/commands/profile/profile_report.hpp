// What `recount profile` prints and writes: tables, JSON, results.
#pragma once

#include "commands/profile/recording.hpp"
#include "run/result/observation.hpp"
#include "show/command/output.hpp"
#include "show/plot/sheet.hpp"

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace recount::result {
class Writer;
}

namespace recount::profile {

/// A profile with names.
struct Profile {
  Recording recording;
  Naming naming;
  std::string subject; ///< the command or the process
};

/// Whether each occurrence of an event was sampled: shares are then exact.
[[nodiscard]] bool every_occurrence(const Profile& profile, std::size_t event);
/// The share of all samples of an event.
[[nodiscard]] Share share_of(const Profile& profile, const Tally& part, std::size_t event);

/// ", incomplete: killed by signal 15 (SIGTERM)", ", exit status 7"; empty: it succeeded.
[[nodiscard]] std::string ending_text(const process::Exit& exit);

inline constexpr std::size_t default_rows = 15; ///< of a table that need not fit a screen

/// What of a profile is printed.
struct View {
  std::vector<By> by;
  std::size_t top = 0; ///< rows per table; 0: as many as fit the screen
  bool all = false;    ///< intervals and overhead, too
};

/// At most `top` rows, with their intervals.
[[nodiscard]] show::Table profile_table(const Profile& profile, By by, std::size_t top);
/// Samples per event; a table for each way with the sum of the omitted rows, and `requested`, where there are
/// samples; with the kinds of misses, a sentence on each of the worst lines, about the simulated changes of
/// the machine; lost records and notes. Tables for which a screen has no room are left out.
[[nodiscard]] std::string profile_text(const Profile& profile, const View& view, const std::string& requested,
                                       std::FILE* stream);
/// The `top` call chains that most samples of the first event have, innermost function first.
[[nodiscard]] std::string chains_text(const Profile& profile, std::size_t top);
/// The source text of functions, named as in symbol::denotes(), and of what was inlined into them, with the
/// shares of the lines.
[[nodiscard]] std::string annotated_text(const Profile& profile, const std::string& function);

[[nodiscard]] std::string profile_json(const Profile& profile, const std::vector<By>& by);

/// Opened before the target starts, so that errors occur before the measurement.
class ProfileResults {
public:
  /// `output`: a results file, `plot`: a figure that check_outputs() has accepted; empty: none. `by`: what
  /// the figure attributes to. Throws Error for a results file that cannot be created.
  ProfileResults(const std::string& output, std::string plot, By by);
  ~ProfileResults();
  /// Writes and draws. Throws Error as result::Writer and plot::draw() do.
  void finish(const Profile& profile);

private:
  std::string plot_;
  result::Run header_;
  std::unique_ptr<result::Writer> writer_;
};

// The figure of a profile: samples by address, with the bounds of functions.

/// The functions with most samples side by side in the order of their addresses, without the gaps. Throws
/// Error (bad_input) where there is no function with known bounds.
[[nodiscard]] plot::Sheet compose_over_addresses(const result::Results& results, const plot::Choice& choice);

/// The figure "profile".
[[nodiscard]] plot::Figure profile_figure();

} // namespace recount::profile
