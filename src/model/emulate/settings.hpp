// The simulated machine and the options of recount emulate, from the environment.
#pragma once

#include "model/emulate/machine.hpp"

#include <linux/perf_event.h>
#include <optional>
#include <string>
#include <vector>

namespace recount::emulate {

/// A call that fails with this error instead of being executed: "open INST_RETIRED.ANY EBUSY 3".
struct Injection {
  std::string call;  ///< open, read, ioctl, mmap
  std::string event; ///< name of a row, "any" (row), or a class of Linux's software events
  int error = 0;
  std::uint64_t times = 0; ///< 0: always
};

struct Settings {
  SimulatedMachine machine;
  std::optional<long> paranoid; ///< perf_event_paranoid; none: that of Linux
  std::optional<long> mlock_kb; ///< perf_event_mlock_kb, per CPU
  bool watchdog = false;        ///< the NMI watchdog holds a counter
  bool rdpmc = true;            ///< user space may read counters
  double noise = 0;             ///< relative standard deviation of each increment
  std::uint64_t seed = 1;       ///< of the noise
  double mux_ms = 4;            ///< perf_event_mux_interval_ms
  bool exact = false;           ///< the server counts the executed instructions
  bool rates = false;           ///< counts are estimated from the CPU time of threads
  bool unbacked = false;        ///< no event of Linux is opened for an emulated one
  bool real_time = false;       ///< clocks are those of Linux
  double tick = 4e6;            ///< instructions between timer interrupts
  std::vector<Injection> injections;
  std::vector<std::string> dead_classes; ///< software events that open and count 0
  /// Whether emulated cycles are the time; not at constant rates of CPU time.
  [[nodiscard]] bool emulated_time() const { return !rates && !real_time; }
};

/// Software events by the names of perf, as classes of events.
inline constexpr std::pair<const char*, perf_sw_ids> software_classes[] = {
    {"cpu-clock", PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES}};

/// `changes`: see read_machine(); `options`: "noise 0.01\nwatchdog 1". Throws std::runtime_error.
[[nodiscard]] Settings read_settings(const std::string& machine_file, const std::string& changes,
                                     const std::string& options);
/// From the environment, at the first call. Ends the process with a message if the machine cannot be read.
[[nodiscard]] const Settings& settings();

} // namespace recount::emulate
