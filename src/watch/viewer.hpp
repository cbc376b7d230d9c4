// Receives lines from an untrusted peer.
#pragma once

#include "process/fd.hpp"
#include "watch/message.hpp"

#include <functional>
#include <string>

namespace recount::watch {

/// Assembles lines from received bytes. Memory is bounded by the longest line; a longer or invalid line ends
/// the connection.
class LineReader {
public:
  enum class State { open, closed, nonsense };
  /// Reads available bytes without blocking and passes each message to `take`.
  State read(int fd, const std::function<void(const Message&)>& take);
  /// The same for given bytes. Pure.
  State feed(std::string_view bytes, const std::function<void(const Message&)>& take);

private:
  std::string line_;
};

} // namespace recount::watch
