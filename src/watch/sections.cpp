#include "watch/sections.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <sys/socket.h>

namespace recount::watch {
namespace {
constexpr std::size_t longest_name = 200;

/// The word at the start, and the rest behind the blank.
std::string_view take_word(std::string_view& text) {
  const auto blank = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, blank);
  text.remove_prefix(std::min(blank + 1, text.size()));
  return word;
}

std::optional<Section::Edge> edge_of(std::string_view word) {
  if (word == "begin") return Section::Edge::begin;
  if (word == "end") return Section::Edge::end;
  if (word == "mark") return Section::Edge::mark;
  return {};
}

std::string clean(std::string_view name) {
  std::string text(name.substr(0, longest_name));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = '?';
  return text;
}

std::uint64_t nanoseconds_of(std::chrono::steady_clock::time_point time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}
} // namespace

SectionSocket::SectionSocket() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw unavailable("socketpair", std::strerror(errno), {}, "ulimit -n");
  ours_.reset(ends[0]);
  theirs_.reset(ends[1]);
}

void SectionSocket::read(std::chrono::steady_clock::time_point begin,
                         const std::function<void(const Message&)>& take) {
  char text[4096];
  for (int i = 0; i < 1000 && ours_; ++i) {
    const ssize_t size = ::recv(ours_.get(), text, sizeof text, MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return ours_.reset(); // nobody is left who could say anything
    parse_sections({text, static_cast<std::size_t>(size)}, nanoseconds_of(begin),
                   nanoseconds_of(std::chrono::steady_clock::now()), take);
  }
}

void parse_sections(std::string_view text, std::uint64_t begin_ns, std::uint64_t now_ns,
                    const std::function<void(const Message&)>& take) {
  for (std::string_view line : base::split(text, '\n')) {
    const std::string_view first = take_word(line);
    if (first == "dropped") {
      if (const auto lines = base::parse<std::uint64_t>(line)) take(Dropped{*lines, true});
      continue;
    }
    const auto edge = edge_of(first);
    if (!edge) continue;
    std::uint64_t time = now_ns;
    if (line.starts_with('@')) {
      const auto given = base::parse<std::uint64_t>(take_word(line).substr(1));
      // Nobody can be in the future, nor before the beginning.
      if (given) time = std::clamp(*given, std::min(begin_ns, now_ns), now_ns);
    }
    if (line.empty()) continue;
    const auto since = time > begin_ns ? time - begin_ns : 0;
    take(Section{*edge, static_cast<double>(since) / 1e9, clean(line)});
  }
}

} // namespace recount::watch
