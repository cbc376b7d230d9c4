#include "kernel/blocks/block_kernel.hpp"

#include "base/random.hpp"
#include "kernel/blocks/block.hpp"
#include "kernel/kernel.hpp"
#include "kernel/native.hpp"
#include "kernel/point.hpp"
#include "kernel/tally.hpp"
#include "model/hierarchy.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace recount::kernel {

const native::Block& native::find_block(std::string_view name, const std::string& subject) {
  const auto all = blocks();
  const auto found = std::ranges::find(all, name, &Block::name);
  if (found == all.end()) throw bad_input(subject, fmt::format("{} has no such instruction", architecture()));
  return *found;
}

namespace {

constexpr std::int64_t max_turns = std::int64_t{1} << 40;

std::vector<Parameter> with_turns(std::vector<Parameter> choices, std::int64_t fallback) {
  choices.push_back(number_parameter(
      "turns", fmt::format("loop iterations of {} steps", native::steps_per_turn), fallback, 1, max_turns));
  return choices;
}

constexpr std::size_t biased_period = 8; ///< bytes of which one is not zero

/// Blocks that take their pattern from the data are identified by name.
Data choose_data(const native::Block& block, const Family& family) {
  if (block.name == "branch_biased") return Data::biased;
  return block.name.ends_with("_data") ? Data::coins : family.data;
}

/// Widens what is expected of caches for data that are read once from one end to the other: each line may
/// miss in any.
void read_through(std::vector<Expectation>& caches, double bytes) {
  constexpr double line = 64, few = 64;
  if (bytes <= few * line) return;
  for (Expectation& one : caches) {
    const auto ends_with = [&](const char* end) { return one.metric.ends_with(end); };
    if (ends_with("L1_DCH") || ends_with("L1_TCH"))
      one.below += bytes / line;
    else if (one.value == 0 && one.above > 0 && one.metric.find("_IC") == std::string::npos &&
             !one.metric.starts_with("PAPI_TLB") && !ends_with("W") && !ends_with("STM"))
      one.above += bytes / line;
  }
}

} // namespace

/// A point, checked.
struct BlockKernel::At {
  std::string values; ///< "add_f64_scalar"
  const native::Block* block = nullptr;
  std::int64_t turns = 0;
  [[nodiscard]] double steps() const { return static_cast<double>(turns * native::steps_per_turn); }
};

BlockKernel::BlockKernel(const Family& family)
    : BasicKernel(family.name, family.prose, with_turns(family.choices, family.turns)), family_(family) {}

BlockKernel::At BlockKernel::at(const Params& given) const {
  const Params point = complete(*this, given);
  At at;
  at.turns = number(point, "turns");
  for (const Parameter& choice : family_.choices)
    at.values += (at.values.empty() ? "" : "_") + text(point, choice.name);
  std::ranges::replace(at.values, '-', '_');
  const std::string own = name() + "_" + at.values;
  const auto alias = family_.aliases.find(own);
  at.block = &native::find_block(alias == family_.aliases.end() ? own : alias->second,
                                 name() + " " + describe(point));
  return at;
}

std::int64_t BlockKernel::bytes(const Params& point) const {
  const At here = at(point);
  return data_bytes(choose_data(*here.block, family_), here.turns);
}

std::unique_ptr<Instance> BlockKernel::prepare(const Params& point) const {
  const At here = at(point);
  const std::string subject = name() + " " + describe(complete(*this, point));
  if (const std::string lacks = missing(here.block->feature); !lacks.empty())
    throw unavailable(subject, lacks);
  const Data data = choose_data(*here.block, family_);
  const std::int64_t bytes = data_bytes(data, here.turns);
  auto memory = std::make_unique<Memory>(bytes, 0, Memory::Pages::small, subject);
  lay_out(data, here.values.ends_with("random"), {memory->data(), static_cast<std::size_t>(bytes)});
  const native::BlockArguments context{here.turns, memory->data(), 0, 0};
  return make_instance(here.block->code, context, here.turns * native::steps_per_turn, std::move(memory));
}

