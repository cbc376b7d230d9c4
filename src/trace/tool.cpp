#include "trace/tool.hpp"

#include "process/child.hpp"
#include "process/spawn.hpp"
#include "trace/reader.hpp"
#include "trace/gates.hpp"

#include <recount/error.hpp>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RECOUNT_LIBEXEC
#define RECOUNT_LIBEXEC ""
#endif

namespace recount::trace {
namespace {

#if defined(__x86_64__)
constexpr const char* tool_file = "recount-trace-amd64-linux";
constexpr unsigned char elf_class = ELFCLASS64;
constexpr Elf64_Half elf_machine = EM_X86_64;
#else
constexpr const char* tool_file = "recount-trace-arm64-linux";
constexpr unsigned char elf_class = ELFCLASS64;
constexpr Elf64_Half elf_machine = EM_AARCH64;
#endif

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// The folder of the tool: as RECOUNT_LIBEXEC says, beside this program in a build, or where it was
/// installed.
std::optional<std::string> tool_folder() {
  std::vector<std::string> folders;
  if (const char* const said = std::getenv("RECOUNT_LIBEXEC")) folders.emplace_back(said);
  const std::string here = folder_of(process::this_program());
  folders.insert(folders.end(), {here + "/../trace", here + "/../libexec/recount", RECOUNT_LIBEXEC});
  for (const std::string& folder : folders)
    if (!folder.empty() && ::access((folder + "/" + tool_file).c_str(), X_OK) == 0) return folder;
  return {};
}

/// What starts Valgrind again for programs that the program executes: not Debian's script, which changes
/// their environment.
std::optional<std::string> launcher() {
  const auto found = process::find_program("valgrind");
  if (!found) return {};
  return process::find_program(*found + ".bin").value_or(*found);
}

Error refused(const std::string& command, const std::string& cause, const std::string& remedy) {
  return unavailable("--witness model", command + ": " + cause, {}, remedy);
}

/// Why Valgrind cannot execute a program file; empty: it can.
std::string unexecutable(const std::string& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::strerror(errno);
  if ((status.st_mode & (S_ISUID | S_ISGID)) != 0)
    return "it is set-user-ID or set-group-ID, which Valgrind does not execute";
  Elf64_Ehdr head{};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!in || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return {}; // a script, or nothing at all
  if (head.e_ident[EI_CLASS] != elf_class || head.e_machine != elf_machine)
    return "it is a program of another architecture than recount (or of 32 bits)";
  return {};
}

} // namespace

std::string untraceable() {
  if (!launcher()) return "valgrind is not installed, or not in PATH";
  if (!tool_folder()) return "this recount was built without its Valgrind tool, recount-trace";
  return {};
}

std::string unexecuted(const std::optional<Undecoded>& last) {
  if (!last) return {};
  constexpr unsigned char evex = 0x62; // the prefix of AVX-512 in 64-bit mode
  const bool wide = last->code[0] == evex;
  return fmt::format("the program executes {} instruction, at {:#x}, that Valgrind cannot execute; fix: {}",
                     wide ? "an AVX-512" : "an", last->address,
                     wide ? "compile it with -march=x86-64-v3" : "compile it for an older CPU");
}

ToolCommand tool_command(const std::vector<std::string>& command, const ToolOptions& options) {
  if (const std::string why = untraceable(); !why.empty())
    throw unavailable("--witness model", "a program is simulated with Valgrind's help: " + why, {},
                      "apt-get install valgrind, then build recount again if it was built without");
  const auto file = process::find_program(command.front());
  if (!file) {
    constexpr int not_found = 127, not_executable = 126;
    const bool exists =
        ::access(command.front().c_str(), F_OK) == 0 && command.front().find('/') != std::string::npos;
    throw process::CannotRun(unavailable(command.front(), exists ? "cannot be executed" : "no such program"),
                             exists ? not_executable : not_found);
  }
  if (const std::string why = unexecutable(*file); !why.empty())
    throw refused(command.front(), why, "recount stat without --witness model counts it");
  const std::string folder = *tool_folder();
  ToolCommand made;
  made.argv = {folder + "/" + tool_file,  "--tool=recount-trace",
               "--command-line-only=yes", "-q",
               "--log-file=/dev/null",    "--vgdb=no",
               "--trace-children=yes",    "--channel=" + options.channel};
  if (options.sections) made.argv.push_back(fmt::format("--sections={}", process::free_descriptor()));
  if (options.objects) made.argv.emplace_back("--objects=yes");
  // VEX executes the second part of `a && b` in advance, where it may, and unrolls loops.
  if (options.exact)
    made.argv.insert(made.argv.end(), {"--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0"});
  made.argv.insert(made.argv.end(), command.begin(), command.end());
  made.environment = {{"VALGRIND_LAUNCHER", *launcher()}, {"VALGRIND_LIB", folder}};
  if (options.sections)
    made.environment.emplace_back(sections_variable, std::to_string(process::free_descriptor()));
  return made;
}

} // namespace recount::trace
