#include "watch/hub.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sys/socket.h>

namespace recount::watch {
namespace {
constexpr std::size_t most_viewers = 32;
constexpr std::size_t queue_bytes = 256 << 10;
constexpr std::size_t most_recent = 600; ///< lines for those who come late
constexpr std::size_t most_heard = 4096; ///< bytes, of a viewer who has nothing to say

short events_of(const std::vector<pollfd>& said, int fd) {
  const auto at = std::ranges::find(said, fd, &pollfd::fd);
  return at == said.end() ? short{0} : at->revents;
}
} // namespace

void Hub::polled(std::vector<pollfd>& into) const {
  into.push_back({listener_.fd(), POLLIN, 0});
  for (const Viewer& v : viewers_)
    into.push_back(
        {v.fd.get(), static_cast<short>((v.silent ? 0 : POLLIN) | (v.queue.empty() ? 0 : POLLOUT)), 0});
}

void Hub::serve(const std::vector<pollfd>& said) {
  for (auto v = viewers_.begin(); v != viewers_.end();) {
    const short events = events_of(said, v->fd.get());
    const bool gone = (events & (POLLERR | POLLNVAL)) != 0 || (events & POLLHUP) != 0 ||
                      ((events & POLLIN) != 0 && !hear(*v)) || ((events & POLLOUT) != 0 && !flush(*v));
    v = gone ? viewers_.erase(v) : std::next(v);
  }
  if (events_of(said, listener_.fd()) != 0) welcome();
}

void Hub::welcome() {
  for (process::Fd fd = listener_.accept(); fd; fd = listener_.accept()) {
    if (viewers_.size() >= most_viewers) continue; // closed at once
    Viewer& viewer = viewers_.emplace_back();
    viewer.fd = std::move(fd);
    if (!hello_.empty()) push(viewer, hello_);
    for (const auto& line : recent_)
      push(viewer, line);
    if (!flush(viewer)) viewers_.pop_back();
  }
}

void Hub::push(Viewer& viewer, const std::string& line) {
  // First what it has missed, as soon as there is room for that and for the line.
  const std::string missed = viewer.missed > 0 ? to_line(Dropped{viewer.missed, false}) + "\n" : "";
  if (viewer.queued + missed.size() + line.size() > queue_bytes) {
    ++viewer.missed;
    ++dropped_;
    return;
  }
  for (const std::string* text : {&missed, &line}) {
    if (text->empty()) continue;
    viewer.queue.push_back(*text);
    viewer.queued += text->size();
  }
  viewer.missed = 0;
}

void Hub::send(const Message& message) {
  const std::string line = to_line(message) + "\n";
  if (std::holds_alternative<Hello>(message)) {
    hello_ = line;
  } else {
    recent_.push_back(line);
    if (recent_.size() > most_recent) recent_.pop_front();
  }
  for (auto v = viewers_.begin(); v != viewers_.end();) {
    push(*v, line);
    v = flush(*v) ? std::next(v) : viewers_.erase(v);
  }
}

/// As much as the viewer takes now; false when it has gone.
bool Hub::flush(Viewer& viewer) {
  while (!viewer.queue.empty()) {
    const std::string& line = viewer.queue.front();
    const ssize_t n = ::send(viewer.fd.get(), line.data() + viewer.sent_of_first,
                             line.size() - viewer.sent_of_first, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    viewer.sent_of_first += static_cast<std::size_t>(n);
    viewer.queued -= static_cast<std::size_t>(n);
    if (viewer.sent_of_first < line.size()) return true;
    viewer.queue.pop_front();
    viewer.sent_of_first = 0;
  }
  return true;
}

/// False when the viewer has gone, or talks.
bool Hub::hear(Viewer& viewer) {
  char nothing[512];
  const ssize_t n = ::recv(viewer.fd.get(), nothing, sizeof nothing, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  viewer.silent = n == 0; // it may go on listening
  viewer.heard += static_cast<std::size_t>(n);
  return viewer.heard <= most_heard;
}

void Hub::drain(int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  const auto waits = [](const Viewer& v) { return !v.queue.empty(); };
  while (std::ranges::any_of(viewers_, waits)) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    std::vector<pollfd> fds;
    for (const Viewer& v : viewers_)
      if (waits(v)) fds.push_back({v.fd.get(), POLLOUT, 0});
    ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    serve(fds);
  }
}

} // namespace recount::watch
