#include "kernel/blocks/emit.hpp"
#include "kernel/kernel.hpp"
#include "kernel/loops/loop_bodies.hpp"
#include "kernel/memory.hpp"
#include "kernel/point.hpp"
#include "kernel/tally.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

namespace recount::kernel {

// `code`: jumps from line to line of code that it has written. See recount-kernels(7).
namespace {

/// A point, checked.
struct CodePoint {
  std::int64_t size = 0, stride = 64, passes = 1; ///< bytes of code, from block to block; times through all
  bool full = false;                              ///< blocks fill their lines
  std::int64_t seed = 1;
  std::int64_t l1i = 0, l2 = 0, l3 = 0; ///< cache capacities for closed forms in bytes, 0: unknown
  [[nodiscard]] std::int64_t blocks() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return blocks() * passes; }
  [[nodiscard]] std::int64_t bytes() const {
    return code_line + (blocks() - 1) * stride + code_line;
  } ///< of memory
};

/// Where the blocks lie, in the order of execution: one random cycle.
std::vector<std::uint64_t> code_places(const CodePoint& at) {
  const auto next = random_cycle(at.blocks(), at.seed);
  std::vector<std::uint64_t> places;
  places.reserve(next.size());
  for (std::uint64_t block = 0, i = 0; i < next.size(); ++i, block = next[static_cast<std::size_t>(block)])
    places.push_back(static_cast<std::uint64_t>(code_line) + block * static_cast<std::uint64_t>(at.stride));
  return places;
}

/// The entry, then in each pass the blocks in their order and the end of the frame. Each block is fetched
/// once; its argument, the only data, is not loaded.
void fetch_code(const CodePoint& at, model::Hierarchy& caches) {
  const std::uint64_t base = array_base(caches);
  constexpr unsigned jump = 4; // bytes of which every architecture needs the first line
  const auto bytes = static_cast<unsigned>(at.full ? code_line : jump);
  const std::vector<std::uint64_t> places = code_places(at);
  caches.fetch(base, code_entry);
  model::repeat(
      caches, at.passes,
      [&] {
        for (const std::uint64_t place : places)
          caches.fetch(base + place, bytes);
        caches.fetch(base + code_entry, code_tail);
      },
      &caches.progress);
}

constexpr std::int64_t most_code =
    128 << 20; // the shortest range of a direct jump on the supported architectures
/// No first-level instruction cache is larger; none is smaller than twice the other.
constexpr std::int64_t largest_l1i = 192 << 10, surely_held = 16 << 10;
constexpr std::int64_t most_code_tlb_entries = 4096;
constexpr std::int64_t most_branch_targets = 16384; // the largest known BTB
constexpr std::int64_t least_branch_targets = 4096; // the smallest in use: Skylake
constexpr std::int64_t walked_by_no_cpu = 1 << 20;  // fewer pages than entries of any second-level TLB
constexpr std::int64_t few_code_pages = 16;

class CodePresets {
public:
  explicit CodePresets(const CodePoint& at) : at_(at), n_(static_cast<double>(at.accesses())) {
    const EmittedTally tally = emitted(static_cast<double>(at.blocks()), at.full);
    all_ = instruction_presets(tally.pass, static_cast<double>(at.passes), tally.once);
  }

  std::vector<Expectation> take() {
    const std::int64_t l1i = at_.l1i != 0 ? at_.l1i : largest_l1i;
    if (beyond(l1i)) first_level_misses(l1i);
    if (footprint() <= surely_held && at_.full) first_level_hits();
    if (at_.l2 != 0 && beyond(at_.l2)) second_level_misses();
    if (at_.l3 != 0 && beyond(at_.l3)) missing({"PAPI_L3_ICM", "PAPI_L3_TCM"}, at_.l3, true);
    if (at_.stride < sysconf(_SC_PAGESIZE) && footprint() <= walked_by_no_cpu) no_data();
    if (at_.stride >= sysconf(_SC_PAGESIZE) && at_.blocks() <= few_code_pages)
      expect(all_, {"PAPI_TLB_IM", "PAPI_TLB_TL"},
             {"", 0, 0, 0.05 * n_ + 64, "none per jump: fewer pages than TLB entries"});
    if (at_.stride >= sysconf(_SC_PAGESIZE) && at_.blocks() >= 4 * most_code_tlb_entries) {
      constexpr const char* form = "1 per jump: each to another page, more pages than TLB entries";
      all_.push_back({"PAPI_TLB_IM", n_, 0.75 * n_, n_, form});
    }
    if (at_.blocks() >= 2 * most_branch_targets)
      all_.push_back(between("PAPI_BTAC_M", n_ / 4, 2 * n_, "1 per jump: more targets than BTB entries"));
    return std::move(all_);
  }

private:
  [[nodiscard]] std::int64_t footprint() const { return at_.blocks() * code_line; }
  [[nodiscard]] bool beyond(std::int64_t capacity) const { return footprint() >= 2 * capacity; }

