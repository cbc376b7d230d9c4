#include "run/witness/backend.hpp"

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "model/machine.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <array>

namespace recount::witness {

std::span<const Backend> all() {
  static const std::array<Backend, 4> table{clock_witness(), perf_witness(), papi_witness(), model_witness()};
  return table;
}

const Backend& find(const Witness& witness) {
  static const Backend both = both_witness();
  if (witness.kind == both.kind) return both;
  for (const auto& backend : all())
    if (backend.kind == witness.kind) return backend;
  const std::string name = witness.name();
  throw bad_input(
      "--witness " + name, "no such witness",
      base::did_you_mean(
          name.substr(0, name.find(':')), {"both", "clock", "perf", "papi", "model"},
          "the witnesses are clock, perf, papi, both (of these two), model (this machine) and model:NAME"));
}

std::vector<Witness> Backend::recorded_witnesses(const Witness& requested) const {
  if (!recorded_as.empty()) return recorded_as;
  if (!requested.described_machine()) return {requested};
  return base::mapped(model::member_names(requested.detail),
                      [](const std::string& member) { return Witness(Witness::model, member); });
}

bool Backend::could_record(const result::Observation& o, int repetition, const Witness& requested) const {
  // A family's members differ in what follows; which they are takes reading its description.
  const std::string_view family = model::before_sizes(requested.detail);
  const bool named = !recorded_as.empty()
                         ? std::ranges::find(recorded_as, o.witness) != recorded_as.end()
                         : o.witness == requested || (o.witness.kind == requested.kind && !family.empty() &&
                                                      o.witness.detail.starts_with(family));
  return named && o.repetition >= 0 && o.repetition / passes == repetition;
}

result::Observation blank_observation(const Task& task, const std::string& metric) {
  result::Observation observation;
  observation.run = task.run;
  observation.kernel = task.kernel;
  observation.params = task.point;
  observation.repetition = task.repetition;
  observation.witness = task.witness;
  observation.metric = metric;
  return observation;
}

} // namespace recount::witness
