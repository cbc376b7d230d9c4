#include "check/index.hpp"
#include "check/invariants.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::check {
namespace {

Trial counts_of(const std::string& metric, const std::string& preset, const kernel::Kernel& kernel,
                const result::Params& point, const Index& index) {
  Trial t;
  t.preset = metric;
  t.metric = preset;
  t.kernel = kernel.name();
  t.point = point;
  const auto& perf = index.of(t.kernel, t.point, metric, "perf");
  const auto& papi = index.of(t.kernel, t.point, metric, "papi");
  std::string otherwise = index.failure(t.kernel, t.point);
  if (otherwise.empty()) otherwise = "not run";
  t.perf = measurement(perf, otherwise);
  t.papi = measurement(papi, otherwise);
  t.differences = differences(perf, papi);
  t.apart = apart(perf);
  return t;
}

double accesses_of(const Index::Series& series) {
  for (const auto& [repetition, o] : series)
    if (o->accesses) return static_cast<double>(*o->accesses);
  return 0;
}

} // namespace

std::optional<Stated> stated_at(const std::string& preset, const kernel::Kernel& kernel,
                                const result::Params& point, const Index& index, std::string& unstated) {
  for (const auto& known : index.expected(kernel, point))
    if (known.metric == preset) return Stated{known.value, known.below, known.above, known.form};
  const auto& model = index.of(kernel.name(), point, preset, "model");
  if (model.empty()) {
    unstated = "the model was not run";
  } else if (const auto value = result::as_double(model.begin()->second->value)) {
    return Stated{*value, 0, 0, "simulated caches"};
  } else {
    unstated = model.begin()->second->reason;
  }
  return {};
}

Trial trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = counts_of(metric, proof.preset, *proof.kernel, proof.point, index);
  t.tolerance = proof.tolerance;
  t.stated = stated_at(proof.preset, *proof.kernel, proof.point, index, t.unstated);
  return t;
}

Trial side_trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = trial_of(metric, proof, index);
  if (!t.stated) return t;
  double stray = stray_occurrences;
  if (const auto& model = index.of(t.kernel, t.point, t.metric, "model"); !model.empty())
    stray += t.tolerance * accesses_of(index.of(t.kernel, t.point, metric, "perf"));
  t.stated->below = std::min(std::max(t.stated->below, stray), std::max(t.stated->value, t.stated->below));
  t.stated->above = std::max(t.stated->above, stray);
  return t;
}

Trial trial_of(const std::string& metric, const kernel::Relation& relation, const Index& index) {
  Trial t = counts_of(metric, relation.preset, *relation.kernel, relation.point, index);
  t.relative = true;
  const auto& base = index.of(relation.base_kernel->name(), relation.base_point, metric, "perf");
  const auto counted = statistics::estimate(measurement(base, "not run").values);
  if (!counted) {
    t.unstated = "no count at the point to compare with";
    return t;
  }
  const double unit = std::max(counted->median, 0.0);
  const double least = relation.least * unit, most = relation.most * unit + stray_occurrences;
  const double middle = (least + most) / 2;
  t.stated =
      Stated{middle, middle - least, most - middle,
             fmt::format("{:g} to {:g} times the count in {} {}: {}", relation.least, relation.most,
                         relation.base_kernel->name(), result::describe(relation.base_point), relation.why)};
  return t;
}

} // namespace recount::check
