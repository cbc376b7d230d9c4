// Where the functions lie that a user names.
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
  /// Offsets of the instructions by which it leaves; empty where it never returns. None: they cannot be told,
  /// and the return address has to be replaced to see it return.
  std::optional<std::vector<std::uint64_t>> exits;
  bool moving_stack = false; ///< Go: then its return address must not be replaced
  int file = -1;             ///< an open descriptor of the file, owned by Sites
};

struct Sites {
  std::vector<Site> all;
  std::vector<process::Fd> files;
  std::vector<std::string> notes; ///< what a count of calls will not hold, whole sentences
};

/// The functions that are meant by each of `names`: "NAME" in the program, else in the first library that has
/// it; "LIBRARY:NAME" in the library whose file name begins so. NAME is as in symbol::Module::functions().
/// Throws Error (bad_input) for a name that fits none, with the nearest, and when more than `most` fit.
[[nodiscard]] Sites find_sites(pid_t pid, const std::vector<std::string>& names,
                               const std::string& debug_path, std::size_t most);

/// "libc:malloc" is library "libc", name "malloc"; the colons of "ns::f" are part of a name. Pure.
struct FunctionName {
  std::string library, name;
};
[[nodiscard]] FunctionName parse_function_name(const std::string& text);

} // namespace recount::profile
