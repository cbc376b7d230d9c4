// Where the watched program says it is (recount/sections.h).
#pragma once

#include "process/fd.hpp"
#include "watch/message.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace recount::watch {

inline constexpr const char* sections_variable = "RECOUNT_SECTIONS_FD";
inline constexpr int sections_descriptor = 3; ///< in the program; one digit, for shells

/// A pair of sockets that keeps messages apart. The program's end does not block: what does not fit is
/// dropped on its side.
class SectionSocket {
public:
  /// Throws Error (unavailable).
  SectionSocket();
  [[nodiscard]] int theirs() const noexcept { return theirs_.get(); }
  void started() { theirs_.reset(); }                           ///< the program has its own copy now
  [[nodiscard]] int fd() const noexcept { return ours_.get(); } ///< to poll; -1 once all writers have gone
  /// Takes what was said, at most a thousand messages; `begin` is the time that the watching began.
  void read(std::chrono::steady_clock::time_point begin, const std::function<void(const Message&)>& take);

private:
  process::Fd ours_, theirs_;
};

/// What one message says: several lines may stand in it. Times are seconds since `begin_ns` of the monotonic
/// clock; `now_ns` where a line gives none. Whatever makes no sense is left out. Pure.
void parse_sections(std::string_view text, std::uint64_t begin_ns, std::uint64_t now_ns,
                    const std::function<void(const Message&)>& take);

} // namespace recount::watch
