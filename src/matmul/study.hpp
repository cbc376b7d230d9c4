// The matrix study: which runs it takes, and how long they will.
#pragma once

#include "matmul/points.hpp"
#include "matmul/published.hpp"
#include "sweep/session.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

/// What was asked for beside the points.
struct MatmulRequest {
  MatmulChoice choice;
  std::vector<std::string> witnesses; ///< empty: clock, model, and those of perf and papi that count here
  int repeat = 5;
  std::uint64_t seed = 0;
  std::optional<Published> published;
  sweep::ModelModes modes = {};
  bool java = true; ///< the shipped Java version as well, when a JDK is there
};

/// Everything decided, nothing measured yet.
struct MatmulPlan {
  std::vector<MatmulStop> stops;
  std::vector<std::string> witnesses;
  std::vector<sweep::Job> jobs;
  std::map<std::string, std::string> settings; ///< as in result::Run::plan
  std::map<std::string, std::string> skipped;  ///< as in result::Run::skipped
  std::map<std::string, std::string> presets;  ///< as in result::Run::presets
};

/// The metrics that the study asks of a witness ("perf", "model:i7-9700").
[[nodiscard]] std::vector<std::string> matmul_metrics(const std::string& witness);

/// Chooses points, witnesses and runs: each repetition of each point a process, shuffled within its round;
/// the model last, with and without parts of the machine where a published table or a cliff is to be
/// explained. `java_missing`: why there is no Java; empty: there is. Throws recount::Error (bad_input).
[[nodiscard]] MatmulPlan plan_matmul(const MatmulRequest& request, const std::string& java_missing);

/// Seconds that one step of a job's innermost loop takes.
using StepTime = std::function<double(const sweep::Job&)>;

/// By one small product of the job's loops, run here: within 0.1 s; 1e-9 where it cannot run.
[[nodiscard]] double time_a_step(const sweep::Job& job);

/// How long the jobs will take, roughly: timed ones by `step_time`, which is asked once for each kind of
/// loops, and scaled; the model's by simulated_seconds(). `parallel` as in sweep::Execution.
[[nodiscard]] std::chrono::nanoseconds estimate_matmul(const std::vector<sweep::Job>& jobs, int parallel,
                                                       const StepTime& step_time = time_a_step);

} // namespace recount::matmul
