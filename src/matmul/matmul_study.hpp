// The products that a matrix study runs, and its ceilings.
#pragma once

#include "matmul/published.hpp"
#include "model/machine.hpp"
#include "process/temporary_folder.hpp"
#include "result/observation.hpp"
#include "sweep/batch.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

/// The requested study.
struct MatmulChoice {
  std::vector<std::string> studies;         ///< "lab", "report"
  bool quick = false;                       ///< the sizes that take minutes, not hours
  std::vector<std::int64_t> sizes, blocks;  ///< in place of the study's own (report); empty: its own
  std::vector<std::string> commands;        ///< external ones: "LANGUAGE=COMMAND" or "COMMAND"
  std::int64_t line = 64;                   ///< bytes of a line, for the blocks of the laboratory
  std::vector<result::Params> of_published; ///< points of a published table, to be run as well
};

/// One point of one kernel.
struct MatmulStop {
  std::string kernel;
  result::Params point; ///< complete
  bool timed = true;    ///< by clock and counters; else by the model alone
  bool modelled = false;
  bool operator==(const MatmulStop&) const = default;
};

/// The studies with a description, one per line.
struct MatmulStudyRow {
  const char *name, *prose;
};
[[nodiscard]] const std::vector<MatmulStudyRow>& matmul_studies();

/// All points, each once, in the order of the tables; without external commands and ceilings. Throws
/// recount::Error (bad_input) for an unknown study and for sizes that no kernel takes.
[[nodiscard]] std::vector<MatmulStop> matmul_points(const MatmulChoice& choice);

/// The points at which commands are run: simple and line of the report, up to n = 3000.
[[nodiscard]] std::vector<MatmulStop> command_points(const MatmulChoice& choice);

/// peak and bandwidth, for the ceilings of the roofline. `caches` as the machine states them.
[[nodiscard]] std::vector<MatmulStop> ceiling_points(const std::vector<std::int64_t>& cache_sizes);

// The matrix study: which runs it takes, and how long they will.

/// What was asked for beside the points.
struct MatmulRequest {
  MatmulChoice choice;
  std::vector<Witness> witnesses; ///< empty: clock, model, and those of perf and papi that count here
  int repeat = 5;
  std::uint64_t seed = 0;
  std::optional<Published> published;
  sweep::ModelModes modes = {};
  bool java = true; ///< the shipped Java version as well, when a JDK is there
};

/// Everything decided, nothing measured yet.
struct MatmulPlan {
  std::vector<MatmulStop> stops;
  std::vector<Witness> witnesses;
  std::vector<sweep::Job> jobs;
  std::map<std::string, std::string> settings; ///< as in result::Run::plan
  std::map<std::string, Reason> skipped;       ///< as in result::Run::skipped
  std::map<std::string, std::string> presets;  ///< as in result::Run::presets
};

/// The metrics that the study asks of a witness ("perf", "model:i7-9700").
[[nodiscard]] std::vector<std::string> matmul_metrics(const Witness& witness);

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

// The Java version of the products simple and line: built when a JDK is there.

/// Compiled classes in a folder of their own, which goes with the object. While it lives, CLASSPATH of this
/// process leads there, so that its children find the class MatMul.
class Java {
public:
  /// Looks for javac and java and compiles; what goes wrong becomes missing().
  Java();
  Java(const Java&) = delete;
  Java& operator=(const Java&) = delete;
  ~Java() = default;

  [[nodiscard]] const std::string& missing() const {
    return missing_;
  } ///< why there is none; empty: there is
  [[nodiscard]] const std::string& version() const { return version_; } ///< "javac 17.0.19"
  /// As --external takes it.
  static constexpr const char* command = "Java=java MatMul {variant} {n}";

private:
  void build();

  std::optional<process::TemporaryFolder> folder_;
  std::string missing_, version_;
};

} // namespace recount::matmul
