// Reading results files: every line checked, every observation matched to the run that made it.
#pragma once

#include "base/statistics/statistics.hpp"
#include "run/result/observation.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace recount::result {

/// The contents of one or several results files, in the order of their lines.
struct Results {
  std::vector<Run> runs;
  std::vector<Observation> observations;
  std::vector<Failure> failures;
  std::vector<Section> sections;
  std::vector<std::string>
      warnings; ///< "FILE:LINE: the last line is incomplete and was ignored", repeated observations
  /// The statistic that summarises the repetitions of a point.
  statistics::Statistic statistic = statistics::Statistic::median;

  /// Valid while `runs` stays as it is.
  [[nodiscard]] std::unordered_map<std::string, const Run*> runs_by_id() const;
};

/// Longest line accepted, in bytes: a header has a command line, of 2 MiB with the usual stack (execve(2)),
/// of which JSON writes a control character as six.
inline constexpr std::size_t longest_line = 16 << 20;

/// Reads a results file. The contents are not trusted: whatever they are, the outcome is Results or a
/// recount::Error (bad_input) that names FILE:LINE and the cause. A torn last line is ignored with a warning.
[[nodiscard]] Results read(const std::string& path);
/// Several files merged; the same run in two of them is taken once.
[[nodiscard]] Results read(const std::vector<std::string>& paths);
/// The same from text in memory; `name` is the file name in messages.
[[nodiscard]] Results read_text(std::string_view text, const std::string& name);

// Appends to a results file; complete lines survive a crash.

/// Appends lines to a results file, each with one write(2). Not thread-safe; one writer per file (flock).
/// Ignores SIGXFSZ in this process.
class Writer {
public:
  enum class Mode {
    create, ///< the file must hold nothing yet (see holds_nothing): nothing measured is ever overwritten
    append  ///< the file must be a results file; a torn last line is cut off first
  };
  /// Whether the command can continue a file: only then is --resume named as a fix.
  enum class Resume { impossible, possible };
  /// `path` "-" is stdout. Throws recount::Error (bad_input) when the file exists (create), is not a
  /// results file (append), or as base::cannot_write().
  Writer(std::string path, Mode mode, Resume resume = Resume::impossible);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Throws recount::Error as base::cannot_write() when the disk is full, a limit is reached or the device
  /// fails; the file then ends with the last whole line.
  template <class Line>
  void write(const Line& line) {
    append(to_line(line));
  }

private:
  void append(const std::string& line);

  std::string path_;
  int fd_ = -1;
  bool regular_ = false;
};

/// Whether a file holds no line yet: absent, empty, or cut off within its very first header line.
[[nodiscard]] bool holds_nothing(const std::string& path);

// The runs of a plan: its shards, and which of the planned runs a results file holds.

/// "clock matmul n=600 variant=ijk": a planned run without its repetition, as in Run::planned.
[[nodiscard]] std::string planned_name(const Witness& witness, const std::string& kernel,
                                       const Params& params);

/// A plan is stated name by name up to so many names.
inline constexpr std::size_t max_planned_names = 2000;

/// A study that is not complete: it was stopped, or is still running.
struct Incomplete {
  std::size_t done = 0, planned = 0; ///< runs; failed ones are done
  std::vector<std::string> missing;  ///< names with the missing repetitions: "clock ... (2 of 5)"
};

/// One for each plan that lacks runs. Runs that continue another one (Run::resumes) belong to it.
[[nodiscard]] std::vector<Incomplete> incomplete(const Results& results);

/// "5 of 24 runs; missing: clock matmul n=600 (2 of 5), ... and 3 more. ...".
[[nodiscard]] std::string describe(const Incomplete& study);

/// Gives the observations and failures of shards of one plan, and of the runs that resume them, to the first
/// of these runs, so that analyses by run see the whole plan. Shards of several machines are joined only
/// where all their values are of described machines ("model:NAME"), which are the same everywhere. The runs
/// stay.
void join_shards(Results& results);

} // namespace recount::result
