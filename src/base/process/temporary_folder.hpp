// A private folder for temporary files.
#pragma once

#include <string>

namespace recount::process {

/// Created with mode 0700 below TMPDIR, else /tmp; removed with its content when destroyed.
class TemporaryFolder {
public:
  /// `prefix`: of its name. Throws recount::Error (unavailable) if it cannot be created.
  explicit TemporaryFolder(const std::string& prefix);
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  ~TemporaryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

} // namespace recount::process
