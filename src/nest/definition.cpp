#include "nest/definition.hpp"

#include "model/nest.hpp"
#include "recount/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace recount::nest {
namespace {

/// Names and bytes, in the order of Type.
constexpr std::array<std::pair<const char*, std::int64_t>, 6> type_table{
    {{"f64", 8}, {"f32", 4}, {"i64", 8}, {"i32", 4}, {"i16", 2}, {"i8", 1}}};

} // namespace

const char* name(Type type) {
  return type_table[static_cast<std::size_t>(type)].first;
}

std::int64_t bytes(Type type) {
  return type_table[static_cast<std::size_t>(type)].second;
}

std::optional<Type> parse_type(std::string_view name) {
  for (std::size_t i = 0; i < type_table.size(); ++i)
    if (name == type_table[i].first) return static_cast<Type>(i);
  return {};
}

void refuse(const std::string& file, Spot at, const std::string& cause, const std::string& fix) {
  throw bad_input(fmt::format("{}:{}:{}", file, at.line, at.column), cause, fix);
}

namespace {

/// The type of an operation's result; counts it in `work`.
Arithmetic operate(const Definition& nest, Value::Kind kind, Arithmetic left, Arithmetic right, Spot at,
                   Work& work) {
  const Arithmetic result = combined(left, right);
  if (kind == Value::Kind::quotient && result == Arithmetic::whole)
    refuse(nest.file, at, "a quotient of whole numbers", "divide f32 or f64 values only");
  if (result == Arithmetic::f32) ++work.single_operations;
  if (result == Arithmetic::f64) ++work.double_operations;
  return result;
}

/// The type of a value; counts its loads and operations in `work`.
Arithmetic evaluate(const Definition& nest, const Types& types, const Value& value, Work& work) {
  switch (value.kind) {
  case Value::Kind::number: return Arithmetic::number;
  case Value::Kind::index: return Arithmetic::whole;
  case Value::Kind::scalar: return arithmetic_of(resolve_type(nest.scalars[value.scalar].type, types));
  case Value::Kind::element:
    ++work.loads;
    return arithmetic_of(resolve_type(nest.arrays[value.element.array].type, types));
  default: break;
  }
  const Arithmetic left = evaluate(nest, types, value.parts[0], work),
                   right = evaluate(nest, types, value.parts[1], work);
  return operate(nest, value.kind, left, right, value.at, work);
}

} // namespace

Arithmetic arithmetic_of(Type type) {
  if (type == Type::f64) return Arithmetic::f64;
  return type == Type::f32 ? Arithmetic::f32 : Arithmetic::whole;
}

Arithmetic combined(Arithmetic left, Arithmetic right) {
  return std::max(left, right);
}

Type target_type(const Definition& nest, const Statement& statement, const Types& types) {
  if (const auto* const scalar = std::get_if<std::size_t>(&statement.target))
    return resolve_type(nest.scalars[*scalar].type, types);
  return resolve_type(nest.arrays[std::get<Element>(statement.target).array].type, types);
}

Work count_work(const Definition& nest, const Statement& statement, const Types& types) {
  Work work;
  const Arithmetic target = arithmetic_of(target_type(nest, statement, types));
  Arithmetic value = evaluate(nest, types, statement.value, work);
  const bool element = std::holds_alternative<Element>(statement.target);
  if (statement.operation) {
    value = operate(nest, *statement.operation, target, value, statement.at, work);
    work.loads += element ? 1 : 0;
  }
  work.stores += element ? 1 : 0;
  const bool fraction = value == Arithmetic::number && !statement.value.whole;
  if (target == Arithmetic::whole && (value > Arithmetic::whole || fraction))
    refuse(nest.file, statement.at, "a floating-point value is assigned to a whole number",
           "assign it to an f32 or f64 element or scalar");
  return work;
}

