// Writes a report to files.
#pragma once

#include "report/build_report.hpp"

#include <string>
#include <vector>

namespace recount::report {

enum class Format { markdown, html, latex, csv };
/// Throws recount::Error (bad_input) that lists the formats.
[[nodiscard]] Format parse_format(const std::string& name);

struct Published {
  std::vector<std::string> files;    ///< that were written, in the order of the formats, figures last
  std::vector<std::string> warnings; ///< figures that could not be drawn, pdflatex missing, ...
};

/// Writes report.md, report.html and report.tex, table-N.tex and table-N.csv for each table, and the figures
/// that they include into a folder, which is created if missing. Existing files of these names are replaced
/// atomically. If pdflatex is installed, report.pdf is made too. If gnuplot is missing or fails, the report
/// has no figures and says why. Throws recount::Error: bad_input if the folder or a file cannot be written,
/// unavailable if the disk is full.
[[nodiscard]] Published publish(Report report, const std::string& folder, const std::vector<Format>& formats);

} // namespace recount::report
