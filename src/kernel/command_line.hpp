// Parses command lines without a shell, and the time that commands print.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::kernel {

/// Words as a shell would split them: blanks separate; '...' and "..." hold them together; a backslash
/// escapes the next character, but not within '...'. Nothing is expanded. Throws recount::Error (bad_input),
/// naming `subject`, for a quote that is not closed and for no word at all.
[[nodiscard]] std::vector<std::string> split_words(std::string_view line, const std::string& subject);

/// Joins words into one line that split_words() and a shell split again.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

/// Every {NAME} in the words replaced by its value; {{ and }} stand for braces. Throws likewise for a name
/// that has none, with the known names.
[[nodiscard]] std::vector<std::string> filled_in(std::vector<std::string> words,
                                                 const std::map<std::string, std::string>& values,
                                                 const std::string& subject);

/// The last line of an output that reads "seconds 1.25", "time: 1250 ms" or "elapsed = 1.25 s", in any case
/// of letters, as seconds. Nothing where there is none.
[[nodiscard]] std::optional<double> reported_seconds(std::string_view output);

/// The language of a program: "Java" for java; the program's own name where it is not known.
[[nodiscard]] std::string guess_language(const std::string& program);

} // namespace recount::kernel
