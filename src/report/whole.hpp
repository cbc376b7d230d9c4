// The whole report: what results files say, in the order in which a reader asks.
#pragma once

#include "plot/figure.hpp"
#include "document/document.hpp"
#include "result/read.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace recount::report {

/// What results say of one machine, or of one published table.
struct Part {
  std::string machine; ///< "CPU on HOST"
  bool published = false;
  std::shared_ptr<const result::Results> results;
};
/// By machine, in the order of the runs.
[[nodiscard]] std::vector<Part> by_machine(const result::Results& results);
/// The observations of a part that are wanted; all its runs stay.
[[nodiscard]] Part only(const Part& part, const std::function<bool(const result::Observation&)>& wanted);

/// A picture of the document, to be drawn.
struct Wanted {
  std::string name; ///< as in Picture
  std::string figure;
  std::shared_ptr<const result::Results> results;
};

/// Gathers the pictures of a document.
class Gallery {
public:
  /// The figure of a part's results under a name of its own, with a caption that says what it shows, of which
  /// machine, by which witness, and what the band is. Nothing where the results cannot fill it.
  std::optional<Picture> add(const std::string& figure, const Part& part);
  [[nodiscard]] const std::vector<Wanted>& wanted() const { return wanted_; }
  /// What the figures warn of: "not drawn, choose with --witness: papi".
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

private:
  std::vector<Wanted> wanted_;
  std::vector<std::string> warnings_;
};

/// What a report is made of, beside the results.
struct Origin {
  std::vector<std::string> files; ///< as they were named
  std::string version;            ///< of recount
  std::string machine;            ///< a described machine to hold found caches against; empty: as stated
};

struct Report {
  Document document;
  std::vector<Wanted> pictures;
};
/// Throws recount::Error (bad_input) for an unknown machine, and when the results hold nothing to report.
[[nodiscard]] Report whole(const result::Results& results, const Origin& origin);

// The sections; each is empty where there is nothing to say.
[[nodiscard]] std::vector<Block> machines_section(const std::vector<Part>& parts);
[[nodiscard]] std::vector<Block> method_section(const result::Results& results);
[[nodiscard]] std::vector<Block> caches_section(const std::vector<Part>& parts, const std::string& machine,
                                                Gallery& gallery);
[[nodiscard]] std::vector<Block> sweeps_section(const std::vector<Part>& parts, Gallery& gallery);
[[nodiscard]] std::vector<Block> warnings_section(const result::Results& results);
/// What was asked for and never counted, each witness and reason once; what was left out and why.
[[nodiscard]] std::vector<std::string> not_counted(const result::Results& results);

/// What of a machine the reader should know first: the caches that were found, the best products. Sentences.
[[nodiscard]] std::vector<std::string> in_short(const std::vector<Part>& parts);

} // namespace recount::report
