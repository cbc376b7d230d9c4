// The formats of figures and the gnuplot terminals behind them.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace recount::plot {

enum class Format { pdf, svg, png, tikz, cairolatex, dumb };

/// Throws recount::Error (bad_input) with the known formats when there is none of that name.
[[nodiscard]] Format parse_format(const std::string& name);
[[nodiscard]] std::string name_of(Format format);
/// All, in the order of the enumeration.
[[nodiscard]] std::vector<Format> formats();
/// The format that a path's suffix stands for (.pdf .svg .png .tikz .tex .txt); nothing for any other.
[[nodiscard]] std::optional<Format> format_of(const std::string& path);
/// `path` with its suffix, if it is one of a format, replaced by the one of `format`. A cairolatex figure
/// becomes NAME-latex.tex, since it brings a PDF of the same name.
[[nodiscard]] std::string with_suffix(const std::string& path, Format format);

/// Text that LaTeX will set: its special characters need escaping.
[[nodiscard]] inline bool is_tex(Format f) {
  return f == Format::tikz || f == Format::cairolatex;
}

/// Large values in thousands, millions, so that the numbers at an axis stay short.
struct Magnitude {
  double factor = 1;
  std::string word; ///< "million"; empty: as they are
};

[[nodiscard]] inline Magnitude magnitude_of(double most) {
  if (most >= 2e9) return {1e9, "billion"};
  if (most >= 2e6) return {1e6, "million"};
  if (most >= 2e3) return {1e3, "thousand"};
  return {};
}

} // namespace recount::plot
