#include "result/write.hpp"
#include "base/output_file.hpp"
#include "result/observation.hpp"
#include "result/read.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <recount/error.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace recount::result {
namespace {

/// Length of the file up to and with its last newline.
off_t whole_lines(int fd, off_t size) {
  char block[1 << 16];
  while (size > 0) {
    const auto want = static_cast<std::size_t>(std::min<off_t>(size, sizeof block));
    const ssize_t got = ::pread(fd, block, want, size - static_cast<off_t>(want));
    if (got != static_cast<ssize_t>(want)) return size; // unreadable: cut nothing
    if (const void* found = ::memrchr(block, '\n', want))
      return size - static_cast<off_t>(want) + (static_cast<const char*>(found) - block) + 1;
    size -= static_cast<off_t>(want);
  }
  return 0;
}

} // namespace

Writer::Writer(std::string path, Mode mode, Resume resume) : path_(std::move(path)) {
  std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is then an error of write(2), not a death
  if (path_ == "-") {
    fd_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  } else {
    if (mode == Mode::append) static_cast<void>(read(path_)); // never cut a file that is not ours
    fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EISDIR) // a pipe or a device may be writable only
      fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) throw base::cannot_write(path_, errno);
  struct stat status {};
  regular_ = path_ != "-" && ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
  if (!regular_) return;
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      throw bad_input(path_, "another recount writes to it", "wait for it, or choose another -o FILE");
    if (::fstat(fd_, &status) != 0) throw base::cannot_write(path_, errno);
    if (mode == Mode::create && status.st_size > 0 && !holds_nothing(path_))
      throw bad_input(path_, "exists already, and results are never overwritten",
                      std::string(resume == Resume::possible ? "resume it with --resume, or " : "") +
                          "choose another -o FILE");
    const off_t whole = whole_lines(fd_, status.st_size);
    if (whole != status.st_size && ::ftruncate(fd_, whole) != 0) throw base::cannot_write(path_, errno);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

bool holds_nothing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT;
  struct stat status {};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const bool small = regular && status.st_size < static_cast<off_t>(longest_line);
  std::string text(small ? static_cast<std::size_t>(status.st_size) : 0, '\0');
  const bool got = small && ::pread(fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!got || text.find('\n') != text.npos) return false;
  const std::string_view header = R"({"type":"run","schema":"recount-results/)";
  return text.substr(0, header.size()) == header.substr(0, text.size());
}

Writer::~Writer() {
  if (fd_ >= 0) ::close(fd_);
}

void Writer::append(const std::string& line) {
  const std::string text = line + '\n';
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(fd_, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      struct stat status {};
      if (regular_ && written > 0 && ::fstat(fd_, &status) == 0) // take back the torn line
        static_cast<void>(::ftruncate(fd_, status.st_size - static_cast<off_t>(written)) == 0);
      throw base::cannot_write(path_, error);
    }
    written += static_cast<std::size_t>(n);
  }
}

void Writer::write(const Run& run) {
  append(to_line(run));
}
void Writer::write(const Observation& observation) {
  append(to_line(observation));
}
void Writer::write(const Failure& failure) {
  append(to_line(failure));
}
void Writer::write(const Section& section) {
  append(to_line(section));
}

} // namespace recount::result
