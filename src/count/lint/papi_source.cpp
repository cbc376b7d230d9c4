#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
#include "base/process/views.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "count/event/pfm.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/written.hpp"

#include <recount/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

// libpfm4 of a source tree of PAPI, built for all architectures, and a cache of such libraries.
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

/// A hash of what the library is made from: sources, options, and the compiler's version.
std::uint64_t hash_sources(const fs::path& tree) {
  process::Spawn spawn;
  spawn.argv = {compiler(), "--version"};
  std::string all = process::capture(std::move(spawn), {}, longest_build).out;
  for (std::string word : command_line(tree, {})) {
    if (const auto at = word.find(tree.string()); at != word.npos) word.erase(at, tree.string().size());
    all += word + '\n';
  }
  std::set<fs::path> files; // as sources include each other
  std::error_code error;
  for (const char* part : {"include", "lib"})
    for (fs::recursive_directory_iterator at(tree / part, error), end; !error && at != end;
         at.increment(error))
      if (const auto suffix = at->path().extension(); suffix == ".c" || suffix == ".h")
        files.insert(at->path());
  for (const fs::path& file : files)
    if (fs::is_regular_file(file, error)) {
      const std::string text = base::read_file(file).value_or("");
      all += fmt::format("{} {}\n", file.lexically_relative(tree).string(), text.size()) + text;
    }
  return base::fnv(all);
}

/// What is loaded from a cache is executed: only this user may be able to write it.
bool is_own(const process::Fd& file) {
  struct stat status {};
  return file && ::fstat(file.get(), &status) == 0 && status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// $XDG_CACHE_HOME/recount, else ~/.cache/recount; empty where it cannot be made or is not this user's alone.
process::Fd open_cache() {
  const auto folder = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr && *value == '/' ? fs::path(value) : fs::path();
  };
  fs::path cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && folder("HOME").empty()) return {};
  if (cache.empty()) cache = folder("HOME") / ".cache";
  ::mkdir(cache.c_str(), S_IRWXU);
  cache /= "recount";
  ::mkdir(cache.c_str(), S_IRWXU);
  process::Fd opened(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return is_own(opened) ? std::move(opened) : process::Fd();
}

/// Follows a library in the cache: of these bytes alone, from the sources with this hash.
std::string make_seal(std::string_view library, std::uint64_t sources) {
  return fmt::format("{:016x}", base::fnv(library, sources));
}

bool use_cached(const process::Fd& cache, const std::string& name, std::uint64_t sources,
                const fs::path& tree) {
  const process::Fd file = process::open_regular(name, cache.get(), O_NOFOLLOW);
  if (!is_own(file)) return false;
  const std::string path = fmt::format("/proc/self/fd/{}", file.get()); // the file that was checked
  std::string all = base::read_file(path).value_or("");
  const std::string seal = all.substr(all.size() - std::min<std::size_t>(all.size(), 16));
  all.resize(all.size() - seal.size());
  if (seal != make_seal(all, sources)) return false;
  try {
    event::pfm::use_built_library(path, read_version(tree), tree.lexically_normal());
    return true;
  } catch (const Error&) { // the file system executes nothing
    return false;
  }
}

std::string& chosen_source() {
  static std::string folder;
  return folder;
}

} // namespace

void use_papi_source(const std::string& folder) {
  const fs::path tree = find_libpfm(folder);
  chosen_source() = folder;
  const process::Fd cache = open_cache();
  const std::uint64_t sources = cache ? hash_sources(tree) : 0;
  const std::string name = fmt::format("libpfm4-{:x}.so", sources % 16); // so many are kept
  if (cache && use_cached(cache, name, sources, tree)) return;
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
  const auto bytes = base::read_file(library);
  if (cache && bytes && hash_sources(tree) == sources) // no source was edited meanwhile
    (void)base::replace_file(fmt::format("/proc/self/fd/{}/{}", cache.get(), name),
                             *bytes + make_seal(*bytes, sources));
}

std::string source_table() {
  return chosen_source().empty() ? "" : chosen_source() + "/src/papi_events.csv";
}

std::string default_table() {
  return chosen_source().empty() ? preset::papi_table() : source_table();
}

} // namespace recount::lint
