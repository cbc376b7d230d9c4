#include "profile/files.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace recount::profile {
namespace {
constexpr std::size_t most_open = 512;

bool same_bytes(std::span<const unsigned char> a, std::span<const std::uint8_t> b) {
  // The kernel fills an id of fewer bytes up with zeros.
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

/// Why the file differs from the mapped one; empty: same file.
std::string other_file(const symbol::MappedFile& mapped, const symbol::Module& module, ino_t inode) {
  const auto id = module.build_id();
  const bool another = !mapped.build_id.empty() ? !same_bytes(id, mapped.build_id)
                                                : mapped.inode != 0 && mapped.inode != inode;
  return another ? "the file was replaced since it was mapped" : "";
}
} // namespace

process::Fd open_regular(const std::string& path) {
  process::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (fd && (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    fd.reset();
    errno = EINVAL;
  }
  return fd;
}

void Files::look_at(const symbol::Spaces& spaces, std::uint32_t pid) {
  while (open_.size() < spaces.files().size()) {
    const auto& file = spaces.files()[open_.size()];
    process::Fd fd;
    if (file.is_file() && count_ < most_open) {
      fd = open_regular(fmt::format("/proc/{}/root{}", pid, file.path));
      if (!fd) fd = open_regular(file.path);
      count_ += fd ? 1U : 0U;
    }
    open_.push_back(std::move(fd));
  }
}

Files::Found Files::module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path) {
  const auto& mapped = spaces.files()[file];
  Found found;
  try {
    if (mapped.path == "[vdso]") {
      found.module = symbol::vdso(debug_path);
      return found;
    }
    process::Fd fd;
    if (file < open_.size() && open_[file]) fd.reset(::fcntl(open_[file].get(), F_DUPFD_CLOEXEC, 0));
    if (!fd) fd = open_regular(mapped.path);
    if (!fd) {
      found.trouble = std::strerror(errno);
      return found;
    }
    struct stat status {};
    ::fstat(fd.get(), &status);
    found.module.emplace(std::move(fd), mapped.path, debug_path);
    found.trouble = other_file(mapped, *found.module, status.st_ino);
    if (!found.trouble.empty())
      found.module.reset();
    else
      found.trouble = found.module->lacks();
  } catch (const Error& error) {
    found.trouble = error.problem().cause;
  }
  return found;
}

} // namespace recount::profile
