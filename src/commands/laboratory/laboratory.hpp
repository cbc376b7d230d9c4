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

} // namespace recount::laboratory
