// recount caches: takes the readings that an inference asks for, by whatever witness, and keeps them all.
#pragma once

#include "caches/infer/inference.hpp"
#include "result/results_file.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recount::caches {

/// What is to be measured.
struct CachesTask {
  Witness witness = Witness::clock;
  std::vector<std::string>
      metrics;                 ///< misses of each level, of those that the witness counts; see miss_metrics()
  std::optional<int> cpu;      ///< pinned to it
  std::int64_t most_bytes = 0; ///< largest working set
  std::uint64_t seed = 1;
  bool patient = false; ///< measures until every property is decided, or for two minutes
  bool grid = false; ///< also the grid of sizes and strides of powers of two, by the kernels stride and chase
};

/// Called from the thread that called; any may be empty.
struct CachesListener {
  std::function<void(const result::Observation&)> observation;
  StageCallback stage;
  std::function<bool()> stop; ///< true: end, asked often
};

/// The metrics of L1, L2 ... that a counting witness can count here, up to the first that it cannot.
[[nodiscard]] std::vector<std::string> miss_metrics(const Witness& witness);

/// What the task's witness can tell, as in the record.
[[nodiscard]] Abilities caches_abilities(const CachesTask& task);

/// Measures and hands every observation, with `run` as its run, to the listener. The model is asked in this
/// process; anything else is measured by `program`, which runs serve_caches(), in a process of its own,
/// pinned, where allowed without randomised addresses. False: the listener stopped it. Throws recount::Error:
/// bad_input for an unknown machine, unavailable when the process fails or takes longer than `limit`.
bool take_readings(const CachesTask& task, const std::string& run, const CachesListener& listener,
                   const std::vector<std::string>& program = {"/proc/self/exe", "caches-worker"},
                   std::chrono::seconds limit = std::chrono::seconds(600));

/// The other end: reads a task from descriptor `in`, writes a line an observation and a line a stage to
/// `out`. Returns the exit status of the process.
int serve_caches(int in, int out);

/// A point of the grid of sizes and strides of powers of two.
struct GridPoint {
  std::string kernel; ///< "stride", "chase"
  result::Params params;
};
/// The points of the grid, for a machine whose largest private cache is about so large.
[[nodiscard]] std::vector<GridPoint> grid_points(std::int64_t largest_cache, bool modelled);

// What goes through the pipes between recount caches and its measuring process.
[[nodiscard]] std::string to_caches_request(const CachesTask& task);
/// Reads a request to its end. Throws recount::Error (bad_input) when it is none.
[[nodiscard]] CachesTask read_caches_request(int fd);

/// A line that names the stage, and the name that such a line holds.
[[nodiscard]] std::string stage_line(const std::string& name);
[[nodiscard]] std::optional<std::string> stage_of(std::string_view line);

/// Measures the grid in this process and hands the observations on.
void take_grid(const CachesTask& task, const std::vector<GridPoint>& points,
               const std::function<void(const result::Observation&)>& observed);

} // namespace recount::caches
