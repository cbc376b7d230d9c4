// The files of sysfs and procfs that name the emulated machine.
#pragma once

#include "emulate/file_overlay.hpp"
#include "emulate/machine.hpp"

#include <optional>
#include <string>

namespace recount::emulate {

/// What options change in them.
struct FileOptions {
  double mux_ms = 4;     ///< perf_event_mux_interval_ms
  bool rdpmc = true;     ///< counters may be read in user space
  bool watchdog = false; ///< the NMI watchdog is on
  std::string microcode; ///< empty: the machine's
  std::optional<long> paranoid, mlock_kb;
};

/// Puts them in place of those of this machine: PMUs, /proc/cpuinfo, caches, settings of /proc/sys/kernel.
/// Throws recount::Error (unavailable).
void replace_machine_files(const Machine& machine, const FileOptions& options, FileOverlay& overlay);

} // namespace recount::emulate
