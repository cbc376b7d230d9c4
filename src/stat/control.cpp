#include "stat/control.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/print.hpp"
#include "stat/stat_run.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace recount::stat {
namespace {

constexpr std::size_t longest_command = 64;
constexpr const char* example = "--control fd:3,4 or --control fifo:COMMANDS,REPLIES";

int parse_descriptor(const std::string& text, std::string_view number) {
  const auto fd = base::parse<int>(number);
  if (!fd || *fd < 0)
    throw bad_input("--control " + text, "is no descriptor: " + std::string(number), example);
  if (::fcntl(*fd, F_GETFD) < 0)
    throw bad_input("--control " + text, fmt::format("descriptor {} is not open", *fd),
                    "open it first: recount stat --control fd:3 ... 3<FILE");
  return *fd;
}

/// Opened for reading and writing, so that opening waits for nobody and the last writer does not end it
/// (fifo(7)).
process::Fd open_fifo(const std::string& text, std::string_view path) {
  process::Fd fd(::open(std::string(path).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd)
    throw bad_input("--control " + text, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)),
                    fmt::format("mkfifo {}", path));
  return fd;
}

} // namespace

Control::Control(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto ends =
      base::split(std::string_view(text).substr(colon == text.npos ? text.size() : colon + 1), ',');
  if ((kind != "fd" && kind != "fifo") || ends.size() > 2 || ends.front().empty())
    throw bad_input("--control " + text, "is neither fd:N[,M] nor fifo:PATH[,PATH]", example);
  if (kind == "fd") {
    in_ = parse_descriptor(text, ends.front());
    if (ends.size() > 1) out_ = parse_descriptor(text, ends[1]);
    return;
  }
  own_in_ = open_fifo(text, ends.front());
  in_ = own_in_.get();
  if (ends.size() < 2) return;
  own_out_ = open_fifo(text, ends[1]);
  out_ = own_out_.get();
}

void Control::obey(Attached& counters) {
  char block[512];
  for (pollfd now{in_, POLLIN, 0}; in_ >= 0 && ::poll(&now, 1, 0) > 0;) {
    const ssize_t got = ::read(in_, block, sizeof block);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {
      in_ = -1;
      return;
    }
    rest_.append(block, static_cast<std::size_t>(got));
    for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n')) {
      obey(base::trim(std::string_view(rest_).substr(0, end)), counters);
      rest_.erase(0, end + 1);
    }
    if (rest_.size() > longest_command) rest_.erase(0, rest_.size() - longest_command);
  }
}

void Control::obey(std::string_view line, Attached& counters) {
  const std::string_view word = line.substr(0, line.find('\0')); // perf's own clients end it so
  if (word == "enable")
    counters.start();
  else if (word == "disable")
    counters.stop();
  else if (word != "ping") {
    command::note("recount stat: warning: --control: unknown command '{}' ignored\n", word);
    return;
  }
  if (out_ >= 0) static_cast<void>(::write(out_, "ack\n", 4) < 0); // its reader may be gone
}

} // namespace recount::stat