  /// A random cycle of more lines than a cache holds misses each time under LRU; other policies keep some.
  /// Beyond what any branch target buffer holds, the line after a jump is fetched as well, unless the cache
  /// has kept it.
  void missing(std::initializer_list<const char*> presets, std::int64_t capacity, bool known) {
    const double kept = static_cast<double>(capacity) / static_cast<double>(footprint());
    const bool foreseen = at_.blocks() <= least_branch_targets;
    const double next = foreseen ? 0.4 : known ? 1 - kept / 2 : 1;
    expect(all_, presets,
           {"", n_, (kept + 0.05) * n_, next * n_,
            foreseen ? "1 per block; some more for lines fetched in advance"
                     : "1 per block; at most one more, for the line after a mispredicted jump"});
  }
  /// Code that needs no page-table walk causes neither data requests nor requests to other CPUs.
  void no_data() {
    expect(all_,
           {"PAPI_L1_DCM", "PAPI_L1_LDM", "PAPI_L1_STM", "PAPI_L2_DCA", "PAPI_L2_DCR", "PAPI_L2_DCW",
            "PAPI_L2_TCW", "PAPI_L2_DCH", "PAPI_L2_DCM", "PAPI_L2_LDM", "PAPI_L2_STM", "PAPI_L3_DCA",
            "PAPI_L3_DCR", "PAPI_L3_DCW", "PAPI_L3_TCW", "PAPI_L3_DCH", "PAPI_L3_DCM", "PAPI_L3_LDM",
            "PAPI_L3_STM"},
           {"", 0, 0, 0.02 * n_ + 64, "code only: no data access misses"});
    if (at_.l2 != 0 && footprint() <= at_.l2 / 2)
      expect(all_, {"PAPI_CA_SNP", "PAPI_CA_SHR", "PAPI_CA_CLN", "PAPI_CA_INV", "PAPI_CA_ITV"},
             {"", 0, 0, 0.02 * n_ + 64, "all lines are in L2"});
  }
  void first_level_misses(std::int64_t l1i) {
    missing({"PAPI_L1_ICM", "PAPI_L1_TCM", "PAPI_L2_ICA", "PAPI_L2_ICR", "PAPI_L2_TCA", "PAPI_L2_TCR"}, l1i,
            at_.l1i != 0);
    expect(all_, {"PAPI_L1_ICA", "PAPI_L1_ICR"},
           between("", n_, 5 * n_, "1 per line, or 1 per 16 bytes of it and the next"));
    if (at_.l2 == 0 || footprint() > at_.l2 / 2) return;
    missing({"PAPI_L2_ICH", "PAPI_L2_TCH"}, l1i, true);
    expect(all_,
           {"PAPI_L2_ICM", "PAPI_L2_TCM", "PAPI_L3_ICA", "PAPI_L3_ICR", "PAPI_L3_TCA", "PAPI_L3_TCR",
            "PAPI_L3_ICM", "PAPI_L3_TCM"},
           {"", 0, 0, 0.2 * n_ + 64, "all lines are in L2, but for conflicts"});
  }
  void first_level_hits() {
    expect(all_, {"PAPI_L1_ICA", "PAPI_L1_ICR", "PAPI_L1_ICH"},
           between("", n_, 5 * n_,
                   "1 per line, or 1 per 16 bytes of it and the next: too many instructions per "
                   "line for the decoded-instruction cache"));
    expect(all_, {"PAPI_L1_ICM", "PAPI_L1_TCM", "PAPI_L2_ICA", "PAPI_L2_ICR", "PAPI_L2_ICH"},
           {"", 0, 0, 0.05 * n_ + 64, "all lines are in L1i"});
  }
  void second_level_misses() {
    missing({"PAPI_L2_ICM", "PAPI_L2_TCM", "PAPI_L3_ICA", "PAPI_L3_ICR", "PAPI_L3_TCA", "PAPI_L3_TCR"},
            at_.l2, true);
    all_.push_back(between("PAPI_STL_CCY", 2 * n_, 3000 * n_, "several cycles per block: each misses in L2"));
    if (at_.l3 != 0 && footprint() <= at_.l3 / 2) missing({"PAPI_L3_ICH", "PAPI_L3_TCH"}, at_.l2, true);
  }

