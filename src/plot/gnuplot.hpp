// Gnuplot as a child process: no shell, no signal, no swallowed status.
#pragma once

#include "plot/gnuplot_writer.hpp"

#include <functional>
#include <string>

namespace recount::plot {

/// Starts gnuplot with the default settings only (no ~/.gnuplot), lets `send` write its commands to it, and
/// waits for the end. Returns what it wrote to stderr: warnings. Throws recount::Error (unavailable) with
/// gnuplot's own words when it is missing, cannot be started, stops reading, reports an error, hangs or ends
/// with another status than 0. SIGPIPE is neither raised nor left pending.
std::string run_gnuplot(const std::function<void(GnuplotWriter&)>& send);

} // namespace recount::plot
