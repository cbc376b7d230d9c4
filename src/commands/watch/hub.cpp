#include "commands/watch/hub.hpp"

#include "base/format.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace recount::watch {
namespace {
constexpr const char* forms = "write PORT, HOST:PORT or a path with a slash";

/// Of a Unix or TCP socket.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] process::Fd open(int flags = 0) const {
    return process::Fd(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  }
};

std::vector<SocketAddress> resolve_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    throw bad_input(path, fmt::format("is not a path of at most {} characters", sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  SocketAddress resolved{.size = sizeof address};
  std::memcpy(&resolved.storage, &address, sizeof address);
  return {resolved};
}

/// `passive`: to listen on.
std::vector<SocketAddress> resolve(const Address& at, bool passive) {
  if (at.local) return resolve_path(at.path);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(at.host.c_str(), at.port.c_str(), &hints, &found);
  if (error != 0) throw bad_input(at.host + ":" + at.port, ::gai_strerror(error), forms);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  std::vector<SocketAddress> all;
  for (const addrinfo* one = found; one; one = one->ai_next)
    std::memcpy(&all.emplace_back(SocketAddress{.size = one->ai_addrlen}).storage, one->ai_addr,
                one->ai_addrlen);
  return all;
}

/// Whether the listener of a Unix socket was killed.
bool is_abandoned(const SocketAddress& address, const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const process::Fd probe = address.open();
  return ::connect(probe.get(), address.get(), address.size) != 0 && errno == ECONNREFUSED;
}

bool is_loopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == IN_LOOPBACKNET);
  }
  return ntohl(reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr.s_addr) >> 24U ==
         IN_LOOPBACKNET;
}

/// "127.0.0.1:4711", "[::1]:4711", with the port that the kernel assigned.
std::string bound_name(int fd) {
  SocketAddress address{.size = sizeof address.storage};
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0 ||
      ::getnameinfo(address.get(), address.size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  const std::string name = address.storage.ss_family == AF_INET6 ? fmt::format("[{}]", host) : host;
  return name + ":" + port;
}
} // namespace

Address parse_address(const std::string& text) {
  Address at;
  at.local = text.starts_with("unix:") || text.find('/') != std::string::npos;
  if (at.local) {
    at.path = text.starts_with("unix:") ? text.substr(5) : text;
    static_cast<void>(resolve_path(at.path));
    return at;
  }
  const auto colon = text.rfind(':');
  at.port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos && colon > 0) at.host = text.substr(0, colon);
  if (at.host.starts_with('[') && at.host.ends_with(']')) at.host = at.host.substr(1, at.host.size() - 2);
  if (!base::parse<std::uint16_t>(at.port) || at.host.empty())
    throw bad_input(text, "is not an address", forms);
  return at;
}

process::Fd connect_to(const std::string& text) {
  int error = ECONNREFUSED;
  for (const SocketAddress& address : resolve(parse_address(text), false)) {
    process::Fd fd = address.open();
    if (fd && ::connect(fd.get(), address.get(), address.size) == 0) return fd;
    error = errno;
  }
  if (error == EACCES || error == EPERM)
    throw unavailable(text, std::string("this user may not connect: ") + std::strerror(error), {},
                      "connect as the user who started recount watch --listen, or listen on a port");
  throw unavailable(text, std::string("no connection: ") + std::strerror(error), {},
                    "start recount watch --listen " + text + " first");
}

Hub::Hub(const std::string& text) : address_(text) {
  constexpr int max_pending = 16;
  const Address at = parse_address(text);
  int error = 0;
  for (const SocketAddress& address : resolve(at, true)) {
    if (at.local && is_abandoned(address, at.path)) ::unlink(at.path.c_str());
    listener_ = address.open(SOCK_NONBLOCK);
    const int on = 1;
    if (!at.local) ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const mode_t before = ::umask(0077);
    const bool bound = listener_ && ::bind(listener_.get(), address.get(), address.size) == 0;
    error = errno;
    ::umask(before);
    if (bound && at.local && ::lstat(at.path.c_str(), &socket_) == 0) path_ = at.path;
    if (bound && ::listen(listener_.get(), max_pending) == 0) {
      if (at.local) return;
      address_ = bound_name(listener_.get());
      reachable_ = !is_loopback(address);
      return;
    }
    if (bound) error = errno;
  }
  remove_socket();
  const std::string name = at.local ? at.path : at.host + ":" + at.port;
  if (error == EADDRINUSE && at.local)
    throw unavailable(name, "exists already", {}, "choose another path, or remove it");
  if (error == EADDRINUSE) throw unavailable(name, "is in use", {}, "choose another port; 0 takes any");
  throw bad_input(name, std::string("cannot listen on this address: ") + std::strerror(error));
}

