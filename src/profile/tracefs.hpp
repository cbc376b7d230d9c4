// Probes on functions, as Linux's tracefs defines them (Documentation/trace/uprobetracer.rst).
#pragma once

#include "process/fd.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace recount::profile {

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

} // namespace recount::profile
