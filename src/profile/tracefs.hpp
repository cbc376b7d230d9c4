// Probes on functions, as Linux's tracing file system defines them (Documentation/trace/uprobetracer.rst).
#pragma once

#include "process/fd.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::profile {

/// Defines probes in a group of this process's own, and takes them away with itself. Groups that processes
/// left behind which have ended are taken away first. Not thread-safe.
class Tracefs {
public:
  /// Throws Error (unavailable) when there is no tracing file system and none can be mounted privately, or
  /// this user may not write to it.
  Tracefs();
  Tracefs(Tracefs&&) noexcept = default;
  Tracefs& operator=(Tracefs&&) = delete;
  ~Tracefs();

  /// A probe at an offset of an open file: on entry, or on return. Gives the `config` of a
  /// PERF_TYPE_TRACEPOINT event. Throws Error (unavailable) with the kernel's errno.
  [[nodiscard]] std::uint64_t define(int file, std::uint64_t offset, bool on_return);

private:
  void command(const std::string& line) const;
  void clean_up() const;
  process::Fd root_;
  std::string group_;
  std::vector<std::string> defined_;
};

} // namespace recount::profile
