// Reading results files: every line checked, every observation matched to the run that made it.
#pragma once

#include "result/observation.hpp"
#include "statistics/statistics.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace recount::result {

/// The contents of one or several results files, in the order of their lines.
struct Results {
  std::vector<Run> runs;
  std::vector<Observation> observations;
  std::vector<Failure> failures;
  std::vector<Section> sections;
  std::vector<std::string> warnings; ///< "FILE: the last line is torn, ignored", repeated observations
  /// What stands for the repetitions of a point, in everything that is made of these results.
  statistics::Statistic statistic = statistics::Statistic::median;

  /// The run of that id, or nullptr.
  [[nodiscard]] const Run* run(const std::string& id) const;
};

/// Longest line accepted, in bytes.
inline constexpr std::size_t longest_line = 1 << 20;

/// Reads a results file. The contents are not trusted: whatever they are, the outcome is Results or a
/// recount::Error (bad_input) that names FILE:LINE and the cause. A torn last line is ignored with a warning.
[[nodiscard]] Results read(const std::string& path);
/// Several files merged; the same run in two of them is taken once.
[[nodiscard]] Results read(const std::vector<std::string>& paths);
/// The same from text in memory; `name` is the file name in messages.
[[nodiscard]] Results read_text(std::string_view text, const std::string& name);

// Appends to a results file; complete lines survive a crash.

/// Appends lines to a results file, each with one write(2). Not thread-safe; one writer a file (flock).
class Writer {
public:
  enum class Mode {
    create, ///< the file must hold nothing yet (see holds_nothing): nothing measured is ever overwritten
    append  ///< the file must be a results file; a torn last line is cut off first
  };
  /// Whether the command can continue a file: only then is --resume named as a remedy.
  enum class Resume { impossible, possible };
  /// `path` "-" is stdout. Throws recount::Error (bad_input) when the file exists (create), is not a
  /// results file (append), or as host::cannot_write().
  Writer(std::string path, Mode mode, Resume resume = Resume::impossible);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer();

  /// Throws recount::Error as host::cannot_write() when the disk is full, a limit is reached or the device
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

} // namespace recount::result
