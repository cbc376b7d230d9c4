// A report becomes files.
#pragma once

#include "report/build_report.hpp"

namespace recount::report {

enum class Format { markdown, html, latex };
/// Throws recount::Error (bad_input) naming those there are.
[[nodiscard]] Format parse_format(const std::string& name);

struct Published {
  std::vector<std::string> files;    ///< what was written, in the order of the formats, figures last
  std::vector<std::string> warnings; ///< figures that could not be drawn, no pdflatex, ...
};

/// Writes report.md, report.html, report.tex and the figures that they need into a folder, which is made when
/// it is not there; files of the same names are replaced, each whole or not at all. LaTeX is made into
/// report.pdf where pdflatex is installed. Without gnuplot the report has no figures and says so. Throws
/// recount::Error: bad_input where nothing can be written, unavailable when the disk is full.
[[nodiscard]] Published publish(Report report, const std::string& folder, const std::vector<Format>& formats);

} // namespace recount::report
