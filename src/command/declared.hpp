// What a command accepts, as data: for completions.
#pragma once

#include "command/command.hpp"

#include <string>
#include <vector>

namespace recount::command {

struct DeclaredOption {
  std::vector<std::string> names; ///< "-e", "--event": the long one last
  std::string value;              ///< "LIST"; empty: a flag
  std::string prose;
};

struct Declared {
  std::vector<DeclaredOption> options;
  std::string words;    ///< what the positional arguments are: "PRESET"; empty: none
  bool program = false; ///< they are a program and its arguments
};

[[nodiscard]] Declared declared(const Command& command);

} // namespace recount::command
