#include "trace/padding.hpp"

#include <algorithm>

namespace recount::trace {

std::optional<std::uint64_t> Padding::conflict(std::uint64_t start, std::uint64_t end,
                                               std::uint64_t address) {
  constexpr std::size_t most_rows = 8, most_walks = 64;
  constexpr int enough = 16; // equal strides
  constexpr std::uint64_t away = std::uint64_t{1} << 57, apart = std::uint64_t{1} << 52, places = 64;
  const bool known = std::ranges::any_of(rows_, [&](const Rows& rows) { return rows.start == start; });
  if (known || rows_.size() == most_rows || end - start >= apart / 2) return {};
  if (walks_.size() >= most_walks && !walks_.contains(start)) return {};
  Walk& walk = walks_[start];
  const std::uint64_t stride = address > walk.last ? address - walk.last : walk.last - address;
  walk.times = stride == walk.stride ? walk.times + 1 : 1;
  walk.stride = stride;
  walk.last = address;
  if (walk.times < enough || stride < 2 * line_ || stride > (end - start) / 2) return {};
  // Aligned as before.
  rows_.push_back({start, end - start, stride, away + found_++ % places * apart + start % apart});
  walks_.erase(start);
  return stride;
}

void Padding::forget(std::uint64_t start) {
  walks_.erase(start);
  std::erase_if(rows_, [&](const Rows& rows) { return rows.start == start; });
}

} // namespace recount::trace
