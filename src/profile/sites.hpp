// Locates the functions named by a user.
#pragma once

#include "process/fd.hpp"
#include "symbol/module.hpp"

#include <recount/event.hpp>

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>
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

/// "libc:malloc" is library "libc", name "malloc"; the colons of "ns::f" are part of a name. Pure.
struct FunctionName {
  std::string library, name;
};
[[nodiscard]] FunctionName parse_function_name(const std::string& text);

// Probes on functions, as Linux's tracefs defines them (Documentation/trace/uprobetracer.rst).

/// Defines probes in its own group, and removes them in the destructor. The constructor removes groups left
/// behind by processes that have ended. Not thread-safe.
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
  void clean_up() const;
  process::Fd root_;
  std::string group_;
  std::vector<std::string> defined_;
};

// Probes on functions as events.

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

} // namespace recount::profile
