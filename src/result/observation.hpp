// The observation: one value of one metric, by one witness, for one repetition of one kernel at one point.
#pragma once

#include "result/run.hpp"
#include "result/shared.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace recount::result {

/// A parameter's value: sizes, strides and counts are integers (bytes where they are sizes), choices are
/// text.
using ParamValue = std::variant<std::int64_t, std::string>;
/// A parameter point, by parameter name ("size", "stride", "n", ...).
using Params = std::map<std::string, ParamValue>;

/// The parameter's number; nothing where it is absent or a word.
[[nodiscard]] std::optional<std::int64_t> integer(const Params& params, const std::string& name);
/// A number in digits, or the word.
[[nodiscard]] std::string text(const ParamValue& value);

/// A value that may be absent: counts are exact integers, times and ratios are doubles.
using Number = std::variant<std::monostate, std::int64_t, double>;

/// The number as a double, or nothing where there is no value ("not counted" is never 0).
[[nodiscard]] std::optional<double> as_double(const Number& number);

/// "size=32768 stride=64": the point for people, in messages and tables.
[[nodiscard]] std::string describe(const Params& params);

/// One line of a results file; see recount-results(5).
struct Observation {
  Shared<std::string> run;                ///< id of the run (the header line) that made it
  std::string kernel;                     ///< "stride"
  Shared<Params> params;                  ///< the point
  int repetition = 0;                     ///< 0-based
  std::string witness;                    ///< "perf", "papi", "clock", "model", "model:i7-9700"
  std::string metric;                     ///< preset or event name, or "seconds", "tsc_cycles"
  Number value;                           ///< monostate: not counted, and `reason` says why
  Shared<std::string> reason;             ///< why there is no value; empty when there is one
  std::optional<std::int64_t> accesses;   ///< element accesses of the measured region
  std::optional<std::int64_t> enabled_ns; ///< perf's time_enabled over the region
  std::optional<std::int64_t> running_ns; ///< perf's time_running; less than enabled: multiplexed
  Shared<std::string> unit;      ///< of a metric, or "ns" of an event that counts time; empty: a plain count
  std::optional<double> seconds; ///< wall time of the region, if measured with the count
  /// CPU time of the measuring thread and of the processes that it awaited, with the value of "seconds".
  std::optional<double> cpu_seconds;
  std::optional<std::int64_t> bias; ///< count of an empty region, already subtracted from `value`
  /// How the counters lay around the region beside another witness's: "inner" or "outer" over the same
  /// execution, "apart" over one of their own; empty: nobody else was there.
  Shared<std::string> nesting;
  /// Where the measured data lay ("base", "offset", "page", "huge_bytes"); empty: nothing lay anywhere.
  Shared<std::map<std::string, std::int64_t>> placement;
  /// What happened during the repetition: "steal 3 ms (0.4 %)", "migrated", ... See disturbances().
  std::vector<std::string> flags;
};

/// A repetition is disturbed if one cause took more than this share of its time.
inline constexpr double disturbed_percent = 1;

/// The causes that took more than `disturbed_percent` of the time of a repetition, each with its share
/// ("preempted 4.2 %"): time stolen by the hypervisor, preemption, throttling, a changed frequency. Empty:
/// the repetition is not disturbed. A flag without a known share is none, except thermal throttling.
[[nodiscard]] std::vector<std::string> disturbances(const Observation& observation);

/// The flag of a sampled simulation: the share of the accesses that the samples counted, and the half-width
/// of the interval of the value. sampling_error() reads the latter; nothing where there is no such flag.
[[nodiscard]] std::string sampled_flag(double percent, double error);
[[nodiscard]] std::optional<double> sampling_error(const Observation& observation);

/// Whether an observation of a cache inference is a reading that it took on its way, not a point of a grid of
/// sizes and strides: a visit, or a chase whose passes are no multiple of the stride.
[[nodiscard]] bool is_reading(const Observation& observation);

/// A run at one point that gave nothing: crashed, hung past its limit, refused.
struct Failure {
  std::string run, kernel;
  Params params;
  int repetition = 0;
  std::string witness;
  std::string reason;
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

/// {"size":32768,"stride":64} as text, and back (throws as parse_line does).
[[nodiscard]] std::string params_json(const Params& params);
[[nodiscard]] Params parse_params(std::string_view json, const std::string& where);

} // namespace recount::result