std::vector<Expectation> BlockKernel::expected(const Params& point) const {
  const At here = at(point);
  const native::Block& block = *here.block;
  const auto turns = static_cast<double>(here.turns);
  const Tally turn = native::steps_per_turn * block.step + block.turn;
  auto all = instruction_presets(turn, turns, block.once);
  auto caches = cache_presets(turn, turns, block.once);
  read_through(caches, static_cast<double>(bytes(point)));
  all.insert(all.end(), caches.begin(), caches.end());
  const auto predictions = predicted(block.tally(turns),
                                     here.values == "random"                       ? 1.0 / 2
                                     : choose_data(block, family_) == Data::biased ? 1.0 / biased_period
                                                                                   : 0,
                                     here.steps());
  all.insert(all.end(), predictions.begin(), predictions.end());
  for (const Bound& bound : family_.bounds)
    if (bound.values == here.values)
      for (const std::string& preset : bound.presets)
        all.push_back(between(preset, bound.least * here.steps(), bound.most * here.steps(), bound.form));
  return all;
}

namespace {

constexpr std::int64_t line_room = 256;

template <class T>
void put_ones(std::span<std::byte> memory, int at, T one) {
  for (std::size_t i = 0; i < 64; i += sizeof one)
    std::memcpy(memory.data() + at + i, &one, sizeof one);
}

/// One byte of each period 1; then shuffled (Fisher and Yates), from a seed of its own.
void toss(std::span<std::byte> memory, std::size_t period, bool random) {
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = std::byte(i % period == 1 ? 1 : 0);
  if (!random) return;
  std::uint64_t state = 1;
  for (std::size_t i = memory.size(); i > 1; --i)
    std::swap(memory[i - 1], memory[static_cast<std::size_t>(base::random_below(state, i))]);
}

} // namespace

std::int64_t data_bytes(Data data, std::int64_t turns) {
  switch (data) {
  case Data::line: return line_room;
  case Data::ones: return native::ones_bytes;
  case Data::coins:
  case Data::biased: return turns * native::steps_per_turn;
  }
  return 0;
}

void lay_out(Data data, bool random, std::span<std::byte> memory) {
  if (data == Data::coins) return toss(memory, 2, random);
  if (data == Data::biased) return toss(memory, biased_period, true);
  if (data != Data::ones) return;
  put_ones(memory, native::ones_f64, 1.0);
  put_ones(memory, native::ones_f32, 1.0F);
  put_ones(memory, native::ones_f16, std::uint16_t{0x3c00});
}

std::vector<Expectation> predicted(const Tally& tally, double rare, double steps) {
  // A predictor with enough capacity for all random branches predicts them in the next pass.
  constexpr double memorable = 1 << 17, stray = 64;
  const double all = tally.conditional;
  double missed = 0, below = 0, above = stray + all / 500;
  std::string form = "only those of the first turns and the last one";
  if (rare > 0) {
    missed = rare * steps;
    below = steps < memorable ? missed : missed / 4;
    // A predictor that draws directions at their frequency errs 2 * rare * (1 - rare) times per step.
    above += steps * (rare * (1 - 2 * rare) + 1.0 / 32);
    form = fmt::format("1 per {:g} random branches: unpredictable", 1 / rare);
  }
  return {{"PAPI_BR_MSP", missed, below, above, form},
          {"PAPI_BR_PRC", all - missed, above, below, "the conditional branches minus " + form}};
}

// `scatter`: loads from or stores to every line of an array, in an order computed on the fly. See
// recount-kernels(7).

