// The other end of the socket: lines from somebody who may not mean well.
#pragma once

#include "process/fd.hpp"
#include "watch/message.hpp"

#include <functional>
#include <string>

namespace recount::watch {

/// Puts lines together from what arrives. Memory is bounded by the longest line; what is longer, or is no
/// message, ends it.
class LineReader {
public:
  enum class State { open, closed, nonsense };
  /// Takes some of what there is, without waiting for more, and gives each message to `take`.
  State read(int fd, const std::function<void(const Message&)>& take);
  /// The same for bytes that are there already. Pure.
  State feed(std::string_view bytes, const std::function<void(const Message&)>& take);

private:
  std::string line_;
};

} // namespace recount::watch
