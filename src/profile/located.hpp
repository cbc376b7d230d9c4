// Names for places: module, function, source line.
#pragma once

#include "profile/files.hpp"
#include "profile/places.hpp"
#include "symbol/module.hpp"

#include <string>
#include <vector>

namespace recount::profile {

/// A place with its names, as far as known.
struct Located {
  std::string
      module; ///< path of the file; "[kernel]", "[kernel ext4]", "//anon", "[unknown]", "[other places]"
  std::uint64_t address = 0;         ///< as in the file (and in objdump); else the memory address
  std::vector<symbol::Frame> frames; ///< innermost first, never empty; empty names where nothing is known
  std::uint64_t start = 0, end = 0;  ///< of the function; 0: unknown
  std::string instruction;           ///< as text; empty: not asked for, or unknown

  [[nodiscard]] const symbol::Frame& function() const { return frames.back(); } ///< whose code it is
  [[nodiscard]] std::string
  name_of(const symbol::Frame& frame) const; ///< "f(int)"; "libx.so+0x12" without a symbol
  [[nodiscard]] std::string source() const;  ///< "file.cpp:12"; empty: unknown
};

/// The places of a recording in their order, and notes about unknown names.
struct Naming {
  std::vector<Located> places;
  std::vector<std::string> notes; ///< "/usr/lib/libc.so.6: stripped: …", full sentences, one per module
};

struct NamingOptions {
  std::string debug_path;    ///< directories with debug files, separated by ':'
  bool instructions = false; ///< fill in Located::instruction, and move `address` to its first byte
};

/// Opens one module at a time, to bound memory.
[[nodiscard]] Naming name_places(const Places& places, Files& files, const NamingOptions& options = {});

/// The last part of a path.
[[nodiscard]] std::string short_path(const std::string& path);

} // namespace recount::profile
