#include "watch/hub.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

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

namespace {
constexpr const char* forms = "write PORT, HOST:PORT or a path with a slash";
constexpr int waiting_to_be_accepted = 16;

sockaddr_un local_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw bad_input(path, fmt::format("is not a path of at most {} characters", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses look_up(const Address& at, bool passive) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found);
  if (error != 0) throw bad_input(at.host + ":" + at.port, ::gai_strerror(error), forms);
  return {found, ::freeaddrinfo};
}

process::Fd socket_for(const addrinfo& one, int flags) {
  return process::Fd(::socket(one.ai_family, one.ai_socktype | SOCK_CLOEXEC | flags, one.ai_protocol));
}

int set_option(int fd, int level, int option) {
  const int on = 1;
  return ::setsockopt(fd, level, option, &on, sizeof on);
}

/// A socket that nobody listens on any more, left by one that was killed.
bool is_abandoned(const sockaddr_un& address) {
  struct stat status {};
  if (::stat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const process::Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    const auto& its = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&its) || (IN6_IS_ADDR_V4MAPPED(&its) && its.s6_addr[12] == IN_LOOPBACKNET);
  }
  return address.sa_family == AF_INET &&
         ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
}

std::string name_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return address.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                       : fmt::format("{}:{}", host, port);
}
} // namespace

Address parse_address(const std::string& text) {
  Address at;
  at.local = text.starts_with("unix:") || text.find('/') != std::string::npos;
  if (at.local) {
    at.path = text.starts_with("unix:") ? text.substr(5) : text;
    static_cast<void>(local_address(at.path));
    return at;
  }
  const auto colon = text.rfind(':');
  at.port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos && colon > 0) at.host = text.substr(0, colon);
  if (at.host.starts_with('[') && at.host.ends_with(']')) at.host = at.host.substr(1, at.host.size() - 2);
  const bool digits = !at.port.empty() && at.port.size() <= 5 &&
                      std::ranges::all_of(at.port, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || std::stoi(at.port) > 65535 || at.host.empty())
    throw bad_input(text, "is not an address", forms);
  return at;
}

Listener::Listener(const std::string& text) : address_(text) {
  const Address at = parse_address(text);
  if (at.local)
    listen_locally(at);
  else
    listen_by_tcp(at);
}

Listener::~Listener() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void Listener::listen_locally(const Address& at) {
  const sockaddr_un address = local_address(at.path);
  if (is_abandoned(address)) ::unlink(address.sun_path);
  fd_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = ::umask(0077);
  const bool bound =
      fd_ && ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int error = errno;
  ::umask(before);
  if (!bound && error == EADDRINUSE)
    throw unavailable(at.path, "exists already", {}, "choose another path, or remove it");
  if (!bound) throw bad_input(at.path, std::string("cannot be created: ") + std::strerror(error));
  path_ = at.path;
  if (::listen(fd_.get(), waiting_to_be_accepted) != 0) throw unavailable(at.path, std::strerror(errno));
}

void Listener::listen_by_tcp(const Address& at) {
  const Addresses found = look_up(at, true);
  int error = 0;
  for (const addrinfo* one = found.get(); one; one = one->ai_next) {
    fd_ = socket_for(*one, SOCK_NONBLOCK);
    if (!fd_) continue;
    set_option(fd_.get(), SOL_SOCKET, SO_REUSEADDR);
    if (::bind(fd_.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(fd_.get(), waiting_to_be_accepted) == 0) {
      address_ = name_of(fd_.get());
      reachable_ = !is_loopback(*one->ai_addr);
      return;
    }
    error = errno;
  }
  if (error == EADDRINUSE)
    throw unavailable(at.host + ":" + at.port, "is in use", {}, "choose another port; 0 takes any");
  throw bad_input(at.host + ":" + at.port,
                  std::string("cannot listen on this address: ") + std::strerror(error));
}

process::Fd Listener::accept() const {
  return process::Fd(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

process::Fd connect_to(const std::string& text) {
  const Address at = parse_address(text);
  int error = ECONNREFUSED;
  const auto nobody = [&] {
    if (error == EACCES || error == EPERM)
      return unavailable(text, std::string("this user may not connect: ") + std::strerror(error), {},
                         "connect as the user who started recount watch --listen, "
                         "or listen on a port");
    return unavailable(text, std::string("no connection: ") + std::strerror(error), {},
                       "start recount watch --listen " + text + " first");
  };
  if (at.local) {
    const sockaddr_un address = local_address(at.path);
    process::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return fd;
    error = errno;
    throw nobody();
  }
  const Addresses found = look_up(at, false);
  for (const addrinfo* one = found.get(); one; one = one->ai_next) {
    process::Fd fd = socket_for(*one, 0);
    if (fd && ::connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    error = errno;
  }
  throw nobody();
}

} // namespace recount::watch
