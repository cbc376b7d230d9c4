#include "witness/known.hpp"

#include "base/nearest.hpp"
#include "event/encode.hpp"
#include "event/sysfs.hpp"
#include "model/metrics.hpp"
#include "preset/document.hpp"
#include "preset/standard.hpp"
#include "witness/counting.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::witness {
namespace {

/// Those of PAPI itself and those of the tables that it reads here.
std::vector<std::string> preset_names() {
  std::vector<std::string> names = presets_here();
  for (const auto& standard : preset::standard_presets())
    names.emplace_back(standard.name);
  return names;
}

/// Of a machine of two cores, with more levels than any real one, sectors, all prefetchers and caches of
/// instructions, so that missing ones are known names.
const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    constexpr std::size_t most_levels = 8;
    model::MachineDescription machine;
    machine.cores = 2;
    machine.levels.resize(most_levels);
    for (model::LevelDescription& level : machine.levels) {
      level.sector = 1;
      for (std::size_t kind = 0; kind < model::prefetch_kinds; ++kind)
        level.prefetch.push_back({static_cast<model::Prefetch>(kind)});
    }
    machine.tlb.emplace().levels.resize(most_levels);
    machine.instructions.emplace().tlb.resize(most_levels);
    return model::metric_names(machine, true);
  }();
  return names;
}

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::any_of(names, [&](const auto& known) { return preset::same_word(known, name); });
}

} // namespace

void demand_known(const std::string& metric, const std::vector<std::string>& also) {
  if (!counter_name(metric)) return;                   // a time
  if (metric.find(":::") != std::string::npos) return; // of a component of PAPI, which alone knows its names
  const std::string name = metric.substr(0, metric.find(':')); // without qualifiers
  if (preset::standard_preset(name) || among(also, metric)) return;
  if (metric.starts_with("MODEL_")) {
    if (among(model_names(), metric)) return;
    throw bad_input(metric, "no such metric",
                    base::did_you_mean(metric, model_names(), "recount-machines(5) lists the model's"));
  }
  if (metric.starts_with("PAPI_")) {
    const auto known = preset_names();
    if (among(known, name) || among(model_names(), metric)) return;
    throw bad_input(metric, "no such preset", base::did_you_mean(name, known, "recount presets lists them"));
  }
  if (among(presets_here(), metric)) return; // a user event
  try {
    static_cast<void>(encode_each(metric));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) return;
    Problem problem = error.problem();
    std::vector<std::string> others = also;
    for (auto& preset : preset_names())
      others.push_back(std::move(preset));
    auto near = base::nearest(metric, others);
    if (near.empty()) throw;
    for (auto& event : event::suggestions(metric, event::pmus()))
      near.push_back(std::move(event));
    problem.remedy = base::did_you_mean(near);
    throw Error(error.kind(), problem);
  }
}

} // namespace recount::witness
