// A machine as its cache hierarchy is described to the model: recount-machines(5).
#pragma once

#include "model/sets.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recount::host {
struct Machine;
struct Tlb;
} // namespace recount::host

namespace recount::model {

// Placement of data in virtual and physical memory, drawn for each run.

/// How the data of a run are placed: see recount-machines(5), "Draws".
struct Placement {
  static constexpr unsigned max_run = 9; ///< 2^9 pages of 4 KiB are a huge page
  bool contiguous = false;               ///< physical addresses are the virtual ones
  std::optional<unsigned> run = {};      ///< log2 of the pages in a contiguous run; none: drawn from 0 to 9
  std::int64_t page = 4096;              ///< bytes of the pages that the system maps
  std::uint64_t draw = 0;                ///< number of the draw
  bool mixed = false;                    ///< some arrays are in huge pages
  std::int64_t huge_page = std::int64_t{2} << 20; ///< bytes of those
};

/// "contiguous", "random", "any", "mixed", or the pages of a run: a power of two up to 512. Nothing
/// for other words.
[[nodiscard]] std::optional<Placement> parse_placement(std::string_view text);

/// Physical addresses of one draw: a permutation of runs of pages.
class PhysicalPages {
public:
  explicit PhysicalPages(const Placement& placement);

  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const {
    if (huge(address)) [[unlikely]]
      return place(address, huge_shift_, huge_mask_) | std::uint64_t{1} << mixed_bits;
    return place(address, shift_, mask_);
  }
  /// Whether the address is in a huge page, of a mixed placement.
  [[nodiscard]] bool huge(std::uint64_t address) const {
    return arrays_ != 0 && address >> address_bits == 0 &&
           (arrays_ >> (address >> array_shift & 63) & 1) != 0;
  }

  static constexpr unsigned address_bits = 60; ///< the page table begins at 2^60
  static constexpr unsigned array_shift = 41;  ///< arrays are 2^41 apart

private:
  static constexpr unsigned mixed_bits = 59; ///< small pages below 2^59, huge ones from there on

  [[nodiscard]] std::uint64_t place(std::uint64_t address, unsigned shift, std::uint64_t mask) const {
    constexpr unsigned half = 20;
    std::uint64_t run = (address >> shift & mask) + key_;
    run = (run & mask) * 0xbf58476d1ce4e5b9u & mask;
    run = (run ^ run >> half) * 0x94d049bb133111ebu & mask;
    run ^= run >> half;
    return (address & ~(mask << shift)) | run << shift;
  }

  std::uint64_t mask_, key_, huge_mask_ = 0;
  unsigned shift_, huge_shift_ = 0;
  std::uint64_t arrays_ = 0; ///< a bit for each array number, modulo 64
};

/// Base of array number `array`: the `assumed` one without a placement, else that plus 2^41 times the number
/// plus a drawn number of pages.
[[nodiscard]] std::uint64_t array_base(const std::optional<Placement>& placement, std::uint64_t assumed,
                                       unsigned array);

/// How a level relates to the levels above it (nearer the core). Non-inclusive: neither is enforced.
/// Inclusive: lines evicted here are invalidated above. Exclusive: filled only with what the level above
/// evicts; a hit moves the line up.
enum class Inclusion { non_inclusive, inclusive, exclusive };
/// What a store that hits does: mark the line dirty, or go on to the next level at once.
enum class Write { back, through };
/// What a prefetcher asks for: the next line after a miss, the other line of the aligned pair after a miss,
/// or lines ahead of a sequence of accesses to a page.
enum class Prefetch { next_line, adjacent_line, streamer };
inline constexpr std::size_t prefetch_kinds = 3;

/// A hardware prefetcher of a level. The numbers are those of a streamer.
struct Prefetcher {
  Prefetch kind = Prefetch::next_line;
  std::int64_t streams = 32;  ///< pages that it follows at a time
  std::int64_t trigger = 2;   ///< accesses in one direction before it fetches
  std::int64_t distance = 20; ///< most lines ahead of the access
  std::int64_t degree = 2;    ///< most lines that one access makes it ask for
};

/// One level of data cache. Bytes where it is a size.
struct LevelDescription {
  std::string name; ///< "L1d"
  std::int64_t size = 0, line = 64;
  std::int64_t ways = 0; ///< as many as the level has lines: fully associative; 1: direct-mapped
  Policy policy = Policy::lru;
  Inclusion inclusion = Inclusion::non_inclusive;
  Write write = Write::back;
  bool allocate = true;                  ///< a store that misses brings the line in
  std::vector<Prefetcher> prefetch = {}; ///< each kind once at most
  std::optional<double> latency;         ///< load-to-use, core cycles
  /// Masks of line-number bits, one for each bit of the set, which is the parity of the bits that it selects;
  /// none: the set is the line number modulo the number of sets.
  std::vector<std::uint64_t> index = {};
  Qlru qlru = {};      ///< of Policy::qlru
  bool shared = false; ///< by all cores; else each has its own

