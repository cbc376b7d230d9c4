// A mount namespace of this process, in which files of sysfs and procfs are another machine's.
#pragma once

#include <string>

namespace recount::emulate {

/// Moves this process, which has one thread, into a mount namespace of its own; a user without the privilege
/// into a user namespace, too, where he keeps his number. Throws recount::Error (unavailable).
void enter_namespace();
/// Binds a file or folder over another. Throws recount::Error (unavailable).
void bind_over(const std::string& source, const std::string& target);

/// A folder in memory until the end of its object; what has been bound from it stays. After
/// enter_namespace(). Throws recount::Error (unavailable).
class MemoryFolder {
public:
  MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;
  ~MemoryFolder();
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

/// Drops every capability, for what this process executes, too. Throws recount::Error (unavailable).
void drop_capabilities();

} // namespace recount::emulate
