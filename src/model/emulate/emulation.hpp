// What a command needs to see an emulated machine: files of sysfs and procfs in place of this machine's, the
// preload library, and the options of both.
#pragma once

#include "base/process/temporary_folder.hpp"
#include "model/emulate/settings.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {

/// The settings of the preload library and of the server of counts, as text: see settings.hpp.
struct Emulation {
  std::string machine_file;
  std::string changes;        ///< statements of a machine file, read after it
  std::string options;        ///< "noise 0.01\nwatchdog 1"
  std::string microcode = {}; ///< in /proc/cpuinfo; empty: the machine's
  bool unprivileged = false;  ///< the command has no capabilities
};

/// Names of the machines that are installed.
[[nodiscard]] std::vector<std::string> machine_names();
/// The file of a machine: of that name, or a path that contains a slash. Throws recount::Error (bad_input).
[[nodiscard]] std::string find_machine(const std::string& name);
/// Reads machine, changes and options. Throws recount::Error (bad_input), naming the line.
[[nodiscard]] Settings checked_settings(const Emulation& emulation);

/// Whether nothing can be preloaded into the program of that name: it has no dynamic linker.
[[nodiscard]] bool is_static(const std::string& program);
/// The sanitizer that the program of that name is built with and that cannot run beside a preloaded library
/// or under Valgrind; empty: none.
[[nodiscard]] std::string impossible_sanitizer(const std::string& program);

using Variables = std::vector<std::pair<std::string, std::string>>; ///< of the environment

/// What a command sees of the emulated machine, until the end of this object.
class EmulatedMachine {
public:
  /// Puts the files of the machine in place of those of this one: in a mount namespace, which this process,
  /// of one thread, enters; where that is not allowed, the preload library redirects paths. Drops every
  /// capability of an unprivileged emulation, for what this process executes, too. Throws recount::Error
  /// (unavailable).
  EmulatedMachine(const Emulation& emulation, const Settings& settings);
  /// For the command, instead of those of this process.
  [[nodiscard]] const Variables& variables() const { return variables_; }

private:
  process::TemporaryFolder shared_;               ///< files that the programs of the emulation share
  std::optional<process::TemporaryFolder> files_; ///< of the machine, if they are redirected
  Variables variables_;
};

} // namespace recount::emulate
