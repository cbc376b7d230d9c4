#include "check/index.hpp"

namespace recount::check {
namespace {

void state(Trial& trial, const kernel::Proof& proof, const Index& index) {
  for (const auto& known : proof.kernel->expected(proof.point))
    if (known.metric == proof.preset) {
      trial.stated = Stated{known.value, known.below, known.above, known.form};
      return;
    }
  const auto& model = index.of(proof.kernel->name(), proof.point, proof.preset, "model");
  if (model.empty()) {
    trial.unstated = "the model was not run";
  } else if (const auto value = result::as_double(model.begin()->second->value)) {
    trial.stated = Stated{*value, 0, 0, "simulated caches"};
  } else {
    trial.unstated = model.begin()->second->reason;
  }
}

} // namespace

Trial trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t;
  t.preset = metric;
  t.metric = proof.preset;
  t.kernel = proof.kernel->name();
  t.point = proof.point;
  t.tolerance = proof.tolerance;
  const auto& perf = index.of(t.kernel, t.point, metric, "perf");
  const auto& papi = index.of(t.kernel, t.point, metric, "papi");
  std::string otherwise = index.failure(t.kernel, t.point);
  if (otherwise.empty()) otherwise = "not run";
  t.perf = measurement(perf, otherwise);
  t.papi = measurement(papi, otherwise);
  t.differences = differences(perf, papi);
  t.apart = apart(perf);
  state(t, proof, index);
  return t;
}

} // namespace recount::check
