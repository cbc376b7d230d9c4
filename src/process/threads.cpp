#include "process/threads.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>

namespace recount::process {

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> found;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", error);
  while (!error && at != std::filesystem::directory_iterator()) {
    const std::string name = at->path().filename();
    pid_t tid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), tid);
    if (wrong == std::errc() && end == name.data() + name.size()) found.push_back(tid);
    at.increment(error);
  }
  std::ranges::sort(found, {}, [pid](pid_t tid) { return std::pair(tid != pid, tid); });
  return found;
}

std::optional<pid_t> process_of(pid_t tid) {
  const std::string status =
      base::read_file("/proc/" + std::to_string(tid) + "/status").value_or(std::string());
  constexpr std::string_view key = "\nTgid:\t";
  const auto at = status.find(key);
  pid_t pid = 0;
  if (at == status.npos) return {};
  const char* const digits = status.data() + at + key.size();
  std::from_chars(digits, status.data() + status.size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

std::size_t each_thread(pid_t pid, const std::function<bool(pid_t)>& take) {
  std::set<pid_t> seen;
  std::size_t taken = 0;
  for (bool more = true; more;) {
    more = false;
    for (const pid_t tid : threads_of(pid)) {
      if (!seen.insert(tid).second) continue;
      more = true;
      if (take(tid)) ++taken;
    }
  }
  return taken;
}

} // namespace recount::process
