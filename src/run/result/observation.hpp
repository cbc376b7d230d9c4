// The lines of a results file: run, observation, failure, section.
#pragma once

#include <recount/reason.hpp>
#include <recount/shared.hpp>

#include "base/host/disturbance.hpp"
#include "base/witness.hpp"
#include "kernel/params.hpp"

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recount::result {

/// What the first line of every results file declares.
inline constexpr const char* schema = "recount-results/2";

/// A data or unified cache as the system states it; kept with the results so that figures can mark it.
struct CacheNote {
  std::string level;     ///< "L1d", "L2", "L3"
  std::int64_t size = 0; ///< bytes
  std::int64_t line = 0; ///< bytes; 0: not stated
  std::int64_t ways = 0; ///< 0: not stated; -1: fully associative
  bool operator==(const CacheNote&) const = default;
};

/// One execution of `recount sweep` (or of a study): the machine and software behind its observations.
struct Run {
  std::string id;                ///< unique over machines and time; every line of the run carries it
  std::string started;           ///< UTC, ISO 8601: "2026-11-21T06:13:25Z"
  std::string host;              ///< node name
  std::string cpu;               ///< model name
  std::int64_t cpus = 0;         ///< logical CPUs online
  std::vector<CacheNote> caches; ///< of the measured CPU, innermost first
  std::string governor;          ///< cpufreq governor; empty: none stated
  std::string os;                ///< "Linux 6.1.0-18-amd64 x86_64"
  std::string virtualised;       ///< hypervisor's name; empty: none seen
  std::map<std::string, std::string> versions; ///< "recount", "papi", ...; see job_fields
  std::vector<std::string> command;            ///< the command line, word by word
  std::uint64_t seed = 0;                      ///< of the shuffled order
  /// What was planned, setting by setting in canonical text ("kernel", "--size", "witness", "metric",
  /// "repeat", ...): a sweep resumes only a file whose plan is its own.
  std::map<std::string, std::string> plan;
  /// Runs of the whole plan, and where they are not too many their repetitions by name (planned_name()), so
  /// that an incomplete file can tell what is missing.
  std::int64_t runs_planned = 0; ///< 0: not stated
  std::map<std::string, std::int64_t> planned;
  /// The formulas of the requested presets, by name: "LLC_REFERENCES - L2_RQSTS:CODE_RD_MISS".
  std::map<std::string, std::string> presets;
  std::map<std::string, std::string> skipped; ///< parts not run ("papi", "Java"), and why
  std::string resumes;                        ///< id of the run that this one continues; empty: none
};

/// Names in Run::versions that results files write as members of the line of the run. Absent: no launcher
/// stated them.
inline constexpr const char* job_fields[] = {"node", "job", "step", "task", "tasks"};

[[nodiscard]] inline bool is_job_field(std::string_view name) {
  return std::ranges::find(job_fields, name) != std::ranges::end(job_fields);
}

/// Whether a run holds the readings of a cache inference (recount caches), which are not points of a sweep.
[[nodiscard]] bool is_inference(const Run& run);

/// A new id and the present time; everything else is left empty. Ids do not repeat: time, process and 32
/// random bits.
[[nodiscard]] Run new_run();

} // namespace recount::result

template <>
struct fmt::formatter<recount::Shared<std::string>> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const recount::Shared<std::string>& text, Context& context) const {
    return fmt::formatter<std::string>::format(text.get(), context);
  }
};

