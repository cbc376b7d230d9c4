#include "base/output_file.hpp"
#include "base/process/child.hpp"
#include "base/process/temporary_folder.hpp"
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

/// For all architectures; calls within the library must not resolve to the linked libpfm4.
constexpr std::string_view build_options =
    "-O0 -w -shared -fPIC -Wl,-Bsymbolic -D_REENTRANT -D_GNU_SOURCE -DHAS_OPENAT -DCONFIG_PFMLIB_OS_LINUX "
    "-DCONFIG_PFMLIB_NOTRACEPOINT -DCONFIG_PFMLIB_ARCH_X86 -DCONFIG_PFMLIB_ARCH_X86_64 "
    "-DCONFIG_PFMLIB_ARCH_I386 -DCONFIG_PFMLIB_ARCH_ARM -DCONFIG_PFMLIB_ARCH_ARM64 "
    "-DCONFIG_PFMLIB_ARCH_POWERPC -DCONFIG_PFMLIB_ARCH_SPARC -DCONFIG_PFMLIB_ARCH_MIPS "
    "-DCONFIG_PFMLIB_ARCH_S390X";

std::vector<std::string> command_line(const fs::path& tree, const std::string& library) {
  auto words = base::words(build_options);
  words.insert(words.begin(), compiler());
  words.insert(words.end(),
               {"-o", library, "-I" + (tree / "include").string(), "-I" + (tree / "lib").string()});
  for (const std::string& file : source_files(tree))
    words.push_back(file);
  return words;
}

/// A hash of what the library is made from: sources, options, and the compiler's version.
std::uint64_t hash_sources(const fs::path& tree) {
  process::Spawn spawn;
  spawn.argv = {compiler(), "--version"};
  std::uint64_t hash =
      base::fnv(process::capture(std::move(spawn), {}, longest_build).out + std::string(build_options));
  std::set<fs::path> files{tree / "lib/Makefile"};
  std::error_code error;
  for (const char* part : {"include", "lib"}) // as sources include each other
    for (fs::recursive_directory_iterator at(tree / part, error), end; !error && at != end;
         at.increment(error))
      if (const auto suffix = at->path().extension(); suffix == ".c" || suffix == ".h")
        files.insert(at->path());
  for (const fs::path& file : files)
    if (fs::is_regular_file(file, error)) {
      const std::string text = base::read_file(file).value_or("");
      hash = base::fnv(fmt::format("{} {}\n", file.lexically_relative(tree).string(), text.size()), hash);
      hash = base::fnv(text, hash);
    }
  return hash;
}

/// Whether only this user can write it: what is loaded from a cache is executed.
bool is_own(const std::string& path, mode_t kind) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind &&
         status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// $XDG_CACHE_HOME/recount, else ~/.cache/recount.
process::Fd open_cache() {
  const char *const given = std::getenv("XDG_CACHE_HOME"), *const home = std::getenv("HOME");
  if (!(given && *given == '/') && !(home && *home == '/')) return {};
  fs::path cache = given && *given == '/' ? fs::path(given) : fs::path(home) / ".cache";
  ::mkdir(cache.c_str(), S_IRWXU);
  cache /= "recount";
  ::mkdir(cache.c_str(), S_IRWXU);
  return process::Fd(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Keeps a library under this name, and few others.
void store(const std::string& library, const fs::path& name) {
  std::error_code error;
  const std::string slot = name.filename().string().substr(0, std::string_view("libpfm4-0").size());
  for (fs::directory_iterator at(name.parent_path(), error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().starts_with(slot)) fs::remove(at->path(), error);
  if (const auto bytes = base::read_file(library)) (void)base::replace_file(name, *bytes);
}

} // namespace

void use_papi_source(const std::string& folder) {
  const fs::path tree = find_libpfm(folder);
  std::error_code error;
  if (const std::string table = folder + "/src/papi_events.csv"; fs::exists(table, error))
    preset::use_table(table);
  const auto use = [&](const std::string& library) {
    event::pfm::use_built_library(library, read_version(tree), tree.lexically_normal());
  };
  const process::Fd cache = open_cache();
  const std::string opened = fmt::format("/proc/self/fd/{}/", cache.get()); // nobody can exchange it now
  const bool cached = is_own(opened + ".", S_IFDIR);
  const std::uint64_t sources = hash_sources(tree);
  const std::string name = fmt::format("{}libpfm4-{:016x}.so", opened, sources);
  try {
    if (cached && is_own(name, S_IFREG)) return use(name);
  } catch (const Error&) { // cut, or its file system executes nothing
  }
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
  use(library);
  if (cached && hash_sources(tree) == sources) store(library, name); // no source was edited meanwhile
}

} // namespace recount::lint
