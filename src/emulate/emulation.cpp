#include "emulate/emulation.hpp"

#include "base/nearest.hpp"
#include "process/spawn.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <optional>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef RECOUNT_LIBEXEC
#define RECOUNT_LIBEXEC ""
#endif

namespace recount::emulate {
namespace {

namespace fs = std::filesystem;

/// Where machines and the library are: as RECOUNT_LIBEXEC says, beside this program in a build, or where they
/// were installed.
std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const char* const stated = std::getenv("RECOUNT_LIBEXEC")) all.emplace_back(stated);
  const fs::path here = fs::path(process::this_program()).parent_path();
  all.insert(all.end(), {here / "../emulate", here / "../libexec/recount", RECOUNT_LIBEXEC});
  return all;
}

std::optional<std::string> installed(const fs::path& name) {
  std::error_code ignored;
  for (const fs::path& folder : folders())
    if (fs::is_regular_file(folder / name, ignored)) return fs::canonical(folder / name).string();
  return {};
}

std::string library() {
  if (const char* const stated = std::getenv("RECOUNT_PMU_LIBRARY")) return stated; // tests add to it
  if (const auto found = installed("librecount-emulate.so")) return *found;
  throw unavailable("recount emulate", "librecount-emulate.so is missing from this installation", {},
                    "install recount again, or set RECOUNT_LIBEXEC to its folder");
}

constexpr const char* suffix = ".pmu";

} // namespace

std::vector<std::string> machine_names() {
  std::set<std::string> names;
  std::error_code ignored;
  for (const fs::path& folder : folders())
    for (const auto& entry : fs::directory_iterator(folder / "machines", ignored))
      if (entry.path().extension() == suffix) names.insert(entry.path().stem());
  return {names.begin(), names.end()};
}

std::string find_machine(const std::string& name) {
  if (name.find('/') == name.npos) {
    if (const auto found = installed(fs::path("machines") / (name + suffix))) return *found;
    throw bad_input(name, "no such machine", base::did_you_mean_or_all(name, machine_names()));
  }
  std::error_code error;
  const fs::path file = fs::canonical(name, error);
  if (error) throw bad_input(name, error.message(), "recount emulate --list names the machines");
  return file;
}

Machine checked_machine(const Emulation& emulation) {
  try {
    return read_machine(emulation.machine_file, emulation.changes);
  } catch (const std::exception& error) {
    throw bad_input("machine", error.what(), "see recount-emulate(1) for the format");
  }
}

SharedFile::SharedFile() {
  const char* const folder = std::getenv("TMPDIR");
  path_ = std::string(folder && *folder ? folder : "/tmp") + "/recount-events-XXXXXX";
  const int fd = ::mkostemp(path_.data(), O_CLOEXEC);
  if (fd < 0)
    throw unavailable(path_, std::strerror(errno), {}, "set TMPDIR to a folder that can be written");
  ::fchmod(fd, 0666); // programs of the command may run as other users
  ::close(fd);
}

SharedFile::~SharedFile() {
  ::unlink(path_.c_str());
  const fs::path path(path_);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) // rings of samples
    if (entry.path().filename().string().starts_with(path.filename().string() + "."))
      fs::remove(entry.path(), ignored);
}

bool opens_events() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = attr.exclude_hv = 1;
  const long fd = ::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return fd >= 0;
}

std::vector<std::pair<std::string, std::string>>
environment(const Emulation& emulation, const SharedFile& shared, const std::string& redirections) {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  std::string libraries = library();
  if (preloaded && *preloaded) libraries += std::string(" ") + preloaded;
  std::string options = emulation.options;
  if (emulation.unbacked) options += "unbacked 1\n";
  return {{"LD_PRELOAD", libraries},
          {"RECOUNT_PMU_MACHINE", emulation.machine_file},
          {"RECOUNT_PMU_SHARED", shared.path()},
          {"RECOUNT_PMU_CHANGES", emulation.changes},
          {"RECOUNT_PMU_FILES", redirections},
          {"RECOUNT_PMU_OPTIONS", options}};
}

} // namespace recount::emulate
