#include "base/process/input.hpp"

#include "base/process/child.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace recount::process {
namespace {

mode_t type_of(const std::string& path) {
  struct stat of {};
  return ::stat(path.c_str(), &of) == 0 ? of.st_mode & S_IFMT : 0;
}

Fd open_input(const std::string& path) {
  // Opening a FIFO would wait for its writer (fifo(7)).
  if (const mode_t type = type_of(path); type == S_IFIFO || type == S_IFDIR)
    throw bad_input("--input " + path,
                    type == S_IFDIR ? "is a directory" : "is a pipe, which can be read only once",
                    "write the input to a file and name that");
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw bad_input("--input " + path, std::strerror(errno), "name a file that can be read");
  return file;
}

} // namespace

Input::Input(const std::string& file) {
  if (!file.empty()) {
    file_ = std::make_shared<const Fd>(open_input(file));
    fd_ = file_->get();
  }
  once_ = add(fd_);
  for (const int fd : inherited_descriptors())
    if ((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) add(fd); // pipes there need not be for the command
}

/// Returns what can be read only once: it has no offset (lseek(2)), and is neither a device nor for output.
std::string Input::add(int fd) {
  struct stat of {};
  if ((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY || ::fstat(fd, &of) != 0 || S_ISCHR(of.st_mode))
    return {};
  const off_t begin = ::lseek(fd, 0, SEEK_CUR);
  if (begin < 0) return S_ISFIFO(of.st_mode) ? "a pipe" : S_ISSOCK(of.st_mode) ? "a socket" : "not a file";
  begins_.emplace_back(fd, begin);
  return {};
}

void Input::rewind() const {
  for (const auto& [fd, begin] : begins_)
    ::lseek(fd, begin, SEEK_SET);
}

std::vector<std::string> fifos_among(const std::vector<std::string>& command) {
  // Standard input of this process, which is judged by itself.
  static const std::vector<std::string> standard{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"};
  std::vector<std::string> found;
  for (const std::string& word : command) {
    const std::string value = word.substr(word.find('=') + 1);
    const bool fifo = type_of(word) == S_IFIFO || type_of(value) == S_IFIFO;
    if (fifo && std::ranges::count(standard, word) == 0) found.push_back(word);
  }
  return found;
}

} // namespace recount::process
