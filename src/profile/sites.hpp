// Locates the functions named by a user.
#pragma once

#include "process/fd.hpp"
#include "symbol/module.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace recount::profile {

/// A function in a file that a process has mapped.
struct Site {
  std::string module; ///< path
  symbol::Named function;
  std::uint64_t offset = 0;         ///< of its first instruction in the file
  std::vector<unsigned char> first; ///< bytes from there on, one instruction at least
  /// Offsets of its exit instructions; empty if it never returns. None: unknown, and returns can only be
  /// traced by replacing the return address.
  std::optional<std::vector<std::uint64_t>> exits;
  bool moving_stack = false; ///< Go: then its return address must not be replaced
  int file = -1;             ///< an open descriptor of the file, owned by Sites
};

struct Sites {
  std::vector<Site> all;
  std::vector<process::Fd> files;
  std::vector<std::string> notes; ///< calls that are not counted, full sentences
};

/// The functions denoted by each of `names`: "NAME" in the program, else in the first library that has
/// it; "LIBRARY:NAME" in the library whose file name begins with LIBRARY. NAME is as in
/// symbol::Module::functions(). Throws Error (bad_input) for a name without a match, with the nearest, and
/// for more than `most` matches.
[[nodiscard]] Sites find_sites(pid_t pid, const std::vector<std::string>& names,
                               const std::string& debug_path, std::size_t most);

/// "libc:malloc" is library "libc", name "malloc"; the colons of "ns::f" are part of a name. Pure.
struct FunctionName {
  std::string library, name;
};
[[nodiscard]] FunctionName parse_function_name(const std::string& text);

} // namespace recount::profile