  [[nodiscard]] std::int64_t sets() const { return size / (line * ways); }
};

/// One level of data TLB.
struct TlbLevel {
  std::int64_t entries = 0, ways = 0;
  std::vector<std::uint64_t> index = {}; ///< as LevelDescription::index, of page-number bits
  Policy policy = Policy::lru;
  Qlru qlru = {};      ///< of Policy::qlru
  bool shared = false; ///< of huge pages or instructions: the entries are those of small pages of data
  [[nodiscard]] std::int64_t sets() const { return entries / ways; }
};

struct TlbDescription {
  std::int64_t page = 4096; ///< bytes
  std::vector<TlbLevel> levels;
  std::int64_t huge_page = std::int64_t{2} << 20; ///< bytes of a huge page
  std::vector<TlbLevel> huge = {};                ///< entries for huge pages; none: `levels` hold them too
  /// Caches of the levels of the page table above the entries of pages, the nearest first. A walk reads an
  /// entry of each level whose cache, and those before, miss. None: these levels are never read.
  std::vector<TlbLevel> walk = {};
};

/// What a core has for instructions: the levels below the first are those of data.
struct InstructionDescription {
  LevelDescription cache;
  std::vector<TlbLevel> tlb; ///< none: the translation of instructions costs nothing
};

/// One cache of a family: machines that differ in the size and ways of their only cache.
struct FamilyMember {
  std::int64_t size = 0, ways = 0;
  [[nodiscard]] std::int64_t sets(std::int64_t line) const { return size / (line * ways); }
};

inline constexpr std::int64_t max_cores = 256;

/// How counts that others measured compare with a description.
struct Validation {
  std::int64_t groups = 0;       ///< of people, each with machines of their own
  std::vector<std::string> cpus; ///< as those who measured name them
  /// Median of |modelled / measured - 1| of PAPI_L1_DCM in percent, by the loops of a matrix product.
  std::map<std::string, double> deviations;
};

struct MachineDescription {
  std::string name;
  std::string source;                    ///< where the numbers come from
  std::vector<LevelDescription> levels;  ///< from the core outwards, at least one
  std::optional<TlbDescription> tlb;     ///< without one, translation costs nothing
  std::uint64_t seed = 1;                ///< of the levels with random replacement
  std::vector<FamilyMember> family = {}; ///< not empty: the only level, in all these sizes and ways at once
  std::string pmu = {};                  ///< libpfm4's name of its core PMU ("skl"), to explain presets
  /// Presets that count something else than metrics() says: MODEL_... metrics, each times a factor, added up.
  std::map<std::string, std::map<std::string, std::int64_t>> presets = {};
  bool sampled = false; ///< loop nests are simulated in samples, see Sampling
  /// Accesses of the longest loop iteration that a sample repeats; one of a longer loop is cut into those of
  /// its inner loop. Contents that outlive a sample are then not simulated: enough for a first level.
  std::int64_t sample_unit = std::int64_t{1} << 26;
  std::int64_t cores = 1; ///< each with its own TLBs and those levels that are not shared
  std::optional<InstructionDescription> instructions = {}; ///< none: instruction fetches are not simulated
  std::optional<Placement> placement = {};  ///< of the data of a run; none: as stated at Kernel::simulate()
  std::string microarchitecture = {};       ///< of its core: "skylake-client"
  std::optional<Validation> validated = {}; ///< none: nobody has compared it with a counter
};

/// "host" (this machine, from what its system states), the name of a shipped machine ("i7-9700"), or a file
/// (a name with a slash or ending in .json); each may be followed by parts that are to be otherwise, see
/// altered(): "i7-9700~no-tlb". Throws recount::Error: bad_input for an unknown name (with the
/// nearest ones) or a bad description (file and field named), unavailable where the host does not tell.
[[nodiscard]] MachineDescription machine(const std::string& name_or_path);

/// A machine with one part changed, to measure its effect: "no-tlb" (translation costs nothing),
/// "full" (every level fully associative: no conflicts), "l1=SIZES/WAYS" (the first level alone in other
/// sizes, see resized()), "cores=N", "sample" (in samples), "placement=PLACEMENT" (draws of placement),
/// "huge" (all data in huge pages), "stlb=ENTRIES:WAYS" or "stlb=ENTRIES:WAYS:xor" (another last level of its
/// TLB). Throws recount::Error (bad_input) for another word.
[[nodiscard]] MachineDescription altered(MachineDescription machine, const std::string& part);

/// A shipped machine, with a part altered or not; nothing for any other name. Never opens a file, so it takes
/// names from results, which are not trusted.
[[nodiscard]] std::optional<MachineDescription> shipped_machine(const std::string& name);

/// The same machine with all data in huge pages: its TLBs translate pages of TlbDescription::huge_page bytes.
[[nodiscard]] MachineDescription with_huge_pages(MachineDescription machine);

/// A name of a machine, or of a model's witness, without the parts "sample" and "placement=...", which change
/// how the machine is simulated but not the machine.
[[nodiscard]] std::string without_modes(const std::string& name);

/// Whether a draw of placement can change what is counted: not if no level above memory uses address bits of
/// page numbers.
[[nodiscard]] bool depends_on_placement(const MachineDescription& machine);

/// The shipped machines' names, sorted. ("host" is not among them.)
[[nodiscard]] std::vector<std::string> machine_names();

/// Reads a description; `file` is in the messages. Throws recount::Error (bad_input): line and column for
/// text that is not JSON, the field for anything unknown, missing or out of range.
[[nodiscard]] MachineDescription parse_machine(std::string_view json, const std::string& file);

/// Checks what a Hierarchy needs (see recount-machines(5)); `file` is in the message.
/// Throws recount::Error (bad_input) naming the field.
void check(const MachineDescription& machine, const std::string& file);

/// This machine: its caches from hwloc, its TLBs from CPUID. Throws recount::Error (unavailable) when no data
/// cache is stated.
[[nodiscard]] MachineDescription host_machine();

/// The same of a machine with these caches and TLBs. The TLBs are left out of virtual machines, whose CPUID
/// need not be that of the CPU, and whose walks read two page tables.
[[nodiscard]] MachineDescription host_machine(const host::Machine& here, const std::vector<host::Tlb>& tlbs);

/// "32K/8": a member as it is written.
[[nodiscard]] std::string to_text(const FamilyMember& member);

/// The first cache of `machine` alone, LRU, write-back and without prefetcher, in other sizes and ways:
/// "SIZES/WAYS", each one number or FROM:TO. Sizes double from one to the next; ways are all numbers, and
/// those that do not divide a size into whole sets are left out. One member becomes an ordinary machine, more
/// a family. Throws recount::Error (bad_input) naming the machine.
[[nodiscard]] MachineDescription resized(MachineDescription machine, std::string_view text);

/// The names of a family's members, for the name of a family ("i7-9700~l1=8K:64K/1:16") or of any other
/// machine, which is its only member. Throws as machine() does.
[[nodiscard]] std::vector<std::string> member_names(const std::string& machine_name);

/// What comes before the sizes in a name that has any, "i7-9700~l1="; else empty.
[[nodiscard]] std::string_view before_sizes(std::string_view machine_name);

/// A description in src/model/data, which is embedded in the program.
struct Shipped {
  std::string_view name; ///< the file's name without .json
  std::string_view json;
};
/// Sorted by name.
[[nodiscard]] std::span<const Shipped> shipped_machines();

} // namespace recount::model
