// Files of another machine in place of those in sysfs and procfs: bound over them in a mount namespace, or,
// where none is allowed, opened in their place by the preload library.
#pragma once

#include <string>

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

} // namespace recount::emulate
