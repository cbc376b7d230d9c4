#include "study/core_clock.hpp"

#include "witness/stopwatch.hpp"

#include <algorithm>
#include <cstdint>

namespace recount::study {

namespace {

constexpr int chain_length = 2000;

void multiply_on(void* context) {
  auto& value = *static_cast<std::uint64_t*>(context);
  std::uint64_t x = value;
  for (int i = 0; i < chain_length; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x)); // every step, in order
  }
  value = x;
}

} // namespace

double core_clock_seconds() {
  static const std::int64_t own_ns = witness::own_cost().ns;
  std::uint64_t value = 1;
  const auto lapse = witness::lapse({multiply_on, &value});
  return static_cast<double>(std::max<std::int64_t>(lapse.ns - own_ns, 1)) / 1e9;
}

} // namespace recount::study
