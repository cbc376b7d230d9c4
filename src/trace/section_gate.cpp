#include "trace/section_gate.hpp"
#include "process/child.hpp"

#include <fcntl.h>

namespace recount::trace {

process::Fd message_sink() {
  return process::Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
}

std::vector<std::pair<int, int>> descriptors(const process::Fd& sink, bool sections) {
  if (!sections) return {};
  return {{sink.get(), process::free_descriptor()}};
}

void SectionGate::take(std::string_view text) {
  while (!name_.empty() && !text.empty()) {
    const auto end = text.find('\n');
    take_line(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
}

void SectionGate::take_line(std::string_view line) {
  const auto blank = line.find(' ');
  if (blank == line.npos) return;
  const std::string_view edge = line.substr(0, blank);
  line.remove_prefix(blank + 1);
  if (line.starts_with('@') && line.find(' ') != line.npos) line.remove_prefix(line.find(' ') + 1);
  if (line != name_) return;
  if (edge == "begin") ++depth_;
  if (edge == "end" && depth_ > 0) --depth_;
  open_ = depth_ > 0;
  seen_ = seen_ || open_;
}

} // namespace recount::trace