namespace {

/// The generator that the assembly of blocks_*.def executes.
constexpr std::uint64_t scatter_multiplier = 1103515245, scatter_increment = 12345;

/// A point, checked.
struct ScatterPoint {
  bool stores = false;
  std::int64_t size = 0, stride = 0, passes = 0;
  [[nodiscard]] std::int64_t visited() const { return size / stride; }
  [[nodiscard]] std::int64_t accesses() const { return visited() * passes; }
  [[nodiscard]] std::int64_t turns() const { return accesses() / native::steps_per_turn; }
  [[nodiscard]] std::int64_t mask() const { return size - 1; }
  [[nodiscard]] std::int64_t increment() const {
    return static_cast<std::int64_t>(scatter_increment) * stride & mask();
  }
};

const native::Block& scatter_block(const ScatterPoint& at) {
  return native::find_block(at.stores ? "scatter_store" : "scatter_load", "scatter");
}

constexpr std::int64_t max_scattered = std::int64_t{1} << 44;

class ScatterKernel : public BasicKernel {
public:
  ScatterKernel()
      : BasicKernel("scatter", "loads from or stores to every line of an array in pseudo-random order",
                    {choice_parameter("operation", "access to each line", {"store", "load"}),
                     number_parameter("size", "bytes of the array, a power of two", 1 << 20, 1024,
                                      max_scattered, Parameter::Unit::bytes),
                     number_parameter(
                         "stride", "bytes between adjacent visited places, a power of two, at most size / 16",
                         64, 8, max_scattered, Parameter::Unit::bytes),
                     number_parameter("passes", "passes over all places", 10, 1, max_scattered)}) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override { return at(point).size; }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
    const ScatterPoint here = at(point);
    auto memory = std::make_unique<Memory>(here.size, 0, Memory::Pages::small,
                                           fmt::format("scatter --size {}", here.size));
    const native::BlockArguments context{here.turns(), memory->data(), here.mask(), here.increment()};
    return make_instance(scatter_block(here).code, context, here.accesses(), std::move(memory));
  }
  [[nodiscard]] std::string unsimulated() const override { return {}; }
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    const ScatterPoint here = at(point);
    const std::uint64_t base = array_base(caches);
    std::uint64_t offset = 0;
    const auto mask = static_cast<std::uint64_t>(here.mask()),
               increment = static_cast<std::uint64_t>(here.increment());
    model::repeat(
        caches, here.passes,
        [&] {
          for (std::int64_t i = 0; i < here.visited(); ++i) {
            offset = (offset * scatter_multiplier + increment) & mask;
            here.stores ? caches.store(base + offset, 8) : caches.load(base + offset, 8);
          }
        },
        &caches.progress);
    return here.accesses();
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    const ScatterPoint here = at(point);
    const native::Block& block = scatter_block(here);
    auto all = instruction_presets(native::steps_per_turn * block.step + block.turn,
                                   static_cast<double>(here.turns()), block.once);
    // Beyond every L2, the store buffer fills faster than lines arrive.
    constexpr std::int64_t far = 8 << 20;
    const auto stores = static_cast<double>(here.accesses());
    if (here.stores && here.size >= far && here.stride >= 64)
      all.push_back(between("PAPI_MEM_WCY", stores / 2, 3000 * stores,
                            "several cycles per store: all miss in L1 and L2"));
    constexpr std::int64_t max_tlb_entries = 4096;
    if (here.stride >= sysconf(_SC_PAGESIZE) && here.visited() >= 4 * max_tlb_entries)
      expect(all, {"PAPI_TLB_DM", "PAPI_TLB_TL"},
             {"", stores, 0.75 * stores, 0.05 * stores + 64,
              "1 per access: each in another page, more pages than TLB entries"});
    return all;
  }

private:
  [[nodiscard]] ScatterPoint at(const Params& given) const {
    const Params point = complete(*this, given);
    ScatterPoint here{text(point, "operation") == "store", number(point, "size"), number(point, "stride"),
                      number(point, "passes")};
    for (const auto& [name, value] : {std::pair("size", here.size), std::pair("stride", here.stride)})
      if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
        throw bad_input(fmt::format("scatter --{}", name), fmt::format("{} is not a power of two", value),
                        fmt::format("{} or {}", std::bit_floor(static_cast<std::uint64_t>(value)),
                                    std::bit_ceil(static_cast<std::uint64_t>(value))));
    if (here.stride > here.size / native::steps_per_turn)
      throw bad_input("scatter --size, --stride",
                      fmt::format("{} leaves fewer than {} places", here.stride, native::steps_per_turn),
                      fmt::format("at most {}", here.size / native::steps_per_turn));
    if (std::int64_t total = 0; __builtin_mul_overflow(here.visited(), here.passes, &total))
      throw bad_input("scatter --passes", "the number of accesses exceeds 64 bits");
    static_cast<void>(scatter_block(here));
    return here;
  }
};

} // namespace

const Kernel& scatter_kernel() {
  static const ScatterKernel kernel;
  return kernel;
}

