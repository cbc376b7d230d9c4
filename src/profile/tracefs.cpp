#include "profile/tracefs.hpp"

#include "base/text.hpp"

#include <recount/error.hpp>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <memory>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace recount::profile {
namespace {
constexpr const char* prefix = "recount_";

/// Several of them may be in one process.
std::string new_group() {
  static std::atomic<unsigned> number = 0;
  return fmt::format("{}{}_{}", prefix, ::getpid(), number++);
}

process::Fd open_folder(int at, const char* path) {
  return process::Fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// A private mount, removed when its descriptor is closed.
process::Fd mount_privately() {
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
  const process::Fd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return {};
  return process::Fd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
#else
  return {};
#endif
}

process::Fd open_tracefs() {
  for (const char* const path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    process::Fd folder = open_folder(AT_FDCWD, path);
    if (folder && ::faccessat(folder.get(), "uprobe_events", W_OK, 0) == 0) return folder;
  }
  return mount_privately();
}

Error no_tracefs(int error) {
  return unavailable(
      "probes on functions", std::string("no tracefs can be used: ") + std::strerror(error), {},
      "run as root (CAP_SYS_ADMIN), or let root run `mount -t tracefs nodev /sys/kernel/tracing`");
}

std::string contents(int root, const std::string& path) {
  const process::Fd file(::openat(root, path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? base::read_all(file.get()).value_or("") : "";
}
} // namespace

Tracefs::Tracefs() : root_(open_tracefs()), group_(new_group()) {
  if (!root_) throw no_tracefs(errno);
  if (::faccessat(root_.get(), "uprobe_events", W_OK, AT_EACCESS) != 0) throw no_tracefs(errno);
  clean_up();
}

Tracefs::~Tracefs() {
  for (const auto& name : defined_) {
    try {
      command(fmt::format("-:{}/{}", group_, name));
    } catch (const Error&) { // still in use: removed by a later recount
    }
  }
}

void Tracefs::command(const std::string& line) const {
  const process::Fd file(::openat(root_.get(), "uprobe_events", O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string text = line + "\n";
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw unavailable("uprobe_events",
                      fmt::format("the kernel refuses \"{}\": {}", line, std::strerror(errno)));
}

/// Removes groups of processes that were killed before they could remove them.
void Tracefs::clean_up() const {
  const process::Fd events = open_folder(root_.get(), "events");
  if (!events) return;
  std::vector<std::string> lines;
  const auto each = [](int at, const char* path, const auto& visit) {
    process::Fd folder = open_folder(at, path);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(folder ? ::fdopendir(folder.get()) : nullptr,
                                                      ::closedir);
    if (!listing) return;
    static_cast<void>(folder.release());
    while (const dirent* const entry = ::readdir(listing.get()))
      if (entry->d_name[0] != '.') visit(std::string(entry->d_name));
  };
  each(events.get(), ".", [&](const std::string& group) {
    if (!group.starts_with(prefix)) return;
    pid_t pid = 0;
    const char* const digits = group.data() + std::strlen(prefix);
    const auto [end, wrong] = std::from_chars(digits, group.data() + group.size(), pid);
    const bool ours = wrong == std::errc() && *end == '_';
    if (!ours || ::kill(pid, 0) == 0 || errno != ESRCH) return;
    each(events.get(), group.c_str(), [&](const std::string& name) {
      struct stat status {};
      const std::string path = group + "/" + name;
      if (::fstatat(events.get(), path.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode))
        lines.push_back("-:" + path);
    });
  });
  for (const auto& line : lines) {
    try {
      command(line);
    } catch (const Error&) { // in use after all
    }
  }
}

std::uint64_t Tracefs::define(int file, std::uint64_t offset, bool on_return) {
  const std::string name = fmt::format("{}{}", on_return ? "return" : "entry", defined_.size());
  // By its descriptor: a path may contain blanks, and may name another file by now.
  command(fmt::format("{}:{}/{} /proc/self/fd/{}:{:#x}", on_return ? 'r' : 'p', group_, name, file, offset));
  defined_.push_back(name);
  const std::string text = contents(root_.get(), fmt::format("events/{}/{}/id", group_, name));
  std::uint64_t id = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), id).ec != std::errc())
    throw unavailable("uprobe_events", "the kernel reported no ID for the probe");
  return id;
}

} // namespace recount::profile
