#include "nest/compile.hpp"

#include "nest/generate.hpp"
#include "process/child.hpp"
#include "process/spawn.hpp"
#include "process/temporary_folder.hpp"

#include <chrono>
#include <dlfcn.h>

namespace recount::nest {
namespace {

constexpr auto longest_compilation = std::chrono::seconds(60);

std::string first_line(const std::string& text) {
  return text.substr(0, std::min<std::size_t>(text.find('\n'), 300));
}

void compile(const std::string& code, const process::TemporaryFolder& folder, const std::string& library) {
  const auto program = compiler();
  if (!program) throw unavailable("nest", cannot_compile());
  process::Spawn spawn;
  spawn.argv = {*program};
  const auto& options = compiler_options();
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.argv.insert(spawn.argv.end(), {"-x", "c", "-", "-o", library});
  spawn.environment = {{"TMPDIR", folder.path()}};
  spawn.own_group = false; // ends with the run that started it
  const auto ended = process::capture(std::move(spawn), code, longest_compilation);
  if (!ended.exit.ok())
    throw unavailable(*program, "cannot compile the nest: " + describe(ended.exit) + "; " +
                                    first_line(ended.err.empty() ? ended.out : ended.err));
}

} // namespace

std::optional<std::string> compiler() {
  for (const char* name : {"cc", "gcc", "clang"})
    if (auto found = process::find_program(name)) return found;
  return {};
}

// No library and no header of the system is needed.
const std::vector<std::string>& compiler_options() {
  static const std::vector<std::string> options = {"-std=gnu11",
                                                   "-O2",
                                                   "-fno-tree-vectorize",
                                                   "-fno-tree-slp-vectorize",
                                                   "-fno-unroll-loops",
                                                   "-ffp-contract=off",
                                                   "-w",
                                                   "-shared",
                                                   "-fPIC",
                                                   "-nostdlib",
                                                   "-fno-stack-protector"};
  return options;
}

std::string cannot_compile() {
  return compiler() ? "" : "no C compiler in PATH: cc, gcc or clang (Debian: apt-get install gcc)";
}

CompiledNest::CompiledNest(const std::string& code) {
  const process::TemporaryFolder folder("recount-nest");
  const std::string library = folder.path() + "/nest.so";
  compile(code, folder, library);
  library_ = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char* const reason = ::dlerror();
    throw unavailable("nest", std::string("the compiled nest cannot be loaded: ") + (reason ? reason : ""),
                      "TMPDIR", "set TMPDIR to a folder on a file system without noexec");
  }
  function_ = reinterpret_cast<Function>(::dlsym(library_, function_name));
  if (function_ == nullptr) {
    ::dlclose(library_);
    throw unavailable("nest", "the compiled nest has no function");
  }
}

CompiledNest::~CompiledNest() {
  ::dlclose(library_);
}

} // namespace recount::nest
