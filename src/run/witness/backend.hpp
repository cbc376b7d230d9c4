// The common interface of all witnesses, and the table of them.
#pragma once

#include "base/witness.hpp"
#include "kernel/kernel.hpp"
#include "run/result/observation.hpp"

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
  bool native; ///< executes the kernel: needs an exclusive CPU and a prepared instance after a warm-up run
  std::vector<std::string> default_metrics;
  /// Whether the witness can provide a metric by its kind: the clock provides times, all others provide
  /// counts.
  bool (*provides)(const std::string& metric);
  /// Why it provides none of these metrics on this machine; empty: it provides at least one.
  Reason (*missing)(const std::vector<std::string>& metrics);
  /// One observation per metric, in that order; without value but with a reason if it cannot be provided.
  /// `instance` is the prepared kernel (native witnesses only). Throws recount::Error only when the task
  /// itself is wrong (no such machine description).
  std::vector<result::Observation> (*observe)(const kernel::Kernel& kernel, kernel::Instance* instance,
                                              const Task& task);
  /// The witnesses that its observations carry, if not its own: perf and papi for `both`.
  std::vector<Witness> recorded_as = {};
  /// Observations per metric and run: the run of repetition r makes those numbered r * passes to
  /// r * passes + passes - 1.
  int passes = 1;

  /// The witnesses that its observations carry when run as `requested`: `recorded_as`, the members of a
  /// family of machines, or `requested` itself. Throws recount::Error (bad_input) for an unknown machine.
  [[nodiscard]] std::vector<Witness> recorded_witnesses(const Witness& requested) const;
  /// Whether an observation can be the result of this repetition, run as `requested`.
  [[nodiscard]] bool could_record(const result::Observation& o, int repetition,
                                  const Witness& requested) const;
};

/// All witnesses: clock, perf, papi, model. (`both` is perf and papi at once.)
[[nodiscard]] std::span<const Backend> all();
/// The backend of a witness, `both` included. Throws recount::Error (bad_input) that lists the witnesses.
[[nodiscard]] const Backend& find(const Witness& witness);

/// An observation of the task, complete except for its value.
[[nodiscard]] result::Observation blank_observation(const Task& task, const std::string& metric);

/// Each is defined in a file of its own.
[[nodiscard]] Backend clock_witness();
[[nodiscard]] Backend perf_witness();
[[nodiscard]] Backend papi_witness();
[[nodiscard]] Backend model_witness();
[[nodiscard]] Backend both_witness();

} // namespace recount::witness