namespace {

using model::Affine;

Affine constant(std::int64_t value) {
  return {value, {}};
}

bool scaled(std::int64_t& to, std::int64_t by, std::int64_t factor) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(by, factor, &product) && !__builtin_add_overflow(to, product, &to) &&
         to <= most_coefficient && to >= -most_coefficient;
}

/// The greatest value of `form` over the innermost `depth` loops, which it is bounded by in turn: variables
/// are replaced by the ends of their loops (Fourier-Motzkin elimination), the innermost first.
std::optional<std::int64_t> eliminated(Affine form, const std::vector<Around>& loops, std::size_t depth) {
  if (depth == 0) return form.constant;
  const std::size_t v = depth - 1;
  const std::int64_t slope = form.slope[v];
  form.slope[v] = 0;
  if (slope == 0) return eliminated(form, loops, v);
  std::optional<std::int64_t> best;
  const auto offer = [&](const Affine& value) {
    const auto replaced = plus_times(form, value, slope);
    const auto bound = replaced ? eliminated(*replaced, loops, v) : std::nullopt;
    if (bound && (!best || *bound < *best)) best = bound;
  };
  const Around& loop = loops[v];
  if (slope < 0) {
    offer(loop.first);
  } else {
    offer(constant(loop.greatest)); // the step is considered in it
    offer(loop.last.one + -1);
    if (!(loop.last.one == loop.last.other)) offer(loop.last.other + -1);
  }
  return best;
}

} // namespace

std::optional<Affine> plus_times(const Affine& x, const Affine& y, std::int64_t factor) {
  Affine sum = x;
  bool good = scaled(sum.constant, y.constant, factor);
  for (std::size_t v = 0; v < model::nest_depth; ++v)
    good = scaled(sum.slope[v], y.slope[v], factor) && good;
  return good ? std::optional(sum) : std::nullopt;
}

Affine Evaluator::affine(const Index& index) const {
  const auto within = [&](const std::optional<Affine>& value) {
    if (!value)
      refuse(nest_.file, index.at, "a number of the expression exceeds 2^50 at this point",
             "use smaller parameters");
    return *value;
  };
  switch (index.kind) {
  case Index::Kind::number: return within(plus_times({}, constant(index.number), 1));
  case Index::Kind::parameter:
    return within(plus_times({}, constant(parameters_[static_cast<std::size_t>(index.number)]), 1));
  case Index::Kind::variable: {
    Affine variable;
    variable.slope[static_cast<std::size_t>(index.number)] = 1;
    return variable;
  }
  default: break;
  }
  const Affine left = affine(index.parts[0]), right = affine(index.parts[1]);
  switch (index.kind) {
  case Index::Kind::sum: return within(plus_times(left, right, 1));
  case Index::Kind::difference: return within(plus_times(left, right, -1));
  case Index::Kind::product:
    return index.parts[0].varies ? within(plus_times({}, left, right.constant))
                                 : within(plus_times({}, right, left.constant));
  case Index::Kind::quotient:
    if (right.constant == 0)
      refuse(nest_.file, index.at, "division by zero at this point", "use another value");
    return constant(left.constant / right.constant);
  default: return constant(std::min(left.constant, right.constant));
  }
}

model::Bound Evaluator::bound(const Index& index) const {
  if (index.kind == Index::Kind::least) return {affine(index.parts[0]), affine(index.parts[1])};
  const Affine one = affine(index);
  return {one, one};
}

std::optional<std::int64_t> greatest(const Affine& form, const std::vector<Around>& loops) {
  return eliminated(form, loops, loops.size());
}

std::optional<std::int64_t> least(const Affine& form, const std::vector<Around>& loops) {
  const auto value = eliminated(form * -1, loops, loops.size());
  return value ? std::optional(-*value) : std::nullopt;
}