Hub::~Hub() {
  remove_socket();
}

void Hub::remove_socket() const {
  struct stat now {};
  if (!path_.empty() && ::lstat(path_.c_str(), &now) == 0 && now.st_dev == socket_.st_dev &&
      now.st_ino == socket_.st_ino)
    ::unlink(path_.c_str());
}

void Hub::polled(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const Viewer& v : viewers_) {
    const int events = (v.silent ? 0 : POLLIN) | (v.queue.empty() ? 0 : POLLOUT);
    fds.push_back({v.fd.get(), static_cast<short>(events), 0});
  }
}

void Hub::serve(const std::vector<pollfd>& ready) {
  const auto events_of = [&](int fd) {
    const auto at = std::ranges::find(ready, fd, &pollfd::fd);
    return at == ready.end() ? 0 : int{at->revents};
  };
  std::erase_if(viewers_, [&](Viewer& viewer) {
    const int events = events_of(viewer.fd.get());
    return (events & (POLLERR | POLLNVAL | POLLHUP)) != 0 ||
           ((events & POLLIN) != 0 && !discard_input(viewer)) || ((events & POLLOUT) != 0 && !flush(viewer));
  });
  if (events_of(listener_.get()) != 0) accept_viewers();
}

void Hub::accept_viewers() {
  constexpr std::size_t max_viewers = 32;
  for (;;) {
    process::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    if (viewers_.size() >= max_viewers) continue; // closed at once
    Viewer& viewer = viewers_.emplace_back(Viewer{std::move(fd)});
    if (!hello_.empty()) push(viewer, hello_);
    for (const auto& line : recent_)
      push(viewer, line);
    if (!flush(viewer)) viewers_.pop_back();
  }
}

void Hub::push(Viewer& viewer, const std::string& line) {
  constexpr std::size_t queue_bytes = 256 << 10;
  // Missed lines are reported as soon as there is room for the report and the line.
  const std::string report = viewer.missed > 0 ? to_line(Dropped{viewer.missed, false}) + "\n" : "";
  if (viewer.queued + report.size() + line.size() > queue_bytes) {
    ++viewer.missed;
    ++dropped_;
    return;
  }
  if (!report.empty()) viewer.queue.push_back(report);
  viewer.queue.push_back(line);
  viewer.queued += report.size() + line.size();
  viewer.missed = 0;
}

void Hub::send(const Message& message) {
  constexpr std::size_t max_recent = 600; // lines for later viewers
  const std::string line = to_line(message) + "\n";
  if (std::holds_alternative<Hello>(message)) {
    hello_ = line;
  } else {
    recent_.push_back(line);
    if (recent_.size() > max_recent) recent_.pop_front();
  }
  std::erase_if(viewers_, [&](Viewer& viewer) {
    push(viewer, line);
    return !flush(viewer);
  });
}

/// As much as the viewer takes now; false when it has disconnected.
bool Hub::flush(Viewer& viewer) {
  while (!viewer.queue.empty()) {
    const auto rest = std::string_view(viewer.queue.front()).substr(viewer.sent_of_first);
    const ssize_t n = ::send(viewer.fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    const auto sent = static_cast<std::size_t>(n);
    viewer.sent_of_first += sent;
    viewer.queued -= sent;
    if (sent < rest.size()) return true;
    viewer.queue.pop_front();
    viewer.sent_of_first = 0;
  }
  return true;
}

/// False when the viewer has disconnected, or sends too much.
bool Hub::discard_input(Viewer& viewer) {
  constexpr std::size_t max_received = 4096;
  char ignored[512];
  const ssize_t n = ::recv(viewer.fd.get(), ignored, sizeof ignored, MSG_DONTWAIT);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  viewer.silent = n == 0; // it may still receive
  viewer.received += static_cast<std::size_t>(n);
  return viewer.received <= max_received;
}

void Hub::drain(int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  for (;;) {
    std::vector<pollfd> fds;
    for (const Viewer& v : viewers_)
      if (!v.queue.empty()) fds.push_back({v.fd.get(), POLLOUT, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (fds.empty() || left.count() <= 0) return;
    ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    serve(fds);
  }
}

} // namespace recount::watch
