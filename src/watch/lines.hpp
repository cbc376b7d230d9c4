// A watch as lines: for people, or as JSON.
#pragma once

#include "command/output.hpp"
#include "watch/trace.hpp"

#include <cstdio>
#include <string>

namespace recount::cli {

/// Writes lines to a descriptor, and never waits for whoever reads them: lines that do not fit are left out
/// and counted.
class WatchLines {
public:
  WatchLines(int fd, bool json) : fd_(fd), json_(json) {}
  void add(const watch::Message& message, const watch::Trace& trace);
  void say(const std::string& text);                         ///< lines with their ends
  [[nodiscard]] bool gone() const noexcept { return gone_; } ///< nobody reads them any more
  void hang_up() noexcept { gone_ = true; }
  /// The errno of a file that could not be written (a full disk); 0 where a reader has merely gone.
  [[nodiscard]] int failure() const noexcept { return failure_; }

private:
  void put(const std::string& text);
  int fd_;
  bool json_, gone_ = false;
  std::uint64_t missed_ = 0; ///< lines, since it was last told
  int since_head_ = 0, failure_ = 0;
};

/// One line for people; with the heads of the columns before it where it is time for them again.
[[nodiscard]] std::string watch_line(const watch::Message& message, const watch::Trace& trace, bool head);

/// A row for each series that can be counted.
[[nodiscard]] Table watch_means(const watch::Trace& trace);
/// What is told at the end: mean, least and greatest of each series, and what was not counted.
[[nodiscard]] std::string watch_summary(const watch::Trace& trace, std::FILE* stream);

} // namespace recount::cli
