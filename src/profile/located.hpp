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

/// Data that instructions access.
struct NamedObject {
  std::string name;                    ///< "b", "heap block from main (product.c:7)", "unknown memory"
  std::string kind;                    ///< variable, heap, mapped, stack, file, unknown
  std::string module;                  ///< of a variable
  std::uint64_t bytes = 0;             ///< of a variable, or of all blocks
  std::uint64_t blocks = 0;            ///< allocated
  std::uint64_t low = ~0ULL, high = 0; ///< offsets of accesses with samples; low > high: none
  std::uint64_t row = 0;               ///< bytes of the rows that were simulated longer; 0: not simulated
  std::vector<std::string> calls;      ///< that allocated it, the innermost first
};

/// The places of a recording in their order, and notes about unknown names.
struct Naming {
  std::vector<Located> places;
  std::vector<NamedObject> objects; ///< that Place::object numbers
  std::vector<std::string> notes;   ///< "/usr/lib/libc.so.6: stripped: …", full sentences, one per module
};

struct NamingOptions {
  std::string debug_path;    ///< directories with debug files, separated by ':'
  bool instructions = false; ///< fill in Located::instruction, and move `address` to its first byte
};

/// Opens one module at a time, to bound memory.
[[nodiscard]] Naming name_places(const Places& places, Files& files, const NamingOptions& options = {});

/// The last part of a path.
[[nodiscard]] std::string short_path(const std::string& path);

// The source text of functions, with samples beside its lines.
struct AnnotatedLine {
  int number = 0;
  std::string text;           ///< empty where the source cannot be read
  std::vector<Tally> tallies; ///< one for each event; empty: no samples
  std::string objects;        ///< the data with most samples of the first event; empty: not recorded
};
/// A part of a source file around the samples of the selected functions.
struct Annotation {
  std::string file;                 ///< as the debug information names it
  std::string trouble;              ///< why there is no text; empty: text available
  std::vector<AnnotatedLine> lines; ///< in order; numbers that are missing are far from any sample
};

/// The lines of functions whose name is `function`, as in symbol::Module::functions(), with what was inlined
/// into them: a part for each file. Empty when no sample lies in any.
[[nodiscard]] std::vector<Annotation> annotate(const Places& places, const Naming& naming,
                                               const std::string& function);

/// One line per chain, "main;work;inner 123": outermost first, including inlined functions, and the
/// weight of an event's samples. This is the input format of Brendan Gregg's flamegraph.pl. Blanks and
/// semicolons within names become '_' and ':'.
[[nodiscard]] std::string folded(const Places& places, const Naming& naming, std::size_t event);

} // namespace recount::profile
