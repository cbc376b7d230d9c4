// The matrix study: its points, its runs, how long they take, and its Java version.
#pragma once

#include "base/process/temporary_folder.hpp"
#include "run/result/observation.hpp"
#include "run/result/products.hpp"
#include "run/sweep_plan.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::matmul {

/// The requested points.
struct MatmulChoice {
  std::vector<std::string> studies;         ///< "lab", "report"
  bool quick = false;                       ///< the sizes that take minutes, not hours
  bool emulated = false;                    ///< in Valgrind, which takes a hundred times as long
  std::vector<std::int64_t> sizes, blocks;  ///< in place of the study's own (report); empty: its own
  std::vector<std::string> commands;        ///< external ones: "LANGUAGE=COMMAND" or "COMMAND"
  std::int64_t line = 64;                   ///< bytes of a line, for the blocks of the laboratory
  std::vector<result::Params> of_published; ///< points of a published table, to be run as well
};

/// One point of one kernel.
struct MatmulStop {
  std::string kernel;
  result::Params point; ///< complete
  bool modelled = false;
};

/// All points, each once, in the order of the tables; without external commands and ceilings. Throws
/// recount::Error (bad_input) for an unknown study and for sizes that no kernel takes.
[[nodiscard]] std::vector<MatmulStop> matmul_points(const MatmulChoice& choice);

/// The points at which commands are run: simple and line of the report, up to n = 3000.
[[nodiscard]] std::vector<MatmulStop> command_points(const MatmulChoice& choice);

/// The requested study.
struct MatmulRequest {
  MatmulChoice choice;
  std::vector<Witness> witnesses; ///< empty: clock, model, and those of perf and papi that count here
  int repeat = 5;
  std::uint64_t seed = 0;
  std::vector<Published> published; ///< their points are run as well
  bool published_witnesses = false; ///< the models among `witnesses` are those of the published machines
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

/// The metrics that the study requests of a witness ("perf", "model:i7-9700").
[[nodiscard]] std::vector<std::string> matmul_metrics(const Witness& witness);

/// Why there is no Java; empty: there is.
using JavaMissing = std::function<std::string()>;

/// Chooses points, witnesses and runs: each repetition of each point a process, shuffled within its round;
/// the model last, with and without its TLB. `java_missing` is called at most once, where a study is timed,
/// and after all that was requested is known to make sense. Throws recount::Error (bad_input).
[[nodiscard]] MatmulPlan plan_matmul(const MatmulRequest& request, const JavaMissing& java_missing);

/// How long the jobs will take, within a factor of about three; the model's as in sweep::model_seconds().
[[nodiscard]] std::chrono::nanoseconds estimate_matmul(const std::vector<sweep::Job>& jobs, int parallel);

/// The compiled Java version of the products simple and line, in a temporary folder. While it exists,
/// CLASSPATH of this process names the folder, so that its children find the class MatMul.
class Java {
public:
  /// Looks for javac and java and compiles; what goes wrong becomes missing().
  Java();

  [[nodiscard]] const std::string& missing() const { return missing_; } ///< empty: it was compiled
  [[nodiscard]] const std::string& version() const { return version_; } ///< "javac 17.0.19"
  /// As --external takes it.
  static constexpr const char* command = "Java=java MatMul {variant} {n}";

private:
  void compile();

  std::optional<process::TemporaryFolder> folder_;
  std::string missing_, version_;
};

} // namespace recount::matmul
