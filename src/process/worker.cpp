#include "process/worker.hpp"

#include "process/fd.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

namespace recount::process {
namespace {

constexpr std::size_t longest_answer = 16 << 20, longest_words = 4096;

Child start(Spawn& spawn, std::string_view request, const Pipe& out, const Pipe& err) {
  const Fd in = text_file(request);
  spawn.in = in.get();
  spawn.out = out.write.get();
  spawn.err = err.write.get();
  spawn.core_dump = false;
  return Child(spawn);
}

} // namespace

Fd text_file(std::string_view text) {
  if (text.size() <= PIPE_BUF) {
    Pipe pipe;
    if (!write_all(pipe.write.get(), text)) throw unavailable("input of a child", std::strerror(errno));
    return std::move(pipe.read);
  }
  Fd file(::memfd_create("recount-input", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), text) || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw unavailable("input of a child", std::string("memfd_create: ") + std::strerror(errno));
  return file;
}

void drain(Fd& fd, std::string& text, std::size_t most) {
  char block[1 << 14];
  while (fd) {
    const ssize_t got = ::read(fd.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return fd.reset();
    text.append(block, std::min(static_cast<std::size_t>(got), most - std::min(most, text.size())));
  }
}

Worker::Worker(Spawn spawn, std::string_view request) : Worker(spawn, request, Pipe(), Pipe()) {}

Worker::Worker(Spawn& spawn, std::string_view request, Pipe out, Pipe err)
    : child_(start(spawn, request, out, err)), out_(std::move(out.read)), err_(std::move(err.read)) {
  for (const int fd : {out_.get(), err_.get()})
    ::fcntl(fd, F_SETFL, O_NONBLOCK);
}

void Worker::read(int wait_ms) {
  if (wait_ms > 0) {
    pollfd waits[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
    ::poll(waits, 2, wait_ms);
  }
  drain(out_, answer_, longest_answer);
  drain(err_, words_, longest_words);
}

std::string Worker::lines() {
  const std::size_t end = answer_.rfind('\n');
  if (end == std::string::npos) return {};
  std::string whole = answer_.substr(0, end + 1);
  answer_.erase(0, end + 1);
  return whole;
}

std::string_view Worker::last_words() const {
  std::string_view words = words_;
  while (!words.empty() && words.back() == '\n')
    words.remove_suffix(1);
  const std::size_t line = words.rfind('\n');
  if (line != words.npos) words.remove_prefix(line + 1);
  return words;
}

} // namespace recount::process
