#include "study/caches_grid.hpp"

#include "kernel/kernel.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <random>

namespace recount::study {

namespace {

constexpr std::int64_t smallest_size = 4096, few_rounds_from = std::int64_t{128} << 10; ///< bytes
constexpr int grid_repetitions = 3;

/// Pages of each repetition lie elsewhere: what one placement spoils, another does not.
void observe_point(const CachesTask& task, const result::Params& point, int repetition,
                   const std::function<void(const result::Observation&)>& observed) {
  const auto& kernel = kernel::find("stride");
  const auto instance = kernel.prepare(point);
  instance->region()();
  std::vector<std::string> witnesses{"clock"};
  if (!task.metrics.empty()) witnesses.push_back(task.witness);
  for (const auto& name : witnesses) {
    const auto metrics = name == "clock" ? std::vector<std::string>{"seconds"} : task.metrics;
    const witness::Task of_point{"", kernel.name(), point, repetition, name, metrics};
    for (const auto& observation : witness::find(name).observe(kernel, instance.get(), of_point))
      observed(observation);
  }
}

} // namespace

std::vector<result::Params> grid_points(std::int64_t largest_cache, bool modelled) {
  std::int64_t most = std::int64_t{4} << 20;
  while (most < 2 * largest_cache && most < std::int64_t{64} << 20)
    most *= 2;
  std::vector<result::Params> points;
  for (std::int64_t size = smallest_size; size <= most; size *= 2)
    for (std::int64_t stride = 1; stride <= size / 2; stride *= 2) {
      // Enough accesses to time, few enough not to wait for; the model finds out by itself that passes
      // repeat.
      const std::int64_t rounds = modelled ? 200 : size < few_rounds_from ? 10 : 1;
      points.push_back(
          kernel::complete(kernel::find("stride"), {{"size", size},
                                                    {"stride", stride},
                                                    {"rounds", rounds},
                                                    {"passes", std::int64_t{modelled ? 1 : 0}}}));
    }
  return points;
}

void take_grid(const CachesTask& task, const std::vector<result::Params>& points,
               const std::function<void(const result::Observation&)>& observed) {
  if (task.witness.starts_with("model")) {
    const auto& model = witness::find(task.witness);
    const auto& kernel = kernel::find("stride");
    for (const auto& point : points)
      for (const auto& observation :
           model.observe(kernel, nullptr, {"", kernel.name(), point, 0, task.witness, model.default_metrics}))
        observed(observation);
    return;
  }
  std::mt19937_64 random(task.seed);
  auto order = points;
  for (int repetition = 0; repetition < grid_repetitions; ++repetition) {
    std::shuffle(order.begin(), order.end(), random);
    for (const auto& point : order)
      observe_point(task, point, repetition, observed);
  }
}

} // namespace recount::study
