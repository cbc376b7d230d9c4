#include "perf/merge.hpp"

#include <algorithm>
#include <functional>

namespace recount::perf {

void Merge::push(std::size_t ring) {
  const auto record = rings_[ring].ring->records().front();
  if (record.empty()) return;
  heap_.emplace_back(time_of(record, type_), ring);
  std::ranges::push_heap(heap_, std::greater<>());
}

void Merge::begin() {
  heap_.clear();
  open_ = none;
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    rings_[i].ring->look();
    push(i);
  }
}

std::span<const std::uint64_t> Merge::next(std::uint64_t horizon) {
  if (open_ != none) {
    rings_[open_].ring->release(); // earlier records are no longer used
    push(open_);
    open_ = none;
  }
  if (heap_.empty() || heap_.front().first > horizon) return {};
  std::ranges::pop_heap(heap_, std::greater<>());
  const std::size_t ring = heap_.back().second;
  heap_.pop_back();
  auto& records = rings_[ring].ring->records();
  const auto record = records.front();
  records.drop();
  open_ = ring;
  return record;
}

void Merge::release() noexcept {
  for (const CpuRing& r : rings_)
    r.ring->release();
}

} // namespace recount::perf
