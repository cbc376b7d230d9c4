// Commands as a user writes them down, taken apart without a shell; and the time that they tell of
// themselves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::kernel {

/// Words as a shell would split them: blanks separate; '...' and "..." hold them together; a backslash takes
/// the next character as it is, but not within '...'. Nothing is expanded. Throws recount::Error (bad_input),
/// naming `subject`, for a quote that is not closed and for no word at all.
[[nodiscard]] std::vector<std::string> words_of(std::string_view line, const std::string& subject);

/// The words in one line that words_of(), and a shell, would take apart again.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

/// Every {NAME} in the words replaced by its value; {{ and }} stand for braces. Throws likewise for a name
/// that has none, telling those there are.
[[nodiscard]] std::vector<std::string> filled_in(std::vector<std::string> words,
                                                 const std::map<std::string, std::string>& values,
                                                 const std::string& subject);

/// The last line of an output that reads "seconds 1.25", "time: 1250 ms" or "elapsed = 1.25 s", in any case
/// of letters, as seconds. Nothing where there is none.
[[nodiscard]] std::optional<double> told_seconds(std::string_view output);

/// The language that a program stands for: "Java" for java; the program's own name where it is not known.
[[nodiscard]] std::string language_of(const std::string& program);

} // namespace recount::kernel
