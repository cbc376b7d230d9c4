#include "model/program.hpp"

#include <algorithm>
#include <cstdlib>

namespace recount::model {

namespace {

/// Least and greatest values of the variables of the loops around.
struct Ranges {
  Environment least{}, greatest{};

  [[nodiscard]] std::int64_t greatest_value(const Affine& form) const {
    std::int64_t sum = form.constant;
    for (std::size_t v = 0; v < nest_depth; ++v)
      sum += std::max(form.slope[v] * least[v], form.slope[v] * greatest[v]);
    return sum;
  }
  [[nodiscard]] std::int64_t least_value(const Affine& form) const { return -greatest_value(form * -1); }
};

/// Drops the bound that is never the lesser, so that blocks that divide a matrix are recognised as equal.
void settle_bounds(std::vector<NestNode>& nodes, const Ranges& around) {
  for (NestNode& node : nodes) {
    auto* const loop = std::get_if<NestLoop>(&node);
    if (loop == nullptr) continue;
    Bound& last = loop->last;
    const Affine surplus = last.one + last.other * -1;
    if (around.greatest_value(surplus) <= 0)
      last.other = last.one;
    else if (around.least_value(surplus) >= 0)
      last.one = last.other;
    Ranges inside = around;
    const std::int64_t least = around.least_value(loop->first);
    std::int64_t greatest = std::min(around.greatest_value(last.one), around.greatest_value(last.other)) - 1;
    if (around.greatest_value(loop->first) == least) // turns by equal steps from one value
      greatest = std::max(least, greatest - (greatest - least) % loop->step);
    inside.least[loop->variable] = least;
    inside.greatest[loop->variable] = std::max(least, greatest);
    settle_bounds(loop->body, inside);
  }
}

/// Whether the number of turns of a loop does not depend on an outer loop, whose variable is given.
bool same_turns(const NestLoop& loop, std::size_t outer) {
  return loop.last.one.slope[outer] == loop.first.slope[outer] &&
         loop.last.other.slope[outer] == loop.first.slope[outer];
}
/// Of all loops in a step's turns.
bool same_turns(const Step& step) {
  return std::ranges::all_of(step.inner,
                             [&](const NestLoop& loop) { return same_turns(loop, step.variable); });
}

/// The loops between a step and an access inside it, outermost first.
using Path = std::vector<const NestLoop*>;

Affine without(Affine form, std::size_t variable, const Affine& value) {
  const std::int64_t slope = form.slope[variable];
  form.slope[variable] = 0;
  return form + value * slope;
}

class Builder {
public:
  std::vector<Step> sequence(const std::vector<NestNode>& nodes) {
    std::vector<Step> steps;
    for (const NestNode& node : nodes) {
      if (const auto* const loop = std::get_if<NestLoop>(&node)) {
        steps.push_back(make_step(*loop));
        continue;
      }
      if (steps.empty() || !steps.back().bare) {
        steps.emplace_back();
        steps.back().bare = steps.back().leaf = steps.back().regular = true;
        steps.back().id = ids++;
      }
      add(steps.back(), std::get<NestAccess>(node), {}, {});
    }
    return steps;
  }

  std::size_t ids = 0;

private:
  Step make_step(const NestLoop& loop) {
    Step step;
    step.id = ids++;
    step.variable = loop.variable;
    step.first = loop.first;
    step.last = loop.last;
    step.step = loop.step;
    step.leaf = std::ranges::all_of(
        loop.body, [](const NestNode& node) { return std::holds_alternative<NestAccess>(node); });
    if (!step.leaf) step.body = sequence(loop.body);
    Path path;
    std::vector<std::size_t> numbers;
    descend(step, loop.body, path, numbers, loop);
    for (Stream& stream : step.streams)
      stream.inner.resize(step.inner.size(), 0);
    step.regular = regular(step);
    return step;
  }

  void descend(Step& step, const std::vector<NestNode>& nodes, Path& path, std::vector<std::size_t>& numbers,
               const NestLoop& own) {
    for (const NestNode& node : nodes) {
      if (const auto* const loop = std::get_if<NestLoop>(&node)) {
        numbers.push_back(step.inner.size());
        step.inner.push_back({loop->variable, loop->first, loop->last, loop->step, {}});
        path.push_back(loop);
        descend(step, loop->body, path, numbers, own);
        path.pop_back();
        numbers.pop_back();
      } else {
        add(step, std::get<NestAccess>(node), path, numbers, &own);
      }
    }
  }

  void add(Step& step, const NestAccess& access, const Path& path, const std::vector<std::size_t>& numbers,
           const NestLoop* own = nullptr) {
    Stream stream{access.bytes, {}, 0, std::vector<std::int64_t>(step.inner.size(), 0)};
    Affine address = access.address;
    for (std::size_t i = path.size(); i-- > 0;) {
      const NestLoop& loop = *path[i];
      stream.inner[numbers[i]] = address.slope[loop.variable] * loop.step;
      address = without(address, loop.variable, loop.first);
    }
    if (own != nullptr) stream.own = address.slope[own->variable] * own->step;
    stream.start = Terms(address);
    if (step.leaf) step.accesses.push_back({access.cause, access.bytes, stream.start, stream.own});
    const auto same = [&](const Stream& other) {
      const auto& longer = stream.inner;
      return other.bytes == stream.bytes && other.own == stream.own &&
             other.start.constant == stream.start.constant && other.start.slopes == stream.start.slopes &&
             std::equal(other.inner.begin(), other.inner.end(), longer.begin()) &&
             std::all_of(longer.begin() + static_cast<std::ptrdiff_t>(other.inner.size()), longer.end(),
                         [](std::int64_t slope) { return slope == 0; });
    };
    if (std::ranges::none_of(step.streams, same)) step.streams.push_back(std::move(stream));
  }

  static bool regular(const Step& step) {
    return std::ranges::all_of(step.inner, [&](const NestLoop& loop) {
      return std::ranges::all_of(step.inner,
                                 [&](const NestLoop& other) { return same_turns(loop, other.variable); });
    });
  }
};

} // namespace

Program prepare(const Nest& nest) {
  Builder builder;
  Program program;
  Nest settled = nest;
  settle_bounds(settled.nodes, {});
  program.steps = builder.sequence(settled.nodes);
  program.size = builder.ids;
  return program;
}

std::int64_t accesses(const std::vector<Step>& steps, Environment& variables) {
  std::int64_t sum = 0;
  for (const Step& step : steps) {
    const std::int64_t turns = step.turns(variables);
    if (step.leaf) {
      sum += turns * static_cast<std::int64_t>(step.accesses.size());
      continue;
    }
    const bool alike = step.regular && same_turns(step);
    const std::int64_t first = step.first.at(variables);
    for (std::int64_t turn = 0; turn < (alike ? std::min<std::int64_t>(turns, 1) : turns); ++turn) {
      variables[step.variable] = first + turn * step.step;
      sum += (alike ? turns : 1) * accesses(step.body, variables);
    }
  }
  return sum;
}

std::int64_t accesses(const Program& program) {
  Environment variables{};
  return accesses(program.steps, variables);
}

bool may_recur(const Step& step, std::int64_t line) {
  const auto leaps = [&](const Stream& stream) {
    return stream.own != 0 &&
           (std::abs(stream.own) > line / 4 ||
            std::ranges::any_of(stream.inner, [&](std::int64_t own) { return own % line != 0; }));
  };
  return step.regular && same_turns(step) && std::ranges::none_of(step.streams, leaps);
}

} // namespace recount::model
