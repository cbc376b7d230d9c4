#include "model/prefetchers.hpp"

#include <algorithm>
#include <map>

namespace recount::model {

Prefetchers::Prefetchers(const std::vector<Prefetcher>& described, unsigned line_shift)
    : described_(described), shift_(line_shift) {}

Prefetchers::Stream& Prefetchers::stream(const Prefetcher& by, std::uint64_t line) {
  auto found = std::ranges::find(streams_, page(line), &Stream::page);
  if (found == streams_.end()) {
    if (streams_.size() == static_cast<std::size_t>(by.streams)) streams_.pop_back();
    found = streams_.insert(streams_.end(), {page(line), line, line});
  }
  std::rotate(streams_.begin(), found, found + 1);
  return streams_.front();
}

void Prefetchers::settle(std::uint64_t line, std::int64_t PrefetchCounts::*as) {
  const auto found = unused_.find(line);
  if (found == unused_.end()) return;
  ++(counts[number(found->second)].*as);
  unused_.erase(found);
}

void Prefetchers::save(std::vector<std::uint64_t>& words) const {
  if (none()) return;
  words.push_back(streams_.size());
  for (const Stream& s : streams_)
    words.insert(words.end(), {s.page, s.last, s.ahead, static_cast<std::uint64_t>(s.direction),
                               static_cast<std::uint64_t>(s.steps)});
  words.push_back(unused_.size());
  for (const auto& [line, kind] : std::map(unused_.begin(), unused_.end()))
    words.insert(words.end(), {line, number(kind)});
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
  for (Stream& s : streams_)
    s = {take(), take(), take(), static_cast<std::int64_t>(take()), static_cast<std::int64_t>(take())};
  for (std::uint64_t left = take(); left > 0; --left) {
    const std::uint64_t line = take();
    unused_.emplace(line, static_cast<Prefetch>(take()));
  }
}

void Prefetchers::clear() {
  streams_.clear();
  unused_.clear();
}

} // namespace recount::model
