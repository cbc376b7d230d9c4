// What a command needs to see an emulated machine: files of sysfs and procfs in place of this machine's, the
// preload library, and the options of both.
#pragma once

#include "emulate/machine.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recount::emulate {

/// Holds the files until its end; what has been bound stays.
class FileOverlay {
public:
  /// `bound`: this process is in a mount namespace of its own. Throws recount::Error (unavailable).
  explicit FileOverlay(bool bound);
  FileOverlay(const FileOverlay&) = delete;
  FileOverlay& operator=(const FileOverlay&) = delete;
  ~FileOverlay();
  /// Where the files are to be written.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] bool bound() const { return bound_; }
  /// The file or folder `source` is found at `target`. Throws recount::Error (unavailable).
  void replace(const std::string& source, const std::string& target);
  /// The real `target` stays reachable at `link` below folder(), whatever replaces it. Throws recount::Error.
  void keep(const std::string& target, const std::string& link);
  /// For the preload library: a target and its source per line, separated by a tab. Empty where they are
  /// bound.
  [[nodiscard]] const std::string& redirections() const { return redirections_; }

private:
  bool bound_;
  std::string folder_, redirections_;
};

/// Moves this process, which has one thread, into a mount namespace of its own; a user without the privilege
/// into a user namespace, too, where he keeps his number. False: not allowed, as in most containers, and
/// nothing has changed.
[[nodiscard]] bool enter_namespace();

/// Drops every capability, for what this process executes, too. Throws recount::Error (unavailable).
void drop_capabilities();

/// What options change in them.
struct FileOptions {
  double mux_ms = 4;     ///< perf_event_mux_interval_ms
  bool rdpmc = true;     ///< counters may be read in user space
  bool watchdog = false; ///< the NMI watchdog is on
  std::string microcode; ///< empty: the machine's
  std::optional<long> paranoid, mlock_kb;
};

/// Puts them in place of those of this machine: PMUs, /proc/cpuinfo, caches, settings of /proc/sys/kernel.
/// Throws recount::Error (unavailable).
void replace_machine_files(const Machine& machine, const FileOptions& options, FileOverlay& overlay);

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

/// Whether nothing can be preloaded into the program of that name: it has no dynamic linker.
[[nodiscard]] bool is_static(const std::string& program);

/// Variables for the command, instead of those of this process; `redirections` as of FileOverlay. Throws
/// recount::Error (unavailable) where the preload library is missing.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
environment(const Emulation& emulation, const SharedFile& shared, const std::string& redirections);

} // namespace recount::emulate
