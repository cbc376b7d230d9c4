// What recount check prints.
#pragma once

#include "commands/check/check.hpp"
#include "run/batch.hpp"
#include "show/command/output.hpp"
#include "show/document/section.hpp"
#include "show/plot/sheet.hpp"

#include <string>
#include <vector>

namespace recount::check {

/// What --export writes: the verdicts, and what was not counted with the reason.
[[nodiscard]] std::vector<show::Table> check_tables(const Checked& checked);

struct CheckText {
  bool all = false; ///< list every preset that was not counted
  std::size_t columns = 80;
  bool coverage = true; ///< options many presets the kernels verify
};

/// One row per preset, the evidence of what is wrong, what was not counted by reason, and the coverage.
[[nodiscard]] std::string check_table(const Checked& checked, const CheckContext& context,
                                      const CheckText& options);

/// One object, as recount-check(1) documents it.
[[nodiscard]] std::string check_json(const Checked& checked, const CheckContext& context,
                                     const sweep::BatchResult& ended);

/// The point without what is the kernel's default anyway: "pages=1000".
[[nodiscard]] std::string short_point(const std::string& kernel, const result::Params& point);

// Everything about a check in one folder, as evidence for a change of a preset table.

/// Creates the folder. Throws Error (bad_input) where it cannot be created, and where it is not empty.
void make_bundle_folder(const std::string& folder);

/// Writes check.md (machine, verdicts, rows of the table), counts.jsonl (a results file), check.json and,
/// where gnuplot is installed, agreement.svg. Throws Error (bad_input) where a file cannot be written.
void write_bundle(const std::string& folder, const Checked& checked, const CheckContext& context,
                  const sweep::BatchResult& ended);

// The figure: counts relative to the expected ones; alone, and in a report.

/// `results` for the caption. Throws recount::Error (bad_input) when there is no preset with a count and
/// an expected count other than 0.
[[nodiscard]] plot::Sheet compose_agreement(const std::vector<PresetVerdict>& verdicts,
                                            const result::Results& results);

/// The figure "agreement" of the results of recount check.
[[nodiscard]] plot::Figure agreement_figure();

/// Draws it; "-" is text on stdout. Throws Error as plot::draw() does. With nothing to draw
/// it prints a note on stderr.
void plot_check(const std::string& path, const Checked& checked, const result::Results& results);

/// The validation of presets in a report.
[[nodiscard]] document::Section check_section();

} // namespace recount::check
