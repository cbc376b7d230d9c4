#include "watch/viewer.hpp"

#include <cerrno>
#include <sys/socket.h>

namespace recount::watch {

LineReader::State LineReader::read(int fd, const std::function<void(const Message&)>& take) {
  char bytes[16384];
  const ssize_t n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return State::open;
  if (n <= 0) return State::closed;
  return feed({bytes, static_cast<std::size_t>(n)}, take);
}

LineReader::State LineReader::feed(std::string_view bytes, const std::function<void(const Message&)>& take) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    if (line_.size() + part.size() > longest_line) return State::nonsense;
    line_ += part;
    if (end == std::string_view::npos) return State::open;
    bytes.remove_prefix(end + 1);
    const auto message = parse_line(line_);
    line_.clear();
    if (!message) return State::nonsense;
    take(*message);
  }
  return State::open;
}

} // namespace recount::watch
