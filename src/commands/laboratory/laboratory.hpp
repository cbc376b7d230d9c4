// recount laboratory: the assignment on caches in one command, from the measurements to the report.
#pragma once

#include "show/command/command.hpp"
#include "show/document/section.hpp"

#include <functional>
#include <string>
#include <vector>

namespace recount::laboratory {

/// A report before it is written.
struct Paper {
  document::Document document;
  std::vector<document::RequestedPicture> pictures;
};

struct Written {
  std::vector<std::string> files, warnings;
};

/// What other features contribute.
struct Features {
  std::function<const std::vector<plot::Figure>&()> figures;
  std::vector<document::Section> sections;                          ///< in the order of the assignment
  std::function<Written(Paper, const std::string& folder)> publish; ///< creates the folder
};

/// `features` is copied.
[[nodiscard]] command::Command laboratory_command(const Features& features);

/// How often perf and PAPI counted the same, and how far they differ.
struct CountedTwice {
  std::size_t values = 0;
  double largest = 0; ///< difference, as a share of the larger of count and accesses
};
[[nodiscard]] CountedTwice compare_twice(const result::Results& results);

/// "misses are counted by papi and perf (58 values counted twice; largest difference 0.01 %)", "misses are
/// modelled ...".
[[nodiscard]] std::string source_of_misses(const result::Results& results);

/// All answers of the sections, in their order.
[[nodiscard]] std::vector<document::Answer> collect_answers(const result::Results& results,
                                                            const std::vector<document::Section>& sections);

/// The report of the first machine. `files`: the results and tables beside it, to be named.
[[nodiscard]] Paper write_paper(const result::Results& results, const Features& features,
                                const std::vector<std::string>& files);

/// The answers of at most a line each, on a terminal of so many columns.
[[nodiscard]] std::string answers_screen(const result::Results& results,
                                         const std::vector<document::Answer>& answers, std::size_t columns);

} // namespace recount::laboratory
