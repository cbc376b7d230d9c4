#include "nest/transform.hpp"

#include "model/nest.hpp"
#include "nest/definition.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fmt/ranges.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/union_map.h>
#include <isl/val.h>
#include <memory>
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

std::size_t measure_depth(const std::vector<Node>& body) {
  std::size_t deepest = 0;
  for (const Node& node : body)
    if (const auto* const loop = std::get_if<Loop>(&node))
      deepest = std::max(deepest, 1 + measure_depth(loop->body));
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

/// The perfectly nested loops, outermost first: each contains only the next one, the last one the rest. None
/// if the nest is not a single loop.
std::vector<const Loop*> perfect_loops(const Definition& nest) {
  std::vector<const Loop*> loops;
  for (const auto* body = &nest.body; body->size() == 1; body = &loops.back()->body) {
    const auto* const loop = std::get_if<Loop>(&body->front());
    if (loop == nullptr) break;
    loops.push_back(loop);
  }
  return loops;
}

} // namespace

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
  if (form.tile > 0) check_blocks(nest, loops, measure_depth(nest.body));
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

namespace {

constexpr unsigned long most_operations = 20'000'000; ///< of isl: takes seconds

struct IslDeleter {
  void operator()(isl_ctx* p) const { isl_ctx_free(p); }
  void operator()(isl_union_map* p) const { isl_union_map_free(p); }
  void operator()(isl_set* p) const { isl_set_free(p); }
  void operator()(isl_point* p) const { isl_point_free(p); }
};
template <class T>
using IslPtr = std::unique_ptr<T, IslDeleter>;

/// The statement executions of a nest and what they access, as relations in isl's notation: S3[v0,v1] is
/// statement 3 of the text with these values of the loop variables of the written nest.
class AccessRelations {
public:
  /// `names`: of the variables, by number.
  AccessRelations(const Point& point, const std::vector<std::string>& names)
      : nest_(point.definition()), at_(nest_, point.setting().parameters), names_(names) {
    add_body(nest_.body, "");
  }
  std::vector<std::string> times, loads, stores;
  std::vector<Spot> spots;                     ///< by statement
  std::vector<std::vector<std::string>> loops; ///< by statement: names of the loops around it

private:
  [[nodiscard]] std::string text(const model::Affine& form) const {
    std::string all = std::to_string(form.constant);
    for (std::size_t v = 0; v < model::nest_depth; ++v)
      if (form.slope[v] != 0) all += fmt::format(" + {} {}", form.slope[v], names_[v]);
    return all;
  }

  void add_body(const std::vector<Node>& nodes, const std::string& time) {
    for (std::size_t place = 0; place < nodes.size(); ++place) {
      const std::string node_time = fmt::format("{}{},", time, place);
      if (const auto* const inner = std::get_if<Loop>(&nodes[place]))
        add_loop(*inner, node_time);
      else
        add_statement(std::get<Statement>(nodes[place]), node_time);
    }
  }

  void add_loop(const Loop& loop, const std::string& time) {
    const std::string &v = names_[loop.variable], first = text(at_.affine(loop.first));
    const model::Bound last = at_.bound(loop.last);
    const std::size_t outer_bounds = bounds_.size();
    bounds_.push_back(fmt::format("{} <= {} < {}", first, v, text(last.one)));
    if (!(last.one == last.other)) bounds_.back() += fmt::format(" and {} < {}", v, text(last.other));
    const std::int64_t step = at_.number(loop.step);
    if (step > 1) bounds_.back() += fmt::format(" and ({} - ({})) mod {} = 0", v, first, step);
    around_.push_back(&loop);
    add_body(loop.body, time + v + ",");
    around_.pop_back();
    bounds_.resize(outer_bounds);
  }

  void add_statement(const Statement& statement, const std::string& time) {
    const std::string domain = fmt::format("S{}[{}]", spots.size(), fmt::join(written_variables(), ","));
    const auto relate = [&](std::vector<std::string>& to, const std::string& what) {
      to.push_back(fmt::format("{} -> {}{}{}", domain, what, bounds_.empty() ? "" : " : ",
                               fmt::join(bounds_, " and ")));
    };
    const std::size_t missing = 2 * (model::nest_depth - around_.size());
    std::string padded = time;
    for (std::size_t i = 0; i < missing; ++i)
      padded += "0,";
    padded.pop_back();
    relate(times, "[" + padded + "]");
    if (statement.declares) declare(std::get<std::size_t>(statement.target));
    for_each_read(statement.value, [&](const std::string& what) { relate(loads, what); });
    const std::string target = std::visit([&](const auto& stored) { return name(stored); }, statement.target);
    if (statement.operation) relate(loads, target);
    relate(stores, target);
    spots.push_back(statement.at);
    loops.emplace_back();
    for (const Loop* loop : around_)
      loops.back().push_back(loop->name);
  }

  /// The variables of the written nest that are in scope, in its order.
  [[nodiscard]] std::vector<std::string> written_variables() const {
    std::vector<std::string> all;
    for (const Loop* loop : around_)
      if (names_[loop->variable].front() == 'v') all.push_back(names_[loop->variable]);
    std::ranges::sort(all);
    return all;
  }

