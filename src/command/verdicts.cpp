#include "command/verdicts.hpp"

#include "command/print.hpp"

#include <recount/error.hpp>

namespace recount::command {

verdict::Marks verdict_marks(const std::string& command, bool left_out) {
  if (left_out) return {};
  try {
    return verdict::Marks::here();
  } catch (const Error& error) {
    command::note("recount {}: warning: {}: {}; values are not marked with verdicts\n", command,
                  error.problem().subject, error.problem().cause);
    return {};
  }
}

} // namespace recount::command
