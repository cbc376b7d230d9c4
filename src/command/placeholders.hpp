// {host}, {task} and others in the names of output files.
#pragma once

#include "host/job.hpp"

#include <string>

namespace recount::command {

/// Replaces {host}, {node} (the host where no launcher names it), {job}, {step}, {task} (also {rank}),
/// {tasks} and {pid}; "{{" is a literal "{". A text without "{" is returned as it is. Throws Error
/// (bad_input), naming `option`, for an unknown placeholder, and for one whose value is not known here.
[[nodiscard]] std::string replace_placeholders(const std::string& option, const std::string& text,
                                               const host::Job& job, const std::string& host);
/// The same with this process's job and host.
[[nodiscard]] std::string replace_placeholders(const std::string& option, const std::string& text);

} // namespace recount::command
