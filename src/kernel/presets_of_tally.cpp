#include "kernel/presets_of_tally.hpp"

#include <fmt/format.h>

#include <span>

namespace recount::kernel {

namespace {

using T = Tally;
using Kinds = std::vector<double T::*>;

/// A preset as the sum of some kinds less others.
struct Sum {
  std::vector<const char*> presets; ///< all count the same
  Kinds plus, minus = {};
  Kinds maybe = {};     ///< what a sound counter may count too
  double stray = 0;     ///< what the measuring code may add, whose own lines are none of the kernel's
  const char* but = ""; ///< to the form
};

constexpr double stray_misses = 64;

const std::vector<Sum> instruction_sums = {
    {{"PAPI_TOT_INS"}, {&T::instructions}},
    {{"PAPI_LD_INS"}, {&T::loads}},
    {{"PAPI_SR_INS"}, {&T::stores}},
    {{"PAPI_LST_INS"}, {&T::transfers}},
    {{"PAPI_BR_INS"}, {&T::conditional, &T::unconditional}},
    {{"PAPI_BR_CN"}, {&T::conditional}},
    {{"PAPI_BR_TKN"}, {&T::taken}},
    {{"PAPI_BR_NTK"}, {&T::conditional}, {&T::taken}},
    {{"PAPI_BR_UCN"}, {&T::unconditional}},
    {{"PAPI_INT_INS"}, {&T::integer}},
    {{"PAPI_FP_INS"}, {&T::fp}},
    {{"PAPI_FAD_INS"}, {&T::adds}},
    {{"PAPI_FML_INS"}, {&T::multiplies}},
    {{"PAPI_FMA_INS"}, {&T::fmas}},
    {{"PAPI_FDV_INS"}, {&T::divides}},
    {{"PAPI_FSQ_INS"}, {&T::roots}},
    {{"PAPI_FNV_INS"}, {&T::inversions}},
    {{"PAPI_FP_OPS"}, {&T::half_ops, &T::single_ops, &T::double_ops}},
    {{"PAPI_HP_OPS"}, {&T::half_ops}},
    {{"PAPI_SP_OPS"}, {&T::single_ops}},
    {{"PAPI_DP_OPS"}, {&T::double_ops}},
    {{"PAPI_VEC_INS"}, {&T::vectors}},
    {{"PAPI_VEC_HP"}, {&T::half_vectors}},
    {{"PAPI_VEC_SP"}, {&T::single_vectors}},
    {{"PAPI_VEC_DP"}, {&T::double_vectors}},
    {.presets = {"PAPI_SYC_INS"},
     .plus = {&T::fences},
     .maybe = {&T::conditional_stores, &T::conditional_stores},
     .but = "; loads and stores with a reservation may count"},
    {{"PAPI_CSR_TOT"}, {&T::conditional_stores}},
    {{"PAPI_CSR_FAL"}, {&T::refused_stores}},
    {{"PAPI_CSR_SUC"}, {&T::conditional_stores}, {&T::refused_stores}},
};

const std::vector<Sum> cache_sums = {
    {{"PAPI_L1_DCA"}, {&T::loads, &T::stores}},
    {{"PAPI_L1_DCR"}, {&T::loads}},
    {{"PAPI_L1_DCW", "PAPI_L1_TCW"}, {&T::stores}},
    {{"PAPI_L1_DCH"}, {&T::loads, &T::stores}, {&T::load_misses, &T::store_misses}},
    {.presets = {"PAPI_L1_TCA"},
     .plus = {&T::loads, &T::stores},
     .maybe = {&T::instructions},
     .but = ", and at most a fetch an instruction"},
    {.presets = {"PAPI_L1_TCR"},
     .plus = {&T::loads},
     .maybe = {&T::instructions},
     .but = ", and at most a fetch an instruction"},
    {.presets = {"PAPI_L1_TCH"},
     .plus = {&T::loads, &T::stores},
     .minus = {&T::load_misses, &T::store_misses},
     .maybe = {&T::instructions},
     .but = ", and at most a fetch an instruction"},
    {.presets = {"PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_L3_DCM", "PAPI_L1_TCM", "PAPI_L2_TCM", "PAPI_L3_TCM",
                 "PAPI_L2_DCA", "PAPI_L3_DCA", "PAPI_L2_TCA", "PAPI_L3_TCA"},
     .plus = {&T::load_misses, &T::store_misses},
     .maybe = {&T::prefetch_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_L1_LDM", "PAPI_L2_LDM", "PAPI_L3_LDM", "PAPI_L2_DCR", "PAPI_L3_DCR", "PAPI_L2_TCR",
                 "PAPI_L3_TCR"},
     .plus = {&T::load_misses},
     .maybe = {&T::prefetch_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_L1_STM", "PAPI_L2_STM", "PAPI_L3_STM", "PAPI_L2_DCW", "PAPI_L3_DCW", "PAPI_L2_TCW",
                 "PAPI_L3_TCW"},
     .plus = {&T::store_misses},
     .stray = stray_misses},
    {.presets = {"PAPI_PRF_DM"}, .plus = {&T::prefetch_misses}, .stray = stray_misses},
    {.presets = {"PAPI_L1_ICM", "PAPI_L2_ICM", "PAPI_L3_ICM", "PAPI_TLB_DM", "PAPI_TLB_IM", "PAPI_TLB_TL"},
     .plus = {},
     .stray = stray_misses},
};

double sum_of(const Kinds& kinds, const Tally& tally) {
  double value = 0;
  for (const auto kind : kinds)
    value += tally.*kind;
  return value;
}

std::string form_of(double a_turn, double besides) {
  if (a_turn == 0) return fmt::format("{}", besides);
  if (besides == 0) return fmt::format("{} a turn", a_turn);
  return fmt::format("{} a turn {} {}", a_turn, besides < 0 ? "less" : "and",
                     besides < 0 ? -besides : besides);
}

std::vector<Expectation> stated(std::span<const Sum> sums, const Tally& turn, double turns,
                                const Tally& besides) {
  std::vector<Expectation> all;
  for (const Sum& sum : sums) {
    const double each = sum_of(sum.plus, turn) - sum_of(sum.minus, turn),
                 once = sum_of(sum.plus, besides) - sum_of(sum.minus, besides),
                 more = turns * sum_of(sum.maybe, turn) + sum_of(sum.maybe, besides);
    const Expectation one{{}, turns * each + once, 0, sum.stray + more, form_of(each, once) + sum.but};
    for (const char* preset : sum.presets) {
      all.push_back(one);
      all.back().metric = preset;
    }
  }
  return all;
}

} // namespace

std::vector<Expectation> instruction_presets(const Tally& turn, double turns, const Tally& besides) {
  return stated(instruction_sums, turn, turns, besides);
}

std::vector<Expectation> cache_presets(const Tally& turn, double turns, const Tally& besides) {
  return stated(cache_sums, turn, turns, besides);
}

} // namespace recount::kernel
