#include "trace/simulation.hpp"

#include <algorithm>

namespace recount::trace {

// The child begins with the contents of the caches, as it would on the core where its parent ran.
std::unique_ptr<Simulated> Simulated::forked(std::uint32_t) const {
  auto child = std::make_unique<Simulated>(*this);
  child->caches_.reset_counters();
  child->instructions_ = child->executing_ = 0;
  child->threads_ = 1;
  return child;
}

void Simulated::end() {
  totals_->caches.add(caches_.counts(), model::Hierarchy(caches_.machine()).counts(), 1);
  totals_->instructions += instructions_;
  totals_->threads += threads_;
  totals_->section_seen = totals_->section_seen || gate_.seen();
  ++totals_->processes;
}

} // namespace recount::trace
