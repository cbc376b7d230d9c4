#include "caches/infer/cached_sampler.hpp"

#include <set>

namespace recount::caches {

double time_of(const Reading& reading, const char* otherwise) {
  if (!reading.ns) throw Unknown{reading.why.empty() ? otherwise : reading.why};
  return *reading.ns;
}

std::vector<Reading> CachedSampler::read(std::span<const kernel::Pattern> patterns) {
  std::set<kernel::Pattern> asked;
  std::vector<kernel::Pattern> fresh;
  for (const auto& pattern : patterns)
    if (!taken_.contains(pattern) && asked.insert(pattern).second) fresh.push_back(pattern);
  if (!fresh.empty()) {
    auto readings = sampler_.read(fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i)
      taken_.emplace(fresh[i], std::move(readings[i]));
  }
  std::vector<Reading> all;
  for (const auto& pattern : patterns)
    all.push_back(taken_.at(pattern));
  return all;
}

} // namespace recount::caches
