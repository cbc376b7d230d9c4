#include "sweep/plan.hpp"
#include "base/format.hpp"
#include "base/random.hpp"
#include "sweep/model_modes.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/cartesian_product.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/join.hpp>
#include <range/v3/view/transform.hpp>
#include <recount/error.hpp>

namespace recount::sweep {
namespace {

namespace views = ranges::views;
constexpr std::size_t most_points = 1'000'000, most_jobs = 5'000'000;

std::size_t points(const std::vector<Axis>& axes) {
  std::size_t count = 1;
  for (const auto& axis : axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count) || count > most_points)
      throw bad_input("--" + axis.name, fmt::format("the grid has more than {} points", most_points),
                      "use fewer values or several sweeps");
  return count;
}

/// The point number `index` of the grid: a mixed-radix count with one digit an axis, the last one fastest.
result::Params point(const std::vector<Axis>& axes, std::size_t index) {
  result::Params at;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    at[axis->name] = axis->values[index % axis->values.size()];
    index /= axis->values.size();
  }
  return at;
}

} // namespace

Grid expand(const Plan& plan, const kernel::Kernel& kernel) {
  Grid grid;
  const auto all = views::iota(std::size_t{0}, points(plan.axes)) |
                   views::transform([&](std::size_t i) { return point(plan.axes, i); });
  for (const auto& given : all) {
    const result::Params at = kernel::complete(kernel, given);
    const auto broken = std::find_if(plan.conditions.begin(), plan.conditions.end(),
                                     [&](const Condition& condition) { return !condition.holds(at); });
    if (broken != plan.conditions.end()) {
      grid.skipped.push_back({at, "--where " + broken->text});
      continue;
    }
    try {
      static_cast<void>(kernel.bytes(at));
      grid.points.push_back(at);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_input) throw;
      grid.skipped.push_back({at, error.problem().cause});
    }
  }
  if (grid.points.empty())
    throw bad_input("kernel " + plan.kernel,
                    fmt::format("no point of {} can be executed; {}: {}", grid.skipped.size(),
                                result::describe(grid.skipped.front().point), grid.skipped.front().reason),
                    "recount sweep --help " + plan.kernel);
  return grid;
}

std::vector<std::string> metrics_of(const Plan& plan, const std::string& witness) {
  const auto& kind = witness::find(witness);
  if (plan.metrics.empty()) return kind.default_metrics;
  std::vector<std::string> its;
  std::copy_if(plan.metrics.begin(), plan.metrics.end(), std::back_inserter(its), kind.gives);
  return its.empty() ? plan.metrics : its; // requested by name only: the witness reports why not
}

std::vector<Job> schedule(const Plan& plan, const Grid& grid) {
  std::vector<std::string> native, model;
  for (const auto& name : plan.witnesses)
    (witness::find(name).native ? native : model).push_back(name);
  const auto round = [&](const std::vector<std::string>& witnesses, int repetition) {
    return views::cartesian_product(grid.points, witnesses) |
           views::transform([&plan, repetition](auto&& pair) {
             const auto& [at, name] = pair;
             return Job{plan.kernel, at, repetition, name, metrics_of(plan, name)};
           });
  };
  const std::size_t rounds = native.empty() ? 0 : static_cast<std::size_t>(plan.repeat);
  if (rounds * native.size() > most_jobs / grid.points.size())
    throw bad_input("--repeat", fmt::format("{} of {} are more than {} runs",
                                            base::format_count(plan.repeat, "repetition"),
                                            base::format_count(grid.points.size(), "point"), most_jobs));
  std::vector<Job> jobs;
  std::mt19937_64 random(plan.seed);
  for (int repetition = 0; static_cast<std::size_t>(repetition) < rounds; ++repetition) {
    const std::size_t from = jobs.size();
    for (auto&& job : round(native, repetition))
      jobs.push_back(job);
    base::shuffle(std::span(jobs).subspan(from), random);
  }
  for (auto&& job : round(model, 0))
    for (auto& one : modelled_jobs(job, plan.modes))
      jobs.push_back(std::move(one));
  return jobs;
}

} // namespace recount::sweep
