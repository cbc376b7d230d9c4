#include "check/table.hpp"

#include "command/json_text.hpp"

namespace recount::cli {
namespace {

using CheckJson = nlohmann::ordered_json;

CheckJson point_json(const result::Params& params) {
  CheckJson object = CheckJson::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

CheckJson optional_json(const std::optional<double>& value) {
  return value ? CheckJson(*value) : CheckJson(nullptr);
}

CheckJson said_json(const analysis::Said& said, const std::optional<analysis::Estimate>& e) {
  CheckJson object{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}, {"n", e ? e->n : 0}};
  if (e) {
    object["value"] = e->median;
    object["low"] = e->low;
    object["high"] = e->high;
  }
  object["bias"] = optional_json(analysis::bias(said));
  if (!e) object["reason"] = said.reason;
  return object;
}

CheckJson stated_json(const analysis::Trial& trial) {
  if (!trial.stated) return {{"value", nullptr}, {"reason", trial.unstated}};
  const auto& s = *trial.stated;
  return {{"value", s.value}, {"low", s.value - s.below}, {"high", s.value + s.above}, {"form", s.form}};
}

CheckJson trial_json(const analysis::Judged& judged) {
  const auto& [trial, judgement] = judged;
  CheckJson object{{"kernel", trial.kernel}, {"params", point_json(trial.point)}};
  object["verdict"] = name_of(judgement.verdict);
  object["why"] = judgement.why;
  object["perf"] = said_json(trial.perf, judgement.perf);
  object["papi"] = said_json(trial.papi, judgement.papi);
  object["model"] = stated_json(trial);
  object["tolerance"] = trial.tolerance;
  object["apart"] = trial.apart;
  object["factor"] = optional_json(judgement.factor);
  object["causes"] = judgement.causes;
  return object;
}

CheckJson broken_json(const analysis::Broken& broken) {
  return {{"relation", broken.identity.text},   {"why", broken.identity.why},
          {"witness", broken.witness},          {"kernel", broken.kernel},
          {"params", point_json(broken.point)}, {"left", broken.left.median},
          {"right", broken.right.median}};
}

CheckJson verdict_json(const analysis::PresetVerdict& verdict) {
  CheckJson object{{"preset", verdict.preset}, {"verdict", name_of(verdict.verdict)}, {"why", verdict.why}};
  // Those of the decisive trial stand beside the verdict.
  for (const char* key : {"perf", "papi", "model", "factor"})
    object[key] = nullptr;
  object["causes"] = object["trials"] = object["broken"] = CheckJson::array();
  for (const auto& judged : verdict.trials)
    object["trials"].push_back(trial_json(judged));
  if (!verdict.trials.empty())
    for (const char* key : {"perf", "papi", "model", "factor", "causes"})
      object[key] = object["trials"][0][key];
  for (const auto& broken : verdict.broken)
    object["broken"].push_back(broken_json(broken));
  return object;
}

} // namespace

std::string check_json(const study::Checked& checked, const study::Ground& ground,
                       const sweep::Ended& ended) {
  CheckJson object{{"verdicts", CheckJson::array()}};
  for (const auto& verdict : checked.verdicts)
    object["verdicts"].push_back(verdict_json(verdict));
  const auto& c = checked.coverage;
  object["coverage"] = {
      {"standard", c.standard}, {"provokable", c.provokable}, {"proven", c.proven}, {"counted", c.counted}};
  object["table"] = ground.table.empty() ? CheckJson(nullptr) : CheckJson(ground.table);
  object["notes"] = ground.notes;
  object["runs"] = ended.outcome.runs;
  object["failures"] = CheckJson::array();
  for (const auto& failure : ended.results.failures)
    object["failures"].push_back({{"kernel", failure.kernel},
                                  {"params", point_json(failure.params)},
                                  {"witness", failure.witness},
                                  {"reason", failure.reason}});
  return json_text("check", object);
}

} // namespace recount::cli
