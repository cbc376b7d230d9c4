// What the process gives up for the command: its mounts, its capabilities.
#pragma once

namespace recount::emulate {

/// Moves this process, which has one thread, into a mount namespace of its own; a user without the privilege
/// into a user namespace, too, where he keeps his number. False: not allowed, as in most containers, and
/// nothing has changed.
[[nodiscard]] bool enter_namespace();

/// Drops every capability, for what this process executes, too. Throws recount::Error (unavailable).
void drop_capabilities();

} // namespace recount::emulate
