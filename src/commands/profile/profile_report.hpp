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

/// Samples per event, lost records, overhead and notes.
[[nodiscard]] std::string profile_summary(const Profile& profile);
/// At most `top` rows.
[[nodiscard]] show::Table profile_table(const Profile& profile, By by, std::size_t top);
/// The table with its title, and the sum of the omitted rows.
[[nodiscard]] std::string profile_text(const Profile& profile, By by, std::size_t top, std::FILE* stream);
/// The `top` call chains that most samples of the first event have, innermost function first.
[[nodiscard]] std::string chains_text(const Profile& profile, std::size_t top);
/// The source text of functions, named as in symbol::denotes(), and of what was inlined into them, with the
/// shares of the lines.
[[nodiscard]] std::string annotated_text(const Profile& profile, const std::string& function);
/// With the kinds of misses: a sentence on each of the worst lines, about the simulated changes of the
/// machine.
[[nodiscard]] std::string advice_text(const Profile& profile);

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