namespace recount::result {

// The observation: one value of one metric, by one witness, for one repetition of one kernel at one point.

using kernel::describe;
using kernel::Params;
using kernel::ParamValue;
using kernel::text;

/// The parameter's number; nothing where it is absent or a word.
[[nodiscard]] std::optional<std::int64_t> integer(const Params& params, const std::string& name);
/// A parameter that is a word; empty: it is absent or a number.
[[nodiscard]] std::string word(const Params& params, const std::string& name);

/// A value that may be absent: counts are exact integers, times and ratios are doubles.
using Number = std::variant<std::monostate, std::int64_t, double>;

/// The number as a double, or nothing where there is no value ("not counted" is never 0).
[[nodiscard]] std::optional<double> as_double(const Number& number);

/// Order of the counters of this witness and those of another one around the measured code: one within the
/// other, or separate executions (apart); alone: there is no other witness.
enum class Nesting : std::uint8_t { alone, inner, outer, apart };
/// As results files write them.
inline constexpr std::array<std::string_view, 4> nestings{"", "inner", "outer", "apart"};

/// One line of a results file; see recount-results(5).
struct Observation {
  Shared<std::string> run; ///< id of the run (the header line) that made it
  std::string kernel;      ///< "stride"
  Shared<Params> params;   ///< the point
  int repetition = 0;      ///< 0-based
  Witness witness;
  std::string metric;                     ///< preset or event name, or "seconds", "tsc_cycles"
  Number value;                           ///< monostate: not counted, and `reason` says why
  Shared<Reason> reason;                  ///< why there is no value; empty when there is one
  std::optional<std::int64_t> accesses;   ///< element accesses of the measured region
  std::optional<std::int64_t> enabled_ns; ///< perf's time_enabled over the region
  std::optional<std::int64_t> running_ns; ///< perf's time_running; less than enabled: multiplexed
  Shared<std::string> unit;      ///< of a metric, or "ns" of an event that counts time; empty: a plain count
  std::optional<double> seconds; ///< wall time of the region, if measured with the count
  /// CPU time of the measuring thread and of the processes that it awaited, with the value of "seconds".
  std::optional<double> cpu_seconds;
  std::optional<std::int64_t> bias; ///< count of an empty region, already subtracted from `value`
  Nesting nesting = Nesting::alone;
  /// Where the measured data lay ("base", "offset", "page", "huge_bytes"); empty: nothing lay anywhere.
  Shared<std::map<std::string, std::int64_t>> placement;
  std::vector<Flag> flags; ///< see disturbances()
};

/// The fix of an output that contradicts itself.
inline constexpr const char* contradiction_fix =
    "report this with the results file: no two numbers of a report may disagree";

/// A repetition is disturbed if one cause took more than this share of its time.
inline constexpr double disturbed_percent = 1;

/// The causes that took more than `disturbed_percent` of the time of a repetition, each with its share
/// as text ("preempted 4.2 %"): time stolen by the hypervisor, preemption, throttling, a changed frequency.
/// Empty: the repetition is not disturbed. A flag without a known share is none, except thermal throttling.
[[nodiscard]] std::vector<Flag> disturbances(const Observation& observation);

/// The flag of a sampled simulation: the share of the accesses that the samples counted, and the half-width
/// of the interval of the value. sampling_error() reads the latter; nothing where there is no such flag.
[[nodiscard]] Flag sampled_flag(double percent, double error);
[[nodiscard]] std::optional<double> sampling_error(const Observation& observation);

/// Whether an observation of a cache inference is a reading that it took on its way, not a point of a grid of
/// sizes and strides: a visit, or a chase whose passes are no multiple of the stride.
[[nodiscard]] bool is_reading(const Observation& observation);

/// A run at one point that gave nothing: crashed, hung past its limit, refused.
struct Failure {
  std::string run, kernel;
  Params params;
  int repetition = 0;
  Witness witness;
  Reason reason; ///< numbers of the run, such as its last message, are in its setting
};

/// A section marked by the program: `recount watch` and <recount/sections.h>.
struct Section {
  std::string run, kernel;
  Params params;
  int repetition = 0;
  std::string edge; ///< "begin", "end", "mark"
  std::string name;
  double time = 0; ///< seconds since the repetition began
};

/// JSON on one line, without the newline. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string to_line(const Run& run);
[[nodiscard]] std::string to_line(const Observation& observation);
[[nodiscard]] std::string to_line(const Failure& failure);
[[nodiscard]] std::string to_line(const Section& section);

using Line = std::variant<Run, Observation, Failure, Section>;
/// Throws recount::Error (bad_input); its subject is `where` ("FILE:LINE").
[[nodiscard]] Line parse_line(std::string_view text, const std::string& where);

/// {"size":32768,"stride":64}, and back from text (throws as parse_line does).
[[nodiscard]] nlohmann::ordered_json make_json(const Params& params);
[[nodiscard]] Params parse_params(std::string_view json, const std::string& where);

} // namespace recount::result
