// A watch under test: what was told, and by whom it was heard.
#pragma once

#include "watch/hub.hpp"
#include "watch/viewer.hpp"
#include "watch/watcher.hpp"

#include <string>
#include <vector>

namespace recount::test {

/// Everything of one kind, in its order.
template <class M>
std::vector<M> of(const std::vector<watch::Message>& all) {
  std::vector<M> some;
  for (const auto& message : all)
    if (const auto* m = std::get_if<M>(&message)) some.push_back(*m);
  return some;
}

inline stat::Plan plan_of(const std::string& list) {
  return stat::make_plan(stat::parse_items({list}), metric::shipped(), Domain::all);
}

/// Lines that one way or the other reached a viewer, or are known to be lost to it.
inline std::uint64_t dropped(const std::vector<watch::Message>& all, bool by_program) {
  std::uint64_t sum = 0;
  for (const auto& d : of<watch::Dropped>(all))
    if (d.by_program == by_program) sum += d.lines;
  return sum;
}

} // namespace recount::test
