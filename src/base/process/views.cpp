#include "base/process/views.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

namespace recount::process {
namespace {

/// Without following any symbolic link: for a Linux before 5.6, or a seccomp filter without openat2(2).
Fd walk(int root, const std::string& path) {
  Fd at(::fcntl(root, F_DUPFD_CLOEXEC, 0));
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      errno = EXDEV;
      return {};
    }
    at.reset(::openat(at.get(), std::string(part).c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    if (!at) return {};
  }
  return at;
}

Fd open_path(const std::string& path, int root, int flags) {
  if (root < 0) return Fd(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
  open_how how{};
  how.flags = static_cast<unsigned>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_IN_ROOT;
  Fd found(static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how)));
  return !found && (errno == ENOSYS || errno == EPERM) ? walk(root, path) : std::move(found);
}

/// A field of /proc/PID/status, the last or the `index`th of its numbers.
template <class Number>
Number status_number(std::string_view status, std::string_view key, std::size_t index) {
  for (const std::string_view line : base::split(status, '\n')) {
    if (!line.starts_with(key)) continue;
    const auto fields = base::split(line, '\t');
    const std::string_view field = fields[std::min(index, fields.size() - 1)];
    Number number = 0;
    std::from_chars(field.data(), field.data() + field.size(), number);
    return number;
  }
  return 0;
}

} // namespace

Fd open_regular(const std::string& path, int root, int flags) {
  const Fd found = open_path(path, root, flags);
  if (!found) return {};
  struct stat status {};
  if (::fstat(found.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return {};
  }
  return Fd(::open(fmt::format("/proc/self/fd/{}", found.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

Views::Views() : own_(root_of("/proc/self")) {
  own_.directory.reset();
  own_.name_space.reset();
}

Views::Root Views::root_of(const std::string& process) {
  Root root;
  root.name_space.reset(::open((process + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC));
  root.directory.reset(::open((process + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat directory {};
  struct stat mounts {};
  if (!root.directory || !root.name_space || ::fstat(root.directory.get(), &directory) != 0 ||
      ::fstat(root.name_space.get(), &mounts) != 0)
    return {};
  root.mounts = mounts.st_ino;
  root.inode = directory.st_ino;
  root.device = directory.st_dev;
  return root;
}

int Views::number_of(Root root) {
  constexpr std::size_t max_roots = 64;
  const auto known = std::ranges::find_if(roots_, [&](const Root& one) { return one.same(root); });
  if (known != roots_.end()) return static_cast<int>(known - roots_.begin());
  if (roots_.size() >= max_roots || own_.same(root)) return -1;
  roots_.push_back(std::move(root));
  return static_cast<int>(roots_.size() - 1);
}

void Views::look(std::uint32_t pid) {
  constexpr std::size_t max_views = 65536;
  const std::string process = fmt::format("/proc/{}", pid);
  Root root = root_of(process);
  const auto status = base::read_file(process + "/status");
  if (!root.directory || !status || (views_.size() >= max_views && !views_.contains(pid))) return;
  constexpr std::size_t effective = 2, innermost = ~std::size_t{0};
  views_[pid] = {number_of(std::move(root)), status_number<std::uint32_t>(*status, "NSpid:", innermost),
                 status_number<uid_t>(*status, "Uid:", effective)};
}

void Views::fork(std::uint32_t parent, std::uint32_t child) {
  const auto known = views_.find(parent);
  if (known == views_.end())
    views_.erase(child); // what is known is of an earlier process of this PID
  else if (const int root = known->second.root; views_.contains(child) || root >= 0)
    views_[child] = {root};
}

int Views::root(std::uint32_t pid) const {
  const auto known = views_.find(pid);
  if (known == views_.end() || known->second.root < 0) return -1;
  return roots_[static_cast<std::size_t>(known->second.root)].directory.get();
}

std::uint32_t Views::own_pid(std::uint32_t pid) const {
  const auto known = views_.find(pid);
  return known == views_.end() ? 0 : known->second.own_pid;
}

bool Views::runs_as(std::uint32_t pid, uid_t user) const {
  const auto known = views_.find(pid);
  return known != views_.end() && known->second.own_pid != 0 && known->second.user == user;
}

} // namespace recount::process
