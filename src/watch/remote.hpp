// The viewer at the other end of a socket.
#pragma once

#include "watch/view.hpp"

#include <string>

namespace recount::cli {

/// Shows what is told at the address until it ends, or a signal or the key q comes. The exit status. Throws
/// Error: unavailable when nobody answers or the connection breaks, bad_input for a peer that sends something
/// else.
int watch_remotely(const std::string& address, const ViewSettings& settings);

} // namespace recount::cli
