#include "profile/calls.hpp"

#include <algorithm>

namespace recount::profile {
namespace {
constexpr std::size_t most_under_way = 4096;
constexpr std::size_t most_threads = 65536;
} // namespace

Calls::Calls(std::size_t counters, bool by_cpu)
    : spreads(counters), totals(counters), counters_(counters), by_cpu_(by_cpu), taken_(counters) {}

void Calls::add(const CallHit& hit) {
  ++(hit.returns ? returns : entries);
  if (threads_.size() >= most_threads && !threads_.contains(hit.tid)) {
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
  thread.values.resize(from * counters_);
}

void Calls::enter(Thread& thread, const CallHit& hit) {
  // Stacks grow downwards: what lies below the new call's frame is gone. At the same place there may be the
  // calls of a tail recursion, all of which return together: after a return there are none left of these.
  const auto gone = [&](const Entry& e) {
    return e.stack < hit.stack || (e.stack == hit.stack && thread.returned_last);
  };
  const auto first = std::ranges::find_if(thread.entries, gone);
  drop(thread, static_cast<std::size_t>(first - thread.entries.begin()));
  if (!thread.entries.empty() && thread.entries.back().stack > hit.stack) ++recursive;
  if (thread.entries.size() >= most_under_way) {
    ++unreturned;
    return;
  }
  thread.entries.push_back({hit.stack, hit.time, hit.migrations, hit.cpu});
  thread.values.insert(thread.values.end(), hit.values.begin(), hit.values.end());
  thread.values.resize(thread.entries.size() * counters_);
}

void Calls::leave(Thread& thread, const CallHit& hit) {
  // Frames further in than the one that returns are gone.
  const auto inner =
      std::ranges::find_if(thread.entries, [&](const Entry& e) { return e.stack < hit.stack; });
  drop(thread, static_cast<std::size_t>(inner - thread.entries.begin()));
  if (thread.entries.empty() || thread.entries.back().stack != hit.stack) {
    ++stray;
    return;
  }
  complete(thread, hit);
  thread.entries.pop_back();
  thread.values.resize(thread.entries.size() * counters_);
}

void Calls::complete(Thread& thread, const CallHit& hit) {
  const Entry& entry = thread.entries.back();
  ++completed;
  const std::uint64_t took = hit.time - std::min(hit.time, entry.time);
  wall.add(took);
  // Within another call, unless all that is under way has the same frame: a tail recursion's inner calls,
  // whose counts the next return, that of the one around them, holds as well.
  const bool outer = thread.entries.front().stack == entry.stack;
  const bool chained = thread.returned_last && thread.returned_stack == hit.stack && outer;
  const bool moved = by_cpu_ && (entry.cpu != hit.cpu || entry.migrations != hit.migrations);
  migrated += moved ? 1U : 0U;
  recursive += chained ? 1U : 0U;
  if (!chained) {
    thread.returned_wall = 0;
    thread.returned_values.assign(counters_, 0);
  }
  for (std::size_t c = 0; c < counters_ && !moved; ++c) {
    const std::uint64_t before = thread.values[(thread.entries.size() - 1) * counters_ + c];
    taken_[c] = hit.values[c] - std::min(hit.values[c], before);
    spreads[c].add(taken_[c]);
    if (!outer) continue;
    totals[c] += taken_[c] - std::min(taken_[c], thread.returned_values[c]);
    thread.returned_values[c] = std::max(thread.returned_values[c], taken_[c]);
  }
  if (!outer) return;
  total_wall += took - std::min(took, thread.returned_wall);
  thread.returned_wall = std::max(thread.returned_wall, took);
  thread.returned_stack = hit.stack;
  outermost += !moved && !chained ? 1U : 0U;
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

} // namespace recount::profile
