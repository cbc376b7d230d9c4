// What the user's command reads, where it is executed several times.
#pragma once

#include "base/process/fd.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace recount::process {

/// Standard input of a command that is executed several times, and the files among the descriptors that it
/// inherits (record_inherited()): every execution reads the same, from where they were when this was
/// constructed. Terminals and other devices are left as they are. Copies share the file.
class Input {
public:
  /// `file`: of --input; empty: standard input of this process. Throws recount::Error (bad_input) for a file
  /// that cannot be read, or only once.
  explicit Input(const std::string& file = {});

  [[nodiscard]] int fd() const { return fd_; } ///< Spawn::in
  /// Before each execution.
  void rewind() const;
  /// What standard input is, if it can be read only once: "a pipe"; else empty. Pure.
  [[nodiscard]] const std::string& once() const { return once_; }

private:
  std::string add(int fd);
  std::vector<std::pair<int, off_t>> begins_; ///< of files: where they are read from
  std::shared_ptr<const Fd> file_;
  int fd_ = STDIN_FILENO;
  std::string once_;
};

/// The arguments of a command that are FIFOs, or name one behind '='.
[[nodiscard]] std::vector<std::string> fifos_among(const std::vector<std::string>& command);

} // namespace recount::process
