#include "emulate/schedule.hpp"

#include "emulate/encoding.hpp"

#include <algorithm>

namespace recount::emulate {
namespace {

/// Bipartite matching by augmenting paths.
class Matching {
public:
  Matching(const Pmu& pmu, std::span<const Demand> demands, std::uint64_t taken)
      : demands_(demands), taken_(taken) {
    for (int i = 0; i < pmu.general; ++i)
      counters_.push_back(i);
    for (int i = 0; i < static_cast<int>(pmu.fixed.size()); ++i)
      counters_.push_back(first_fixed + i);
    holder_.assign(counters_.size(), -1);
  }

  std::vector<int> find() {
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      seen_.assign(counters_.size(), false);
      if (!place(static_cast<int>(i))) return {};
    }
    std::vector<int> where(demands_.size(), -1);
    for (std::size_t c = 0; c < counters_.size(); ++c)
      if (holder_[c] >= 0) where[static_cast<std::size_t>(holder_[c])] = counters_[c];
    return where;
  }

private:
  [[nodiscard]] bool suits(const Demand& demand, int counter) const {
    if ((taken_ & counter_bit(counter)) != 0) return false;
    if (counter < first_fixed) return ((demand.general >> counter) & 1) != 0;
    return std::ranges::find(demand.fixed, counter - first_fixed) != demand.fixed.end();
  }
  bool place(int who) {
    // Fixed counters first, as Linux does: they leave the general ones to others.
    for (std::size_t at = counters_.size(); at > 0; --at) {
      const std::size_t c = at - 1;
      if (seen_[c] || !suits(demands_[static_cast<std::size_t>(who)], counters_[c])) continue;
      seen_[c] = true;
      if (holder_[c] >= 0 && !place(holder_[c])) continue;
      holder_[c] = who;
      return true;
    }
    return false;
  }

  std::span<const Demand> demands_;
  std::uint64_t taken_;
  std::vector<int> counters_, holder_;
  std::vector<bool> seen_;
};

} // namespace

std::uint64_t counter_bit(int counter) {
  return std::uint64_t{1} << counter;
}

Demand demand(const Pmu& pmu, std::uint64_t config, std::uint64_t config1) {
  Demand made;
  const Code code = code_of(config);
  bool only = false;
  for (std::size_t i = 0; i < pmu.fixed.size(); ++i) {
    if (std::ranges::find(pmu.fixed[i].codes, code) == pmu.fixed[i].codes.end()) continue;
    made.fixed.push_back(static_cast<int>(i));
    only = only || pmu.fixed[i].only;
  }
  if (only) return made;
  made.general = ~std::uint64_t{0};
  for (const Row* row : rows_of(pmu, config, config1))
    made.general &= row->counters;
  return made;
}

std::vector<int> assign(const Pmu& pmu, std::span<const Demand> demands, std::uint64_t taken) {
  return Matching(pmu, demands, taken).find();
}

} // namespace recount::emulate
