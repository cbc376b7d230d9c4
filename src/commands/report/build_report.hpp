// Builds the document of a report from its sections, and writes it to files.
#pragma once

#include "show/document/section.hpp"

#include <string>
#include <vector>

namespace recount::report {

/// Parameters of a report besides the results.
struct Origin {
  std::vector<std::string> files; ///< as they were named
  std::string version;            ///< of recount
  std::string machine;            ///< a described machine to compare the caches with; empty: as stated
  bool full = true;               ///< else what was found, with the figures and tables that show it
};

/// The figures and sections that a report is made of.
struct Tables {
  const std::vector<plot::Figure>& figures;
  const std::vector<document::Section>& sections;
};

struct Report {
  document::Document document;
  std::vector<document::RequestedPicture> pictures;
  std::vector<show::Table> files; ///< each beside the document, as show::Table::file names it
};
/// Throws recount::Error (bad_input) for an unknown machine, when the results hold nothing to report, and
/// with the place where a rate is outside 0 to 1 or a figure lacks a curve that its caption promises.
[[nodiscard]] Report build_report(const result::Results& results, const Origin& origin, const Tables& tables);

// The general sections; each is empty where there is nothing to report.
[[nodiscard]] std::vector<document::Block> machines_section(const std::vector<document::Part>& parts,
                                                            bool full);
[[nodiscard]] std::vector<document::Block> method_section(const result::Results& results,
                                                          const std::vector<document::Section>& sections);
/// Metrics requested and never counted, with the reason; parts not run, with the reason. Not `full`: without
/// what a model did not determine.
[[nodiscard]] std::vector<document::Block> not_counted_section(const result::Results& results, bool full);
[[nodiscard]] std::vector<document::Block> warnings_section(const result::Results& results,
                                                            const std::vector<std::string>& of_figures);
/// What recount stat counted in programs, where recount profile saw it, and the figures of both.
[[nodiscard]] document::Section programs_section();

// Writing it to files.

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
