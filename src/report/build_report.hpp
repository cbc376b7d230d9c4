// Builds the document of a report from its sections.
#pragma once

#include "document/section.hpp"

#include <string>
#include <vector>

namespace recount::report {

/// Parameters of a report besides the results.
struct Origin {
  std::vector<std::string> files; ///< as they were named
  std::string version;            ///< of recount
  std::string machine;            ///< a described machine to compare the caches with; empty: as stated
};

/// The figures and sections that a report is made of.
struct Tables {
  const std::vector<plot::Figure>& figures;
  const std::vector<document::Section>& sections;
};

struct Report {
  document::Document document;
  std::vector<document::RequestedPicture> pictures;
};
/// Throws recount::Error (bad_input) for an unknown machine, and when the results hold nothing to report.
[[nodiscard]] Report build_report(const result::Results& results, const Origin& origin, const Tables& tables);

// The general sections; each is empty where there is nothing to report.
[[nodiscard]] std::vector<document::Block> machines_section(const std::vector<document::Part>& parts);
[[nodiscard]] std::vector<document::Block>
method_section(const result::Results& results, const std::vector<document::Section>& sections, bool appendix);
[[nodiscard]] std::vector<document::Block> warnings_section(const result::Results& results,
                                                            const std::vector<std::string>& of_figures);
/// Presets and events of the results that did not agree in recount check, with their counts in programs.
[[nodiscard]] std::vector<document::Block> verdicts_section(const std::vector<document::Part>& parts);
/// Appends the mark to every cell that is the name of such a preset or event.
void mark_tables(std::vector<document::Block>& blocks, const std::vector<document::Part>& parts);
/// Metrics requested and never counted, with the reason; parts not run, with the reason.
[[nodiscard]] std::vector<std::string> not_counted(const result::Results& results);

} // namespace recount::report
