// Whether a process is within the section that is simulated.
#pragma once

#include "process/fd.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recount::trace {

/// Names the descriptor of the program's section messages, process::free_descriptor(), as recount watch does.
inline constexpr const char* sections_variable = "RECOUNT_SECTIONS_FD";

/// What the program writes its messages to: the tool reads them before, so that nobody else has to.
[[nodiscard]] process::Fd message_sink();
/// The descriptors of the program: that one, or none.
[[nodiscard]] std::vector<std::pair<int, int>> descriptors(const process::Fd& sink, bool sections);

/// Follows the messages of recount/sections.h. Sections of one name may lie within each other.
class SectionGate {
public:
  /// Empty: everything is simulated.
  explicit SectionGate(std::string name) : name_(std::move(name)), open_(name_.empty()) {}
  [[nodiscard]] bool open() const { return open_; }
  /// Whether the section has ever begun.
  [[nodiscard]] bool seen() const { return seen_; }
  /// A message of one or more lines, "EDGE [@NANOSECONDS ]NAME"; others are ignored.
  void take(std::string_view text);

private:
  void take_line(std::string_view line);
  std::string name_;
  bool open_, seen_ = false;
  int depth_ = 0;
};

} // namespace recount::trace
