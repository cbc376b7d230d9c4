#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/text.hpp"
#include "count/event/pfm.hpp"
#include "count/lint/lint.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <vector>

// libpfm4 of a source tree of PAPI, built for all architectures.
namespace recount::lint {
namespace {

namespace fs = std::filesystem;

constexpr auto longest_build = std::chrono::minutes(10);
constexpr auto fix = "recount lint --papi-source DIR, where DIR/src/libpfm4 has the sources of libpfm4";

/// The folder of libpfm4 in a source tree of PAPI; the tree itself if it is one of libpfm4.
fs::path find_libpfm(const std::string& folder) {
  std::error_code ignored;
  for (const fs::path& tree : {fs::path(folder) / "src/libpfm4", fs::path(folder)})
    if (fs::is_regular_file(tree / "lib/Makefile", ignored)) return tree;
  throw bad_input("--papi-source " + folder, "no src/libpfm4/lib/Makefile below it", fix);
}

/// The C files that the Makefile names for any architecture, each once.
std::set<std::string> source_files(const fs::path& tree) {
  const std::string text = base::read_file(tree / "lib/Makefile").value_or("");
  std::set<std::string> names;
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (std::string_view line : base::split(text, '\n')) {
    if (base::trim(line).starts_with('#')) continue;
    for (auto at = line.find("pfmlib_"); at != line.npos; at = line.find("pfmlib_", at + 1)) {
      const auto end = line.find_first_not_of(letters, at);
      if (end == line.npos || line.substr(end, 2) != ".c") continue;
      const fs::path file = tree / "lib" / (std::string(line.substr(at, end - at)) + ".c");
      std::error_code ignored;
      if (fs::is_regular_file(file, ignored)) names.insert(file);
    }
  }
  if (names.empty()) throw bad_input(tree / "lib/Makefile", "names no source file of libpfm4", fix);
  return names;
}

/// "4.14.0", from config.mk; "of unknown version" without it.
std::string read_version(const fs::path& tree) {
  const std::string text = base::read_file(tree / "config.mk").value_or("");
  std::string version;
  for (const std::string_view part : {"VERSION=", "REVISION=", "AGE="})
    for (const std::string_view line : base::split(text, '\n'))
      if (line.starts_with(part))
        version += (version.empty() ? "" : ".") + std::string(base::trim(line.substr(part.size())));
  return version.empty() ? "of unknown version" : version;
}

std::string compiler() {
  for (const char* name : {"cc", "gcc", "clang"})
    if (auto found = process::find_program(name)) return *found;
  throw unavailable("--papi-source", "no C compiler in PATH: cc, gcc or clang", {}, "apt-get install gcc");
}

std::vector<std::string> command_line(const fs::path& tree, const std::string& library) {
  std::vector<std::string> words{compiler(), "-O0", "-w", "-shared", "-fPIC", "-D_REENTRANT", "-D_GNU_SOURCE",
                                 "-DHAS_OPENAT", "-DCONFIG_PFMLIB_OS_LINUX", "-DCONFIG_PFMLIB_NOTRACEPOINT",
                                 "-I" + (tree / "include").string(), "-I" + (tree / "lib").string(),
                                 // calls within the library must not resolve to the linked libpfm4
                                 "-Wl,-Bsymbolic", "-o", library};
  for (const char* arch : {"X86", "X86_64", "I386", "ARM", "ARM64", "POWERPC", "SPARC", "MIPS", "S390X"})
    words.push_back(fmt::format("-DCONFIG_PFMLIB_ARCH_{}", arch));
  for (const std::string& file : source_files(tree))
    words.push_back(file);
  return words;
}

} // namespace

void use_papi_source(const std::string& folder) {
  const fs::path tree = find_libpfm(folder);
  const process::TemporaryFolder temporary("recount-libpfm4");
  const std::string library = temporary.path() + "/libpfm.so.4";
  process::Spawn spawn;
  spawn.argv = command_line(tree, library);
  spawn.environment = {{"TMPDIR", temporary.path()}};
  spawn.own_group = false;
  const auto ended = process::capture(std::move(spawn), {}, longest_build);
  if (!ended.exit.ok()) {
    constexpr std::size_t most = 300;
    const std::string first = ended.err.substr(0, std::min(ended.err.find('\n'), most));
    throw bad_input("--papi-source " + folder,
                    fmt::format("libpfm4 cannot be compiled: {}{}{}", describe(ended.exit),
                                first.empty() ? "" : "; ", first),
                    fix);
  }
  event::pfm::use_built_library(library, read_version(tree), tree.lexically_normal());
}

} // namespace recount::lint
