#include "base/process/temporary_folder.hpp"

#include "base/errno_fix.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace recount::process {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  std::error_code none;
  const fs::path parent = fs::temp_directory_path(none);
  path_ = ((none ? fs::path("/tmp") : parent) / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(path_.data())) return;
  const int error = errno;
  const std::string cause = std::string("cannot create a folder: ") + std::strerror(error);
  const char* const setting = std::getenv("TMPDIR");
  throw unavailable(path_, cause, setting ? std::string("TMPDIR = ") + setting : "TMPDIR is not set",
                    error == ENOSPC || error == EDQUOT ? base::errno_fix(error)
                                                       : "set TMPDIR to a folder that can be written");
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, std::string())) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code none;
  if (!path_.empty()) fs::remove_all(path_, none);
}

} // namespace recount::process
