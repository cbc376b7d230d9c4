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

/// Probes on functions as tracefs defines them (Documentation/trace/uprobetracer.rst), in a group of its own.
/// The destructor removes them, the constructor those of processes that have ended. Not thread-safe.
class Tracefs {
public:
  /// Throws Error (unavailable) when tracefs is neither mounted nor mountable privately, or is not
  /// writable for this user.
  Tracefs();
  Tracefs(Tracefs&&) noexcept = default;
  Tracefs& operator=(Tracefs&&) = delete;
  ~Tracefs();

  /// A probe at an offset of an open file: on entry, or on return. Returns the `config` of a
  /// PERF_TYPE_TRACEPOINT event. Throws Error (unavailable) with the kernel's errno.
  [[nodiscard]] std::uint64_t define(int file, std::uint64_t offset, bool on_return);

private:
  void command(const std::string& line) const;
  void remove_abandoned() const;
  [[nodiscard]] std::string path(const std::string& name) const;
  process::Fd root_;
  std::string group_;
  std::vector<std::string> defined_;
};

/// Events that occur at the entry or the return of a function. The destructor removes them; this object
/// must outlive the opened events. Uses tracefs where available; then new threads and processes of the target
/// are followed. Else by the kernel's own "uprobe" PMU, which must not be inherited: until at
/// least Linux 6.18, it looks for the file's name in the memory of a task that forks, and the fork fails.
class ProbeEvents {
public:
  /// Throws Error (unavailable) if neither is available.
  ProbeEvents();
  [[nodiscard]] bool inheritable() const noexcept { return tracefs_.has_value(); }
  /// Before the instruction at an offset of the site's file; `on_return`: after the function that begins
  /// there has returned, by replacing its return address.
  [[nodiscard]] Event at(const Site& site, std::uint64_t offset, bool on_return);

private:
  std::optional<Tracefs> tracefs_;
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
