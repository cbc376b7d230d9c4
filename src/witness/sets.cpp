#include "witness/sets.hpp"

#include "perf/open_group.hpp"

#include <recount/group.hpp>

#include <algorithm>
#include <cstring>

namespace recount::witness {
namespace {

bool same_attr(const Event& a, const Event& b) {
  return std::memcmp(&a.attr, &b.attr, sizeof a.attr) == 0;
}

Set with(Set set, std::size_t metric, const MetricEvents& asked) {
  auto& at = set.at.emplace_back();
  set.metrics.push_back(metric);
  for (const Event& event : asked.events) {
    const auto known = std::ranges::find_if(set.events, [&](const Event& e) { return same_attr(e, event); });
    at.push_back(static_cast<std::size_t>(known - set.events.begin()));
    if (known == set.events.end()) set.events.push_back(event);
  }
  return set;
}

} // namespace

std::vector<Count> Set::counts_of(std::size_t i, const std::vector<Count>& counts) const {
  std::vector<Count> its;
  for (const std::size_t k : at.at(i))
    its.push_back(counts.at(k));
  return its;
}

bool fits_one_group(const Set& set) {
  return perf::passes_of(set.events, Counters(set.events).groups()).size() == 1;
}

std::vector<Set> sets_of(const std::vector<MetricEvents>& asked, const Fits& fits) {
  constexpr int most_refusals = 2; // a set is full: trying costs more than a further set
  std::vector<Set> sets;
  std::vector<int> refusals;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (!asked[i].refused.empty()) continue;
    bool placed = false;
    for (std::size_t s = 0; s < sets.size(); ++s) {
      Set& set = sets[s];
      Set larger = with(set, i, asked[i]);
      const bool full = refusals[s] >= most_refusals && larger.events.size() > set.events.size();
      placed = set.together && !full && fits(larger);
      if (!placed) refusals[s] += set.together && !full ? 1 : 0;
      if (!placed) continue;
      set = std::move(larger);
      break;
    }
    if (placed) continue;
    Set& own = sets.emplace_back(with({}, i, asked[i]));
    own.together = fits(own);
    refusals.push_back(0);
  }
  return sets;
}

} // namespace recount::witness
