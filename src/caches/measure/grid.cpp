#include "base/names.hpp"
#include "caches/measure/study.hpp"

#include "base/random.hpp"
#include "kernel/kernel.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <random>

namespace recount::caches {

namespace {

constexpr std::int64_t smallest_size = 4096, few_rounds_from = std::int64_t{128} << 10, ///< bytes
    largest_chased = std::int64_t{1} << 20, narrowest_chased = 8;
constexpr int grid_repetitions = 3, small_repetitions = 6; // of those that take no time
constexpr const char* grid_cycles = "PAPI_TOT_CYC";

/// Pages of each repetition lie elsewhere: what one placement spoils, another does not.
void observe_point(const CachesTask& task, const GridPoint& point, int repetition,
                   const std::function<void(const result::Observation&)>& observed) {
  const auto& kernel = kernel::find(point.kernel);
  const auto instance = kernel.prepare(point.params);
  instance->region()();
  std::vector<std::string> witnesses{"clock"};
  if (!task.metrics.empty()) witnesses.push_back(task.witness);
  for (const auto& name : witnesses) {
    const auto& witness = witness::find(name);
    auto metrics = name == "clock" ? std::vector<std::string>{"seconds"} : task.metrics;
    if (name != "clock" && witness.gives(grid_cycles) && witness.missing({grid_cycles}).empty())
      metrics.emplace_back(grid_cycles);
    const witness::Task of_point{"", kernel.name(), point.params, repetition, name, metrics};
    for (const auto& observation : witness.observe(kernel, instance.get(), of_point))
      observed(observation);
  }
}

} // namespace

std::vector<GridPoint> grid_points(std::int64_t largest_cache, bool modelled) {
  std::int64_t most = std::int64_t{4} << 20;
  while (most < 2 * largest_cache && most < std::int64_t{64} << 20)
    most *= 2;
  std::vector<GridPoint> points;
  const auto add = [&](const std::string& name, std::int64_t size, std::int64_t stride, std::int64_t rounds) {
    const auto& kernel = kernel::find(name);
    points.push_back({name, kernel::complete(kernel, {{"size", size},
                                                      {"stride", stride},
                                                      {"rounds", rounds},
                                                      {"passes", std::int64_t{modelled ? 1 : 0}}})});
  };
  for (std::int64_t size = smallest_size; size <= most; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      // Enough accesses to time, few enough not to wait for; the model finds out by itself that passes
      // repeat.
      const std::int64_t rounds = modelled ? 200 : size < few_rounds_from ? 10 : 1;
      add("stride", size, stride, rounds);
      // The time of stride hides what a miss costs; what waits for the load before shows it.
      if (!modelled && size <= largest_chased && stride >= narrowest_chased)
        add("chase", size, stride, size < few_rounds_from ? 4 : 1);
    }
  return points;
}

void take_grid(const CachesTask& task, const std::vector<GridPoint>& points,
               const std::function<void(const result::Observation&)>& observed) {
  if (is_modelled(task.witness)) {
    const auto& model = witness::find(task.witness);
    for (const auto& [kernel, params] : points)
      for (const auto& observation : model.observe(
               kernel::find(kernel), nullptr, {"", kernel, params, 0, task.witness, model.default_metrics}))
        observed(observation);
    return;
  }
  std::mt19937_64 random(task.seed);
  auto order = points;
  for (int repetition = 0; repetition < small_repetitions; ++repetition) {
    if (repetition == grid_repetitions)
      std::erase_if(order, [](const GridPoint& point) {
        return std::get<std::int64_t>(point.params.at("size")) > few_rounds_from;
      });
    base::shuffle(std::span(order), random);
    for (const auto& point : order)
      observe_point(task, point, repetition, observed);
  }
}

} // namespace recount::caches
