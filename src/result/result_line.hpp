// The place of a run in a job, kept among Run::versions.
#pragma once

#include <algorithm>
#include <string_view>

namespace recount::result {

/// Members of their own in a line of type run; in Run::versions under the same names. Absent: no launcher
/// stated it.
inline constexpr const char* job_fields[] = {"node", "job", "step", "task", "tasks"};

[[nodiscard]] inline bool is_job_field(std::string_view name) {
  return std::ranges::find(job_fields, name) != std::ranges::end(job_fields);
}

} // namespace recount::result
