#include "nest/transform.hpp"

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/val.h>

#include <algorithm>
#include <memory>
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

/// Gives variables new numbers, by their old ones.
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

Index number(std::int64_t value, Spot at) {
  return {.number = value, .parts = {}, .at = at};
}

Index variable(std::size_t number, Spot at) {
  return {.kind = Index::Kind::variable,
          .number = static_cast<std::int64_t>(number),
          .parts = {},
          .at = at,
          .varies = true};
}

Index joined(Index::Kind kind, const Index& left, const Index& right) {
  return {.kind = kind, .parts = {left, right}, .at = left.at, .varies = left.varies || right.varies};
}

/// Makes `loop` iterate over the block that begins at the variable `outer`; returns the loop over the blocks.
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
    renumber.apply(loop.first);
    renumber.apply(loop.last);
    if (blocks > 0) outer.push_back(split(loop, outer.size(), form.tile));
    inner.push_back(std::move(loop));
  }
  if (!loops.empty()) {
    std::vector<Node> body = loops.back()->body;
    renumber.apply(body);
    outer.insert(outer.end(), std::make_move_iterator(inner.begin()), std::make_move_iterator(inner.end()));
    made.nest.body = {nested(std::move(outer), std::move(body))};
  }
  if (form.padding > 0) pad(made.nest, form.padding);
  return made;
}

