// What a feature contributes to a report: a section, its lines of the summary, its part of the method.
#pragma once

#include "run/result/results_file.hpp"
#include "show/document/document.hpp"
#include "show/plot/sheet.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recount::document {

/// The results of one machine, or of one published table.
struct Part {
  std::string machine; ///< "CPU on HOST"
  bool published = false;
  std::shared_ptr<const result::Results> results;
};
/// For a Part that is not to be copied; `results` must outlive it.
[[nodiscard]] std::shared_ptr<const result::Results> unowned(const result::Results& results);
/// By machine, in the order of the runs. `results` must outlive the parts: those of one machine are not
/// copied.
[[nodiscard]] std::vector<Part> by_machine(const result::Results& results);
/// The observations of a part that are wanted; all its runs stay. The same part where all of them are.
[[nodiscard]] Part only(const Part& part, const std::function<bool(const result::Observation&)>& wanted);

/// A picture of the document, to be drawn.
struct RequestedPicture {
  std::string name; ///< as in Picture
  plot::Sheet sheet;
};

/// Collects the pictures of a document.
class Gallery {
public:
  /// `figures`: those to choose from; must outlive it.
  explicit Gallery(const std::vector<plot::Figure>& figures) : figures_(figures) {}
  /// Appends a figure of a part's results under a unique name, with a caption: contents, machine,
  /// witness, and meaning of the band. Nothing where the results lack its data.
  void add(std::vector<Block>& blocks, const std::string& figure, const Part& part);
  [[nodiscard]] const std::vector<RequestedPicture>& wanted() const { return wanted_; }
  /// Warnings of the figures: "not drawn, select with --witness: papi".
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

private:
  const std::vector<plot::Figure>& figures_;
  std::vector<RequestedPicture> wanted_;
  std::vector<std::string> warnings_;
};

/// What a section is written from.
struct Material {
  const result::Results& results;
  std::vector<Part> parts;
  std::string machine; ///< a described machine to compare the caches with; empty: as stated
  Gallery& gallery;
  bool full = true; ///< with what the short form leaves out: arguments, further tables, all values
};

/// A question of the assignments that the studies follow, and what the results answer.
struct Answer {
  std::string question = {};    ///< "L1d: size"
  std::string value = {};       ///< empty: not answerable from these results
  std::string reason = {};      ///< why the question, or a part of it, is not answered
  std::string proof = {};       ///< caption of the table with the cells; empty: none
  std::string cells = {};       ///< "row L1d capacity"
  std::string confidence = {};  ///< "high", "medium", "low", "modelled"
  bool partly_modelled = false; ///< of a value that is measured otherwise
  bool open = false;            ///< `value` has a comparison that is not established, marked "?"
  [[nodiscard]] std::string confidence_text() const {
    return confidence + (partly_modelled ? ", partly modelled" : "");
  }
};

/// A section of the report. Features list theirs; commands/cli/commands.cpp has the table of all, in their
/// order.
struct Section {
  std::string subject; ///< "caches", for the title
  /// Blocks under headings of their own; empty where there is nothing to report.
  std::function<std::vector<Block>(const Material&)> write;
  std::function<std::vector<std::string>(const Part&)> summary = {};     ///< sentences
  std::function<std::vector<Block>(const result::Results&)> method = {}; ///< for the section "Method"
  bool appendix = false;                                                 ///< placed after all other sections
  std::function<std::vector<Answer>(const Part&)> answers = {};          ///< in the order of the assignment
};

} // namespace recount::document
