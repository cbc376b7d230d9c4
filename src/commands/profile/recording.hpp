// The requested events of a profile, its target, and the recording of samples.
#pragma once

#include "base/host/disturbance.hpp"
#include "base/process/child.hpp"
#include "base/process/waiter.hpp"
#include "commands/profile/places.hpp"
#include "count/perf/removed.hpp"

#include <recount/reason.hpp>
#include <recount/sampling.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::profile {

/// One word of -e: "EVENT", "EVENT:period=N" or "EVENT:freq=F".
struct EventRequest {
  std::string name;                        ///< of the event, without period and frequency
  std::uint64_t period = 0, frequency = 0; ///< both 0: default of the event
};

/// Splits lists at commas that no "PMU/.../" encloses and parses each word. Throws Error (bad_input).
[[nodiscard]] std::vector<EventRequest> parse_event_requests(const std::vector<std::string>& lists);

/// A data breakpoint on a variable by its name, "mem:NAME[+OFFSET][/LENGTH][:rw]".
struct WatchedVariable {
  std::string name;
  std::uint64_t offset = 0;
  std::string rest; ///< "/8:w"
};
/// Nothing if the event is something else, or its address is a number. Throws Error (bad_input).
[[nodiscard]] std::optional<WatchedVariable> parse_watched_variable(const std::string& event);

/// The event, on a hybrid CPU one for each core type that has it, ready to be sampled; `fallback` where its
/// name gives no domain. Without period and frequency, every occurrence of software events and breakpoints,
/// and 1000 samples per second of clocks and of hardware events. Throws Error.
[[nodiscard]] std::vector<SampledEvent> sampled_events(const EventRequest& requested, Domain fallback);

/// Whether a sample of this event reports the instruction after the one that caused it: data breakpoints are
/// traps.
[[nodiscard]] bool reports_next_instruction(const Event& event);
/// Whether its occurrences are nanoseconds.
[[nodiscard]] bool is_clock(const Event& event);
/// Occurrences per sample, also of a clock with a frequency; 0: Linux adapts it. Pure.
[[nodiscard]] double sampling_period(const SampledEvent& event);
/// "3 occurrences", "12.5 ms" of a clock. Pure.
[[nodiscard]] std::string amount_text(const SampledEvent& event, double amount);

/// What to profile: the processes, until the command ends if there is one; without processes, the command.
struct TargetOptions {
  std::vector<std::string> command;
  std::vector<pid_t> pids;
  std::optional<int> cpu; ///< the command runs on this one only
};

/// The command inherits the terminal and the descriptors and receives the signals of the terminal; signals
/// from other processes are forwarded to it. It continues if recount is killed.
class Target {
public:
  /// `stopped`: a command to be profiled waits at its entry point instead of before exec, with its libraries
  /// mapped and nothing of it run. Throws process::CannotRun, and Error (bad_input) when there is no such
  /// process.
  Target(const TargetOptions& options, bool stopped);
  /// The profiled processes: at least one.
  [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }
  [[nodiscard]] pid_t pid() const noexcept { return pids_.front(); }
  [[nodiscard]] bool started_here() const noexcept { return options_.pids.empty(); }
  void go(); ///< lets the command run
  /// Whether to stop: the profiled processes or the command have ended, or a signal arrived while profiling
  /// processes (a command handles its signals itself).
  [[nodiscard]] bool over();
  /// Processor time of a profiled command, see process::Child::cpu_time(); 0 else.
  [[nodiscard]] std::chrono::nanoseconds cpu_time() const;
  /// Waits for the command: how it ended. Without a command as if it had succeeded.
  [[nodiscard]] process::Exit end();

private:
  void start(bool held, bool traced);

  process::HeldSignals signals_;
  TargetOptions options_;
  std::optional<process::Child> child_;
  std::vector<pid_t> pids_;
  bool traced_ = false;
};

/// What was recorded of a command that a signal killed is incomplete.
[[nodiscard]] inline bool killed(const process::Exit& exit) {
  return exit.how == process::Exit::How::signalled;
}

/// How call chains are found.
enum class CallGraph {
  fp,    ///< by frame pointers, which the kernel follows
  dwarf, ///< by call frame information, from sampled stacks
  lbr    ///< by the branch stack of Intel CPUs
};

struct RecordSettings {
  std::vector<EventRequest> events;
  TargetOptions who;
  bool chains = false;
  unsigned frames = 0; ///< of a chain; 0: as many as the kernel allows
  CallGraph call_graph = CallGraph::fp;
  std::uint32_t stack_bytes = 8192; ///< of each sample, with CallGraph::dwarf
  std::string section = {};         ///< a model simulates only this one; empty: everything
  std::string from = {}, to = {};   ///< and only between these functions, see trace::FunctionRange
  bool objects = false;             ///< of a model: by data object
  std::int64_t sample_every = 0;    ///< a model simulates one of so many windows of accesses; 0: all
  std::string debug_path = {};      ///< for these objects
};

/// The recorded samples.
struct Recording {
  std::vector<SampledEvent> events;
  Places places;
  Files files;
  SamplingReport report;
  Reason not_counted;                   ///< why 0 samples do not mean 0 occurrences; empty: they do
  std::vector<std::string> notes;       ///< notes for the reader, full sentences
  double seconds = 0;                   ///< wall time of the recording
  process::Exit exit = {};              ///< of the command
  std::vector<DataObject> objects = {}; ///< of a model, see Place::object
  std::vector<Flag> sampled = {};       ///< of a sampled simulation: share and error of each event
};

/// Records from the start of the target to its end (see Target::over()). Throws as Target and Sampling do,
/// and Error (bad_input) for a variable that the program does not have.
[[nodiscard]] Recording record(const RecordSettings& settings);

/// Adds what samples do not show: events that Linux removed, and occurrences without a sample. `command`: its
/// PID, and the processor time that it used; 0: none was started.
void add_limitations(Recording& recording, const perf::Removals& removals, pid_t command,
                     std::chrono::nanoseconds used);

/// A note if most call chains have one frame, as without frame pointers; else, and with few samples, empty.
/// Pure.
[[nodiscard]] std::string missing_frame_pointers(const Places& places);

/// The default domain: all, or user mode if this user may not sample the kernel.
[[nodiscard]] Domain permitted_domain();

// A profile by simulation: recount profile -e model:PAPI_L1_DCM.

/// "model:METRIC" (this machine) or "model:NAME:METRIC".
struct ModelledEvent {
  std::string machine; ///< as model::machine() takes it
  std::string metric;
};
/// Nothing for another event. Pure.
[[nodiscard]] std::optional<ModelledEvent> modelled_event(const std::string& event);

/// Whether these are events of a model. Throws Error (bad_input) for both kinds, and for several machines.
[[nodiscard]] bool are_modelled(const std::vector<EventRequest>& events);

/// A modelled event, and all of trace::MissKinds. Throws Error as model::machine() does.
[[nodiscard]] std::vector<EventRequest> with_kinds(const EventRequest& first);

/// Whether an event is one of these that simulate a changed machine, which advice_text() shows. Pure.
[[nodiscard]] bool only_advises(const std::string& event);

/// Simulates the command: every occurrence is one sample of the instruction that causes it. Throws Error as
/// model::machine() and trace::tool_command() do.
[[nodiscard]] Recording record_modelled(const RecordSettings& settings);

} // namespace recount::profile
