#include "caches/measure/timed_chase.hpp"

#include "kernel/native.hpp"
#include "witness/stopwatch.hpp"

#include <algorithm>
#include <limits>

namespace recount::caches {

namespace {

constexpr int chain_length = 2000;
constexpr double same_rate = 1.02; ///< two chains at one clock rate differ by less
constexpr double endless = std::numeric_limits<double>::infinity();

void multiply_on(void* context) {
  auto& value = *static_cast<std::uint64_t*>(context);
  std::uint64_t x = value;
  for (int i = 0; i < chain_length; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(x)); // every step, in order
  }
  value = x;
}

double least_ns(const kernel::Region& region) {
  static const std::int64_t own_ns = witness::own_cost().ns;
  return static_cast<double>(std::max<std::int64_t>(witness::lapse(region).ns - own_ns, 1));
}

/// The least chain and the one after it.
class ReferenceChains {
public:
  void look() {
    std::uint64_t value = 1;
    const double seconds = least_ns({multiply_on, &value}) / 1e9;
    second_ = std::min(second_, std::max(seconds, least_));
    least_ = std::min(least_, seconds);
  }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double spread() const { return second_ / least_; }

private:
  double least_ = endless, second_ = endless;
};

} // namespace

double follow(void*& at, std::int64_t steps) {
  kernel::native::Chase context{at, steps, nullptr};
  const double ns = least_ns({kernel::native::recount_kernel_chase, &context});
  at = context.end;
  return ns;
}

TimedChase timed_chase(void*& at, std::int64_t steps, int slices, int tries) {
  TimedChase least_disturbed;
  double least_spread = endless;
  for (int attempt = 0; attempt < tries && least_spread > same_rate; ++attempt) {
    ReferenceChains chains;
    chains.look();
    double best = endless;
    for (int slice = 0; slice < slices; ++slice) {
      best = std::min(best, follow(at, steps));
      chains.look();
    }
    if (attempt > 0 && chains.spread() >= least_spread) continue;
    least_spread = chains.spread();
    least_disturbed = {best, chains.least()};
  }
  return least_disturbed;
}

} // namespace recount::caches
