// Shared by the commands that measure: options and signals.
#pragma once

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

/// "without perf, papi: REASON": one line for all that is left out, with brief() reasons. Where there is no
/// core PMU, that is the reason for presets too, whatever their tables lack.
[[nodiscard]] std::string without_text(const std::map<std::string, std::string>& left_out);

/// The command line as it was typed, from /proc/self/cmdline.
[[nodiscard]] std::vector<std::string> command_line();

/// From now on SIGINT, SIGTERM and SIGHUP are recorded only; a second one ends the program at once.
void catch_stop_signals();
/// The number of the one that came; 0: none did.
[[nodiscard]] int stop_signal();

} // namespace recount::command