namespace {

constexpr std::int64_t page = 4096, most_array_bytes = std::int64_t{1} << 40;
constexpr double most_accesses = 0x1p60, most_magnitude = 0x1p55;

std::int64_t next_page(std::int64_t bytes) {
  return (bytes + page - 1) / page * page;
}

PlacedArray placed(const Definition& nest, const Array& array, const Setting& setting) {
  const Evaluator at(nest, setting.parameters);
  PlacedArray all;
  all.type = resolve_type(array.type, setting.types);
  const std::size_t dimensions = array.extents.size();
  for (const Index& index : array.extents) {
    const std::int64_t extent = at.number(index);
    if (extent < 1)
      refuse(nest.file, index.at, fmt::format("an extent of {} is {}", array.name, extent),
             "extents are at least 1");
    all.extents.push_back(extent);
  }
  all.strides.resize(dimensions);
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < dimensions; ++i) { // from the contiguous dimension on
    const std::size_t d = array.column_major ? i : dimensions - 1 - i;
    all.strides[d] = stride;
    std::int64_t length = all.extents[d];
    if (i == 0 && array.leading) {
      length = at.number(*array.leading);
      if (length < all.extents[d])
        refuse(nest.file, array.leading->at,
               fmt::format("the leading dimension of {} is {}, below its extent {}", array.name, length,
                           all.extents[d]),
               "use ld " + std::to_string(all.extents[d]) + " or more");
    }
    if (__builtin_mul_overflow(stride, length, &stride) || stride > most_array_bytes / bytes(all.type))
      refuse(nest.file, array.at, fmt::format("{} has more than 2^40 bytes", array.name),
             "use smaller extents");
  }
  all.bytes = stride * bytes(all.type);
  return all;
}

/// Executes nothing: every loop's body is visited once. `statement(recorder, evaluator, statement)` and
/// `outer(recorder)` in each loop that holds loops add accesses.
template <class OnStatement, class OnOuter>
class Walk {
public:
  Walk(const Point& point, const OnStatement& statement, const OnOuter& outer)
      : at_(point.definition(), point.setting().parameters), statement_(statement), outer_(outer) {
    body(point.definition().body);
  }
  [[nodiscard]] const model::Nest& nest() const { return recorder_.nest(); }

private:
  void body(const std::vector<Node>& nodes) {
    for (const Node& node : nodes) {
      if (const auto* const statement = std::get_if<Statement>(&node)) {
        statement_(recorder_, at_, *statement);
        continue;
      }
      const auto& loop = std::get<Loop>(node);
      const auto holds_loop = [](const Node& inner) { return std::holds_alternative<Loop>(inner); };
      recorder_.loop(at_.affine(loop.first), at_.bound(loop.last), at_.number(loop.step),
                     [&](const model::Affine&) {
                       if (std::any_of(loop.body.begin(), loop.body.end(), holds_loop)) outer_(recorder_);
                       body(loop.body);
                     });
    }
  }

  Evaluator at_;
  const OnStatement& statement_;
  const OnOuter& outer_;
  model::Recorder recorder_;
};

/// How often what adds accesses does so, times their number.
template <class OnStatement, class OnOuter>
std::int64_t counted(const Point& point, const OnStatement& statement, const OnOuter& outer) {
  return model::accesses(model::prepare(Walk(point, statement, outer).nest()));
}

constexpr auto nothing_outside = [](model::Recorder&) {};

} // namespace

/// Checks loops and subscripts, and estimates their number.
class Point::Checker {
public:
  explicit Checker(Point& point) : point_(point), nest_(point.nest_), at_(nest_, point.setting_.parameters) {}

