// Appends to a results file; complete lines survive a crash.
#pragma once

#include "result/observation.hpp"
#include "result/run.hpp"

#include <string>

namespace recount::result {

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

  /// Throw recount::Error as host::cannot_write() when the disk is full, a limit is reached or the device
  /// fails; the file then ends with the last whole line.
  void write(const Run& run);
  void write(const Observation& observation);
  void write(const Failure& failure);
  void write(const Section& section);

private:
  void append(const std::string& line);

  std::string path_;
  int fd_ = -1;
  bool regular_ = false;
};

/// Whether a file holds no line yet: absent, empty, or cut off within its very first header line.
[[nodiscard]] bool holds_nothing(const std::string& path);

} // namespace recount::result