namespace {

/// Bytes that grow from `at` on.
struct Emitter {
  std::byte* at;
  template <class... Byte>
  void bytes(Byte... value) {
    ((*at++ = static_cast<std::byte>(value)), ...);
  }
  void word(std::uint32_t value) {
    std::memcpy(at, &value, sizeof value);
    at += sizeof value;
  }
};

#if defined(__x86_64__)

constexpr int emitted_jump_bytes = 5, emitted_nop_bytes = 1;

void emit_jump(Emitter& code, const std::byte* target) {
  code.bytes(0xe9);
  code.word(static_cast<std::uint32_t>(target - (code.at + 4)));
}
void emit_nop(Emitter& code) {
  code.bytes(0x90);
}
/// Loads the number of passes and goes to the first block; the tail comes back here from the last one.
const std::byte* emit_frame(Emitter& code, const std::byte* first) {
  code.bytes(0x48, 0x8b, 0x0f); // mov (%rdi), %rcx
  emit_jump(code, first);
  const std::byte* const tail = code.at;
  code.bytes(0x48, 0xff, 0xc9); // dec %rcx
  code.bytes(0x0f, 0x85);       // jnz first
  code.word(static_cast<std::uint32_t>(first - (code.at + 4)));
  code.bytes(0xc3); // ret
  return tail;
}
const Tally tail_tally = tallies::integer + tallies::taken;
const Tally once_tally =
    tallies::load + tallies::jump + tallies::both(tallies::jump, tallies::load) + Tally{.taken = -1};

#elif defined(__aarch64__)

constexpr int emitted_jump_bytes = 4, emitted_nop_bytes = 4;

void emit_jump(Emitter& code, const std::byte* target) {
  code.word(0x14000000U | (static_cast<std::uint32_t>((target - code.at) / 4) & 0x3ffffffU)); // b target
}
void emit_nop(Emitter& code) {
  code.word(0xd503201fU);
}
const std::byte* emit_frame(Emitter& code, const std::byte* first) {
  code.word(0xf9400001U); // ldr x1, [x0]
  emit_jump(code, first);
  const std::byte* const tail = code.at;
  code.word(0xf1000421U); // subs x1, x1, #1
  code.word(0x54000040U); // b.eq past the jump: it reaches one megabyte only, a plain jump 128
  emit_jump(code, first);
  code.word(0xd65f03c0U); // ret
  return tail;
}
const Tally tail_tally = tallies::integer + tallies::branch + tallies::jump;
const Tally once_tally = tallies::load + tallies::jump + Tally{.taken = 1};

#else

constexpr int emitted_jump_bytes = 4, emitted_nop_bytes = 4;
void emit_jump(Emitter&, const std::byte*) {}
void emit_nop(Emitter&) {}
const std::byte* emit_frame(Emitter&, const std::byte*) {
  return nullptr;
}
const Tally tail_tally, once_tally;

#endif

constexpr int full_nops = (code_line - emitted_jump_bytes) / emitted_nop_bytes;

/// Whether code can be generated for this architecture.
bool can_emit() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

} // namespace

void emit_jumps(std::span<std::byte> code, std::span<const std::uint64_t> places, bool full) {
  Emitter start{code.data()};
  const std::byte* const tail = emit_frame(start, code.data() + places.front());
  for (std::size_t i = 0; i < places.size(); ++i) {
    Emitter block{code.data() + places[i]};
    for (int n = 0; full && n < full_nops; ++n)
      emit_nop(block);
    emit_jump(block, i + 1 < places.size() ? code.data() + places[i + 1] : tail);
  }
  __builtin___clear_cache(reinterpret_cast<char*>(code.data()),
                          reinterpret_cast<char*>(code.data() + code.size()));
}

EmittedTally emitted(double blocks, bool full) {
  const Tally block = (full ? full_nops : 0) * tallies::plain + tallies::jump;
  return {blocks * block + tail_tally, once_tally};
}

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

constexpr std::int64_t max_code = 128
                                  << 20; // the shortest range of a direct jump on the supported architectures
