#include "base/json.hpp"
#include "result/job_fields.hpp"
#include "result/observation.hpp"

#include <cmath>

namespace recount::result {
namespace {

std::string text(const Json& json) {
  return dumped(json);
}

Json json(const Params& params) {
  Json object = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

Json json(const CacheNote& cache) {
  return {{"level", cache.level}, {"size", cache.size}, {"line", cache.line}, {"ways", cache.ways}};
}

/// What observations, failures and sections share.
template <class Line>
Json start(const char* type, const Line& line) {
  const std::string& run = line.run;
  Json object{{"type", type}, {"run", run}, {"kernel", line.kernel}};
  object["params"] = json(line.params);
  object["repetition"] = line.repetition;
  if constexpr (requires { line.witness; }) object["witness"] = line.witness;
  return object;
}

/// JSON has no infinities: such a value is no value.
std::string unusable(const Number& value) {
  const auto* real = std::get_if<double>(&value);
  return real && !std::isfinite(*real) ? "the value is not a finite number" : "";
}

} // namespace

std::string params_json(const Params& params) {
  return text(json(params));
}

std::string to_line(const Run& run) {
  Json object{{"type", "run"}, {"schema", schema}, {"run", run.id}, {"started", run.started}};
  object["host"] = run.host;
  std::map<std::string, std::string> versions = run.versions;
  for (const char* name : job_fields)
    if (const auto stated = versions.extract(name)) object[name] = stated.mapped();
  object["cpu"] = run.cpu;
  object["cpus"] = run.cpus;
  object["caches"] = Json::array();
  for (const auto& cache : run.caches)
    object["caches"].push_back(json(cache));
  object["governor"] = run.governor.empty() ? Json() : Json(run.governor);
  object["os"] = run.os;
  object["virtualised"] = run.virtualised.empty() ? Json() : Json(run.virtualised);
  object["versions"] = versions;
  object["command"] = run.command;
  object["seed"] = run.seed;
  object["plan"] = run.plan;
  if (run.runs_planned > 0) object["runs_planned"] = run.runs_planned;
  if (!run.planned.empty()) object["planned"] = run.planned;
  if (!run.presets.empty()) object["presets"] = run.presets;
  if (!run.verdicts.empty()) object["verdicts"] = run.verdicts;
  if (!run.skipped.empty()) object["skipped"] = run.skipped;
  if (!run.resumes.empty()) object["resumes"] = run.resumes;
  return text(object);
}

std::string to_line(const Observation& observation) {
  Json object = start("observation", observation);
  object["metric"] = observation.metric;
  std::string reason = observation.reason;
  if (const auto* whole = std::get_if<std::int64_t>(&observation.value)) {
    object["value"] = *whole;
  } else if (const auto* real = std::get_if<double>(&observation.value); real && std::isfinite(*real)) {
    object["value"] = *real;
  } else {
    object["value"] = nullptr;
    if (reason.empty()) reason = unusable(observation.value);
    if (reason.empty()) reason = "no reason given";
  }
  if (!reason.empty()) object["reason"] = reason;
  if (!observation.unit.empty()) object["unit"] = observation.unit.get();
  if (observation.accesses) object["accesses"] = *observation.accesses;
  if (observation.enabled_ns) object["enabled_ns"] = *observation.enabled_ns;
  if (observation.running_ns) object["running_ns"] = *observation.running_ns;
  if (observation.seconds && std::isfinite(*observation.seconds)) object["seconds"] = *observation.seconds;
  if (observation.cpu_seconds && std::isfinite(*observation.cpu_seconds))
    object["cpu_seconds"] = *observation.cpu_seconds;
  if (observation.bias) object["bias"] = *observation.bias;
  if (!observation.nesting.empty()) object["nesting"] = observation.nesting.get();
  if (!observation.placement.empty()) object["placement"] = observation.placement.get();
  if (!observation.flags.empty()) object["flags"] = observation.flags;
  return text(object);
}

std::string to_line(const Failure& failure) {
  Json object = start("failure", failure);
  object["reason"] = failure.reason;
  return text(object);
}

std::string to_line(const Section& section) {
  Json object = start("section", section);
  object["edge"] = section.edge;
  object["name"] = section.name;
  object["time"] = section.time;
  return text(object);
}

} // namespace recount::result
