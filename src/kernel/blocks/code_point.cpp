#include "kernel/blocks/code_point.hpp"

#include "kernel/blocks/emit.hpp"
#include "kernel/closed_form.hpp"
#include "kernel/point.hpp"
#include "kernel/presets_of_tally.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace recount::kernel {

namespace {

constexpr std::int64_t most_code =
    128 << 20; // the shortest range of a direct jump on the supported architectures
/// No first-level instruction cache is larger; none is smaller than twice the other.
constexpr std::int64_t largest_l1i = 192 << 10, surely_held = 16 << 10;
constexpr std::int64_t most_code_tlb_entries = 4096;
constexpr std::int64_t most_branch_targets = 16384; // the largest known BTB

class CodePresets {
public:
  explicit CodePresets(const CodePoint& at) : at_(at), n_(static_cast<double>(at.accesses())) {
    const EmittedTally tally = emitted(static_cast<double>(at.blocks()), at.full);
    all_ = instruction_presets(tally.pass, static_cast<double>(at.passes), tally.besides);
  }

  std::vector<Expectation> take() {
    const std::int64_t l1i = at_.l1i != 0 ? at_.l1i : largest_l1i;
    if (beyond(l1i)) first_level_misses(l1i);
    if (footprint() <= surely_held && at_.full) first_level_hits();
    if (at_.l2 != 0 && beyond(at_.l2)) second_level_misses();
    if (at_.l3 != 0 && beyond(at_.l3)) missing({"PAPI_L3_ICM"}, at_.l3);
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
  void missing(std::initializer_list<const char*> presets, std::int64_t capacity) {
    const double kept = static_cast<double>(capacity) / static_cast<double>(footprint());
    for (const char* preset : presets)
      all_.push_back({preset, n_, (kept + 0.05) * n_, n_,
                      "1 per block; at most one more, for the line after a mispredicted jump"});
  }
  void first_level_misses(std::int64_t l1i) {
    missing({"PAPI_L1_ICM", "PAPI_L2_ICA", "PAPI_L2_ICR"}, l1i);
    for (const char* preset : {"PAPI_L1_ICA", "PAPI_L1_ICR"})
      all_.push_back(between(preset, n_, 5 * n_, "1 per line, or 1 per 16 bytes of it and the next"));
    if (at_.l2 != 0 && footprint() <= at_.l2 / 2) missing({"PAPI_L2_ICH"}, l1i);
  }
  void first_level_hits() {
    for (const char* preset : {"PAPI_L1_ICA", "PAPI_L1_ICR", "PAPI_L1_ICH"})
      all_.push_back(between(preset, n_, 5 * n_,
                             "1 per line, or 1 per 16 bytes of it and the next: too many instructions per "
                             "line for the decoded-instruction cache"));
  }
  void second_level_misses() {
    missing({"PAPI_L2_ICM", "PAPI_L3_ICA", "PAPI_L3_ICR"}, at_.l2);
    if (at_.l3 != 0 && footprint() <= at_.l3 / 2) missing({"PAPI_L3_ICH"}, at_.l2);
  }

  const CodePoint& at_;
  double n_;
  std::vector<Expectation> all_;
};

} // namespace

std::int64_t CodePoint::bytes() const {
  return code_line + (blocks() - 1) * stride + code_line;
}

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

std::vector<Expectation> code_presets(const CodePoint& at) {
  return CodePresets(at).take();
}

} // namespace recount::kernel
