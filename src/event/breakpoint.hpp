// Hardware breakpoints as events: "mem:ADDRESS[/LENGTH][:rwx]".
#pragma once

#include <recount/event.hpp>

#include <string>

namespace recount::event {

/// Encodes a breakpoint (perf_event_open(2), PERF_TYPE_BREAKPOINT), the text as written by perf-record(1).
/// The length is 4 bytes unless given, and the size of a long for execution. Throws Error (bad_input). Pure.
[[nodiscard]] Event encode_breakpoint(const std::string& name, Domain fallback);

} // namespace recount::event
