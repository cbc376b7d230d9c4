#include "model/prefetchers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace recount::model {

Prefetchers::Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift)
    : described_(described), shift_(line_shift) {}

std::size_t Prefetchers::found(const Prefetcher& by, std::uint64_t line) {
  auto at = static_cast<std::size_t>(std::ranges::find(pages_, page(line)) - pages_.begin());
  if (at == pages_.size() && at < static_cast<std::size_t>(by.streams)) {
    pages_.push_back(page(line));
    streams_.push_back({line, line});
    turns_.push_back(0);
  } else if (at == pages_.size()) {
    at = static_cast<std::size_t>(std::ranges::min_element(turns_) - turns_.begin());
    pages_[at] = page(line);
    streams_[at] = {line, line};
  }
  turns_[at] = ++turn_;
  return at;
}

std::vector<std::size_t> Prefetchers::by_use() const {
  std::vector<std::size_t> order(streams_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, std::greater{}, [&](std::size_t at) { return turns_[at]; });
  return order;
}

void Prefetchers::save(std::vector<std::uint64_t>& words) const {
  if (none()) return;
  words.push_back(streams_.size());
  for (const std::size_t at : by_use()) {
    const Stream& s = streams_[at];
    words.insert(words.end(), {pages_[at], s.last, s.ahead, static_cast<std::uint64_t>(s.direction),
                               static_cast<std::uint64_t>(s.steps)});
  }
  words.push_back(unused_.size());
  unused_.sorted([&](std::uint64_t line, unsigned kind) { words.insert(words.end(), {line, kind}); });
}

bool Prefetchers::same(std::span<const std::uint64_t>& words) const {
  std::vector<std::uint64_t> here;
  save(here);
  if (words.size() < here.size() || !std::ranges::equal(words.first(here.size()), here)) return false;
  words = words.subspan(here.size());
  return true;
}

void Prefetchers::restore(std::span<const std::uint64_t>& words) {
  clear();
  if (none()) return;
  const auto take = [&] {
    const std::uint64_t word = words.front();
    words = words.subspan(1);
    return word;
  };
  streams_.resize(take());
  pages_.resize(streams_.size());
  turns_.resize(streams_.size());
  turn_ = streams_.size();
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    pages_[i] = take();
    streams_[i] = {take(), take(), static_cast<std::int64_t>(take()), static_cast<std::int64_t>(take())};
    turns_[i] = turn_ - i;
  }
  for (std::uint64_t left = take(); left > 0; --left) {
    const std::uint64_t line = take();
    unused_.put(line, static_cast<unsigned>(take()));
  }
}

void Prefetchers::clear() {
  streams_.clear();
  pages_.clear();
  turns_.clear();
  latest_ = none_yet;
  unused_.clear();
}

} // namespace recount::model
