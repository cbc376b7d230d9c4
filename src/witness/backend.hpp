// Backends: the code behind each witness. Each is a file; this is their common interface.
#pragma once

#include "base/witness.hpp"
#include "kernel/kernel.hpp"
#include "result/observation.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace recount::witness {

/// The task of one process: one kernel at one point, once, by one witness.
struct Task {
  std::string run; ///< id that every observation will carry
  std::string kernel;
  result::Params point; ///< complete, see kernel::complete()
  int repetition = 0;
  Witness witness;
  std::vector<std::string> metrics;
  /// Called with the completed share of a simulation, 0 to 1; may be empty.
  std::function<void(double)> progress = {};
};

/// How a kind of witness measures.
struct Backend {
  Witness::Kind kind;
  std::string prose; ///< one line
  bool native;       ///< executes the kernel, hence needs an exclusive CPU and a prepared, warm instance
  std::vector<std::string> default_metrics;
  /// Whether a metric is of the witness's kind: times are the clock's, every other name is a counter's.
  bool (*gives)(const std::string& metric);
  /// Why it provides none of these metrics on this machine; empty: it provides at least one.
  Reason (*missing)(const std::vector<std::string>& metrics);
  /// One observation for each metric, in that order; a metric it cannot give has no value and a reason.
  /// `instance` is the prepared kernel (native witnesses only). Throws recount::Error only when the task
  /// itself is wrong (no such machine description).
  std::vector<result::Observation> (*observe)(const kernel::Kernel& kernel, kernel::Instance* instance,
                                              const Task& task);
  /// The witnesses of its observations; empty: its own.
  std::vector<Witness> voices = {};
  /// Observations of a metric that one run gives: that of repetition r number passes * r and following.
  int passes = 1;

  /// The witnesses of its observations when requested as `requested`: its voices, the members of a family of
  /// machines, or `requested`. Throws recount::Error (bad_input) where there is no such machine.
  [[nodiscard]] std::vector<Witness> names(const Witness& requested) const;
  /// Whether an observation may come from a run of that repetition, requested as `requested`.
  [[nodiscard]] bool gave(const result::Observation& o, int repetition, const Witness& requested) const;
};

/// All witnesses: clock, perf, papi, model. (`both` is perf and papi at once.)
[[nodiscard]] std::span<const Backend> all();
/// Of any kind, `both` included. Throws recount::Error (bad_input) naming the witnesses.
[[nodiscard]] const Backend& find(const Witness& witness);

/// An observation of the task, with everything filled in but the value.
[[nodiscard]] result::Observation blank(const Task& task, const std::string& metric);

/// One file each.
[[nodiscard]] Backend clock_witness();
[[nodiscard]] Backend perf_witness();
[[nodiscard]] Backend papi_witness();
[[nodiscard]] Backend model_witness();
[[nodiscard]] Backend both_witness();

} // namespace recount::witness
