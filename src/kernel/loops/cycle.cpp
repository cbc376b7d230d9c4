#include "kernel/loops/cycle.hpp"

#include "base/random.hpp"

#include <numeric>
#include <utility>

namespace recount::kernel {

std::vector<std::uint64_t> random_cycle(std::int64_t n, std::int64_t seed) {
  std::vector<std::uint64_t> next(static_cast<std::size_t>(n));
  std::iota(next.begin(), next.end(), std::uint64_t{0});
  auto state = static_cast<std::uint64_t>(seed);
  for (std::size_t i = next.size() - 1; i > 0; --i)
    std::swap(next[i], next[static_cast<std::size_t>(base::random_below(state, i))]);
  return next;
}

} // namespace recount::kernel
