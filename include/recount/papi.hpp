// Counting through PAPI: event sets, and what PAPI can really count on this machine.
#pragma once

#include <recount/event.hpp>
#include <recount/reason.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount {

/// A PAPI event set: preset events ("PAPI_TOT_INS") and native ones ("perf::PAGE-FAULTS") side by side.
///
/// Counts the thread that made it and must be used by that thread only; any number of threads may each have
/// sets of their own, and a thread may own several, of which PAPI runs one at a time per component.
/// PAPI's default domain is user space only, so that perf::CONTEXT-SWITCHES, which happen inside Linux, read
/// 0: ask for Domain::all, or qualify the event ("perf::CONTEXT-SWITCHES:k"). A qualifier is honoured
/// exactly. (PAPI by itself knows only the forms ":u=" and ":k=", and lets the set's domain decide whichever
/// of the two is not written; here ":k" means the kernel and nothing else, for native events as for
/// raw ones. Presets always follow the set.)
///
/// After PAPI_shutdown() by the program itself a set throws Error, and a new one initialises PAPI again. PAPI
/// 7 permits that to the thread that shut it down only: others hold freed memory of PAPI; and 7.0 itself
/// writes to a table that it freed, which may crash. Not for signal handlers nor for a forked child, which
/// shares PAPI's descriptors with its parent.
///
/// Every function throws recount::Error with PAPI's own error name and text. Source: PAPI 7's papi.h.
class PapiSet {
public:
  /// Initialises PAPI when this is its first use (see papi::initialise) and adds the events in order. When a
  /// private table is loaded (PAPI_CSV_EVENT_FILE, PAPI_USER_EVENTS_FILE), the set is first started, read and
  /// stopped in a forked child: a formula that aborts PAPI becomes an Error naming the file and the signal.
  /// Throws Error: bad_input for a name nobody knows (with the nearest names), for no events, or for events
  /// of several components; unavailable when this machine cannot count an event, or not all at once.
  explicit PapiSet(std::vector<std::string> names, Domain domain = Domain::user);
  PapiSet(PapiSet&&) noexcept;
  PapiSet& operator=(PapiSet&&) noexcept;
  ~PapiSet();

  /// Zeroes the counters and counts. Throws when running already, or when another set of the thread runs.
  void start();
  /// Stops and returns the counts since start() or reset(), in the order of names(). Throws when not running.
  std::vector<long long> stop();
  /// The counts so far; goes on counting. After stop(): the counts of that stop. Throws before any start().
  [[nodiscard]] std::vector<long long> read();
  /// The same without an allocation; `values` must hold size() of them (Error otherwise).
  void read(std::span<long long> values);
  void stop(std::span<long long> values);
  /// Adds the counts to `values` and zeroes the counters; goes on counting. An empty vector counts as zeroes.
  void accumulate(std::vector<long long>& values);
  /// Zeroes the counters; goes on counting.
  void reset();

  [[nodiscard]] bool running() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// The names as they were given.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept;

private:
  struct State;
  std::unique_ptr<State> state_;
};

namespace papi {

/// Initialises PAPI and its threads once for the process; later calls cost a branch. When
/// PAPI_CSV_EVENT_FILE or PAPI_USER_EVENTS_FILE is set, a forked child tries first, because PAPI 7.0 crashes
/// on a table with a wrong type or an unknown second term. Throws Error (unavailable) naming the file and
/// the signal, or PAPI's error; this process lives on, and a later call tries again. Thread-safe, but the
/// first call is best made before threads are started, since it may fork.
void initialise();

/// PAPI's version, "7.0.0.0". Needs no initialisation.
[[nodiscard]] std::string version();

/// What a user should know about PAPI's settings: a PAPI_PERFMON_EVENT_FILE that no PAPI since 4.2.1 reads, a
/// table file that cannot be read. One sentence each; empty when all is well. Needs no initialisation.
[[nodiscard]] std::vector<std::string> warnings();

/// One PAPI component, as PAPI describes it.
struct Component {
  std::string name;            ///< "perf_event"
  bool enabled = false;        ///< by PAPI's own account
  std::string disabled_reason; ///< PAPI's reason when it is not enabled
};

/// One preset as PAPI claims it and as a trial found it.
struct Preset {
  std::string name;               ///< "PAPI_L1_DCM"
  std::string type;               ///< "NOT_DERIVED", "DERIVED_ADD", ...
  std::string formula;            ///< for DERIVED_POSTFIX and INFIX; else empty
  std::vector<std::string> terms; ///< native events
  bool counts = false;            ///< started, read and stopped here
  Reason reason;                  ///< why it does not count; empty when it does
};

/// What PAPI can do here. Claims and trials are kept apart: PAPI claims a preset when its table has a row for
/// the CPUID, whether or not Linux drives the PMU; `counts` was tried.
struct Inventory {
  std::string version;
  std::vector<Component> components;
  std::string core_pmu;  ///< libpfm4's name of the core PMU of this CPU, "amd64_fam19h_zen4"; may be empty
  std::string table;     ///< the preset table that PAPI reads, as far as it can be told
  int presets_known = 0; ///< names that PAPI has, about 108
  std::vector<Preset> presets;       ///< those that PAPI claims for this CPU
  bool software_events = false;      ///< perf::PAGE-FAULTS counted through PAPI in a trial
  std::vector<Reason> reasons;       ///< why no preset counts, all that apply; empty when one does
  std::vector<std::string> warnings; ///< as papi::warnings()
  [[nodiscard]] int presets_counting() const;
};

/// Tries everything in forked children, so that neither a bad table nor a bad preset can hurt this process,
/// and PAPI stays uninitialised here when it was. Takes some tens of milliseconds. Throws Error (unavailable)
/// when PAPI cannot be initialised at all.
[[nodiscard]] Inventory inventory();

} // namespace papi
} // namespace recount
