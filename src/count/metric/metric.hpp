// Metrics: ratios and rates over events, as data. The files are explained in recount-metrics(5).
#pragma once

#include "base/formula/named.hpp"

#include <recount/reason.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::metric {

/// The name of the wall time of a repetition in a formula; every other name is an event or a preset.
inline constexpr std::string_view seconds = "seconds";

/// One way to compute a metric.
struct Formula {
  std::string text; ///< as written
  formula::Named named;
  int line = 0;
  /// The events and presets that it needs, each once.
  [[nodiscard]] std::vector<std::string> events() const;
};

struct Metric {
  std::string name;                  ///< "ipc": lower-case letters, digits and -
  std::string unit;                  ///< "instructions/cycle"
  std::string prose;                 ///< a sentence or two
  std::vector<Formula> formulas;     ///< at least one; the first whose events can all be counted is used
  std::optional<double> least, most; ///< its valid range
  std::string file;
  int line = 0;
};

/// Metrics in the order of their first definition, each name once: later definitions replace earlier
/// ones.
using Metrics = std::vector<Metric>;

/// Reads a text. Throws Error (bad_input) whose subject is "FILE:LINE" and whose cause names the field. Pure.
[[nodiscard]] Metrics parse(std::string_view text, const std::string& file);
[[nodiscard]] const Metrics& built_in();

/// Those built in, then those of the search path, then those of `files` in order. The path: the files
/// *.metrics of /etc/recount/metrics and of $XDG_CONFIG_HOME/recount/metrics (~/.config/recount/metrics);
/// with RECOUNT_METRICS set, its files and directories, separated by colons, instead. Throws Error as parse()
/// does, and for a file that was named and cannot be read.
[[nodiscard]] Metrics load(const std::vector<std::string>& files = {});

/// The metric of that name; null when there is none.
[[nodiscard]] const Metric* find(const Metrics& metrics, std::string_view name) noexcept;

/// The value of a formula. A value outside the metric's range has `outside` set: its events do not count what
/// the formula assumes.
struct Value {
  std::optional<double> value;
  Reason reason; ///< why there is none
  bool outside = false;
};
/// `operands`: in the order of the quantities in `formula.named` that have a name.
[[nodiscard]] Value evaluate(const Metric& metric, const Formula& formula, std::span<const double> operands);

} // namespace recount::metric
