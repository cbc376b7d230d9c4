#include "model/prefetchers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace recount::model {

Prefetchers::Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift)
    : described_(described), shift_(line_shift) {}

std::size_t Prefetchers::find(const Prefetcher& by, std::uint64_t line) {
  auto at = static_cast<std::size_t>(std::ranges::find(pages_, page(line)) - pages_.begin());
  if (at == pages_.size()) {
    if (std::ssize(pages_) < by.streams) {
      pages_.emplace_back();
      used_.emplace_back();
      streams_.emplace_back();
    } else {
      at = static_cast<std::size_t>(std::ranges::min_element(used_) - used_.begin());
    }
    pages_[at] = page(line);
    streams_[at] = {line, line};
  }
  used_[at] = ++uses_;
  return at;
}

void Prefetchers::save(std::vector<std::uint64_t>& words) const {
  if (none()) return;
  std::vector<std::size_t> newest_first(streams_.size());
  std::iota(newest_first.begin(), newest_first.end(), 0);
  std::ranges::sort(newest_first, std::greater{}, [&](std::size_t at) { return used_[at]; });
  words.push_back(streams_.size());
  for (const std::size_t at : newest_first) {
    const Stream& s = streams_[at];
    words.insert(words.end(), {pages_[at], s.last, s.ahead, static_cast<std::uint64_t>(s.direction),
                               static_cast<std::uint64_t>(s.steps)});
  }
  words.push_back(unused_.size());
  unused_.sorted([&](std::uint64_t line, unsigned kind) { words.insert(words.end(), {line, kind}); });
}

void Prefetchers::clear() {
  streams_.clear();
  pages_.clear();
  used_.clear();
  latest_ = 0;
  unused_.clear();
}

} // namespace recount::model
