// recount watch --connect.
#pragma once

#include "watch/view.hpp"

#include <string>

namespace recount::watch {

/// Shows the watch at the address until it ends, or until a signal or the key q. Returns the exit status.
/// Throws Error: unavailable if the connection fails or breaks, bad_input if the peer sends invalid lines.
int watch_remotely(const std::string& address, const ViewSettings& settings);

} // namespace recount::watch
