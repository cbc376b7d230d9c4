// Names that an argument may be, for completions: what this program and this machine know at the moment.
#pragma once

#include <string>
#include <vector>

namespace recount::cli {

struct Candidate {
  std::string text, prose;
};

/// What a word may become.
struct Candidates {
  enum class Kind { names, files, folders };
  Kind kind = Kind::names;
  std::vector<Candidate> names;
};

/// Values of an option, by its long name and the placeholder of its value. `typed`: what is there of the
/// value already, or of its last item.
[[nodiscard]] Candidates option_values(const std::string& option, const std::string& placeholder,
                                       const std::string& typed);
/// Positional arguments of a command, by their placeholder ("PRESET").
[[nodiscard]] Candidates arguments_of(const std::string& command, const std::string& placeholder,
                                      const std::string& typed);
/// The options that a kernel adds to `recount sweep`; none for any other word.
[[nodiscard]] std::vector<Candidate> kernel_options(const std::string& kernel);
/// The parameters of the nest in a file as options; none if it cannot be read.
[[nodiscard]] std::vector<Candidate> nest_options(const std::string& file);
/// What the option "--NAME" of a kernel takes.
[[nodiscard]] Candidates kernel_values(const std::string& kernel, const std::string& option);
/// The commands that users see.
[[nodiscard]] std::vector<Candidate> command_names();

} // namespace recount::cli
