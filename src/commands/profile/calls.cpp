#include "commands/profile/calls.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace recount::profile {

Calls::Calls(std::size_t counters, bool by_cpu) : counts(counters), totals(counters), by_cpu_(by_cpu) {}

void Calls::add(const CallHit& hit) {
  constexpr std::size_t max_threads = 65536;
  entries += hit.returns ? 0U : 1U;
  if (threads_.size() >= max_threads && !threads_.contains(hit.tid)) {
    ++(hit.returns ? stray : forgotten);
    return;
  }
  Thread& thread = threads_[hit.tid];
  if (hit.returns)
    leave(thread, hit);
  else
    enter(thread, hit);
  thread.returned_last = hit.returns;
}

/// Entries from here on will not return.
void Calls::drop(Thread& thread, std::size_t from) {
  unreturned += thread.entries.size() - from;
  thread.entries.resize(from);
}

void Calls::enter(Thread& thread, const CallHit& hit) {
  constexpr std::size_t max_active = 4096;
  // Stacks grow downwards: calls below the frame of the new one have ended. At the same address there may be
  // the calls of a tail recursion, all of which return together: after a return none of them is active.
  const auto ended = std::ranges::find_if(thread.entries, [&](const Entry& e) {
    return e.stack < hit.stack || (e.stack == hit.stack && thread.returned_last);
  });
  drop(thread, static_cast<std::size_t>(ended - thread.entries.begin()));
  if (!thread.entries.empty() && thread.entries.back().stack > hit.stack) ++recursive;
  if (thread.entries.size() >= max_active)
    ++unreturned;
  else
    thread.entries.push_back(
        {hit.stack, hit.time, hit.migrations, hit.cpu, {hit.values.begin(), hit.values.end()}});
}

void Calls::leave(Thread& thread, const CallHit& hit) {
  const auto inner =
      std::ranges::find_if(thread.entries, [&](const Entry& e) { return e.stack < hit.stack; });
  drop(thread, static_cast<std::size_t>(inner - thread.entries.begin()));
  if (thread.entries.empty() || thread.entries.back().stack != hit.stack) {
    ++stray;
    return;
  }
  complete(thread, thread.entries.back(), hit);
  thread.entries.pop_back();
}

void Calls::complete(Thread& thread, const Entry& entry, const CallHit& hit) {
  ++completed;
  const std::uint64_t duration = hit.time - std::min(hit.time, entry.time);
  wall.add(duration);
  // Within another call, unless all active ones have the same frame: the inner calls of a tail recursion,
  // whose counts are part of the next return, that of the outer call.
  const bool outer = thread.entries.front().stack == entry.stack;
  const bool tail_call = thread.returned_last && thread.returned_stack == hit.stack && outer;
  const bool moved = by_cpu_ && (entry.cpu != hit.cpu || entry.migrations != hit.migrations);
  migrated += moved ? 1U : 0U;
  recursive += tail_call ? 1U : 0U;
  if (!tail_call) {
    thread.returned_wall = 0;
    thread.returned_values.assign(counts.size(), 0);
  }
  for (std::size_t c = 0; c < counts.size() && !moved; ++c) {
    const std::uint64_t count = hit.values[c] - std::min(hit.values[c], entry.values[c]);
    counts[c].add(count);
    if (!outer) continue;
    totals[c] += count - std::min(count, thread.returned_values[c]);
    thread.returned_values[c] = std::max(thread.returned_values[c], count);
  }
  if (!outer) return;
  total_wall += duration - std::min(duration, thread.returned_wall);
  thread.returned_wall = std::max(thread.returned_wall, duration);
  thread.returned_stack = hit.stack;
}

void Calls::forget() {
  for (auto& [tid, thread] : threads_) {
    forgotten += thread.entries.size();
    thread = {};
  }
}

void Calls::end_thread(std::uint32_t tid) {
  const auto at = threads_.find(tid);
  if (at == threads_.end()) return;
  drop(at->second, 0);
  threads_.erase(at);
}

void Calls::finish() {
  for (auto& [tid, thread] : threads_)
    drop(thread, 0);
  threads_.clear();
}

std::size_t Histogram::bucket(std::uint64_t value) noexcept {
  constexpr std::uint64_t exact = 1U << bits;
  if (value < exact) return static_cast<std::size_t>(value);
  const auto power = static_cast<unsigned>(std::bit_width(value)) - 1 - bits; // of the width of its bucket
  return (std::size_t{power} << bits) + static_cast<std::size_t>(value >> power);
}

std::uint64_t Histogram::middle(std::size_t bucket) noexcept {
  constexpr std::size_t exact = 1U << bits;
  if (bucket < exact) return bucket;
  const std::size_t power = (bucket >> bits) - 1;
  const std::uint64_t low = std::uint64_t{bucket - (power << bits)} << power;
  return low + ((std::uint64_t{1} << power) - 1) / 2;
}

void Histogram::add(std::uint64_t value) noexcept {
  minimum_ = count_ == 0 ? value : std::min(minimum_, value);
  maximum_ = std::max(maximum_, value);
  ++count_;
  sum_ += static_cast<double>(value);
  ++filled_[bucket(value)];
}

std::uint64_t Histogram::quantile(double p) const noexcept {
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(p * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    seen += filled_[i];
    if (seen >= rank) return std::clamp(middle(i), minimum_, maximum_);
  }
  return maximum_;
}

} // namespace recount::profile
