// A directory that stands for /sys/bus/event_source/devices.
#pragma once

#include "host/pmu.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Lives in a temporary directory for as long as the object does.
class SysfsTree {
public:
  SysfsTree() {
    std::string name = (std::filesystem::temp_directory_path() / "recount-sysfs-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
  }
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;
  ~SysfsTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  /// Writes root/path.
  SysfsTree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  [[nodiscard]] std::string root() const { return root_.string(); }
  [[nodiscard]] std::vector<recount::host::Pmu> pmus() const { return recount::host::pmus(root_.string()); }

private:
  std::filesystem::path root_;
};
