// What a LevelSimulator hands down: requests and the traces of segments inside, brought together to traces.
// One trace holds lines of one slot only (or one foreign line), so that it is the same wherever the slots
// lie.
#include "model/accelerated/level_simulator.hpp"

#include <algorithm>

namespace recount::model {

LevelSimulator::Group& LevelSimulator::open_group(std::uint32_t& link, unsigned slot, std::int64_t line) {
  if (groups_used_ == groups_.size()) groups_.emplace_back();
  Group& group = groups_[groups_used_++];
  group.children.clear();
  group.events.clear();
  group.line = line;
  group.slot = slot;
  group.next = 0;
  link = static_cast<std::uint32_t>(groups_used_);
  return group;
}

/// Where nobody else asks the sets below, the order of what this one asks counts, not the time: told by
/// numbers, segments that differ in when alone are one. A number is that of a row of requests to one slot,
/// as the order of those is that of their trace; which slots meet below differs from place to place.
void LevelSimulator::group_events(const Slots& slots) {
  groups_used_ = 0;
  Order order;
  const bool numbered = shape_.apart && Order::fits(events_);
  for (TraceEvent& e : events_) {
    const unsigned slot = slots.of_line(e.line);
    if (numbered)
      e.tag = order.number(slot == Slots::none ? ~static_cast<std::uint64_t>(e.line) : slot, e.count);
    std::uint32_t* link = &group_of_[slot];
    while (*link != 0 && slot == Slots::none && groups_[*link - 1].line != e.line)
      link = &groups_[*link - 1].next;
    Group& group = *link != 0 ? groups_[*link - 1] : open_group(*link, slot, e.line);
    group.events.push_back(e);
  }
  events_.clear();
  close_groups();
}

void LevelSimulator::group_pieces(const Slots& slots, std::size_t from) {
  groups_used_ = 0;
  for (std::size_t i = from; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const unsigned slot = slots.of_line(piece.line);
    std::uint32_t* link = &group_of_[slot];
    // Two traces of one segment inside may run side by side: they go to different groups.
    while (*link != 0 && (groups_[*link - 1].children.back().at == piece.at ||
                          (slot == Slots::none && groups_[*link - 1].line != piece.line)))
      link = &groups_[*link - 1].next;
    Group& group = *link != 0 ? groups_[*link - 1] : open_group(*link, slot, piece.line);
    group.children.push_back({piece.at, piece.id, piece.line, piece.times});
  }
  pieces_.resize(from);
  close_groups();
}

/// Makes traces of the groups, in the order in which they were opened.
void LevelSimulator::close_groups() {
  for (std::size_t i = 0; i < groups_used_; ++i) {
    const Group& group = groups_[i];
    group_of_[group.slot] = 0;
    std::uint32_t id = 0;
    if (group.events.empty())
      id = traces_below_.branch(group.children);
    else // one leaf's trace is often that of the leaf before
      id = last_leaf_[group.slot] = traces_below_.leaf(group.events, last_leaf_[group.slot]);
    pieces_.push_back({0, id, group.line});
  }
  effort_.pieces += static_cast<std::int64_t>(groups_used_);
}

} // namespace recount::model
