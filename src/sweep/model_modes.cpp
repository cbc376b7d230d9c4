#include "sweep/model_modes.hpp"

#include "base/nearest.hpp"
#include "kernel/matmul/matmul.hpp"
#include "kernel/nest/nest_kernel.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "witness/backend.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace recount::sweep {
namespace {

constexpr double longest_complete = 1; ///< seconds of a simulation that is not sampled by default

const std::vector<std::string> sample_words{"auto", "always", "never"};

bool wants_samples(const Job& job, const ModelModes& modes) {
  const bool nest = job.kernel == "matmul" || job.kernel == "nest";
  if (!nest || modes.sample == ModelModes::Sample::never) return false;
  return modes.sample == ModelModes::Sample::always || simulated_seconds(job) > longest_complete;
}

} // namespace

ModelModes parse_modes(const std::string& sample, long draws) {
  ModelModes modes;
  modes.draws = static_cast<int>(draws);
  if (sample.empty()) return modes;
  const auto word = std::ranges::find(sample_words, sample);
  if (word == sample_words.end())
    throw bad_input("--sample " + sample, "unknown word", base::did_you_mean_or_all(sample, sample_words));
  modes.sample = static_cast<ModelModes::Sample>(word - sample_words.begin());
  return modes;
}

std::vector<Job> modelled_jobs(const Job& job, const ModelModes& modes) {
  if (witness::find(job.witness).native) return {job};
  const std::string name = job.witness.machine();
  model::MachineDescription machine;
  try {
    machine = model::enough_for(model::machine(name), job.metrics);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return {job}; // closed forms only
  }
  if (!machine.family.empty()) return {job};
  const bool drawn = modes.draws > 0 && model::depends_on_placement(machine) &&
                     kernel::find_configured(job.kernel, job.point).unsimulated().empty();
  Job one = job;
  if (drawn && !machine.placement) one.witness.detail = name + "~placement=any";
  if (!machine.sampled && wants_samples(one, modes)) one.witness.detail = one.witness.machine() + "~sample";
  std::vector<Job> all(drawn ? static_cast<std::size_t>(modes.draws) : 1, one);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].repetition = static_cast<int>(i);
  return all;
}

void add_modes(std::map<std::string, std::string>& settings, const ModelModes& modes) {
  if (modes.sample != ModelModes::Sample::automatic)
    settings["--sample"] = sample_words[static_cast<std::size_t>(modes.sample)];
  if (modes.draws > 0) settings["--draws"] = std::to_string(modes.draws);
}

namespace {

constexpr double start_of_a_process = 0.03; ///< seconds

/// Nanoseconds of an element or of an access: without and with TLBs, and with prefetchers, where every access
/// is simulated in full.
struct SimulationTime {
  double bare, walking, watched;
  [[nodiscard]] double on(const model::MachineDescription& machine) const {
    if (std::ranges::any_of(machine.levels, [](const auto& level) { return !level.prefetch.empty(); }))
      return watched;
    return machine.tlb ? walking : bare;
  }
};

struct VisitTime {
  std::string_view kernel;
  SimulationTime element; ///< visited once
};
/// Measured on a virtual machine of two cores with model:i7-9700~no-tlb and model:i7-9700, arrays of 32 to
/// 256 MiB. A random order takes longest: the order itself does not fit the caches of the machine that
/// simulates.
constexpr std::array visit_times{VisitTime{"stride", {25, 25, 25}}, VisitTime{"scatter", {23, 60, 60}},
                                 VisitTime{"chase", {110, 140, 140}}, VisitTime{"visit", {110, 140, 140}},
                                 VisitTime{"code", {25, 45, 45}}};

/// Passes that are simulated, twice, before the state of deterministic caches recurs: see model::repeat().
constexpr double passes_to_recur = 3;

double number_or(const result::Params& point, const std::string& name, double otherwise) {
  const auto number = result::integer(point, name);
  return number ? static_cast<double>(*number) : otherwise;
}

/// Of kernels that pass over their elements repeatedly: stride, chase, scatter, visit, code.
double passes_seconds(const Job& job, const model::MachineDescription& machine) {
  const auto& point = job.point;
  const double stride = number_or(point, "stride", 1), size = number_or(point, "size", 0);
  const double pairs = number_or(point, "pair", 0) > 0 ? 2 : 1;
  const double elements = size > 0 ? size / stride : number_or(point, "count", 0) * pairs;
  if (job.kernel == "sharing") return 1e-5; // its few accesses recur
  double passes = number_or(point, "rounds", 0) * stride + number_or(point, "passes", 0);
  if (std::ranges::none_of(machine.levels,
                           [](const auto& level) { return level.policy == model::Policy::random; }))
    passes = std::min(passes, passes_to_recur);
  const auto* const time = std::ranges::find(visit_times, job.kernel, &VisitTime::kernel);
  return time == visit_times.end() ? 0 : 2e-9 * elements * passes * time->element.on(machine);
}

using Variant = kernel::MatmulPoint::Variant;
struct ProductTime {
  Variant variant;
  SimulationTime step; ///< of n^3, in both passes
};
/// Measured on a virtual machine of two EPYC cores with AVX-512, model:i7-9700~no-tlb and model:i7-9700, n =
/// 600 and 1000; with prefetchers model:i7-9700-prefetch, n = 240.
constexpr std::array product_times{
    ProductTime{Variant::ijk, {8, 22, 370}}, ProductTime{Variant::ijk_mem, {10, 25, 530}},
    ProductTime{Variant::ikj, {4, 8, 230}}, ProductTime{Variant::transposed, {5, 10, 290}},
    ProductTime{Variant::blocked, {5, 9, 230}}};
/// Of an access of a nest, in both passes, along rows and in columns.
constexpr SimulationTime row_access{2.2, 2.2, 75}, column_access{16, 24, 295};

/// The share of a nest that is simulated in samples: at most five windows each, a window being a turn of an
/// outer loop.
double sampled_share(double accesses) {
  constexpr double least_window = 2e5, most_window = 5e7, windows = 30;
  return std::min(1.0,
                  windows * std::clamp(std::pow(accesses, 2.0 / 3), least_window, most_window) / accesses);
}

double product_seconds(const Job& job, const model::MachineDescription& machine) {
  const auto at = kernel::matmul_point(kernel::find(job.kernel), job.point);
  const auto* const time = std::ranges::find(product_times, at.variant, &ProductTime::variant);
  const double n = static_cast<double>(at.n), steps = n * n * n;
  return 1e-9 * steps * time->step.on(machine) * (machine.sampled ? sampled_share(2 * steps) : 1);
}

double nest_seconds(const Job& job, const model::MachineDescription& machine) {
  const auto& kernel = kernel::find_configured(job.kernel, job.point);
  const nest::Estimate work = dynamic_cast<const kernel::NestKernel&>(kernel).at(job.point).estimate();
  return 1e-9 *
         (row_access.on(machine) * (work.accesses - work.in_columns) +
          column_access.on(machine) * work.in_columns) *
         (machine.sampled ? sampled_share(work.accesses) : 1);
}

} // namespace

double simulated_seconds(const Job& job) {
  const bool product = job.kernel == "matmul", nest = job.kernel == "nest";
  if (!product && !nest && !kernel::find_configured(job.kernel, job.point).unsimulated().empty()) return 0;
  try {
    const model::MachineDescription machine = model::machine(job.witness.machine());
    if (!product && !nest) return passes_seconds(job, machine);
    const auto enough = model::enough_for(machine, job.metrics);
    return product ? product_seconds(job, enough) : nest_seconds(job, enough);
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
