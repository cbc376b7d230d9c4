#include "kernel/presets_of_tally.hpp"

#include <fmt/format.h>

namespace recount::kernel {

namespace {

/// A preset as the sum of some kinds less another.
struct Sum {
  const char* preset;
  std::vector<double Tally::*> plus;
  std::vector<double Tally::*> minus = {};
  /// What a counter may add for the measuring code, whose own lines are none of the kernel's.
  double stray = 0;
};

constexpr double stray_lines = 64;

using T = Tally;
const std::vector<Sum> tally_sums = {
    {"PAPI_TOT_INS", {&T::instructions}},
    {"PAPI_LD_INS", {&T::loads}},
    {"PAPI_SR_INS", {&T::stores}},
    {"PAPI_LST_INS", {&T::transfers}},
    {"PAPI_BR_INS", {&T::conditional, &T::unconditional}},
    {"PAPI_BR_CN", {&T::conditional}},
    {"PAPI_BR_TKN", {&T::taken}},
    {"PAPI_BR_NTK", {&T::conditional}, {&T::taken}},
    {"PAPI_BR_UCN", {&T::unconditional}},
    {"PAPI_INT_INS", {&T::integer}},
    {"PAPI_FP_INS", {&T::fp}},
    {"PAPI_FAD_INS", {&T::adds}},
    {"PAPI_FML_INS", {&T::multiplies}},
    {"PAPI_FMA_INS", {&T::fmas}},
    {"PAPI_FDV_INS", {&T::divides}},
    {"PAPI_FSQ_INS", {&T::roots}},
    {"PAPI_FNV_INS", {&T::inversions}},
    {"PAPI_FP_OPS", {&T::half_ops, &T::single_ops, &T::double_ops}},
    {"PAPI_HP_OPS", {&T::half_ops}},
    {"PAPI_SP_OPS", {&T::single_ops}},
    {"PAPI_DP_OPS", {&T::double_ops}},
    {"PAPI_VEC_INS", {&T::vectors}},
    {"PAPI_VEC_HP", {&T::half_vectors}},
    {"PAPI_VEC_SP", {&T::single_vectors}},
    {"PAPI_VEC_DP", {&T::double_vectors}},
    {"PAPI_SYC_INS", {&T::fences}},
    {"PAPI_CSR_TOT", {&T::conditional_stores}},
    {"PAPI_CSR_FAL", {&T::refused_stores}},
    {"PAPI_CSR_SUC", {&T::conditional_stores}, {&T::refused_stores}},
    {"PAPI_L1_DCA", {&T::loads, &T::stores}},
    {"PAPI_L1_DCR", {&T::loads}},
    {"PAPI_L1_DCW", {&T::stores}},
    {"PAPI_L1_DCM", {&T::load_misses, &T::store_misses}, {}, stray_lines},
    {"PAPI_L1_LDM", {&T::load_misses}, {}, stray_lines},
    {"PAPI_L1_STM", {&T::store_misses}, {}, stray_lines},
    {"PAPI_L1_DCH", {&T::loads, &T::stores}, {&T::load_misses, &T::store_misses}},
};

double sum_of(const Sum& sum, const Tally& tally) {
  double value = 0;
  for (const auto kind : sum.plus)
    value += tally.*kind;
  for (const auto kind : sum.minus)
    value -= tally.*kind;
  return value;
}

std::string form_of(double a_turn, double besides) {
  if (a_turn == 0) return fmt::format("{}", besides);
  if (besides == 0) return fmt::format("{} a turn", a_turn);
  return fmt::format("{} a turn {} {}", a_turn, besides < 0 ? "less" : "and",
                     besides < 0 ? -besides : besides);
}

} // namespace

std::vector<Expectation> expectations(const Tally& turn, double turns, const Tally& besides) {
  std::vector<Expectation> all;
  for (const Sum& sum : tally_sums) {
    const double each = sum_of(sum, turn), once = sum_of(sum, besides);
    all.push_back({sum.preset, turns * each + once, 0, sum.stray, form_of(each, once)});
  }
  return all;
}

} // namespace recount::kernel
