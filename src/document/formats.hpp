// A document in the formats of reports. What it holds is not trusted: every word is escaped for its format,
// so that nothing in a results file becomes markup, a link, a script or a command.
#pragma once

#include "base/characters.hpp"
#include "document/document.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace recount::document {

/// CommonMark with the tables of GitHub; pictures are NAME.svg in the same folder.
[[nodiscard]] std::string to_markdown(const Document& document);

/// The SVG of a picture by its name; empty: there is none.
using Svg = std::function<std::string(const std::string& name)>;
/// One page that loads nothing: its style and pictures are within, and no script runs in it.
[[nodiscard]] std::string to_html(const Document& document, const Svg& svg);

/// LaTeX for pdflatex; pictures are NAME.pdf in the same folder. Of what is not Latin text and common signs
/// the code point is written, since no font of pdflatex has it.
[[nodiscard]] std::string to_latex(const Document& document);

/// An SVG for a place among others in a page: no XML declaration, and every name in it begins with `prefix`.
[[nodiscard]] std::string inlined(std::string_view svg, const std::string& prefix);

} // namespace recount::document
