// The source text of functions, with samples beside its lines.
#pragma once

#include "profile/located.hpp"

#include <string>
#include <vector>

namespace recount::profile {

struct AnnotatedLine {
  int number = 0;
  std::string text;           ///< empty where the source cannot be read
  std::vector<Tally> tallies; ///< one for each event; empty: no samples
};
/// A part of a source file around the samples of the selected functions.
struct Annotation {
  std::string file;                 ///< as the debug information names it
  std::string trouble;              ///< why there is no text; empty: text available
  std::vector<AnnotatedLine> lines; ///< in order; numbers that are missing are far from any sample
};

/// The lines of functions whose name is `function`, as in symbol::Module::functions(), with what was inlined
/// into them: a part for each file. Empty when no sample lies in any.
[[nodiscard]] std::vector<Annotation> annotate(const Places& places, const Naming& naming,
                                               const std::string& function);

} // namespace recount::profile
