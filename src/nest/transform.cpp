#include "nest/transform.hpp"

#include "model/nest.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace recount::nest {
namespace {

/// `visit(index)` for each use of a loop variable.
template <class Any, class Visit>
void for_each_variable(Any& index, const Visit& visit) {
  if (index.kind == Index::Kind::variable) visit(index);
  for (auto& part : index.parts)
    for_each_variable(part, visit);
}

bool uses(const Index& index, std::size_t variable) {
  bool found = false;
  for_each_variable(index,
                    [&](const Index& use) { found |= use.number == static_cast<std::int64_t>(variable); });
  return found;
}

bool bounds_use(const Loop& loop, std::size_t variable) {
  return uses(loop.first, variable) || uses(loop.last, variable);
}

/// Gives variables new numbers.
class Renumbering {
public:
  explicit Renumbering(const std::vector<std::size_t>& numbers) : numbers_(numbers) {}

  void of(Index& index) const {
    for_each_variable(index, [&](Index& use) { use.number = static_cast<std::int64_t>(renumbered(use)); });
  }
  void of(std::vector<Node>& body) const {
    for (Node& node : body)
      if (auto* const loop = std::get_if<Loop>(&node))
        of(*loop);
      else
        of(std::get<Statement>(node));
  }

private:
  [[nodiscard]] std::size_t renumbered(const Index& use) const {
    return numbers_[static_cast<std::size_t>(use.number)];
  }
  void of(Element& element) const {
    for (Index& subscript : element.subscripts)
      of(subscript);
  }
  void of(Value& value) const {
    of(value.index);
    of(value.element);
    for (Value& part : value.parts)
      of(part);
  }
  void of(Statement& statement) const {
    if (auto* const target = std::get_if<Element>(&statement.target)) of(*target);
    of(statement.value);
  }
  void of(Loop& loop) const {
    loop.variable = numbers_[loop.variable];
    of(loop.first);
    of(loop.last);
    of(loop.body);
  }

  const std::vector<std::size_t>& numbers_;
};

Index number(std::int64_t value, Spot at) {
  Index made;
  made.number = value;
  made.at = at;
  return made;
}

Index variable(std::size_t number, Spot at) {
  Index made = nest::number(static_cast<std::int64_t>(number), at);
  made.kind = Index::Kind::variable;
  made.varies = true;
  return made;
}

Index joined(Index::Kind kind, Index left, Index right) {
  Index made;
  made.kind = kind;
  made.at = left.at;
  made.varies = left.varies || right.varies;
  made.parts = {std::move(left), std::move(right)};
  return made;
}

/// Turns `loop` into one that goes through the block that begins at `outer`, its variable, which goes from
/// block to block in the result.
Loop split(Loop& loop, std::size_t outer, std::int64_t tile) {
  Loop blocks = loop;
  blocks.body.clear();
  blocks.name = loop.name + loop.name;
  blocks.variable = outer;
  blocks.step = joined(Index::Kind::product, loop.step, number(tile, loop.at));
  loop.first = variable(outer, loop.at);
  loop.last = joined(Index::Kind::least, joined(Index::Kind::sum, loop.first, blocks.step), blocks.last);
  return blocks;
}

void check_blocks(const Definition& nest, const std::vector<const Loop*>& loops, std::size_t depth) {
  if (loops.empty())
    throw bad_input(nest.file, "has no loop around all statements, and no blocks are made",
                    "leave --tile out");
  for (const Loop* loop : loops)
    if (loop->first.varies || loop->last.varies || loop->last.kind == Index::Kind::least)
      refuse(nest.file, loop->at,
             fmt::format("the bounds of {} depend on other loops or end at a min(), and no blocks are made",
                         loop->name),
             "leave --tile out");
  if (depth + loops.size() > model::nest_depth)
    refuse(nest.file, loops.front()->at,
           fmt::format("blocks of {} loops would be more than {} loops around a statement", loops.size(),
                       model::nest_depth),
           "leave --tile out");
}

std::size_t depth_of(const std::vector<Node>& body) {
  std::size_t deepest = 0;
  for (const Node& node : body)
    if (const auto* const loop = std::get_if<Loop>(&node))
      deepest = std::max(deepest, 1 + depth_of(loop->body));
  return deepest;
}

/// Each array's rows become longer.
void pad(Definition& nest, std::int64_t elements) {
  const auto has_rows = [](const Array& array) { return array.extents.size() > 1; };
  if (std::ranges::none_of(nest.arrays, has_rows))
    throw bad_input(nest.file, "has no array of several dimensions, whose rows could become longer",
                    "leave --padding out");
  for (Array& array : nest.arrays) {
    if (!has_rows(array)) continue;
    const Index& length = array.column_major ? array.extents.front() : array.extents.back();
    array.leading = joined(Index::Kind::sum, array.leading.value_or(length), number(elements, array.at));
  }
}

/// The loops, each in the one before, around the body.
Loop nested(std::vector<Loop> loops, std::vector<Node> body) {
  for (;;) {
    Loop innermost = std::move(loops.back());
    innermost.body = std::move(body);
    loops.pop_back();
    if (loops.empty()) return innermost;
    body.clear();
    body.emplace_back(std::move(innermost));
  }
}

} // namespace

