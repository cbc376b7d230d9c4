// Shared by the commands that measure: options and signals.
#pragma once

#include "base/witness.hpp"

#include "statistics/statistics.hpp"
#include "verdict/verdict_store.hpp"

#include <recount/reason.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::command {

/// --seed; a random one when empty. Throws Error (bad_input), as the others do.
[[nodiscard]] std::uint64_t parse_seed(const std::string& text);
/// --cpu: a number, "none" (nothing), or empty: the CPU that is least disturbed.
[[nodiscard]] std::optional<int> parse_cpu(const std::string& text);
/// The words of comma-separated lists, empty ones left out, each once.
[[nodiscard]] std::vector<std::string> list_words(const std::vector<std::string>& lists);
/// The same as witnesses.
[[nodiscard]] std::vector<Witness> list_witnesses(const std::vector<std::string>& lists);

/// "without perf, papi: REASON": one line for all that is left out, with brief() reasons. Where there is no
/// core PMU, that is the reason for presets too, whatever their tables lack.
[[nodiscard]] std::string without_text(const std::map<std::string, Reason>& left_out);

/// The command line as it was typed, from /proc/self/cmdline.
[[nodiscard]] std::vector<std::string> command_line();

/// From now on SIGINT, SIGTERM and SIGHUP are recorded only; a second one ends the program at once.
void catch_stop_signals();
/// The number of the one that came; 0: none did.
[[nodiscard]] int stop_signal();

// The marks of recount check beside the values of other commands.

/// The help of --no-verdicts.
inline constexpr const char* no_verdicts_help = "do not mark values with the verdicts of recount check";

/// The marks on this machine; none where `left_out` (--no-verdicts). Verdicts that cannot be read are one
/// warning on stderr.
[[nodiscard]] verdict::Marks verdict_marks(const std::string& command, bool left_out);

/// "(dead on this machine)"; empty for an empty mark.
[[nodiscard]] inline std::string in_parentheses(const std::string& mark) {
  return mark.empty() ? mark : "(" + mark + ")";
}

// --statistic of commands that summarise repetitions.

inline constexpr const char* statistic_help =
    "show this statistic of the repetitions: median, minimum, mean (default median, with its 95 % interval)";

/// The median when empty. Throws recount::Error (bad_input).
[[nodiscard]] inline statistics::Statistic parse_statistic(const std::string& text) {
  return text.empty() ? statistics::Statistic::median : statistics::parse_statistic(text);
}

} // namespace recount::command
