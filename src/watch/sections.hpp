// Section marks of the watched program (recount/sections.h).
#pragma once

#include "process/fd.hpp"
#include "watch/message.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace recount::watch {

/// Names the program's descriptor: process::free_descriptor(), as a rule one digit, for shells.
inline constexpr const char* sections_variable = "RECOUNT_SECTIONS_FD";

/// A socket pair that preserves message boundaries. The program's end does not block; it drops messages that
/// do not fit.
class SectionSocket {
public:
  /// Throws Error (unavailable).
  SectionSocket();
  [[nodiscard]] int theirs() const noexcept { return theirs_.get(); }
  void started() { theirs_.reset(); } ///< the program holds its own copy
  [[nodiscard]] int fd() const noexcept {
    return ours_.get();
  } ///< to poll; -1 after all writers have closed it
  /// Reads at most a thousand messages; `begin` is the start of the watch.
  void read(std::chrono::steady_clock::time_point begin, const std::function<void(const Message&)>& take);

private:
  process::Fd ours_, theirs_;
};

/// Parses one message of one or more lines. Times are seconds since `begin_ns` of the monotonic clock;
/// `now_ns` is the default. Invalid lines are ignored. Pure.
void parse_sections(std::string_view text, std::uint64_t begin_ns, std::uint64_t now_ns,
                    const std::function<void(const Message&)>& take);

} // namespace recount::watch