  void body(const std::vector<Node>& nodes, double times, double most) {
    for (const Node& node : nodes)
      if (const auto* const inner = std::get_if<Loop>(&node))
        loop(*inner, times, most);
      else
        statement(std::get<Statement>(node), times, most);
  }
  [[nodiscard]] double most() const { return most_; }

private:
  void loop(const Loop& loop, double times, double most) {
    Around around;
    around.step = at_.number(loop.step);
    if (around.step < 1)
      refuse(nest_.file, loop.step.at, fmt::format("the step of a loop is {}", around.step),
             "steps are at least 1");
    for (const Index* bound : {&loop.first, &loop.last})
      small(*bound);
    around.first = at_.affine(loop.first);
    around.last = at_.bound(loop.last);
    const auto one = greatest(around.last.one, loops_), other = greatest(around.last.other, loops_),
               least = nest::least(around.first, loops_);
    if (!one || !other || !least)
      refuse(nest_.file, loop.at, "the bounds of the loop exceed 2^50 at this point",
             "use smaller parameters");
    around.least = *least;
    around.greatest = std::min(*one, *other) - 1;
    if (around.greatest < around.least) return;  // no turn
    if (greatest(around.first, loops_) == least) // turns by equal steps from one value
      around.greatest -= (around.greatest - around.least) % around.step;
    const double step = static_cast<double>(around.step), first = middle(around.first);
    const double last = std::min(middle(around.last.one), middle(around.last.other));
    const double turns = std::max(0.0, std::ceil((last - first) / step));
    most *= std::floor(static_cast<double>(around.greatest - around.least) / step) + 1;
    times *= turns;
    loops_.push_back(around);
    middles_.push_back(first + std::max(0.0, turns - 1) / 2 * step);
    body(loop.body, times, most);
    loops_.pop_back();
    middles_.pop_back();
  }

  void statement(const Statement& statement, double times, double most) {
    for_each_load(statement.value, [&](const Element& element) {
      check(element);
      add_estimate(element, times);
    });
    if (const auto* const target = std::get_if<Element>(&statement.target)) {
      check(*target);
      for (int i = statement.operation ? 2 : 1; i > 0; --i)
        add_estimate(*target, times);
    }
    const Work work = count_work(nest_, statement, point_.setting_.types);
    most_ += most * static_cast<double>(work.loads + work.stores);
  }

  void add_estimate(const Element& element, double times) {
    constexpr double quarter_of_a_line = 16;
    const PlacedArray& array = point_.arrays_[element.array];
    double step = 0; // of the innermost loop, in bytes
    for (std::size_t d = 0; !loops_.empty() && d < element.subscripts.size(); ++d)
      step += static_cast<double>(at_.affine(element.subscripts[d]).slope[loops_.size() - 1]) *
              static_cast<double>(array.strides[d] * nest::bytes(array.type) * loops_.back().step);
    point_.estimate_.accesses += times;
    if (std::abs(step) > quarter_of_a_line) point_.estimate_.in_columns += times;
  }

  void check(const Element& element) {
    const Array& array = nest_.arrays[element.array];
    for (std::size_t d = 0; d < element.subscripts.size(); ++d) {
      const Index& index = element.subscripts[d];
      small(index);
      const auto form = at_.affine(index);
      const auto low = least(form, loops_), high = greatest(form, loops_);
      const std::int64_t extent = point_.arrays_[element.array].extents[d];
      const auto leaves = [&](const std::string& what) {
        refuse(nest_.file, index.at,
               fmt::format("subscript {} of {} {}; its extent is {}", d + 1, array.name, what, extent),
               "change the bounds of the loops or the extent of " + array.name);
      };
      if (!low || !high) leaves("exceeds 2^50");
      for (std::size_t v = 0; v < loops_.size(); ++v) // a loop of one turn may have a large slope
        if (std::abs(static_cast<double>(form.slope[v])) * static_cast<double>(loops_[v].step) *
                static_cast<double>(point_.arrays_[element.array].bytes) >
            most_magnitude)
          leaves("moves by more than 2^55 bytes per turn");
      if (*low < 0) leaves(fmt::format("can be {}", *low));
      if (*high >= extent) leaves(fmt::format("can be {}", *high));
    }
  }

  /// No part of an expression overflows in generated code, which computes it as it is written.
  void small(const Index& index) const {
    const auto form = at_.affine(index);
    double sum = std::abs(static_cast<double>(form.constant));
    for (std::size_t v = 0; v < loops_.size(); ++v)
      sum += std::abs(static_cast<double>(form.slope[v])) *
             std::max(std::abs(static_cast<double>(loops_[v].least)),
                      std::abs(static_cast<double>(loops_[v].greatest)));
    if (sum > most_magnitude)
      refuse(nest_.file, index.at, "a number of the expression exceeds 2^55 at this point",
             "use smaller parameters");
    for (const Index& part : index.parts)
      small(part);
  }

