#include "base/nearest.hpp"
#include "model/hierarchy.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

// The model: simulates the accesses of a kernel in a described cache hierarchy. Nothing is measured.
namespace recount::witness {
namespace {

/// Counts of the measuring code, by which a closed form may be off.
constexpr double stray_counts = 100;
/// A sampled value is not stated if its error is a larger share of it.
constexpr double max_error = 0.5;

/// Whether some kernel has a closed form for the metric.
bool has_closed_form(const std::string& metric) {
  return std::ranges::any_of(kernel::all(), [&](const kernel::Kernel* kernel) {
    const auto known = kernel->expected(kernel::complete(*kernel, {}));
    return std::ranges::count(known, metric, &kernel::Expectation::metric) > 0;
  });
}

Reason model_missing(const std::vector<std::string>& metrics) {
  if (std::ranges::any_of(metrics, has_closed_form)) return {}; // needs no caches
  try {
    const auto names = model::metric_names(model::machine("host"));
    if (std::ranges::find_first_of(metrics, names) != metrics.end()) return {};
    return Reason("the model has none of these metrics", {}, "recount-machines(5) lists its metrics");
  } catch (const Error& error) {
    return error.problem();
  }
}

/// A closed form becomes a value if its bounds are narrow, else a reason.
void fill(result::Observation& o, const kernel::Expectation& known) {
  constexpr double narrow = 0.25;
  const double least = known.value - known.below, most = known.value + known.above;
  if (known.below + known.above > narrow * known.value && known.below + known.above > stray_counts) {
    o.reason = fmt::format("only bounds are known: {:.0f} to {:.0f} ({})", least, most, known.form);
    return;
  }
  if (known.value == std::floor(known.value))
    o.value = static_cast<std::int64_t>(known.value);
  else
    o.value = known.value;
}

/// The simulation, run on first use.
class Simulation {
public:
  Simulation(const kernel::Kernel& kernel, const Task& task) : kernel_(kernel), task_(task) {
    try {
      machine_ = model::machine(task.witness.machine());
      if (result::word(task.point, "pagesize") == "huge")
        machine_ = model::with_huge_pages(*std::move(machine_));
      if (machine_->placement) machine_->placement->draw = static_cast<std::uint64_t>(task.repetition);
    } catch (const Error& error) { // without cache sizes of the host, closed forms still hold
      if (error.kind() != ErrorKind::unavailable) throw;
      no_machine_ = error.problem();
    }
  }

  /// The witnesses of one simulation: one per member of a family of machines, else that of the task.
  [[nodiscard]] std::vector<Witness> members() const {
    std::vector<Witness> names;
    if (machine_)
      for (const auto& member : machine_->family)
        names.emplace_back(Witness::model,
                           std::string(model::before_sizes(task_.witness.detail)) + model::to_text(member));
    if (names.empty()) names.push_back(task_.witness);
    return names;
  }

  /// Sets the value of o.metric for a member, or the reason why there is none.
  void fill(result::Observation& o, std::size_t member) {
    if (const std::string reason = kernel_.unsimulated(); !reason.empty()) {
      o.reason = reason + ", and it has no closed form";
      return;
    }
    try {
      if (values_.empty() && no_machine_.empty()) run();
    } catch (const Error& error) { // the machine does not have what the kernel needs
      if (error.kind() != ErrorKind::unavailable) throw;
      no_machine_ = error.problem();
    }
    if (values_.empty()) {
      o.reason = no_machine_;
      return;
    }
    o.accesses = accesses_;
    const auto& values = values_[member];
    if (const auto found = values.find(o.metric); found != values.end())
      take(o, found->second);
    else if (const auto names = model::metric_names(*machine_, true); std::ranges::count(names, o.metric) > 0)
      o.reason = "the kernel does not state its code, so no instruction fetches are simulated";
    else
      o.reason = fmt::format("the model of {} has no such metric; {}", machine_->name,
                             base::did_you_mean(o.metric, names, "recount-machines(5) lists its metrics"));
  }

private:
  /// Whether an error leaves a value open.
  static bool undetermined(std::int64_t value, double error) {
    return error > std::max(stray_counts, max_error * static_cast<double>(value));
  }

  /// A sampled value carries its error.
  void take(result::Observation& o, std::int64_t value) const {
    const auto error = errors_.find(o.metric);
    if (error == errors_.end()) {
      o.value = value;
    } else if (undetermined(value, error->second)) {
      o.reason =
          fmt::format("the samples do not determine it: {} with an error of {:.0f}; without ~sample it "
                      "is counted completely",
                      value, error->second);
    } else {
      o.value = value;
      o.flags.push_back(result::sampled_flag(sampled_percent_, error->second));
    }
  }

  /// Samples that leave the misses of L1 or L2 open are replaced by the complete simulation where it takes
  /// seconds only.
  void run() {
    constexpr std::int64_t max_completed = 4'000'000'000; // accesses: ten seconds
    simulate();
    if (!machine_->family.empty() || accesses_ > max_completed) return;
    for (const char* metric : {"PAPI_L1_DCM", "PAPI_L2_DCM"})
      if (const auto error = errors_.find(metric); error != errors_.end() &&
                                                   std::ranges::count(task_.metrics, metric) > 0 &&
                                                   undetermined(values_.front().at(metric), error->second)) {
        machine_->sampled = false;
        values_.clear();
        return simulate();
      }
  }

  void simulate() {
    model::Hierarchy caches(model::enough_for(*machine_, task_.metrics));
    caches.progress.listener = task_.progress;
    accesses_ = kernel_.simulate_warm(task_.point, caches); // as the measured region is
    for (const auto& member : machine_->family)
      values_.push_back(model::metrics(caches, member));
    errors_ = model::sampling_errors(caches);
    if (const auto& sampling = caches.sampling)
      sampled_percent_ =
          100 * static_cast<double>(sampling->counted) / static_cast<double>(sampling->accesses);
    if (values_.empty()) values_.push_back(model::metrics(caches));
  }

  const kernel::Kernel& kernel_;
  const Task& task_;
  std::optional<model::MachineDescription> machine_;
  Reason no_machine_;                                       ///< why there is none
  std::vector<std::map<std::string, std::int64_t>> values_; ///< of each member
  std::map<std::string, double> errors_;                    ///< of sampled values
  double sampled_percent_ = 100;
  std::int64_t accesses_ = 0;
};

std::vector<result::Observation> observe_model(const kernel::Kernel& kernel, kernel::Instance*,
                                               const Task& task) {
  Simulation simulation(kernel, task);
  const auto known = kernel.expected(task.point);
  std::vector<result::Observation> all;
  const auto members = simulation.members();
  for (std::size_t member = 0; member < members.size(); ++member)
    for (const auto& metric : task.metrics) {
      auto& o = all.emplace_back(blank_observation(task, metric));
      o.witness = members[member];
      const auto found = std::ranges::find(known, metric, &kernel::Expectation::metric);
      // A simulation is exact; closed forms of instructions are bounds for any cache.
      const bool bounded = found != known.end() && found->below + found->above > 0;
      const bool simulated = found == known.end() || (kernel.fetches() && bounded);
      if (simulated) simulation.fill(o, member);
      if (found == known.end() || (simulated && o.reason.empty())) continue;
      o.reason = {};
      fill(o, *found);
    }
  return all;
}

} // namespace

Backend model_witness() {
  return {Witness::model, "cache simulation of this machine or a described one",
          false,          {"PAPI_L1_DCM", "PAPI_L2_DCM"},
          is_counter,     model_missing,
          observe_model};
}

} // namespace recount::witness