namespace {

constexpr unsigned long most_operations = 20'000'000; ///< of isl: seconds

struct Free {
  void operator()(isl_ctx* p) const { isl_ctx_free(p); }
  void operator()(isl_union_map* p) const { isl_union_map_free(p); }
  void operator()(isl_set* p) const { isl_set_free(p); }
  void operator()(isl_point* p) const { isl_point_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// Executions of a nest's statements as relations in isl's notation, S3[v0,v1] being statement 3 of the text
/// where the first variables of the written nest have these values.
class Relations {
public:
  /// `names`: of the variables by number.
  Relations(const Point& point, const std::vector<std::string>& names)
      : nest_(point.definition()), at_(nest_, point.setting().parameters), names_(names) {
    body(nest_.body, "");
  }
  std::vector<std::string> times, loads, stores;
  std::vector<Spot> spots;                     ///< of the statements
  std::vector<std::vector<std::string>> loops; ///< names of those around each

private:
  static constexpr std::size_t most_depth = model::nest_depth;

  [[nodiscard]] std::string text(const model::Affine& form) const {
    std::string all = std::to_string(form.constant);
    for (std::size_t v = 0; v < model::nest_depth; ++v)
      if (form.slope[v] != 0) all += fmt::format(" + {} {}", form.slope[v], names_[v]);
    return all;
  }

  void body(const std::vector<Node>& nodes, const std::string& time) {
    for (std::size_t place = 0; place < nodes.size(); ++place) {
      const std::string here = fmt::format("{}{},", time, place);
      if (const auto* const inner = std::get_if<Loop>(&nodes[place]))
        loop(*inner, here);
      else
        statement(std::get<Statement>(nodes[place]), here);
    }
  }

  void loop(const Loop& loop, const std::string& time) {
    const std::string &v = names_[loop.variable], first = text(at_.affine(loop.first));
    const model::Bound last = at_.bound(loop.last);
    const std::size_t outside = bounds_.size();
    bounds_.push_back(fmt::format("{} <= {} < {}", first, v, text(last.one)));
    if (!(last.one == last.other)) bounds_.back() += fmt::format(" and {} < {}", v, text(last.other));
    const std::int64_t step = at_.number(loop.step);
    if (step > 1) bounds_.back() += fmt::format(" and ({} - ({})) mod {} = 0", v, first, step);
    around_.push_back(&loop);
    body(loop.body, time + v + ",");
    around_.pop_back();
    bounds_.resize(outside);
  }

  void statement(const Statement& statement, const std::string& time) {
    const std::string domain = fmt::format("S{}[{}]", spots.size(), fmt::join(written(), ","));
    const auto relate = [&](std::vector<std::string>& to, const std::string& what) {
      to.push_back(fmt::format("{} -> {}{}{}", domain, what, bounds_.empty() ? "" : " : ",
                               fmt::join(bounds_, " and ")));
    };
    const std::size_t missing = 2 * (most_depth - around_.size());
    std::string padded = time;
    for (std::size_t i = 0; i < missing; ++i)
      padded += "0,";
    padded.pop_back();
    relate(times, "[" + padded + "]");
    if (statement.declares) declared(std::get<std::size_t>(statement.target));
    used(statement.value, [&](const std::string& what) { relate(loads, what); });
    const std::string target = std::visit([&](const auto& one) { return name(one); }, statement.target);
    if (statement.operation) relate(loads, target);
    relate(stores, target);
    spots.push_back(statement.at);
    loops.emplace_back();
    for (const Loop* one : around_)
      loops.back().push_back(one->name);
  }

  /// Variables of the written nest around a statement, in its order.
  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> all;
    for (const Loop* loop : around_)
      if (names_[loop->variable].front() == 'v') all.push_back(names_[loop->variable]);
    std::ranges::sort(all);
    return all;
  }

  void declared(std::size_t scalar) {
    if (scalar >= scopes_.size()) scopes_.resize(scalar + 1);
    scopes_[scalar] = written();
  }
  [[nodiscard]] std::string name(std::size_t scalar) const {
    return fmt::format("s{}[{}]", scalar, fmt::join(scopes_[scalar], ","));
  }
  [[nodiscard]] std::string name(const Element& element) const {
    std::vector<std::string> subscripts;
    for (const Index& index : element.subscripts)
      subscripts.push_back(text(at_.affine(index)));
    return fmt::format("a{}[{}]", element.array, fmt::join(subscripts, ","));
  }
  template <class Visit>
  void used(const Value& value, const Visit& visit) const {
    if (value.kind == Value::Kind::element) visit(name(value.element));
    if (value.kind == Value::Kind::scalar) visit(name(value.scalar));
    for (const Value& part : value.parts)
      used(part, visit);
  }

  const Definition& nest_;
  Evaluator at_;
  const std::vector<std::string>& names_;
  std::vector<std::string> bounds_;
  std::vector<const Loop*> around_;
  std::vector<std::vector<std::string>> scopes_; ///< variables around the declaration of each scalar
};

Owned<isl_union_map> relation(isl_ctx* isl, const std::vector<std::string>& parts) {
  return Owned<isl_union_map>(
      isl_union_map_read_from_str(isl, fmt::format("{{ {} }}", fmt::join(parts, "; ")).c_str()));
}

/// Pairs of executions of which one stores what the other accesses.
isl_union_map* conflicts(const isl_union_map* loads, const isl_union_map* stores) {
  const auto copy = [](const isl_union_map* p) { return isl_union_map_copy(const_cast<isl_union_map*>(p)); };
  const Owned<isl_union_map> all(isl_union_map_union(copy(loads), copy(stores)));
  return isl_union_map_union(isl_union_map_apply_range(copy(stores), isl_union_map_reverse(copy(all.get()))),
                             isl_union_map_apply_range(copy(all.get()), isl_union_map_reverse(copy(stores))));
}

/// "line 7 at i = 2, k = 0" of one side of a pair.
std::string place(const Relations& nest, const std::string& statement, isl_point* point, std::size_t from) {
  const std::size_t which = std::stoul(statement.substr(1));
  std::string all = fmt::format("line {} at ", nest.spots[which].line);
  for (std::size_t i = 0; i < nest.loops[which].size(); ++i) {
    isl_val* const value = isl_point_get_coordinate_val(point, isl_dim_set, static_cast<int>(from + i));
    all += fmt::format("{}{} = {}", i > 0 ? ", " : "", nest.loops[which][i], isl_val_get_num_si(value));
    isl_val_free(value);
  }
  return all;
}

std::string describe(const Relations& nest, isl_union_map* broken) {
  isl_map* const one = isl_map_from_basic_map(isl_union_map_sample(broken));
  const char *const earlier = isl_map_get_tuple_name(one, isl_dim_in), *const later = isl_map_get_tuple_name(
                                                                           one, isl_dim_out);
  // isl has used up its operations: the pair exists, but its place is unknown.
  if (earlier == nullptr || later == nullptr) {
    isl_map_free(one);
    return "two turns that access the same element or scalar would change places";
  }
  const std::string before = earlier, after = later;
  const auto first = static_cast<std::size_t>(isl_map_dim(one, isl_dim_in));
  const Owned<isl_point> point(isl_set_sample_point(isl_map_wrap(one)));
  return fmt::format("{} must come before {}, which accesses the same element or scalar",
                     place(nest, before, point.get(), 0), place(nest, after, point.get(), first));
}

} // namespace

std::string broken_dependence(const Point& written, const Point& changed,
                              const std::vector<std::size_t>& variables) {
  std::vector<std::string> names(model::nest_depth), new_names(model::nest_depth);
  for (std::size_t v = 0; v < model::nest_depth; ++v) {
    names[v] = fmt::format("v{}", v);
    new_names[v] = fmt::format("x{}", v);
  }
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    if (variables[v] < model::nest_depth) new_names[variables[v]] = names[v];
  const Relations before(written, names), after(changed, new_names);
  const Owned<isl_ctx> isl(isl_ctx_alloc());
  isl_options_set_on_error(isl.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(isl.get(), most_operations);
  const auto loads = relation(isl.get(), before.loads), stores = relation(isl.get(), before.stores),
             old_times = relation(isl.get(), before.times), new_times = relation(isl.get(), after.times);
  const auto copy = [](const Owned<isl_union_map>& p) { return isl_union_map_copy(p.get()); };
  isl_union_map* const ordered = isl_union_map_intersect(
      conflicts(loads.get(), stores.get()), isl_union_map_lex_lt_union_map(copy(old_times), copy(old_times)));
  const Owned<isl_union_map> broken(
      isl_union_map_intersect(ordered, isl_union_map_lex_gt_union_map(copy(new_times), copy(new_times))));
  const isl_bool none = isl_union_map_is_empty(broken.get());
  if (none == isl_bool_error)
    throw bad_input(written.definition().file,
                    "whether loops can be exchanged is not decided in reasonable time",
                    "write the other order in a file of its own");
  return none ? "" : describe(before, isl_union_map_copy(broken.get()));
}

} // namespace recount::nest
