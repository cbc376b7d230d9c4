// What recount check prints.
#pragma once

#include "command/output.hpp"
#include "check/check.hpp"
#include "sweep/session.hpp"

#include <string>

namespace recount::cli {

/// What --export writes: the verdicts, and what was not counted with the reason.
[[nodiscard]] std::vector<Table> check_tables(const study::Checked& checked);

struct CheckText {
  bool all = false; ///< also every preset that was not counted, one by one
  std::size_t columns = 80;
  bool coverage = true; ///< how many presets the kernels prove
};

/// A row a preset, what is wrong in detail, what was not counted by reason, and how far the kernels reach.
[[nodiscard]] std::string check_table(const study::Checked& checked, const study::Ground& ground,
                                      const CheckText& how);

/// One object, as recount-check(1) documents it.
[[nodiscard]] std::string check_json(const study::Checked& checked, const study::Ground& ground,
                                     const sweep::Ended& ended);

/// The point without what is the kernel's default anyway: "pages=1000".
[[nodiscard]] std::string short_point(const std::string& kernel, const result::Params& point);

} // namespace recount::cli
