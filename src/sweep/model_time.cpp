#include "sweep/model_time.hpp"

#include "model/machine.hpp"
#include "sweep/session.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace recount::sweep {
namespace {

constexpr double start_of_a_process = 0.03; ///< seconds

/// Nanoseconds of an element that is visited once, without and with TLBs.
struct VisitTime {
  std::string_view kernel;
  double bare, walking;
};
/// Measured on a virtual machine of two cores with model:i7-9700~no-tlb and model:i7-9700, arrays of 32 to
/// 256 MiB. A random order takes longest: the order itself does not fit the caches of the machine that
/// simulates.
constexpr std::array visit_times{VisitTime{"stride", 25, 25}, VisitTime{"scatter", 23, 60},
                                 VisitTime{"chase", 110, 140}, VisitTime{"visit", 110, 140},
                                 VisitTime{"code", 25, 45}};

/// Passes that are simulated, twice, before the state of deterministic caches recurs: see model::repeat().
constexpr double passes_to_recur = 3;

double whole(const result::Params& point, const std::string& name, double otherwise) {
  const auto number = result::integer(point, name);
  return number ? static_cast<double>(*number) : otherwise;
}

/// Of kernels that pass over their elements again and again: stride, chase, scatter, visit, code.
double passes_seconds(const Job& job, const model::MachineDescription& machine) {
  const auto& point = job.point;
  const double stride = whole(point, "stride", 1), size = whole(point, "size", 0);
  const double pairs = whole(point, "pair", 0) > 0 ? 2 : 1;
  const double elements = size > 0 ? size / stride : whole(point, "count", 0) * pairs;
  if (job.kernel == "sharing") return 1e-5; // its few accesses recur
  double passes = whole(point, "rounds", 0) * stride + whole(point, "passes", 0);
  if (std::ranges::none_of(machine.levels,
                           [](const auto& level) { return level.policy == model::Policy::random; }))
    passes = std::min(passes, passes_to_recur);
  const auto* const time = std::ranges::find(visit_times, job.kernel, &VisitTime::kernel);
  if (time == visit_times.end()) return 0;
  return 2e-9 * elements * passes * (machine.tlb ? time->walking : time->bare);
}

} // namespace

bool prefetches(const model::MachineDescription& machine) {
  return std::ranges::any_of(machine.levels, [](const auto& level) { return !level.prefetch.empty(); });
}

double simulated_seconds(const Job& job) {
  if (job.kernel == "matmul") return matmul_simulated_seconds(job);
  if (job.kernel == "nest") return nest_simulated_seconds(job);
  if (!kernel::find_configured(job.kernel, job.point).unsimulated().empty()) return 0;
  try {
    return passes_seconds(job, model::machine(witness::modelled_machine(job.witness)));
  } catch (const Error& error) { // this machine states no caches: nothing is simulated
    if (error.kind() != ErrorKind::unavailable) throw;
    return 0;
  }
}

double model_seconds(const std::vector<Job>& jobs, int parallel) {
  double sum = 0, longest = 0; // a point is simulated by one process
  for (const auto& job : jobs) {
    if (witness::find(job.witness).native) continue;
    const double seconds = start_of_a_process + simulated_seconds(job);
    sum += seconds;
    longest = std::max(longest, seconds);
  }
  return std::max(longest, sum / std::max(1, parallel));
}

} // namespace recount::sweep
