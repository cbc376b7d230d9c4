// Hostile text in every string of a file, and what must hold of all that is made of it.
#pragma once

#include "base/json.hpp"
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace recount::hostile {

/// The number of cases: RECOUNT_CASES, else the meson option property_cases.
[[nodiscard]] int cases();

/// What each file of tests/data/results holds.
[[nodiscard]] std::string formula_text(const std::string& path);

/// Pieces that mean something to gnuplot, a shell, LaTeX, HTML, Markdown, a terminal. A command in one of
/// them makes the file `marker`.
[[nodiscard]] std::vector<std::string> pieces(const std::string& marker);
/// The first of them, which execute a command where they leave a comment or a string.
inline constexpr std::size_t command_pieces = 9;
/// One to three of them, with or without other text around.
[[nodiscard]] std::string payload(std::mt19937& random, const std::vector<std::string>& pieces);

/// A JSON file, one object a line or one in all, whose strings are replaced one by one.
class JsonText {
public:
  explicit JsonText(const std::string& text);
  /// The text with one or two of its strings, names of members among them, replaced wherever they stand:
  /// the id of a run stays the same on all its lines.
  [[nodiscard]] std::string mutated(std::mt19937& random, const std::vector<std::string>& pieces) const;

private:
  std::vector<recount::Json> lines_;
  std::vector<std::string> strings_; ///< all different ones
};

/// Words that a script holds outside its strings, comments and data.
void collect_words(std::string_view script, std::set<std::string>& words);
/// What is wrong with a script, nothing: it holds known words only, all other text is within strings and
/// comments, and strings of a TeX terminal hold no command.
[[nodiscard]] std::optional<std::string> fault_of_script(std::string_view script,
                                                         const std::set<std::string>& words);
/// The same of a page, whose elements must be among these; of LaTeX, whose commands must; of Markdown.
[[nodiscard]] std::set<std::string> elements_of(std::string_view html);
[[nodiscard]] std::set<std::string> commands_of(std::string_view tex);
[[nodiscard]] std::optional<std::string> fault_of_html(std::string_view html,
                                                       const std::set<std::string>& elements);
[[nodiscard]] std::optional<std::string> fault_of_latex(std::string_view tex,
                                                        const std::set<std::string>& commands);
[[nodiscard]] std::optional<std::string> fault_of_markdown(std::string_view markdown);
/// Of text for a terminal: no control but line ends and tabs.
[[nodiscard]] std::optional<std::string> fault_of_terminal_text(std::string_view text);

} // namespace recount::hostile
