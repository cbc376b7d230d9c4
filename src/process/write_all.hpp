// Complete writes.
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace recount::process {

/// Writes the whole text to a descriptor that blocks, also when signals interrupt it. False with errno when
/// it cannot.
[[nodiscard]] inline bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

} // namespace recount::process
