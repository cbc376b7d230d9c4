// What a command needs to see an emulated machine: files, the preload library, and the options of both.
#pragma once

#include "emulate/machine.hpp"
#include "emulate/machine_files.hpp"

#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {

/// The settings of the preload library and of the server of counts, as text: see settings.hpp.
struct Emulation {
  std::string machine_file;
  std::string changes; ///< statements of a machine file, read after it
  std::string options; ///< "noise 0.01\nwatchdog 1"
  FileOptions files;
  bool unprivileged = false; ///< the command has no capabilities
  bool unbacked = false;     ///< no event of Linux stands behind an emulated one
};

/// Whether Linux, or who filters its system calls, lets this process open events: of software, in user mode.
[[nodiscard]] bool opens_events();

/// Names of the machines that are installed.
[[nodiscard]] std::vector<std::string> machine_names();
/// The file of a machine: of that name, or a path that contains a slash. Throws recount::Error (bad_input).
[[nodiscard]] std::string find_machine(const std::string& name);
/// Reads the machine as changed. Throws recount::Error (bad_input), naming the line.
[[nodiscard]] Machine checked_machine(const Emulation& emulation);

/// A file that programs of one emulation share; it ends with the object.
class SharedFile {
public:
  /// Throws recount::Error (unavailable).
  SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// Variables for the command, instead of those of this process; `redirections` as of FileOverlay. Throws
/// recount::Error (unavailable) where the preload library is missing.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
environment(const Emulation& emulation, const SharedFile& shared, const std::string& redirections);

} // namespace recount::emulate
