// Paths of files that are another machine's, where no mount namespace is allowed: see FileOverlay.
#pragma once

#include <limits.h>
#include <linux/fcntl.h>

namespace recount::emulate {

/// The path to be opened in place of one that the program names; mostly the same.
class Redirected {
public:
  /// `folder`: what a relative path starts from.
  explicit Redirected(const char* path, int folder = AT_FDCWD);
  [[nodiscard]] const char* path() const { return path_; }

private:
  const char* path_;
  char text_[PATH_MAX];
};

} // namespace recount::emulate
