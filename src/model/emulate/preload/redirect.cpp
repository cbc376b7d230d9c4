// The functions of libc that open and examine files by path: some are another machine's, where no mount
// namespace is allowed (see FileOverlay).
#include "model/emulate/preload/account.hpp"
#include "model/emulate/real.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <linux/fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>

namespace recount::emulate {

namespace {

const char* redirections() {
  static const char* const all = std::getenv("RECOUNT_PMU_FILES");
  return all == nullptr ? "" : all;
}

/// Appends to a text of PATH_MAX bytes, with one slash where there are several. False: too long.
bool append(char* text, std::size_t& length, std::string_view more) {
  for (const char c : more) {
    if (c == '/' && length > 0 && text[length - 1] == '/') continue;
    if (length + 1 >= PATH_MAX) return false;
    text[length++] = c;
  }
  text[length] = '\0';
  return true;
}

/// The absolute path of a file in `folder`; false: unknown.
bool absolute(const char* path, int folder, char* text, std::size_t& length) {
  if (*path == '/') return append(text, length, path);
  if (folder == AT_FDCWD) return false; // nobody works in these folders
  char name[32];
  std::snprintf(name, sizeof name, "/proc/self/fd/%d", folder);
  const long bytes = real::syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>(name),
                                   reinterpret_cast<long>(text), PATH_MAX / 2);
  if (bytes <= 0) return false;
  length = static_cast<std::size_t>(bytes);
  return append(text, length, "/") && append(text, length, path);
}

/// Source and the rest of the path below the target; false: none.
bool find(std::string_view path, std::string_view& source, std::string_view& rest) {
  for (std::string_view lines = redirections(); !lines.empty();) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::string_view target = line.substr(0, line.find('\t'));
    if (target.empty() || target.size() == line.size() || !path.starts_with(target)) continue;
    rest = path.substr(target.size());
    if (!rest.empty() && rest.front() != '/') continue;
    source = line.substr(target.size() + 1);
    return true;
  }
  return false;
}

template <typename F>
F next_function(const char* name, F /*type*/) {
  const Pause pause;
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

/// The path to be opened in place of one that the program names; mostly the same.
class Redirected {
public:
  /// `folder`: what a relative path starts from.
  explicit Redirected(const char* path, int folder = AT_FDCWD) : path_(path) {
    if (path == nullptr || *redirections() == '\0') return;
    const Pause pause;
    const int error = errno;
    std::string_view source, rest;
    char whole[PATH_MAX];
    std::size_t length = 0, size = 0;
    if (absolute(path, folder, whole, length) && find({whole, length}, source, rest) &&
        append(text_, size, source) && append(text_, size, rest))
      path_ = text_;
    errno = error;
  }
  [[nodiscard]] const char* path() const { return path_; }

private:
  const char* path_;
  char text_[PATH_MAX];
};

} // namespace
} // namespace recount::emulate

using recount::emulate::Redirected;

// Of the same name, from libc.
#define NEXT(name) static const auto next = recount::emulate::next_function(#name, &name)

#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...);
int open64(const char* path, int flags, ...);
int openat(int folder, const char* path, int flags, ...);
int openat64(int folder, const char* path, int flags, ...);
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
int access(const char* path, int mode) noexcept;
int faccessat(int folder, const char* path, int mode, int flags) noexcept;
ssize_t readlink(const char* path, char* to, std::size_t bytes) noexcept;
int __xstat(int version, const char* path, struct stat* to) noexcept;
int __lxstat(int version, const char* path, struct stat* to) noexcept;
int __xstat64(int version, const char* path, struct stat64* to) noexcept;
int __lxstat64(int version, const char* path, struct stat64* to) noexcept;

