// The mapped files of a process, opened while they exist.
#pragma once

#include "process/fd.hpp"
#include "symbol/module.hpp"
#include "symbol/spaces.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::profile {

/// Opens a regular file for reading; not a device or a pipe, whose opening may have side effects.
/// None with errno otherwise.
[[nodiscard]] process::Fd open_regular(const std::string& path);

/// Keeps up to 512 files open from the moment that they were mapped, so that those which are removed or
/// replaced later, or are in another mount namespace, can still be read. Not thread-safe.
class Files {
public:
  /// Opens what is new in `spaces`, as `pid` sees it.
  void look_at(const symbol::Spaces& spaces, std::uint32_t pid);

  /// A file to look names up in; none, with the reason, when it is gone, is not what was mapped, or is no
  /// program.
  struct Found {
    std::optional<symbol::Module> module;
    std::string trouble; ///< also beside a module: what it lacks
  };
  [[nodiscard]] Found module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path);

private:
  std::vector<process::Fd> open_; ///< by the numbers of the files
  std::size_t count_ = 0;
};

} // namespace recount::profile