std::vector<const Loop*> perfect_loops(const Definition& nest) {
  std::vector<const Loop*> loops;
  for (const auto* body = &nest.body; body->size() == 1; body = &loops.back()->body) {
    const auto* const loop = std::get_if<Loop>(&body->front());
    if (loop == nullptr) break;
    loops.push_back(loop);
  }
  return loops;
}

std::vector<Order> orders(const Definition& nest, std::size_t most) {
  const auto loops = perfect_loops(nest);
  Order order(loops.size());
  std::iota(order.begin(), order.end(), 0);
  const auto possible = [&] {
    for (std::size_t outer = 0; outer < order.size(); ++outer)
      for (std::size_t inner = outer; inner < order.size(); ++inner)
        if (bounds_use(*loops[order[outer]], loops[order[inner]]->variable)) return false;
    return true;
  };
  std::vector<Order> all;
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(most, order.size()));
  do // NOLINT(cppcoreguidelines-avoid-do-while): the written order is the first
    if (possible()) all.push_back(order);
  while (std::next_permutation(order.begin(), end));
  return all;
}

std::string name(const Definition& nest, const Order& order) {
  const auto loops = perfect_loops(nest);
  const bool letters = std::ranges::all_of(loops, [](const Loop* loop) { return loop->name.size() == 1; });
  std::string all;
  for (const std::size_t place : order)
    all += (all.empty() || letters ? "" : "-") + loops[place]->name;
  return all;
}

bool Form::reorders() const {
  return tile > 0 || !std::ranges::is_sorted(order);
}

Transformed transformed(const Definition& nest, const Form& form) {
  Transformed made{nest, std::vector<std::size_t>(model::nest_depth)};
  const auto loops = perfect_loops(nest);
  const std::size_t blocks = form.tile > 0 ? loops.size() : 0;
  if (form.tile > 0) check_blocks(nest, loops, depth_of(nest.body));
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    made.variables[v] = v + blocks;
  for (std::size_t to = 0; to < form.order.size(); ++to)
    made.variables[form.order[to]] = to + blocks;
  std::vector<Loop> inner, outer;
  const Renumbering renumber(made.variables);
  for (const std::size_t from : form.order) {
    Loop loop = *loops[from];
    loop.body.clear();
    loop.variable = made.variables[from];
    renumber.of(loop.first);
    renumber.of(loop.last);
    if (blocks > 0) outer.push_back(split(loop, outer.size(), form.tile));
    inner.push_back(std::move(loop));
  }
  if (!loops.empty()) {
    std::vector<Node> body = loops.back()->body;
    renumber.of(body);
    outer.insert(outer.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    made.nest.body = {nested(std::move(outer), std::move(body))};
  }
  if (form.padding > 0) pad(made.nest, form.padding);
  return made;
}

} // namespace recount::nest
