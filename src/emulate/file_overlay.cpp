#include "emulate/file_overlay.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace recount::emulate {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& fix) {
  throw unavailable("files of the emulated machine", what + ": " + std::strerror(errno), {}, fix);
}

} // namespace

FileOverlay::FileOverlay(bool bound) : bound_(bound) {
  const char* const folder = std::getenv("TMPDIR");
  folder_ = std::string(folder && *folder ? folder : "/tmp") + "/recount-emulate-XXXXXX";
  const char* const fix = "set TMPDIR to a folder that can be written";
  if (::mkdtemp(folder_.data()) == nullptr) fail(folder_, fix);
  if (!bound_) {
    ::chmod(folder_.c_str(), 0755); // programs of the command may run as other users
    return;
  }
  if (::mount("recount", folder_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") == 0) return;
  const int error = errno;
  ::rmdir(folder_.c_str());
  errno = error;
  fail("tmpfs at " + folder_, fix);
}

FileOverlay::~FileOverlay() {
  std::error_code ignored;
  if (!bound_) {
    fs::remove_all(folder_, ignored);
    return;
  }
  ::umount2(folder_.c_str(), MNT_DETACH);
  ::rmdir(folder_.c_str());
}

void FileOverlay::replace(const std::string& source, const std::string& target) {
  if (!bound_)
    redirections_ += target + "\t" + source + "\n";
  else if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    fail("mount --bind over " + target, "see recount-emulate(1)");
}

void FileOverlay::keep(const std::string& target, const std::string& link) {
  if (!bound_) {
    fs::create_directory_symlink(target, link);
    return;
  }
  fs::create_directory(link);
  if (::mount(target.c_str(), link.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    fail("mount --bind over " + link, "see recount-emulate(1)");
}

} // namespace recount::emulate
