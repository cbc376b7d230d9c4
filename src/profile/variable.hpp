// The address of a variable of a running program.
#pragma once

#include "profile/event_request.hpp"

#include <cstdint>
#include <sys/types.h>

namespace recount::profile {

/// Its address in the process now: of the variable of that name in its program, else in a library that it has
/// mapped. Throws Error (bad_input): there is none, or several differ; `event` names it in the message.
[[nodiscard]] std::uint64_t address_of(const Watched& watched, const std::string& event, pid_t pid);

} // namespace recount::profile
