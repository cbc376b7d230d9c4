#include "witness/witness.hpp"
#include "base/nearest.hpp"

#include "model/machine.hpp"

#include <algorithm>
#include <array>
#include <recount/error.hpp>

namespace recount::witness {

std::span<const Witness> all() {
  static const std::array<Witness, 4> table{clock_witness(), perf_witness(), papi_witness(), model_witness()};
  return table;
}

const Witness& find(const std::string& name) {
  const std::string kind = name.substr(0, name.find(':'));
  const bool plain = kind == name;
  static const Witness both = both_witness();
  if (name == both.name) return both;
  std::vector<std::string> names{both.name};
  for (const auto& witness : all()) {
    if (witness.name == kind && (plain || kind == "model")) return witness;
    names.push_back(witness.name);
  }
  throw bad_input(
      "--witness " + name, "no such witness",
      base::did_you_mean(
          kind, names,
          "the witnesses are clock, perf, papi, both (of these two), model (this machine) and model:NAME"));
}

std::vector<std::string> Witness::names(const std::string& requested) const {
  if (!voices.empty()) return voices;
  const std::size_t colon = requested.find(':');
  if (colon == requested.npos) return {requested};
  std::vector<std::string> all;
  for (const auto& member : model::member_names(requested.substr(colon + 1)))
    all.push_back(requested.substr(0, colon + 1) + member);
  return all;
}

bool Witness::gave(const result::Observation& o, int repetition, const std::string& requested) const {
  // A family's members differ in what follows; which they are takes reading its description.
  const std::string_view family = model::before_sizes(requested);
  const bool named = !voices.empty()
                         ? std::find(voices.begin(), voices.end(), o.witness) != voices.end()
                         : o.witness == requested || (!family.empty() && o.witness.starts_with(family));
  return named && o.repetition >= 0 && o.repetition / passes == repetition;
}

result::Observation blank(const Task& task, const std::string& metric) {
  result::Observation observation;
  observation.run = task.run;
  observation.kernel = task.kernel;
  observation.params = task.point;
  observation.repetition = task.repetition;
  observation.witness = task.witness;
  observation.metric = metric;
  return observation;
}

std::string modelled_machine(const std::string& witness) {
  return witness == "model" ? "host" : witness.substr(witness.find(':') + 1);
}

} // namespace recount::witness
