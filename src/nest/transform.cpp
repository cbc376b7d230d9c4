#include "nest/transform.hpp"

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace recount::nest {
namespace {

/// Calls `visit(index)` for each use of a loop variable; `IndexType` is Index or const Index.
template <class IndexType, class Visit>
void for_each_variable(IndexType& index, const Visit& visit) {
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

/// Replaces the number of each variable by numbers[old number].
class Renumbering {
public:
  explicit Renumbering(const std::vector<std::size_t>& numbers) : numbers_(numbers) {}

  void apply(Index& index) const {
    for_each_variable(index, [&](Index& use) {
      use.number = static_cast<std::int64_t>(numbers_[static_cast<std::size_t>(use.number)]);
    });
  }
  void apply(std::vector<Node>& body) const {
    for (Node& node : body)
      std::visit([&](auto& inner) { apply(inner); }, node);
  }

private:
  void apply(Element& element) const {
    for (Index& subscript : element.subscripts)
      apply(subscript);
  }
  void apply(Value& value) const {
    apply(value.index);
    apply(value.element);
    for (Value& part : value.parts)
      apply(part);
  }
  void apply(Statement& statement) const {
    if (auto* const target = std::get_if<Element>(&statement.target)) apply(*target);
    apply(statement.value);
  }
  void apply(Loop& loop) const {
    loop.variable = numbers_[loop.variable];
    apply(loop.first);
    apply(loop.last);
    apply(loop.body);
  }

  const std::vector<std::size_t>& numbers_;
};

Index make_number(std::int64_t value, Spot at) {
  return {.number = value, .parts = {}, .at = at};
}

Index make_variable(std::size_t number, Spot at) {
  return {.kind = Index::Kind::variable,
          .number = static_cast<std::int64_t>(number),
          .parts = {},
          .at = at,
          .varies = true};
}

Index combine(Index::Kind kind, const Index& left, const Index& right) {
  return {.kind = kind, .parts = {left, right}, .at = left.at, .varies = left.varies || right.varies};
}

/// Restricts `loop` to the block that begins at the variable `outer`; returns the loop over the blocks.
Loop split_into_blocks(Loop& loop, std::size_t outer, std::int64_t tile) {
  Loop blocks = loop;
  blocks.body.clear();
  blocks.name = loop.name + loop.name;
  blocks.variable = outer;
  blocks.step = combine(Index::Kind::product, loop.step, make_number(tile, loop.at));
  loop.first = make_variable(outer, loop.at);
  loop.last = combine(Index::Kind::least, combine(Index::Kind::sum, loop.first, blocks.step), blocks.last);
  return blocks;
}

void check_blocks(const Definition& nest, const std::vector<const Loop*>& loops, std::size_t depth) {
  if (loops.empty())
    throw bad_input(nest.file, "cannot be divided into blocks: no loop is around all statements",
                    "omit --tile");
  for (const Loop* loop : loops)
    if (loop->first.varies || loop->last.varies || loop->last.kind == Index::Kind::least)
      refuse(nest.file, loop->at,
             fmt::format(
                 "loop {} cannot be divided into blocks: its bounds depend on other loops or have a min()",
                 loop->name),
             "omit --tile");
  if (depth + loops.size() > model::nest_depth)
    refuse(nest.file, loops.front()->at,
           fmt::format("blocks of {} loops would exceed the maximum of {} nested loops", loops.size(),
                       model::nest_depth),
           "omit --tile");
}

std::size_t depth_of(const std::vector<Node>& body) {
  std::size_t deepest = 0;
  for (const Node& node : body)
    if (const auto* const loop = std::get_if<Loop>(&node))
      deepest = std::max(deepest, 1 + depth_of(loop->body));
  return deepest;
}

/// Adds elements to the end of each row.
void pad(Definition& nest, std::int64_t elements) {
  const auto has_rows = [](const Array& array) { return array.extents.size() > 1; };
  if (std::ranges::none_of(nest.arrays, has_rows))
    throw bad_input(nest.file, "has no array of two or more dimensions, so no rows to pad", "omit --padding");
  for (Array& array : nest.arrays) {
    if (!has_rows(array)) continue;
    const Index& length = array.column_major ? array.extents.front() : array.extents.back();
    array.leading =
        combine(Index::Kind::sum, array.leading.value_or(length), make_number(elements, array.at));
  }
}

/// Nests the loops, outermost first, around the body.
Loop nest_loops(std::vector<Loop> loops, std::vector<Node> body) {
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

Transformed transform(const Definition& nest, const Form& form) {
  Transformed result{nest, std::vector<std::size_t>(model::nest_depth)};
  const auto loops = perfect_loops(nest);
  const std::size_t blocks = form.tile > 0 ? loops.size() : 0;
  if (form.tile > 0) check_blocks(nest, loops, depth_of(nest.body));
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    result.variables[v] = v + blocks;
  for (std::size_t to = 0; to < form.order.size(); ++to)
    result.variables[form.order[to]] = to + blocks;
  std::vector<Loop> inner, outer;
  const Renumbering renumber(result.variables);
  for (const std::size_t from : form.order) {
    Loop loop = *loops[from];
    loop.body.clear();
    loop.variable = result.variables[from];
    renumber.apply(loop.first);
    renumber.apply(loop.last);
    if (blocks > 0) outer.push_back(split_into_blocks(loop, outer.size(), form.tile));
    inner.push_back(std::move(loop));
  }
  if (!loops.empty()) {
    std::vector<Node> body = loops.back()->body;
    renumber.apply(body);
    outer.insert(outer.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    result.nest.body = {nest_loops(std::move(outer), std::move(body))};
  }
  if (form.padding > 0) pad(result.nest, form.padding);
  return result;
}

} // namespace recount::nest
