// What recount check prints.
#pragma once

#include "check/check.hpp"
#include "command/output.hpp"
#include "sweep/session.hpp"

#include <string>

namespace recount::check {

/// What --export writes: the verdicts, and what was not counted with the reason.
[[nodiscard]] std::vector<command::Table> check_tables(const Checked& checked);

struct CheckText {
  bool all = false; ///< list every preset that was not counted
  std::size_t columns = 80;
  bool coverage = true; ///< how many presets the kernels verify
};

/// One row per preset, the evidence of what is wrong, what was not counted by reason, and the coverage.
[[nodiscard]] std::string check_table(const Checked& checked, const CheckContext& context,
                                      const CheckText& how);

/// One object, as recount-check(1) documents it.
[[nodiscard]] std::string check_json(const Checked& checked, const CheckContext& context,
                                     const sweep::Ended& ended);

/// The point without what is the kernel's default anyway: "pages=1000".
[[nodiscard]] std::string short_point(const std::string& kernel, const result::Params& point);

} // namespace recount::check