  void declare(std::size_t scalar) {
    if (scalar >= scopes_.size()) scopes_.resize(scalar + 1);
    scopes_[scalar] = written_variables();
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
  /// Calls `visit(name)` for each element and scalar that a value reads.
  template <class Visit>
  void for_each_read(const Value& value, const Visit& visit) const {
    if (value.kind == Value::Kind::element) visit(name(value.element));
    if (value.kind == Value::Kind::scalar) visit(name(value.scalar));
    for (const Value& part : value.parts)
      for_each_read(part, visit);
  }

  const Definition& nest_;
  Evaluator at_;
  const std::vector<std::string>& names_;
  std::vector<std::string> bounds_;
  std::vector<const Loop*> around_;
  std::vector<std::vector<std::string>> scopes_; ///< variables around the declaration of each scalar
};

IslPtr<isl_union_map> relation(isl_ctx* isl, const std::vector<std::string>& parts) {
  return IslPtr<isl_union_map>(
      isl_union_map_read_from_str(isl, fmt::format("{{ {} }}", fmt::join(parts, "; ")).c_str()));
}

/// Pairs of executions that access the same element or scalar, at least one of them by a store.
isl_union_map* conflicts(const isl_union_map* loads, const isl_union_map* stores) {
  const auto copy = [](const isl_union_map* p) { return isl_union_map_copy(const_cast<isl_union_map*>(p)); };
  const IslPtr<isl_union_map> all(isl_union_map_union(copy(loads), copy(stores)));
  return isl_union_map_union(isl_union_map_apply_range(copy(stores), isl_union_map_reverse(copy(all.get()))),
                             isl_union_map_apply_range(copy(all.get()), isl_union_map_reverse(copy(stores))));
}

/// "line 7 at i = 2, k = 0": the execution whose coordinates in `point` begin at `from`.
std::string describe_execution(const AccessRelations& nest, const std::string& statement, isl_point* point,
                               std::size_t from) {
  const std::size_t which = std::stoul(statement.substr(1));
  std::string all = fmt::format("line {} at ", nest.spots[which].line);
  for (std::size_t i = 0; i < nest.loops[which].size(); ++i) {
    isl_val* const value = isl_point_get_coordinate_val(point, isl_dim_set, static_cast<int>(from + i));
    all += fmt::format("{}{} = {}", i > 0 ? ", " : "", nest.loops[which][i], isl_val_get_num_si(value));
    isl_val_free(value);
  }
  return all;
}

std::string describe_pair(const AccessRelations& nest, isl_union_map* broken) {
  isl_map* const pair = isl_map_from_basic_map(isl_union_map_sample(broken));
  const char* const earlier = isl_map_get_tuple_name(pair, isl_dim_in);
  const char* const later = isl_map_get_tuple_name(pair, isl_dim_out);
  // isl has reached most_operations: such a pair exists, but isl could not compute one.
  if (earlier == nullptr || later == nullptr) {
    isl_map_free(pair);
    return "two iterations that access the same element or scalar would be exchanged";
  }
  const std::string before = earlier, after = later;
  const auto first = static_cast<std::size_t>(isl_map_dim(pair, isl_dim_in));
  const IslPtr<isl_point> point(isl_set_sample_point(isl_map_wrap(pair)));
  return fmt::format("{} must come before {}, which accesses the same element or scalar",
                     describe_execution(nest, before, point.get(), 0),
                     describe_execution(nest, after, point.get(), first));
}

} // namespace

std::string find_broken_dependence(const Point& written, const Point& changed,
                                   const std::vector<std::size_t>& variables) {
  std::vector<std::string> names(model::nest_depth), new_names(model::nest_depth);
  for (std::size_t v = 0; v < model::nest_depth; ++v) {
    names[v] = fmt::format("v{}", v);
    new_names[v] = fmt::format("x{}", v);
  }
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    if (variables[v] < model::nest_depth) new_names[variables[v]] = names[v];
  const AccessRelations before(written, names), after(changed, new_names);
  const IslPtr<isl_ctx> isl(isl_ctx_alloc());
  isl_options_set_on_error(isl.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(isl.get(), most_operations);
  const auto loads = relation(isl.get(), before.loads), stores = relation(isl.get(), before.stores),
             old_times = relation(isl.get(), before.times), new_times = relation(isl.get(), after.times);
  const auto copy = [](const IslPtr<isl_union_map>& p) { return isl_union_map_copy(p.get()); };
  isl_union_map* const ordered = isl_union_map_intersect(
      conflicts(loads.get(), stores.get()), isl_union_map_lex_lt_union_map(copy(old_times), copy(old_times)));
  const IslPtr<isl_union_map> broken(
      isl_union_map_intersect(ordered, isl_union_map_lex_gt_union_map(copy(new_times), copy(new_times))));
  const isl_bool none = isl_union_map_is_empty(broken.get());
  if (none == isl_bool_error)
    throw bad_input(written.definition().file,
                    "it could not be decided in time whether its loops can be exchanged",
                    "write the other order in a file of its own");
  return none ? "" : describe_pair(before, isl_union_map_copy(broken.get()));
}

} // namespace recount::nest
