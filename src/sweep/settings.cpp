#include "result/observation.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/shard.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::sweep {
namespace {

std::string text(const Axis& axis) {
  std::string all;
  for (const auto& value : axis.values) {
    if (!all.empty()) all += ',';
    all += result::text(value);
  }
  return all;
}

/// Long lists are shortened in the middle.
std::string brief(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 28) + "..." + text.substr(text.size() - 28);
}

} // namespace

std::map<std::string, std::string> settings(const Plan& plan) {
  std::map<std::string, std::string> all;
  all["kernel"] = plan.kernel;
  for (const auto& axis : plan.axes)
    all["--" + axis.name] = text(axis);
  for (std::size_t i = 0; i < plan.conditions.size(); ++i)
    all[i == 0 ? "where" : fmt::format("where {}", i + 1)] = plan.conditions[i].text;
  all["witness"] = fmt::format("{}", fmt::join(plan.witnesses, ","));
  if (!plan.metrics.empty()) all["metric"] = fmt::format("{}", fmt::join(plan.metrics, ","));
  all["repeat"] = std::to_string(plan.repeat);
  add_modes(all, plan.modes);
  return all;
}

std::string difference(const std::map<std::string, std::string>& theirs,
                       const std::map<std::string, std::string>& ours) {
  for (const auto& [name, value] : theirs) {
    if (name == shard_setting) continue; // parts of one plan share a file
    const auto mine = ours.find(name);
    if (mine == ours.end())
      return fmt::format("{} was {} in the file and is not given now", name, brief(value));
    if (mine->second != value)
      return fmt::format("{} was {} in the file and is {} now", name, brief(value), brief(mine->second));
  }
  for (const auto& [name, value] : ours)
    if (!theirs.contains(name) && name != shard_setting)
      return fmt::format("{} is {} now and was not given in the file", name, brief(value));
  return {};
}

} // namespace recount::sweep
