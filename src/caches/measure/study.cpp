#include "caches/measure/study.hpp"

#include "base/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "caches/infer/record_sampler.hpp"
#include "caches/measure/model_sampler.hpp"
#include "caches/measure/native_sampler.hpp"
#include "model/machine.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "recount/error.hpp"
#include "witness/backend.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>

namespace recount {

void from_json(const nlohmann::json& json, Witness& witness) {
  witness = Witness(json.get<std::string>());
}

namespace caches {

// What goes through the pipes between recount caches and its measuring process: a request in JSON; then lines
// of JSON, each an observation or {"stage": NAME}.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CachesTask, witness, metrics, most_bytes, seed, patient, grid)

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::size_t longest_request = 1 << 16;

CachesTask read_request(int fd) {
  try {
    return nlohmann::json::parse(base::read_all(fd, longest_request).value_or("")).get<CachesTask>();
  } catch (const Json::exception&) {
    throw bad_input("caches-worker", "stdin has no request of recount caches",
                    "run recount caches, which starts this command itself");
  }
}

void forward_line(std::string_view line, const std::string& run, const CachesListener& listener) {
  if (line.starts_with(R"({"stage":)")) {
    if (listener.stage) listener.stage(Json::parse(line).at("stage").get<std::string>());
    return;
  }
  auto parsed = result::parse_line(line, "the measuring process");
  auto* observation = std::get_if<result::Observation>(&parsed);
  if (observation == nullptr)
    throw bad_input("the measuring process", "wrote something other than observations");
  observation->run = run;
  if (listener.observation) listener.observation(*observation);
}

void forward(const std::string& lines, const std::string& run, const CachesListener& listener) {
  std::size_t at = 0;
  for (std::size_t end = 0; (end = lines.find('\n', at)) != std::string::npos; at = end + 1)
    forward_line(std::string_view(lines).substr(at, end - at), run, listener);
}

std::int64_t largest_private(const Caches& found) {
  double largest = 0;
  for (const auto& level : found.levels)
    if (level.capacity.value && !level.effective && level.name != "L3")
      largest = std::max(largest, *level.capacity.value);
  return static_cast<std::int64_t>(largest);
}

/// When a measurement ends, and when no repetition starts any more, because it would exceed that.
struct TimeLimits {
  std::chrono::seconds cpu, elapsed, repeat_cpu, repeat_elapsed;
};
constexpr TimeLimits usual_limits{std::chrono::seconds(9), std::chrono::seconds(25), std::chrono::seconds(6),
                                  std::chrono::seconds(17)},
    patient_limits{std::chrono::seconds(115), std::chrono::seconds(115), std::chrono::seconds(100),
                   std::chrono::seconds(100)};

/// Other users of the core work for seconds; a patient measurement waits that long between its attempts.
constexpr std::chrono::seconds until_others_end(5);

/// Infers, again with more readings where noise hid something.
Caches infer_patiently(NativeSampler& sampler, bool patient, const TimeLimits& limits,
                       const StageCallback& stage) {
  Caches found = infer_caches(sampler, stage);
  for (std::uint64_t before = 0; sampler.cpu_time() < limits.repeat_cpu &&
                                 sampler.elapsed() < limits.repeat_elapsed && sampler.measured() > before;) {
    before = sampler.measured();
    const bool first = !needs_more_readings(found, Wanted::first_level),
               two_levels = !needs_more_readings(found, Wanted::two_levels),
               all = !needs_more_readings(found, Wanted::everything);
    if (all || (two_levels && !patient)) break;
    if (patient && found.levels.front().effective) std::this_thread::sleep_for(until_others_end);
    if (!first || patient) sampler.repeat_measurements();
    if (!two_levels || patient) sampler.search_again();
    found = infer_caches(sampler, stage);
  }
  return found;
}

} // namespace

std::vector<std::string> miss_metrics(const Witness& witness) {
  std::vector<std::string> metrics;
  const auto& by = witness::find(witness);
  for (std::size_t level = 0; level < 2; ++level) {
    const std::string metric = miss_metric(level);
    if (!by.provides(metric) || !by.missing({metric}).empty()) break;
    metrics.push_back(metric);
  }
  return metrics;
}

Abilities caches_abilities(const CachesTask& task) {
  if (task.witness.modelled())
    return ModelSampler::abilities_for(model::machine(task.witness.machine()), task.witness, task.most_bytes);
  return NativeSampler::abilities_for(task.witness, task.metrics.size(), task.most_bytes);
}

Caches model_caches(const CachesTask& task, const std::string& run, const CachesListener& listener) {
  const auto observed = [&](result::Observation o) {
    o.run = run;
    if (listener.observation) listener.observation(o);
  };
  ModelSampler sampler(model::machine(task.witness.machine()), task.witness, task.most_bytes, observed);
  Caches found = infer_caches(sampler, listener.stage);
  if (!task.grid) return found;
  if (listener.stage) listener.stage("grid");
  take_grid(task, grid_points(largest_private(found), true), observed);
  return found;
}

bool take_readings(const CachesTask& task, const std::string& run, const CachesListener& listener,
                   const std::vector<std::string>& program, std::chrono::seconds limit) {
  process::Spawn spawn;
  spawn.argv = program;
  spawn.cpu = task.cpu;
  spawn.fixed_addresses = true;
  const auto deadline = SteadyClock::now() + limit;
  spawn.core_dump = false;
  process::Worker worker = process::start_worker(spawn, nlohmann::json(task).dump());
  while (worker.open()) {
    if (listener.stop && listener.stop()) return false;
    if (SteadyClock::now() > deadline)
      throw unavailable("recount caches", fmt::format("time-out after {} s", limit.count()), {},
                        "try again when the machine is less busy");
    worker.read(100);
    forward(worker.lines(), run, listener);
  }
  const process::Exit exit = worker.child().wait(std::chrono::seconds(5));
  if (exit.ok()) return true;
  const std::string words(worker.last_words());
  throw unavailable("recount caches", "the measuring process ended: " + describe(exit) +
                                          (words.empty() ? "" : "; its last output: " + words));
}

int serve_caches(int in, int out) {
  const auto write_line = [out](const std::string& line) {
    if (!process::write_all(out, line + '\n')) ::_exit(3); // the parent is gone
  };
  const CachesTask task = read_request(in);
  const auto observed = [&](const result::Observation& o) { write_line(result::to_line(o)); };
  const auto stage = [&](const std::string& name) { write_line(Json{{"stage", name}}.dump()); };
  const TimeLimits& limits = task.patient ? patient_limits : usual_limits;
  NativeSampler sampler(
      {task.witness, task.metrics, task.most_bytes, task.seed, limits.cpu, limits.elapsed, observed});
  const Caches found = infer_patiently(sampler, task.patient, limits, stage);
  sampler.record_colours();
  if (task.grid) {
    stage("grid");
    take_grid(task, grid_points(largest_private(found), false), observed);
  }
  return 0;
}

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
  std::vector<Witness> witnesses{Witness::clock};
  if (!task.metrics.empty()) witnesses.push_back(task.witness);
  for (const auto& name : witnesses) {
    const auto& witness = witness::find(name);
    auto metrics = name == Witness::clock ? std::vector<std::string>{"seconds"} : task.metrics;
    if (name != Witness::clock && witness.provides(grid_cycles) && witness.missing({grid_cycles}).empty())
      metrics.emplace_back(grid_cycles);
    for (const auto& observation : witness.observe(
             kernel, instance.get(), {"", kernel.name(), point.params, repetition, name, metrics}))
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
  if (task.witness.modelled()) {
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

} // namespace caches

} // namespace recount
