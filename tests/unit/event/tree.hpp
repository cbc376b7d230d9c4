// A directory that stands for /sys/bus/event_source/devices.
#pragma once

#include "base/host/pmu.hpp"
#include "base/process/temporary_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// Lives in a temporary directory for as long as the object does.
class SysfsTree {
public:
  /// Writes root/path.
  SysfsTree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  [[nodiscard]] std::string root() const { return root_.string(); }
  [[nodiscard]] std::vector<recount::host::Pmu> pmus() const { return recount::host::pmus(root_.string()); }

private:
  recount::process::TemporaryFolder folder_{"recount-sysfs"};
  std::filesystem::path root_ = folder_.path();
};
