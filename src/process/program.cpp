#include "process/program.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace recount::process {
namespace {
bool runnable(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}
} // namespace

std::optional<std::string> find_program(const std::string& name) {
  if (name.empty()) return {};
  if (name.find('/') != std::string::npos) return runnable(name) ? std::optional(name) : std::nullopt;
  const char* variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const auto colon = path.find(':');
    const auto folder = path.substr(0, colon);
    const std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    if (runnable(candidate)) return candidate;
    if (colon == std::string_view::npos) return {};
    path.remove_prefix(colon + 1);
  }
}

std::string this_program() {
  std::error_code error;
  auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw unavailable("/proc/self/exe", error.message(), {}, "mount -t proc proc /proc");
  return path.string();
}

} // namespace recount::process
