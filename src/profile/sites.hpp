// The functions that a user names, and events at their entries and exits.
#pragma once

#include "process/fd.hpp"
#include "symbol/module.hpp"

#include <recount/event.hpp>

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace recount::profile {

/// A function in a file that a process has mapped.
struct Site {
  std::string module; ///< path
  symbol::Named function;
  std::uint64_t offset = 0;         ///< of its first instruction in the file
  std::vector<unsigned char> first; ///< bytes from there on, one instruction at least
  /// Offsets of its exit instructions; empty if it never returns. None: unknown, and returns can only be
  /// traced by replacing the return address.
  std::optional<std::vector<std::uint64_t>> exits;
  bool moving_stack = false; ///< Go: then its return address must not be replaced
  int file = -1;             ///< an open descriptor of the file, owned by Sites
};

struct Sites {
  std::vector<Site> all;
  std::vector<process::Fd> files;
  std::vector<std::string> notes; ///< calls that are not counted, full sentences
};

/// The functions denoted by each of `names`: "NAME" in the program, else in the first library that has
/// it; "LIBRARY:NAME" in the library whose file name begins with LIBRARY. NAME is as in
/// symbol::Module::functions(). Throws Error (bad_input) for a name without a match, with the nearest, and
/// for more than `most` matches.
[[nodiscard]] Sites find_sites(pid_t pid, const std::vector<std::string>& names,
                               const std::string& debug_path, std::size_t most);

/// Events that occur at the entry or the return of a function; this object must outlive the opened events.
/// Where tracefs can be used, its probes (Documentation/trace/uprobetracer.rst), in a group of its own, which
/// the destructor removes; then new threads and processes of the target are followed. Else the kernel's
/// "uprobe" PMU, whose events must not be inherited: until at least Linux 6.18, it looks for the file's name
/// in the memory of a task that forks, and the fork fails. Not thread-safe.
class ProbeEvents {
public:
  /// Removes the probes of processes that have ended. Throws Error (unavailable) if neither is available.
  ProbeEvents();
  ProbeEvents(const ProbeEvents&) = delete;
  ProbeEvents& operator=(const ProbeEvents&) = delete;
  ~ProbeEvents();
  [[nodiscard]] bool inheritable() const noexcept { return static_cast<bool>(tracefs_); }
  /// Before the instruction at an offset of the site's file; `on_return`: after the function that begins
  /// there has returned, by replacing its return address. Throws Error (unavailable).
  [[nodiscard]] Event at(const Site& site, std::uint64_t offset, bool on_return);

private:
  void command(const std::string& line) const;
  void remove_abandoned() const;
  [[nodiscard]] std::string path(const std::string& name) const;
  [[nodiscard]] std::uint64_t define(int file, std::uint64_t offset, bool on_return);

  process::Fd tracefs_; ///< its root; none: use the PMU
  std::string group_;
  std::vector<std::string> defined_;
  std::uint32_t pmu_ = 0;
  std::list<std::string> paths_; ///< the kernel reads them when an event is opened
};

/// Empty functions, to measure the overhead of probes. Code per site: an instruction of the same class as the
/// first one of the site, and a return. The overhead of a uprobe depends on that instruction: Linux emulates
/// pushes, nops and jumps and single-steps the rest (arch/x86/kernel/uprobes.c). Empty on architectures other
/// than x86-64, and where memory may not be executable.
class Calibration {
public:
  explicit Calibration(const std::vector<Site>& sites);
  Calibration(const Calibration&) = delete;
  Calibration& operator=(const Calibration&) = delete;
  ~Calibration();
  /// In the order of those given; empty: there is none.
  [[nodiscard]] const Sites& sites() const noexcept { return sites_; }
  void call(std::size_t site) const;

private:
  Sites sites_;
  std::size_t bytes_ = 0;
  unsigned char* code_ = nullptr;
};

/// The representative instruction for the class of the first one of `code`, and its inverse. Pure.
[[nodiscard]] std::span<const unsigned char> calibration_body(std::span<const unsigned char> code);

} // namespace recount::profile
