// What a case of the table may need of this machine, and the folder it runs in.
#pragma once

#include "base/process/temporary_folder.hpp"

#include <filesystem>
#include <string>

namespace recount::test {

/// Empty when this machine has what `need` names, else the reason for the skip. Found by trying.
[[nodiscard]] std::string missing(const std::string& need);

/// Value of an environment variable; throws std::runtime_error without it.
[[nodiscard]] std::string variable(const char* name);

/// What preset tables call this CPU; empty when libpfm4 does not know it.
[[nodiscard]] std::string cpu_in_tables();

/// A temporary folder that everybody may write to; vanishes with the object.
class Folder {
public:
  Folder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
  process::TemporaryFolder folder_{"recount-cli"};
  std::filesystem::path path_ = folder_.path();
};

} // namespace recount::test
