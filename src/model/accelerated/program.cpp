#include "model/accelerated/program.hpp"

#include "model/accelerated/nest.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace recount::model {

namespace {

/// Whether a loop turns as often wherever an outer loop, whose variable is given, stands.
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
        steps.push_back(of(*loop));
        continue;
      }
      if (steps.empty() || !steps.back().bare) {
        steps.emplace_back();
        steps.back().bare = steps.back().leaf = steps.back().regular = true;
        steps.back().id = ids++;
      }
      take(steps.back(), std::get<NestAccess>(node), {}, {});
    }
    return steps;
  }

  std::size_t ids = 0, most_accesses = 0;

private:
  Step of(const NestLoop& loop) {
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
    for (Stream& stream : step.streams) {
      stream.inner.resize(step.inner.size(), 0);
      stream.grain = stream.own;
      for (const std::int64_t slope : stream.inner)
        stream.grain = std::gcd(stream.grain, slope);
    }
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
        take(step, std::get<NestAccess>(node), path, numbers, &own);
      }
    }
  }

  void take(Step& step, const NestAccess& access, const Path& path, const std::vector<std::size_t>& numbers,
            const NestLoop* own = nullptr) {
    Stream stream{access.array, access.bytes, {}, 0, std::vector<std::int64_t>(step.inner.size(), 0)};
    Affine address = access.address;
    for (std::size_t i = path.size(); i-- > 0;) {
      const NestLoop& loop = *path[i];
      stream.inner[numbers[i]] = address.slope[loop.variable] * loop.step;
      address = without(address, loop.variable, loop.first);
    }
    if (own != nullptr) stream.own = address.slope[own->variable] * own->step;
    stream.start = Terms(address);
    if (step.leaf) {
      step.accesses.push_back({access.cause, access.array, access.bytes, stream.start, stream.own});
      most_accesses = std::max(most_accesses, step.accesses.size());
    }
    const auto same = [&](const Stream& other) {
      const auto& longer = stream.inner;
      return other.array == stream.array && other.bytes == stream.bytes && other.own == stream.own &&
             other.start.constant == stream.start.constant && other.start.slopes == stream.start.slopes &&
             std::equal(other.inner.begin(), other.inner.end(), longer.begin()) &&
             std::all_of(longer.begin() + static_cast<std::ptrdiff_t>(other.inner.size()), longer.end(),
                         [](std::int64_t slope) { return slope == 0; });
    };
    step.arrays |= 1u << stream.array;
    if (std::ranges::none_of(step.streams, same)) step.streams.push_back(std::move(stream));
  }

  static bool regular(const Step& step) {
    return std::ranges::all_of(step.inner, [&](const NestLoop& loop) {
      return std::ranges::all_of(step.inner,
                                 [&](const NestLoop& other) { return same_turns(loop, other.variable); });
    });
  }
};

bool multiples(const Affine& form, std::int64_t of) {
  return form.constant % of == 0 &&
         std::ranges::all_of(form.slope, [&](std::int64_t slope) { return slope % of == 0; });
}

bool aligned(const std::vector<NestNode>& nodes, std::int64_t line) {
  return std::ranges::all_of(nodes, [&](const NestNode& node) {
    if (const auto* const loop = std::get_if<NestLoop>(&node)) return aligned(loop->body, line);
    const auto& access = std::get<NestAccess>(node);
    return std::has_single_bit(access.bytes) && access.bytes <= line &&
           multiples(access.address, access.bytes);
  });
}

} // namespace

Program prepare(const Nest& nest) {
  Builder builder;
  Program program;
  Nest settled = nest;
  settle_bounds(settled);
  program.steps = builder.sequence(settled.nodes);
  program.size = builder.ids;
  program.most_accesses = builder.most_accesses;
  return program;
}

bool tell_turns(const Step& step, std::int64_t turns, const Environment& variables,
                std::array<std::int64_t, nest_depth>& inner) {
  if (step.inner.size() > inner.size()) return false;
  for (std::size_t l = 0; l < step.inner.size(); ++l) {
    const NestLoop& loop = step.inner[l];
    inner[l] = loop.trips(variables);
    if (step.bare || turns == 1) continue;
    const std::int64_t own = loop.first.slope[step.variable];
    const std::int64_t one = loop.last.one.slope[step.variable] - own,
                       other = loop.last.other.slope[step.variable] - own;
    if (one == 0 && other == 0) continue;
    if ((one > 0) != (other > 0) && one != 0 && other != 0) return false;
    Environment end = variables;
    end[step.variable] += (turns - 1) * step.step;
    if (loop.trips(end) != inner[l]) return false;
  }
  return true;
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

bool aligned(const Nest& nest, std::int64_t line) {
  return aligned(nest.nodes, line);
}

} // namespace recount::model
