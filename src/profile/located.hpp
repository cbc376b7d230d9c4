// The mapped files of a process, opened while they exist.
#pragma once

#include "process/fd.hpp"
#include "symbol/module.hpp"
#include "symbol/spaces.hpp"

#include <recount/sampling.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace recount::profile {

/// Opens a regular file for reading; not a device or a pipe, whose opening may have side effects.
/// None with errno otherwise.
[[nodiscard]] process::Fd open_regular(const std::string& path);

/// Keeps up to 512 files open from the moment that they were mapped, so that those which are removed or
/// replaced later, or are in another mount namespace, can still be read. Not thread-safe.
class Files {
public:
  /// Opens what is new in `spaces`, as `pid` sees it.
  void look_at(const symbol::Spaces& spaces, std::uint32_t pid);

  /// A file to look names up in; none, with the reason, when it is gone, is not what was mapped, or is no
  /// program.
  struct Found {
    std::optional<symbol::Module> module;
    std::string trouble; ///< also beside a module: what it lacks
  };
  [[nodiscard]] Found module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path);

private:
  std::vector<process::Fd> open_; ///< by the numbers of the files
  std::size_t count_ = 0;
};

// Samples, added up by the place that they name.

/// Somewhere that code runs.
struct Place {
  enum class Kind : std::uint8_t {
    file,    ///< `offset` in a mapped file
    memory,  ///< an address in anonymous memory: generated code
    kernel,  ///< the address in the kernel
    unknown, ///< no known mapping, or a guest's or hypervisor's mode
    many     ///< all places beyond the limit
  };
  Kind kind = Kind::unknown;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint32_t object = 0; ///< number of the data that it accesses, plus 1; 0: not recorded
  bool operator==(const Place&) const = default;
};

/// Counts of one place, one for each event.
struct Tally {
  std::uint64_t samples = 0;
  std::uint64_t weight = 0; ///< the occurrences that they represent
};

/// Adds up samples. Memory is bounded: a million places and as many nodes of call chains; the rest counts as
/// Place::Kind::many. Not thread-safe.
class Places {
public:
  /// `after[e]`: samples of the event name the instruction after (see reports_next_instruction()).
  Places(std::vector<bool> after, bool chains);

  /// Any record of a Sampling; mappings are followed.
  void add(const Record& record);

  /// So many samples of an event, which represent `weight` occurrences, at an instruction in user mode; no
  /// call chain is known. `object`: see Place.
  void count(std::uint32_t pid, std::uint64_t address, std::size_t event, std::uint64_t samples,
             std::uint64_t weight, std::uint32_t object = 0);
  /// The place of an instruction in user mode, which need not have any occurrence.
  [[nodiscard]] std::uint32_t place_of(std::uint32_t pid, std::uint64_t address) {
    return place(pid, Mode::user, address);
  }

  [[nodiscard]] std::size_t events() const noexcept { return after_.size(); }
  [[nodiscard]] const std::vector<Place>& places() const noexcept { return places_; }
  [[nodiscard]] std::span<const Tally> tally(std::size_t place) const {
    return std::span(tallies_).subspan(place * events(), events());
  }
  [[nodiscard]] Tally total(std::size_t event) const { return totals_[event]; }
  /// Effective sample size of this event (Kish, Survey Sampling, 1965):
  /// their number where the period was fixed.
  [[nodiscard]] double effective(std::size_t event) const;
  [[nodiscard]] const symbol::Spaces& spaces() const noexcept { return spaces_; }

  /// A call chain: the place of its innermost frame, and the chain of its caller. The last of all is 0, which
  /// has no place.
  struct Chain {
    std::uint32_t caller = 0, place = 0;
  };
  [[nodiscard]] const std::vector<Chain>& chains() const noexcept { return chains_; } ///< [0] is the root
  [[nodiscard]] std::span<const Tally> chain_tally(std::size_t chain) const {
    return std::span(chain_tallies_).subspan(chain * events(), events());
  }
  [[nodiscard]] std::uint64_t cut_chains() const noexcept {
    return cut_;
  } ///< samples whose chain did not fit

private:
  struct Hash {
    std::size_t operator()(const Place& p) const noexcept;
  };
  void add_sample(const Sample& sample);
  void add_chain(const Sample& sample, std::uint32_t innermost);
  std::uint32_t place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object = 0);
  std::uint32_t intern(const Place& place);
  [[nodiscard]] std::uint32_t child(std::uint32_t caller, std::uint32_t place);

  std::vector<bool> after_;
  bool with_chains_;
  symbol::Spaces spaces_;
  std::unordered_map<Place, std::uint32_t, Hash> known_;
  std::vector<Place> places_;
  std::vector<Tally> tallies_, chain_tallies_, totals_;
  std::vector<double> squares_; ///< of the periods, summed by event
  std::unordered_map<std::uint64_t, std::uint32_t> known_chains_;
  std::vector<Chain> chains_;
  std::vector<std::uint32_t> frames_; ///< of the current sample
  std::uint64_t cut_ = 0;
};

// Names for places: module, function, source line.

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
