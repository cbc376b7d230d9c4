// How long a matrix study will take: small products are timed, large ones scaled; simulated ones are in a
// table.
#include "kernel/kernel.hpp"
#include "matmul/study.hpp"
#include "sweep/model_time.hpp"
#include "witness/stopwatch.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <map>

namespace recount::matmul {
namespace {

constexpr std::int64_t probe_size = 160; ///< its matrices fit every second-level cache
constexpr double start_of_a_run = 0.03;  ///< seconds: a process, memory, a corner multiplied
constexpr double library_step = 5e-11;   ///< seconds a step of dgemm
constexpr double command_start = 0.2;
constexpr double longest = 9e9; ///< seconds: more are not value apart, and hardly fit into nanoseconds

std::string word(const result::Params& point, const std::string& name) {
  const auto found = point.find(name);
  const auto* const text = found == point.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

double whole(const result::Params& point, const std::string& name) {
  return static_cast<double>(result::integer(point, name).value_or(0));
}

double steps(const result::Params& point) {
  const double n = whole(point, "n");
  return n * n * n;
}

/// Loops along a column slow down once it outgrows the caches and the TLB; those along rows hardly do.
double growth(const std::string& variant, double n) {
  if (variant == "ijk" || variant == "ijk-mem") return n > 1500 ? 6 : n > 500 ? 2.5 : 1;
  return n > 1500 ? 1.5 : 1;
}

std::string kernel_of(const sweep::Job& job) {
  return job.kernel == "external" ? "matmul" : job.kernel;
}

std::string loops(const sweep::Job& job) {
  return kernel_of(job) + " " + word(job.point, "variant") + " " + word(job.point, "element");
}

class Estimate {
public:
  explicit Estimate(const StepTime& step_time) : step_time_(step_time) {}

  /// Of a timed job.
  double seconds(const sweep::Job& job) {
    if (job.kernel == "bandwidth" || job.kernel == "peak") return 0.3;
    const bool command = job.kernel == "external";
    const double n = whole(job.point, "n");
    const double each =
        job.kernel == "dgemm" ? library_step : step(job) * growth(word(job.point, "variant"), n);
    return start_of_a_run + steps(job.point) * each * (command ? 1.5 : 1) + (command ? command_start : 0);
  }

private:
  /// Asked once for each kind of loops.
  double step(const sweep::Job& job) {
    const auto [place, fresh] = steps_.try_emplace(loops(job), 0.0);
    if (fresh) place->second = step_time_(job);
    return place->second;
  }

  const StepTime& step_time_;
  std::map<std::string, double> steps_;
};

} // namespace

double time_a_step(const sweep::Job& job) {
  try {
    const std::string element = word(job.point, "element");
    const auto instance = kernel::find(kernel_of(job))
                              .prepare({{"variant", word(job.point, "variant")},
                                        {"element", element.empty() ? "f64" : element},
                                        {"n", probe_size}});
    instance->warm();
    const auto lapse = witness::lapse(instance->region());
    return static_cast<double>(lapse.ns) / 1e9 / (static_cast<double>(probe_size) * probe_size * probe_size);
  } catch (const Error&) { // the run itself will report the error
    return 1e-9;
  }
}

std::chrono::nanoseconds estimate_matmul(const std::vector<sweep::Job>& jobs, int parallel,
                                         const StepTime& step_time) {
  Estimate estimate(step_time);
  double seconds = model_seconds(jobs, parallel);
  for (const auto& job : jobs)
    if (witness::find(job.witness).native) seconds += estimate.seconds(job);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * std::min(seconds, longest)));
}

} // namespace recount::matmul