  [[nodiscard]] double middle(const model::Affine& form) const {
    double sum = static_cast<double>(form.constant);
    for (std::size_t v = 0; v < middles_.size(); ++v)
      sum += static_cast<double>(form.slope[v]) * middles_[v];
    return sum;
  }

  Point& point_;
  const Definition& nest_;
  Evaluator at_;
  std::vector<Around> loops_;
  std::vector<double> middles_; ///< of the loop variables
  double most_ = 0;             ///< accesses at most
};

Point::Point(const Definition& nest, Setting setting) : nest_(nest), setting_(std::move(setting)) {
  std::int64_t begin = 0;
  for (const Array& array : nest_.arrays) {
    arrays_.push_back(placed(nest_, array, setting_));
    if (setting_.offset % nest::bytes(arrays_.back().type) != 0)
      refuse(nest_.file, array.at,
             fmt::format("{} would begin at an address that is no multiple of its element (offset = {})",
                         array.name, setting_.offset),
             "use an --offset that is a multiple of " + std::to_string(nest::bytes(arrays_.back().type)));
    arrays_.back().begin = begin;
    begin += next_page(arrays_.back().bytes + setting_.offset);
  }
  Checker checker(*this);
  checker.body(nest_.body, 1, 1);
  if (checker.most() > most_accesses)
    refuse(nest_.file, {}, "the nest makes more than 2^60 accesses at this point", "use smaller parameters");
  if (checker.most() == 0)
    refuse(nest_.file, {}, "the nest makes no access at this point", "use larger parameters");
  estimate_.most = checker.most();
}

Point::Point(std::shared_ptr<const Definition> nest, Setting setting) : Point(*nest, std::move(setting)) {
  kept_ = std::move(nest);
}

std::int64_t Point::bytes() const {
  return arrays_.back().begin + arrays_.back().bytes;
}

Work Point::work() const {
  const auto sum = [&](std::int64_t Work::*part) {
    return counted(
        *this,
        [&](model::Recorder& recorder, const Evaluator&, const Statement& statement) {
          for (std::int64_t i = count_work(nest_, statement, setting_.types).*part; i > 0; --i)
            recorder.access(model::Cause::load, 0, {}, 1);
        },
        nothing_outside);
  };
  return {sum(&Work::loads), sum(&Work::stores), sum(&Work::single_operations),
          sum(&Work::double_operations)};
}

std::int64_t Point::outer_turns() const {
  return counted(
      *this, [](model::Recorder&, const Evaluator&, const Statement&) {},
      [](model::Recorder& recorder) { recorder.access(model::Cause::load, 0, {}, 1); });
}

model::Nest Point::recorded(const std::vector<std::uint64_t>& bases) const {
  const auto statement = [&](model::Recorder& recorder, const Evaluator& at, const Statement& one) {
    const auto access = [&](model::Cause cause, const Element& element) {
      const PlacedArray& array = arrays_[element.array];
      const std::int64_t size = nest::bytes(array.type);
      model::Affine address{static_cast<std::int64_t>(bases[element.array]), {}};
      for (std::size_t d = 0; d < element.subscripts.size(); ++d)
        address = address + at.affine(element.subscripts[d]) * (array.strides[d] * size);
      recorder.access(cause, static_cast<unsigned>(element.array), address, static_cast<unsigned>(size));
    };
    for_each_load(one.value, [&](const Element& element) { access(model::Cause::load, element); });
    const auto* const target = std::get_if<Element>(&one.target);
    if (target == nullptr) return;
    if (one.operation) access(model::Cause::load, *target);
    access(model::Cause::store, *target);
  };
  return Walk(*this, statement, nothing_outside).nest();
}

} // namespace recount::nest
