#include "simple/flop_events.hpp"

#include <recount/error.hpp>
#include <recount/simple.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace recount::simple {

struct FlopsMeter::State {
  const FlopRecipe* recipe = nullptr; // none: this CPU's PMU has no such event, as far as the table knows
  std::optional<Meter> meter;         // always: it has the times

  Flops flops(const Reading& reading) const;
};

namespace {

std::vector<std::string> names(const FlopRecipe& recipe) {
  std::vector<std::string> out;
  for (const auto& term : recipe.terms)
    out.emplace_back(term.event);
  return out;
}

bool known_here(const FlopRecipe& recipe) {
  try {
    for (const auto& term : recipe.terms)
      (void)encode(term.event, Domain::user);
    return true;
  } catch (const Error&) {
    return false; // not an event of this machine's CPU
  }
}

} // namespace

Flops FlopsMeter::State::flops(const Reading& reading) const {
  Flops out{reading.real_seconds, reading.processor_seconds, {}, {}, {}, 0, {}, {}};
  if (recipe == nullptr) {
    out.reason = "no event for floating-point operations is known for this CPU";
    return out;
  }
  out.events = describe(*recipe);
  std::uint64_t sum = 0;
  double least = 1;
  for (std::size_t i = 0; i < reading.values.size(); ++i) {
    const Value& value = reading.values[i];
    if (!value.count) {
      out.reason = value.event + ": " + value.reason;
      return out;
    }
    sum += *value.count * recipe->terms[i].weight;
    least = std::min(least, value.share);
  }
  out.operations = sum;
  out.share = least;
  if (out.real_seconds > 0) out.per_second = static_cast<double>(sum) / out.real_seconds;
  if (out.processor_seconds > 0) out.per_processor_second = static_cast<double>(sum) / out.processor_seconds;
  return out;
}

FlopsMeter::FlopsMeter() : state_(std::make_unique<State>()) {
  const auto recipes = flop_recipes();
  const auto it = std::find_if(recipes.begin(), recipes.end(), known_here);
  if (it != recipes.end()) state_->recipe = &*it;
  state_->meter.emplace(state_->recipe != nullptr ? names(*state_->recipe) : std::vector<std::string>{},
                        Domain::user);
}
FlopsMeter::FlopsMeter(FlopsMeter&&) noexcept = default;
FlopsMeter& FlopsMeter::operator=(FlopsMeter&&) noexcept = default;
FlopsMeter::~FlopsMeter() = default;

Flops FlopsMeter::read() {
  return state_->flops(state_->meter->read());
}
Flops FlopsMeter::read_and_reset() {
  return state_->flops(state_->meter->read_and_reset());
}

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