  const CodePoint& at_;
  double n_;
  std::vector<Expectation> all_;
};

std::vector<Parameter> code_parameters() {
  constexpr auto bytes = Parameter::Unit::bytes;
  constexpr std::int64_t any = std::int64_t{1} << 44;
  return {
      number_parameter("size", "bytes of code", 1 << 20, 64, most_code, bytes),
      number_parameter("stride", "bytes between adjacent blocks, a multiple of 64", 64, 64, most_code, bytes),
      number_parameter("passes", "passes through all blocks", 10, 1, any),
      choice_parameter("fill", "empty: a block is one jump; full: nops before the jump fill the line",
                       {"empty", "full"}),
      number_parameter("seed", "seed of the order", 1, 0, 0),
      number_parameter("l1i", "L1i capacity assumed by closed forms (0: at most 192K)", 0, 0, any, bytes),
      number_parameter("l2", "L2 capacity assumed by closed forms (0: no L2 counts expected)", 0, 0, any,
                       bytes),
      number_parameter("l3", "L3 capacity assumed by closed forms (0: no L3 counts expected)", 0, 0, any,
                       bytes)};
}

CodePoint code_point(const Kernel& kernel, const result::Params& given) {
  const result::Params point = complete(kernel, given);
  CodePoint at{number(point, "size"),         number(point, "stride"), number(point, "passes"),
               text(point, "fill") == "full", number(point, "seed"),   number(point, "l1i"),
               number(point, "l2"),           number(point, "l3")};
  if (at.stride % code_line != 0)
    throw bad_input("code --stride", fmt::format("{} is not a multiple of {}", at.stride, code_line));
  if (at.stride > at.size)
    throw bad_input("code --stride", fmt::format("{} exceeds the size, {}", at.stride, at.size));
  if (std::int64_t total = 0; __builtin_mul_overflow(at.blocks(), at.passes, &total))
    throw bad_input("code --passes", "the number of jumps exceeds 64 bits");
  return at;
}

class CodeKernel : public BasicKernel {
public:
  CodeKernel()
      : BasicKernel("code", "jumps between lines of code in pseudo-random order", code_parameters()) {}
  [[nodiscard]] std::int64_t bytes(const result::Params& point) const override {
    return code_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const result::Params& point) const override {
    const CodePoint at = code_point(*this, point);
    if (!can_emit()) throw unavailable("code", "not available on this architecture");
    auto memory =
        std::make_unique<Memory>(at.bytes(), 0, Memory::Pages::small, fmt::format("code --size {}", at.size));
    emit_jumps({memory->data(), static_cast<std::size_t>(at.bytes())}, code_places(at), at.full);
    // Never writable and executable at once, for systems that forbid this (W^X).
    if (mprotect(memory->data(), static_cast<std::size_t>(memory->placement().bytes),
                 PROT_READ | PROT_EXEC) != 0)
      throw unavailable("code", std::string("generated code cannot be executed: ") + std::strerror(errno), {},
                        "a security policy (SELinux: execmem) forbids it");
    const auto code = reinterpret_cast<void (*)(void*)>(memory->data());
    return make_instance(code, at.passes, at.accesses(), std::move(memory));
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
  [[nodiscard]] bool fetches() const override { return true; }
  std::int64_t simulate(const result::Params& point, model::Hierarchy& caches) const override {
    const CodePoint at = code_point(*this, point);
    const model::MachineDescription& machine = caches.machine();
    if (!machine.instructions)
      throw unavailable("code", machine.name + " describes no caches of instructions (instructions)");
    if (machine.placement && machine.placement->mixed)
      throw unavailable("code", "its code is in small pages, not in those of ~placement=mixed");
    fetch_code(at, caches);
    return at.accesses();
  }
  [[nodiscard]] std::vector<Expectation> expected(const result::Params& point) const override {
    const CodePoint at = code_point(*this, point);
    return can_emit() ? CodePresets(at).take() : std::vector<Expectation>{};
  }
};

} // namespace

const Kernel& code_kernel() {
  static const CodeKernel kernel;
  return kernel;
}

} // namespace recount::kernel