/// No first-level instruction cache is larger; none is smaller than twice the other.
constexpr std::int64_t largest_l1i = 192 << 10, surely_held = 16 << 10;
constexpr std::int64_t max_code_tlb_entries = 4096;
constexpr std::int64_t max_branch_targets = 16384; // the largest known BTB
constexpr std::int64_t min_branch_targets = 4096;  // the smallest in use: Skylake
constexpr std::int64_t walked_by_no_cpu = 1 << 20; // fewer pages than entries of any second-level TLB
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
    if (at_.stride >= sysconf(_SC_PAGESIZE) && at_.blocks() >= 4 * max_code_tlb_entries) {
      constexpr const char* form = "1 per jump: each to another page, more pages than TLB entries";
      all_.push_back({"PAPI_TLB_IM", n_, 0.75 * n_, n_, form});
    }
    if (at_.blocks() >= 2 * max_branch_targets)
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
    const bool foreseen = at_.blocks() <= min_branch_targets;
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
      number_parameter("size", "bytes of code", 1 << 20, 64, max_code, bytes),
      number_parameter("stride", "bytes between adjacent blocks, a multiple of 64", 64, 64, max_code, bytes),
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

CodePoint code_point(const Kernel& kernel, const Params& given) {
  const Params point = complete(kernel, given);
  CodePoint at{number(point, "size"),         number(point, "stride"), number(point, "passes"),
               text(point, "fill") == "full", number(point, "seed"),   number(point, "l1i"),
               number(point, "l2"),           number(point, "l3")};
  if (at.stride % code_line != 0)
    throw bad_input("code --stride", fmt::format("{} is not a multiple of {}", at.stride, code_line));
  if (at.stride > at.size)
    throw bad_input("code --size, --stride", fmt::format("{} exceeds the size, {}", at.stride, at.size));
  if (std::int64_t total = 0; __builtin_mul_overflow(at.blocks(), at.passes, &total))
    throw bad_input("code --passes", "the number of jumps exceeds 64 bits");
  return at;
}

class CodeKernel : public BasicKernel {
public:
  CodeKernel()
      : BasicKernel("code", "jumps between lines of code in pseudo-random order", code_parameters()) {}
  [[nodiscard]] std::int64_t bytes(const Params& point) const override {
    return code_point(*this, point).bytes();
  }
  [[nodiscard]] std::unique_ptr<Instance> prepare(const Params& point) const override {
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
  std::int64_t simulate(const Params& point, model::Hierarchy& caches) const override {
    const CodePoint at = code_point(*this, point);
    const model::MachineDescription& machine = caches.machine();
    if (!machine.instructions)
      throw unavailable("code", machine.name + " describes no caches of instructions (instructions)");
    if (machine.placement && machine.placement->mixed)
      throw unavailable("code", "its code is in small pages, not in those of ~placement=mixed");
    fetch_code(at, caches);
    return at.accesses();
  }
  [[nodiscard]] std::vector<Expectation> expected(const Params& point) const override {
    const CodePoint at = code_point(*this, point);
    return can_emit() ? CodePresets(at).take() : std::vector<Expectation>{};
  }
};

} // namespace

const Kernel& code_kernel() {
  static const CodeKernel kernel;
  return kernel;
}

namespace {

bool has(Feature feature) {
#if defined(__x86_64__)
  switch (feature) { // these also check XCR0, the register state saved by the operating system
  case Feature::none: return true;
  case Feature::fma: return __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx");
  case Feature::avx: return __builtin_cpu_supports("avx");
  case Feature::avx512f: return __builtin_cpu_supports("avx512f");
  case Feature::avx512vl: return __builtin_cpu_supports("avx512vl");
  case Feature::avx512_fp16: return __builtin_cpu_supports("avx512fp16");
  case Feature::fp16: return false;
  }
#elif defined(__aarch64__)
  constexpr unsigned long both = HWCAP_FPHP | HWCAP_ASIMDHP;
  if (feature == Feature::fp16) return (getauxval(AT_HWCAP) & both) == both;
#endif
  return feature == Feature::none;
}

} // namespace

std::string missing(Feature feature) {
  constexpr const char* names[] = {
      "", "FMA", "AVX", "AVX-512", "AVX-512VL", "AVX512-FP16", "half-precision (FEAT_FP16)"};
  if (has(feature)) return {};
  return std::string("this processor, or its operating system, has no ") +
         names[static_cast<std::size_t>(feature)] + " instructions";
}

} // namespace recount::kernel
