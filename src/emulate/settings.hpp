// The simulated machine and the options of recount emulate, from the environment.
#pragma once

#include "emulate/machine.hpp"

#include <optional>
#include <string>
#include <vector>

namespace recount::emulate {

/// An error to be given in place of a call: "open INST_RETIRED.ANY EBUSY 3".
struct Injection {
  std::string call;  ///< open, read, ioctl, mmap
  std::string event; ///< name of a row, "any" (row), or a class of Linux's own events
  int error = 0;
  std::uint64_t times = 0; ///< 0: always
};

struct Settings {
  Machine machine;
  std::optional<long> paranoid; ///< perf_event_paranoid; without it Linux decides
  std::optional<long> mlock_kb; ///< perf_event_mlock_kb, of each CPU
  bool watchdog = false;        ///< the NMI watchdog holds a counter
  bool rdpmc = true;            ///< user space may read counters
  double noise = 0;             ///< relative standard deviation of each increment
  std::uint64_t seed = 1;       ///< of the noise
  double mux_ms = 4;            ///< perf_event_mux_interval_ms
  bool exact = false;           ///< the server counts what programs execute
  bool rates = false;           ///< what a thread executes follows from its CPU time
  bool unbacked = false;        ///< Linux opens no event behind an emulated one
  bool virtual_time = false;    ///< time passes by simulated cycles alone
  double tick = 4e6;            ///< instructions from one interrupt to the next
  std::vector<Injection> injections;
  std::vector<std::string> dead_classes; ///< events of Linux's own that open and count 0
};

/// `changes`: see read_machine(); `options`: "noise 0.01\nwatchdog 1". Throws std::runtime_error.
[[nodiscard]] Settings read_settings(const std::string& machine_file, const std::string& changes,
                                     const std::string& options);
/// From the environment: read at the first call. Ends the process with a message when the machine cannot be
/// read.
[[nodiscard]] const Settings& settings();

} // namespace recount::emulate
