// Fixes for errnos of files and resources.
#pragma once

#include <cerrno>

namespace recount::base {

/// The fix for a file that cannot be written, or a resource that cannot be had; empty: none is known. Pure.
[[nodiscard]] constexpr const char* errno_fix(int error) {
  switch (error) {
  case ENOSPC: return "remove files there (see df(1)), or name a file on another file system";
  case EDQUOT: return "remove files of this user (quota -s), or name a file on another file system";
  case EROFS: return "name a file on a file system that is mounted for writing";
  case ENOENT:
  case ENOTDIR: return "use a folder that exists";
  case EACCES:
  case EPERM: return "use a file and a folder that this user may write to";
  case EISDIR: return "name a file, not a folder";
  case EMFILE: return "ulimit -n";
  case ENFILE: return "sysctl -w fs.file-max=N (as root)";
  case ENOMEM: return "free memory (see free(1))";
  default: return "";
  }
}

} // namespace recount::base
