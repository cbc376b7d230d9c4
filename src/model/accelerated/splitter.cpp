#include "model/accelerated/splitter.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

Splitter::Splitter(const SetIndex& index, const Below& below, SetTraces& traces)
    : index_(index), below_(below), traces_(traces), group_of_(below.index.sets(), 0) {
  const auto ones = [](unsigned bits) { return (std::int64_t{1} << std::min(62u, bits)) - 1; };
  if (((index.sets() << below.up) & static_cast<std::uint64_t>(ones(below.down))) != 0)
    address_mask_ = ones(below.down);
  if (below.index.hashed()) address_mask_ = ones(below.down + below.index.bits());
  if (index.hashed())
    row_mask_ = std::max<std::int64_t>(1, (std::int64_t{1} << index.bits()) /
                                              static_cast<std::int64_t>(index.sets())) -
                1;
}

Splitter::Range Splitter::parts(const PlacedTrace& in) {
  const SetTraces::About about = traces_.about(in.id);
  if (about.low == about.high) return {};
  key_.assign(1, in.id);
  if (address_mask_ != 0) key_.push_back(static_cast<std::uint64_t>(address_below(in.line) & address_mask_));
  if (index_.hashed()) {
    key_.push_back(static_cast<std::uint64_t>(in.line & row_mask_));
    key_.push_back(static_cast<std::uint64_t>(set_));
  }
  const Interner::Entry known = known_.put(key_);
  if (known.aside() == 0) {
    if (about.leaf)
      divide_leaf(in);
    else
      divide_branch(in);
    known.aside() = std::bit_cast<std::uint64_t>(close_groups(in, about.leaf));
  }
  return std::bit_cast<Range>(known.aside());
}

Splitter::Group& Splitter::group_of(std::int64_t line) {
  std::uint32_t& number = group_of_[static_cast<std::size_t>(set_below(line_below(line)))];
  if (number == 0) {
    if (groups_used_ == groups_.size()) groups_.emplace_back();
    number = static_cast<std::uint32_t>(++groups_used_);
    Group& group = groups_[number - 1];
    group.events.clear();
    group.children.clear();
    group.line = line;
  }
  return groups_[number - 1];
}

void Splitter::divide_leaf(const PlacedTrace& in) {
  for (std::size_t i = 0; i < traces_.size(in.id); ++i) {
    TraceEvent e = traces_.event(in.id, i);
    e.line += in.line;
    Group& group = group_of(e.line);
    e.line = row_below(line_below(e.line));
    group.events.push_back(e);
  }
}

void Splitter::divide_branch(const PlacedTrace& in) {
  std::vector<std::pair<TraceChild, Range>> children;
  for (std::size_t i = 0; i < traces_.size(in.id); ++i) {
    TraceChild child = traces_.child(in.id, i);
    child.line += in.line;
    children.emplace_back(child, parts({child.id, child.line}));
  }
  for (const auto& [child, range] : children)
    for_each(range, {child.id, child.line}, [&](const PlacedTrace& part) {
      group_of(part.line).children.push_back(
          {child.at, part.id, row_below(line_below(part.line)), child.times});
    });
}

/// Makes traces of the groups, in the order in which they were opened.
Splitter::Range Splitter::close_groups(const PlacedTrace& in, bool leaf) {
  const Range range{static_cast<std::uint32_t>(parts_.size()), static_cast<std::uint32_t>(groups_used_)};
  for (std::size_t i = 0; i < groups_used_; ++i) {
    const Group& group = groups_[i];
    group_of_[static_cast<std::size_t>(set_below(line_below(group.line)))] = 0;
    parts_.push_back(
        {leaf ? traces_.leaf(group.events) : traces_.branch(group.children), group.line - in.line});
  }
  groups_used_ = 0;
  return range;
}

} // namespace recount::model
