// Maps kernel event ids to events.
#pragma once

#include "perf/sample_open.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace recount::perf {

/// Context and event of an id, as indices.
struct Placed {
  std::uint64_t id = 0;
  std::size_t context = 0, event = 0;
};

/// All ids of an open sampling; searching allocates nothing.
class SampleIds {
public:
  explicit SampleIds(const OpenSampling& open) {
    for (std::size_t c = 0; c < open.contexts.size(); ++c)
      for (std::size_t e = 0; e < open.contexts[c].ids.size(); ++e)
        if (open.contexts[c].fds[e]) ids_.push_back({open.contexts[c].ids[e], c, e});
    std::ranges::sort(ids_, {}, &Placed::id);
  }
  [[nodiscard]] const Placed* find(std::uint64_t id) const noexcept {
    const auto at = std::ranges::lower_bound(ids_, id, {}, &Placed::id);
    return at != ids_.end() && at->id == id ? &*at : nullptr;
  }

private:
  std::vector<Placed> ids_;
};

} // namespace recount::perf
