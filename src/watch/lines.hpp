// A watch as lines: for people, or as JSON.
#pragma once

#include "command/output.hpp"
#include "watch/trace.hpp"

#include <cstdio>
#include <string>

namespace recount::watch {

/// Writes lines to a descriptor without blocking: lines that do not fit are dropped and counted.
class WatchLines {
public:
  WatchLines(int fd, bool json) : fd_(fd), json_(json) {}
  void add(const watch::Message& message, const watch::Trace& trace);
  void say(const std::string& text);                         ///< lines with their ends
  [[nodiscard]] bool gone() const noexcept { return gone_; } ///< the reader has closed its end
  void hang_up() noexcept { gone_ = true; }
  /// The errno of a failed write (a full disk); 0 if the reader has closed its end.
  [[nodiscard]] int failure() const noexcept { return failure_; }

private:
  void put(const std::string& text);
  int fd_;
  bool json_, gone_ = false;
  std::uint64_t missed_ = 0; ///< lines dropped since the last report
  int since_head_ = 0, failure_ = 0;
};

/// One line of text; preceded by column headings when due.
[[nodiscard]] std::string watch_line(const watch::Message& message, const watch::Trace& trace, bool head);

/// A row for each series that can be counted.
[[nodiscard]] command::Table watch_means(const watch::Trace& trace);
/// Summary: mean, minimum and maximum per series, and what was not counted.
[[nodiscard]] std::string watch_summary(const watch::Trace& trace, std::FILE* stream);

} // namespace recount::watch
