#include "base/output_file.hpp"

#include "base/errno_fix.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace recount::base {
namespace {
namespace fs = std::filesystem;

/// 0, or the errno of making something in this folder. Only a trial is reliable: access(2) grants root
/// everything, also in /proc.
int try_folder(const fs::path& folder) {
  std::string name = ((folder.empty() ? fs::path(".") : folder) / ".recount-check-XXXXXX").string();
  if (!::mkdtemp(name.data())) return errno;
  ::rmdir(name.c_str());
  return 0;
}

int try_file(const fs::path& path, Output how) {
  std::error_code error;
  const auto kind = fs::status(path, error);
  if (fs::is_directory(kind)) return EISDIR;
  if (error && kind.type() != fs::file_type::not_found) return error.value();
  const bool exists = fs::exists(kind);
  if (exists && (how == Output::appended || !fs::is_regular_file(kind)))
    return ::access(path.c_str(), W_OK) == 0 ? 0 : errno;
  // The file that a symbolic link names is created or replaced, not the link.
  return try_folder(follow_links(path).parent_path());
}

} // namespace

fs::path follow_links(fs::path path) {
  constexpr int most = 40; // as Linux follows
  std::error_code error;
  for (int i = 0; i < most && fs::is_symlink(fs::symlink_status(path, error)); ++i)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

bool write_file(const std::string& path, std::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "we");
  if (!file) return false;
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int error = errno;
  const bool closed = std::fclose(file) == 0;
  if (!written) errno = error;
  return written && closed;
}

bool replace_file(const std::string& path, std::string_view text) {
  std::string draft = path + ".XXXXXX";
  const int fd = ::mkostemp(draft.data(), O_CLOEXEC);
  if (fd < 0) return false;
  ::fchmod(fd, 0644);
  ::close(fd);
  if (write_file(draft, text) && std::rename(draft.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  ::unlink(draft.c_str());
  errno = error;
  return false;
}

Error cannot_write(const std::string& path, int error) {
  const bool standard_output = path == "-";
  Problem problem{
      standard_output ? "standard output" : path,
      Reason(std::string("cannot be written: ") + std::strerror(error), {}, {}, ReasonCode::other, error)};
  if (error == EFBIG) {
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    if (limit.rlim_cur != RLIM_INFINITY) { // else the limit of the file system
      problem.setting = fmt::format("RLIMIT_FSIZE = {} bytes", limit.rlim_cur);
      problem.fix = "ulimit -f unlimited";
    }
  } else if (!standard_output || error == ENOSPC || error == EDQUOT) {
    problem.fix = errno_fix(error);
  }
  return {standard_output ? ErrorKind::unavailable : ErrorKind::bad_input, std::move(problem)};
}

void check_writable(const std::string& option, const std::string& path, Output how) {
  if (path.empty() || path == "-") return;
  const bool folder = path.back() == '/';
  if (const int error = folder ? EISDIR : try_file(path, how); error != 0)
    throw cannot_write(option + " " + path, error);
}

} // namespace recount::base
