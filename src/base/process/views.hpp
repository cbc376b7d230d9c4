// The files and PIDs of other processes as these see them: a container has a root and PIDs of its own.
#pragma once

#include "base/process/fd.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::process {

/// Opens a regular file for reading; not a device or a pipe, whose opening may have side effects. `root`: the
/// directory that "/" is in `path`, out of which neither ".." nor a symbolic link leads; -1: that of this
/// process. `flags`: O_NOFOLLOW or 0. None with errno otherwise; EINVAL: it is something else.
[[nodiscard]] Fd open_regular(const std::string& path, int root = -1, int flags = 0);

/// What processes see, also after their end: the mount namespaces of the first 64 containers are kept. Not
/// thread-safe.
class Views {
public:
  Views();
  /// Takes what a process sees now. One that has ended, or that this user may not observe, keeps what is
  /// known of it.
  void look(std::uint32_t pid);
  /// The child sees what its parent does, until it is looked at.
  void fork(std::uint32_t parent, std::uint32_t child);

  /// The root directory of a process; -1: that of this one, or unknown.
  [[nodiscard]] int root(std::uint32_t pid) const;
  /// The PID that a process has in its own PID namespace; 0: unknown.
  [[nodiscard]] std::uint32_t own_pid(std::uint32_t pid) const;
  /// Whether the process was looked at, and ran as this effective user.
  [[nodiscard]] bool runs_as(std::uint32_t pid, uid_t user) const;

private:
  /// A root directory in its mount namespace.
  struct Root {
    ino_t mounts = 0, inode = 0; ///< these numbers identify it
    dev_t device = 0;
    Fd directory, name_space; ///< the latter keeps what is mounted below
    [[nodiscard]] bool same(const Root& other) const {
      return mounts == other.mounts && inode == other.inode && device == other.device;
    }
  };
  struct View {
    int root = -1; ///< index into roots_; -1: that of this process, or unknown
    std::uint32_t own_pid = 0;
    uid_t user = 0;
  };
  [[nodiscard]] static Root root_of(const std::string& process);
  [[nodiscard]] int number_of(Root root);

  Root own_; ///< of this process
  std::vector<Root> roots_;
  std::unordered_map<std::uint32_t, View> views_;
};

} // namespace recount::process