// The mode is read whether or not there is one, as libc's callers pass it in a register.
#define OPEN(name, parameters, ...)                                                                          \
  int name parameters {                                                                                      \
    NEXT(name);                                                                                              \
    va_list list;                                                                                            \
    va_start(list, flags);                                                                                   \
    const auto mode = va_arg(list, unsigned);                                                                \
    va_end(list);                                                                                            \
    return next(__VA_ARGS__, flags, mode);                                                                   \
  }
OPEN(open, (const char* path, int flags, ...), Redirected(path).path())
OPEN(open64, (const char* path, int flags, ...), Redirected(path).path())
OPEN(openat, (int folder, const char* path, int flags, ...), folder, Redirected(path, folder).path())
OPEN(openat64, (int folder, const char* path, int flags, ...), folder, Redirected(path, folder).path())

#define REDIRECT(type, name, parameters, ...)                                                                \
  type name parameters {                                                                                     \
    NEXT(name);                                                                                              \
    return next(__VA_ARGS__);                                                                                \
  }
// What these become under _FORTIFY_SOURCE.
REDIRECT(int, __open_2, (const char* path, int flags), Redirected(path).path(), flags)
REDIRECT(int, __open64_2, (const char* path, int flags), Redirected(path).path(), flags)
REDIRECT(int, __openat_2, (int folder, const char* path, int flags), folder, Redirected(path, folder).path(),
         flags)
REDIRECT(int, __openat64_2, (int folder, const char* path, int flags), folder,
         Redirected(path, folder).path(), flags)

REDIRECT(std::FILE*, fopen, (const char* path, const char* mode), Redirected(path).path(), mode)
REDIRECT(std::FILE*, fopen64, (const char* path, const char* mode), Redirected(path).path(), mode)
REDIRECT(DIR*, opendir, (const char* path), Redirected(path).path())
REDIRECT(int, scandir,
         (const char* path, dirent*** list, int (*chosen)(const dirent*),
          int (*order)(const dirent**, const dirent**)),
         Redirected(path).path(), list, chosen, order)
REDIRECT(int, scandir64,
         (const char* path, dirent64*** list, int (*chosen)(const dirent64*),
          int (*order)(const dirent64**, const dirent64**)),
         Redirected(path).path(), list, chosen, order)

#define STAT(name, type)                                                                                     \
  int name(const char* path, struct type* to) noexcept {                                                     \
    static const auto next =                                                                                 \
        recount::emulate::next_function(#name, static_cast<int (*)(const char*, struct type*)>(nullptr));    \
    return next(Redirected(path).path(), to);                                                                \
  }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

REDIRECT(int, __xstat, (int version, const char* path, struct stat* to) noexcept, version,
         Redirected(path).path(), to)
REDIRECT(int, __xstat64, (int version, const char* path, struct stat64* to) noexcept, version,
         Redirected(path).path(), to)
REDIRECT(int, __lxstat, (int version, const char* path, struct stat* to) noexcept, version,
         Redirected(path).path(), to)
REDIRECT(int, __lxstat64, (int version, const char* path, struct stat64* to) noexcept, version,
         Redirected(path).path(), to)

REDIRECT(int, fstatat, (int folder, const char* path, struct stat* to, int flags) noexcept, folder,
         Redirected(path, folder).path(), to, flags)
REDIRECT(int, fstatat64, (int folder, const char* path, struct stat64* to, int flags) noexcept, folder,
         Redirected(path, folder).path(), to, flags)
REDIRECT(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* to) noexcept,
         folder, Redirected(path, folder).path(), flags, mask, to)
REDIRECT(int, access, (const char* path, int mode) noexcept, Redirected(path).path(), mode)
REDIRECT(int, faccessat, (int folder, const char* path, int mode, int flags) noexcept, folder,
         Redirected(path, folder).path(), mode, flags)
REDIRECT(ssize_t, readlink, (const char* path, char* to, std::size_t bytes) noexcept, Redirected(path).path(),
         to, bytes)
REDIRECT(char*, realpath, (const char* path, char* to) noexcept, Redirected(path).path(), to)

} // extern "C"
#pragma GCC visibility pop
