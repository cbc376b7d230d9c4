// Samples summed by the place where they occurred, the names of the places, and their groups.
#pragma once

#include "base/process/views.hpp"
#include "count/symbol/module.hpp"
#include "count/symbol/spaces.hpp"

#include <recount/sampling.hpp>

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace recount::profile {

/// The last part of a path.
[[nodiscard]] std::string short_path(const std::string& path);

/// Keeps the first 512 mapped files open, so that those which are removed or replaced later, or are in
/// another mount namespace, can still be read. Not thread-safe.
class Files {
public:
  /// After `record` was added to `spaces`: opens the files that it newly maps, as its process sees them.
  void add(const Record& record, const symbol::Spaces& spaces);

  struct Found {
    std::unique_ptr<symbol::Module> module;
    std::string missing = {}; ///< why there is no module: gone, replaced since it was mapped, no program
  };
  [[nodiscard]] Found module(const symbol::Spaces& spaces, std::uint32_t file, const std::string& debug_path);
  /// The file as it was mapped; empty with errno: it cannot be read.
  [[nodiscard]] process::Fd descriptor(const symbol::Spaces& spaces, std::uint32_t file) const;
  [[nodiscard]] const process::Views& views() const noexcept { return views_; }

private:
  [[nodiscard]] process::Fd open(const symbol::MappedFile& file, int root) const;

  std::vector<process::Fd> open_; ///< by the numbers of the files
  process::Views views_;
  std::unordered_set<std::uint32_t> seen_; ///< processes that have mapped a file since they were created
};

/// A program or library that a process has mapped, with the address and file offset of its first mapping.
struct MappedModule {
  std::string path;
  process::Fd file;
  std::unique_ptr<symbol::Module> module;
  std::uint64_t start = 0, offset = 0;
};
/// In the order of their addresses.
[[nodiscard]] std::vector<MappedModule> mapped_modules(pid_t pid, const std::string& debug_path = {});

/// Somewhere that code runs.
struct Place {
  enum class Kind : std::uint8_t {
    file,    ///< `offset` in a mapped file
    memory,  ///< an address in anonymous memory: generated code
    kernel,  ///< the address in the kernel
    unknown, ///< no known mapping, or a guest's or hypervisor's mode
    many,    ///< all places beyond the limit
    process  ///< no code: the root of call chains, with `file` a number of Places::process_names()
  };
  Kind kind = Kind::unknown;
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint32_t object = 0; ///< number of the data that it accesses, plus 1; 0: not recorded
  std::uint32_t pid = 0;    ///< of Kind::memory: whose; else 0
  bool operator==(const Place&) const = default;
};

/// Counts of one place and event.
struct Tally {
  std::uint64_t samples = 0;
  std::uint64_t weight = 0; ///< the occurrences that they represent
  Tally& operator+=(const Tally& more) {
    samples += more.samples;
    weight += more.weight;
    return *this;
  }
};

/// Adds the tallies of each event.
void add(std::vector<Tally>& sum, std::span<const Tally> more);
/// Whether no event has samples.
[[nodiscard]] bool without_samples(std::span<const Tally> tallies);

/// Sums samples by place. Memory is bounded: a million places and as many nodes of call chains; the rest
/// counts as Place::Kind::many. Not thread-safe.
class Places {
public:
  /// `after[e]`: samples of the event name the instruction after (see reports_next_instruction()).
  Places(std::vector<bool> after, bool chains);

  /// Any record of a Sampling; mappings are followed.
  void add(const Record& record);
  /// Samples of an event at an instruction in user mode, without a call chain. `object`: see Place.
  void count(std::uint32_t pid, std::uint64_t address, std::size_t event, const Tally& tally,
             std::uint32_t object = 0);
  /// The place of an instruction in user mode, also without any sample.
  [[nodiscard]] std::uint32_t user_place(std::uint32_t pid, std::uint64_t address) {
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

  [[nodiscard]] const std::vector<std::string>& process_names() const noexcept { return process_names_; }

  /// A call chain: the place of its innermost frame, and the chain of its caller. The outermost caller is 0,
  /// which has no place; its callees are processes where their names are known.
  struct Chain {
    std::uint32_t caller = 0, place = 0;
  };
  [[nodiscard]] const std::vector<Chain>& chains() const noexcept { return chains_; } ///< [0] is the root
  /// Whether it has one frame of code.
  [[nodiscard]] bool is_single(std::size_t chain) const {
    const std::uint32_t caller = chains_[chain].caller;
    return caller == 0 || places_[chains_[caller].place].kind == Place::Kind::process;
  }
  [[nodiscard]] std::span<const Tally> chain_tally(std::size_t chain) const {
    return std::span(chain_tallies_).subspan(chain * events(), events());
  }

private:
  struct Hash {
    std::size_t operator()(const Place& p) const noexcept;
  };
  void add_sample(const Sample& sample);
  void name_process(const Record& record);
  std::uint32_t chain_of_process(std::uint32_t pid);
  std::uint32_t chain_of_sample(const Sample& sample, std::uint32_t innermost);
  void add_tally(std::uint32_t place, std::uint32_t chain, std::size_t event, const Tally& tally);
  std::uint32_t place(std::uint32_t pid, Mode mode, std::uint64_t address, std::uint32_t object = 0);
  std::uint32_t intern(const Place& place);
  std::uint32_t intern_chain(const Chain& chain);

  std::vector<bool> after_;
  bool with_chains_;
  symbol::Spaces spaces_;
  std::unordered_map<Place, std::uint32_t, Hash> known_;
  std::vector<Place> places_;
  std::vector<Tally> tallies_, chain_tallies_, totals_;
  std::vector<double> squares_;                                       ///< of the periods, summed by event
  std::unordered_map<std::uint32_t, std::uint32_t> processes_;        ///< by PID, numbers of names
  std::map<std::string, std::uint32_t, std::less<>> process_numbers_; ///< by name
  std::vector<std::string> process_names_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_chains_;
  std::vector<Chain> chains_;
};

/// A place with its names, as far as known.
struct Located {
  /// Path of the file; "[kernel]", "[kernel ext4]", "//anon", "[unknown]", "[other places]".
  std::string module;
  std::uint64_t address = 0;         ///< as in the file (and in objdump); else the memory address
  std::vector<symbol::Frame> frames; ///< innermost first, never empty; empty names where nothing is known
  std::uint64_t start = 0, end = 0;  ///< of the function; 0: unknown
  std::string instruction;           ///< as text; empty: not requested, or unknown

  [[nodiscard]] const symbol::Frame& function() const { return frames.back(); } ///< whose code it is
  /// "f(int)"; "libx.so+0x12" without a symbol.
  [[nodiscard]] std::string name_of(const symbol::Frame& frame) const;
  [[nodiscard]] std::string source() const; ///< "file.cpp:12"; empty: unknown
};

/// Data that instructions access.
struct DataObject {
  enum class Kind : std::uint8_t { unknown, heap, mapped, stack, variable, file };
  Kind kind = Kind::unknown;
  /// The name of a variable, or a path; name_objects() fills in the others: "heap block from main
  /// (product.c:7)".
  std::string name = {};
  std::uint32_t file = 0; ///< of a variable: number in Spaces::files()
  std::vector<std::uint32_t> calls =
      {};                   ///< of heap blocks and anonymous memory: places, the innermost call first
  std::uint64_t number = 0; ///< thread of a stack; address in the file of a variable
  std::uint64_t bytes = 0;  ///< of the variable, or of all blocks; 0: unknown
  std::uint64_t blocks = 0; ///< allocated
  std::uint64_t row = 0;    ///< bytes of its rows, which trace::Padding found; 0: none
  std::uint64_t low = ~0ULL,
                high = 0;  ///< offsets of the first and last access with samples; low > high: none
  std::string module = {}; ///< path of a variable's file; empty before name_objects()
  std::vector<std::string> call_names = {}; ///< of `calls`; likewise
};

/// The places of a recording in their order, and notes about unknown names.
struct Naming {
  std::vector<Located> places;
  std::vector<DataObject> objects; ///< that Place::object numbers
  std::vector<std::string> notes;  ///< "/usr/lib/libc.so.6: stripped: …", full sentences, one per module
};

/// Opens one module at a time, to bound memory. `instructions`: fill in Located::instruction, and move
/// Located::address to its first byte.
[[nodiscard]] Naming name_places(const Places& places, Files& files, const std::string& debug_path = {},
                                 bool instructions = false);

/// As in results and JSON: "heap", "variable".
[[nodiscard]] std::string name_of(DataObject::Kind kind);
/// Completes name, module and call_names. A heap block is named by the fewest calls, at most four, that
/// distinguish it from others.
[[nodiscard]] std::vector<DataObject> name_objects(const std::vector<DataObject>& objects,
                                                   const Places& places, const Naming& naming);

/// Weights by chain of function names, innermost first. `inlined` is appended to the names of inlined
/// functions; `processes` adds the name of the process last.
[[nodiscard]] std::map<std::vector<std::string>, Tally>
chains_by_name(const Places& places, const Naming& naming, std::size_t event, const std::string& inlined,
               bool processes = false);

/// One line per chain, "solver;main;work;inner 123": the process, then the outermost function first,
/// including inlined ones, and the weight of an event's samples. This is the input format of Brendan Gregg's
/// flamegraph.pl. Blanks and semicolons within names become '_' and ':'.
[[nodiscard]] std::string folded(const Places& places, const Naming& naming, std::size_t event);

/// `symbol`: the function whose code it is, with what was inlined into it; `function`: the innermost one;
/// `object`: the data that is accessed; `line_object`: by both.
enum class By { module, symbol, function, line, address, object, line_object };
/// Whether data objects are distinguished.
[[nodiscard]] bool by_object(By by);
/// Throws Error (bad_input) with the known names.
[[nodiscard]] By parse_by(const std::string& name);
[[nodiscard]] std::string name_of(By by);

/// The grouping of the figure for these groupings of tables: by symbol if included or if there is no other,
/// else the first.
[[nodiscard]] By figure_by(const std::vector<By>& ways);

/// A share of all samples, with its sampling error.
struct Share {
  double value = 0;         ///< 0...1
  double low = 0, high = 1; ///< interval of 95 %
  bool exact = false;       ///< every occurrence was sampled: there is no interval
};
/// The share of k samples out of n, 0 <= k <= n: exact binomial bounds (Clopper and Pearson, Biometrika 26,
/// 1934). Consecutive samples of one loop can be more correlated than that assumes.
[[nodiscard]] Share share_of(double k, double n);
/// The share that `part` has of all samples of an event, by weight; exact when each occurrence was sampled.
[[nodiscard]] Share share_of(const Tally& part, const Places& places, std::size_t event, bool exact);

struct ProfileRow {
  std::string module, function, source; ///< empty: unknown, or not distinguished by this grouping
  std::string file;                     ///< of the source line, with its path
  int line = 0;
  std::uint64_t address = 0;        ///< of an address row, or where no line is known
  std::string instruction;          ///< of an address row
  std::uint64_t start = 0, end = 0; ///< of the function; 0: unknown
  bool inlined = false;             ///< the function was inlined
  std::optional<DataObject> object; ///< the sum of those of one name
  std::vector<Tally> tallies;       ///< one for each event
};

/// Most samples of the first event first. Lines and functions are those of the innermost frame: inlined code
/// counts for the inlined function.
[[nodiscard]] std::vector<ProfileRow> group_places(const Places& places, const Naming& naming, By by);

} // namespace recount::profile
