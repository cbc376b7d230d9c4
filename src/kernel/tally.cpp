#include "kernel/tally.hpp"

#include <fmt/format.h>

#include <span>

namespace recount::kernel {

namespace {

using TallyKinds = std::vector<double Tally::*>;

/// A preset as a sum of some classes minus others.
struct TallySum {
  std::vector<const char*> presets; ///< all count the same
  TallyKinds plus, minus = {};
  TallyKinds maybe = {};       ///< what a correct counter may also count
  TallyKinds maybe_minus = {}; ///< except these
  double less = 0;             ///< share of the value that a correct counter may omit
  double stray = 0;            ///< counts possibly added by the measuring code
  const char* but = "";        ///< appended to the form
};

constexpr double stray_misses = 64;
/// As FP_ARITH_INST_RETIRED of Intel does (SDM, volume 3B).
constexpr const char* fma_twice = "; an FMA may count as two";

const std::vector<TallySum> instruction_sums = {
    {{"PAPI_TOT_INS"}, {&Tally::instructions}},
    {.presets = {"PAPI_TOT_IIS"},
     .plus = {&Tally::instructions},
     .maybe = {&Tally::instructions},
     .less = 0.5,
     .but = "; fewer where instructions fuse, more where speculation is discarded"},
    {.presets = {"PAPI_LD_INS"},
     .plus = {&Tally::loads},
     .maybe = {&Tally::prefetches},
     .but = "; software prefetches may count"},
    {{"PAPI_SR_INS"}, {&Tally::stores}},
    {.presets = {"PAPI_LST_INS"},
     .plus = {&Tally::transfers},
     .maybe = {&Tally::prefetches, &Tally::loads, &Tally::stores},
     .maybe_minus = {&Tally::transfers},
     .but = "; software prefetches may count, and an instruction that loads and stores twice"},
    {.presets = {"PAPI_BR_INS"},
     .plus = {&Tally::conditional, &Tally::unconditional},
     .maybe = {&Tally::system_calls}},
    {{"PAPI_BR_CN"}, {&Tally::conditional}},
    {.presets = {"PAPI_BR_TKN"}, .plus = {&Tally::taken}, .maybe = {&Tally::system_calls}},
    {{"PAPI_BR_NTK"}, {&Tally::conditional}, {&Tally::taken}},
    {.presets = {"PAPI_BR_UCN"}, .plus = {&Tally::unconditional}, .maybe = {&Tally::system_calls}},
    {{"PAPI_INT_INS"}, {&Tally::integer}},
    {.presets = {"PAPI_FP_INS"}, .plus = {&Tally::fp}, .maybe = {&Tally::fmas}, .but = fma_twice},
    {{"PAPI_FAD_INS"}, {&Tally::adds}},
    {{"PAPI_FML_INS"}, {&Tally::multiplies}},
    {{"PAPI_FMA_INS"}, {&Tally::fmas}},
    {{"PAPI_FDV_INS"}, {&Tally::divides}},
    {{"PAPI_FSQ_INS"}, {&Tally::roots}},
    {{"PAPI_FNV_INS"}, {&Tally::inversions}},
    {{"PAPI_FP_OPS"}, {&Tally::half_ops, &Tally::single_ops, &Tally::double_ops}},
    {{"PAPI_HP_OPS"}, {&Tally::half_ops}},
    {{"PAPI_SP_OPS"}, {&Tally::single_ops}},
    {{"PAPI_DP_OPS"}, {&Tally::double_ops}},
    {.presets = {"PAPI_VEC_INS"}, .plus = {&Tally::vectors}, .maybe = {&Tally::fmas}, .but = fma_twice},
    {.presets = {"PAPI_VEC_HP"}, .plus = {&Tally::half_vectors}, .maybe = {&Tally::fmas}, .but = fma_twice},
    {.presets = {"PAPI_VEC_SP"}, .plus = {&Tally::single_vectors}, .maybe = {&Tally::fmas}, .but = fma_twice},
    {.presets = {"PAPI_VEC_DP"}, .plus = {&Tally::double_vectors}, .maybe = {&Tally::fmas}, .but = fma_twice},
    {.presets = {"PAPI_SYC_INS"},
     .plus = {&Tally::fences},
     .maybe = {&Tally::conditional_stores, &Tally::conditional_stores},
     .but = "; load-linked and store-conditional instructions may count"},
    {{"PAPI_CSR_TOT"}, {&Tally::conditional_stores}},
    {{"PAPI_CSR_FAL"}, {&Tally::refused_stores}},
    {{"PAPI_CSR_SUC"}, {&Tally::conditional_stores}, {&Tally::refused_stores}},
};

const std::vector<TallySum> cache_sums = {
    {{"PAPI_L1_DCA"}, {&Tally::loads, &Tally::stores}},
    {{"PAPI_L1_DCR"}, {&Tally::loads}},
    {{"PAPI_L1_DCW", "PAPI_L1_TCW"}, {&Tally::stores}},
    {{"PAPI_L1_DCH"}, {&Tally::loads, &Tally::stores}, {&Tally::load_misses, &Tally::store_misses}},
    {.presets = {"PAPI_L1_TCA"},
     .plus = {&Tally::loads, &Tally::stores},
     .maybe = {&Tally::instructions},
     .but = ", plus at most one fetch per instruction"},
    {.presets = {"PAPI_L1_TCR"},
     .plus = {&Tally::loads},
     .maybe = {&Tally::instructions},
     .but = ", plus at most one fetch per instruction"},
    {.presets = {"PAPI_L1_TCH"},
     .plus = {&Tally::loads, &Tally::stores},
     .minus = {&Tally::load_misses, &Tally::store_misses},
     .maybe = {&Tally::instructions},
     .but = ", plus at most one fetch per instruction"},
    {.presets = {"PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_L3_DCM", "PAPI_L1_TCM", "PAPI_L2_TCM", "PAPI_L3_TCM",
                 "PAPI_L2_DCA", "PAPI_L3_DCA", "PAPI_L2_TCA", "PAPI_L3_TCA"},
     .plus = {&Tally::load_misses, &Tally::store_misses},
     .maybe = {&Tally::prefetch_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_L1_LDM", "PAPI_L2_LDM", "PAPI_L3_LDM", "PAPI_L2_DCR", "PAPI_L3_DCR", "PAPI_L2_TCR",
                 "PAPI_L3_TCR"},
     .plus = {&Tally::load_misses},
     .maybe = {&Tally::prefetch_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_L1_STM", "PAPI_L2_STM", "PAPI_L3_STM", "PAPI_L2_DCW", "PAPI_L3_DCW", "PAPI_L2_TCW",
                 "PAPI_L3_TCW"},
     .plus = {&Tally::store_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_PRF_DM"}, .plus = {&Tally::prefetch_misses}, .stray = stray_misses},
    {.presets = {"PAPI_L1_ICM", "PAPI_L2_ICM", "PAPI_L3_ICM", "PAPI_L2_ICA", "PAPI_L3_ICA", "PAPI_L2_ICR",
                 "PAPI_L3_ICR", "PAPI_L2_ICH", "PAPI_L3_ICH", "PAPI_TLB_DM", "PAPI_TLB_IM", "PAPI_TLB_TL"},
     .plus = {},
     .stray = stray_misses},
};

double sum_of_kinds(const TallyKinds& kinds, const Tally& tally) {
  double value = 0;
  for (const auto kind : kinds)
    value += tally.*kind;
  return value;
}

std::string form_of_counts(double per_turn, double once) {
  if (per_turn == 0) return fmt::format("{}", once);
  if (once == 0) return fmt::format("{} per turn", per_turn);
  return fmt::format("{} per turn {} {}", per_turn, once < 0 ? "minus" : "plus", std::abs(once));
}

std::vector<Expectation> stated_presets(std::span<const TallySum> sums, const Tally& turn, double turns,
                                        const Tally& once) {
  std::vector<Expectation> all;
  for (const TallySum& sum : sums) {
    const double per_turn = sum_of_kinds(sum.plus, turn) - sum_of_kinds(sum.minus, turn),
                 constant = sum_of_kinds(sum.plus, once) - sum_of_kinds(sum.minus, once),
                 more = turns * (sum_of_kinds(sum.maybe, turn) - sum_of_kinds(sum.maybe_minus, turn)) +
                        sum_of_kinds(sum.maybe, once) - sum_of_kinds(sum.maybe_minus, once);
    const double value = turns * per_turn + constant;
    const Expectation expectation{
        {}, value, sum.less * value, sum.stray + more, form_of_counts(per_turn, constant) + sum.but};
    for (const char* preset : sum.presets) {
      all.push_back(expectation);
      all.back().metric = preset;
    }
  }
  return all;
}

} // namespace

std::vector<Expectation> instruction_presets(const Tally& turn, double turns, const Tally& once) {
  return stated_presets(instruction_sums, turn, turns, once);
}

std::vector<Expectation> cache_presets(const Tally& turn, double turns, const Tally& once) {
  return stated_presets(cache_sums, turn, turns, once);
}

} // namespace recount::kernel
