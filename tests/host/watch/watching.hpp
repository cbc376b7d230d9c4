// Messages of a watch under test.
#pragma once

#include "commands/watch/hub.hpp"
#include "commands/watch/watcher.hpp"

#include <string>
#include <vector>

namespace recount::test {

/// Messages of one type, in their order.
template <class M>
std::vector<M> of(const std::vector<watch::Message>& all) {
  std::vector<M> some;
  for (const auto& message : all)
    if (const auto* m = std::get_if<M>(&message)) some.push_back(*m);
  return some;
}

inline stat::Plan plan_of(const std::string& list) {
  return stat::make_plan(stat::parse_items({list}), metric::built_in(), Domain::all);
}

/// Lines that a viewer lost, or marks that the program dropped.
inline std::uint64_t dropped(const std::vector<watch::Message>& all, bool by_program) {
  std::uint64_t sum = 0;
  for (const auto& d : of<watch::Dropped>(all))
    if (d.by_program == by_program) sum += d.lines;
  return sum;
}

} // namespace recount::test
