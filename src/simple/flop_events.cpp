#include "simple/flop_events.hpp"

#include <fmt/format.h>

namespace recount::simple {

std::span<const FlopRecipe> flop_recipes() {
  // FP_ARITH already counts a fused multiply-add twice, as AMD's does.
  static const std::vector<FlopTerm> avx2 = {
      {"FP_ARITH:SCALAR_DOUBLE", 1},      {"FP_ARITH:SCALAR_SINGLE", 1},
      {"FP_ARITH:128B_PACKED_DOUBLE", 2}, {"FP_ARITH:128B_PACKED_SINGLE", 4},
      {"FP_ARITH:256B_PACKED_DOUBLE", 4}, {"FP_ARITH:256B_PACKED_SINGLE", 8}};
  static const std::vector<FlopTerm> avx512 = [] {
    auto terms = avx2;
    terms.push_back({"FP_ARITH:512B_PACKED_DOUBLE", 8});
    terms.push_back({"FP_ARITH:512B_PACKED_SINGLE", 16});
    return terms;
  }();
  static const FlopRecipe recipes[] = {
      {"Intel with AVX-512", "skx", avx512},
      {"Intel since Broadwell", "skl", avx2},
      {"AMD Zen", "amd64_fam19h_zen3", {{"RETIRED_SSE_AVX_FLOPS:ANY", 1}}},
  };
  return recipes;
}

std::string describe(const FlopRecipe& recipe) {
  std::string text;
  for (const auto& [event, weight] : recipe.terms) {
    if (!text.empty()) text += " + ";
    text += weight == 1 ? std::string(event) : fmt::format("{} x {}", weight, event);
  }
  return text;
}

} // namespace recount::simple
