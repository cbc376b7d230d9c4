// recount stat --control: another program says when to count.
#pragma once

#include "process/fd.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace recount::stat {

class Attached;

/// Commands, a line each, from a descriptor or FIFO: "enable", "disable" and "ping", as in perf-stat(1). Each
/// is acknowledged with "ack\n" where a second descriptor was given. Lines that are none of these are ignored
/// with a warning. Not thread-safe.
class Control {
public:
  /// "fd:N[,M]" or "fifo:PATH[,PATH]". Throws Error (bad_input).
  explicit Control(const std::string& text);

  [[nodiscard]] int fd() const { return in_; } ///< to wait for; -1: its writers have closed it
  /// Carries out what has arrived. Never waits.
  void obey(Attached& counters);

private:
  void obey(std::string_view line, Attached& counters);
  process::Fd own_in_, own_out_; ///< of FIFOs
  int in_ = -1, out_ = -1;
  std::string rest_; ///< of a line
};

} // namespace recount::stat
