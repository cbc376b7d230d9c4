#include "check/table.hpp"

#include "base/json.hpp"

namespace recount::check {
namespace {

Json point_json(const result::Params& params) {
  Json object = Json::object();
  for (const auto& [name, value] : params)
    std::visit([&](const auto& v) { object[name] = v; }, value);
  return object;
}

Json measurement_json(const Measurement& measured, const std::optional<statistics::Estimate>& e) {
  Json object{{"value", nullptr}, {"low", nullptr}, {"high", nullptr}, {"n", e ? e->n : 0}};
  if (e) {
    object["value"] = e->median;
    object["low"] = e->low;
    object["high"] = e->high;
  }
  object["bias"] = or_null(check::bias(measured));
  if (!e) object["reason"] = measured.reason;
  return object;
}

Json stated_json(const Trial& trial) {
  if (!trial.stated) return {{"value", nullptr}, {"reason", trial.unstated}};
  const auto& s = *trial.stated;
  return {{"value", s.value}, {"low", s.value - s.below}, {"high", s.value + s.above}, {"form", s.form}};
}

Json trial_json(const Judged& judged) {
  const auto& [trial, judgement] = judged;
  Json object{{"kernel", trial.kernel}, {"params", point_json(trial.point)}};
  object["verdict"] = name_of(judgement.verdict);
  object["why"] = judgement.why;
  object["perf"] = measurement_json(trial.perf, judgement.perf);
  object["papi"] = measurement_json(trial.papi, judgement.papi);
  object["model"] = stated_json(trial);
  object["tolerance"] = trial.tolerance;
  object["relative"] = trial.relative;
  object["apart"] = trial.apart;
  object["factor"] = or_null(judgement.factor);
  object["causes"] = judgement.causes;
  return object;
}

Json term_json(const Term& term) {
  Json object{{"name", term.name}, {"dead", term.dead()}, {"constant", term.constant()}};
  if (term.counts.empty()) object["reason"] = term.reason;
  object["points"] = Json::array();
  for (const auto& count : term.counts)
    object["points"].push_back(
        {{"kernel", count.kernel}, {"params", point_json(count.point)}, {"perf", count.counted}});
  return object;
}

Json broken_json(const Broken& broken) {
  return {{"relation", broken.identity.text},   {"why", broken.identity.why},
          {"witness", broken.witness},          {"kernel", broken.kernel},
          {"params", point_json(broken.point)}, {"left", broken.left.median},
          {"right", broken.right.median}};
}

Json verdict_json(const PresetVerdict& verdict) {
  Json object{{"preset", verdict.preset}, {"verdict", name_of(verdict.verdict)}, {"why", verdict.why}};
  // The values of the decisive trial are repeated next to the verdict.
  for (const char* key : {"perf", "papi", "model", "factor"})
    object[key] = nullptr;
  object["causes"] = object["points"] = object["broken"] = object["terms"] = Json::array();
  object["could_also_be"] = verdict.could_also_be;
  object["errata"] = verdict.errata;
  for (const auto& judged : verdict.trials)
    object["points"].push_back(trial_json(judged));
  for (const auto& term : verdict.terms)
    object["terms"].push_back(term_json(term));
  if (!verdict.trials.empty())
    for (const char* key : {"perf", "papi", "model", "factor", "causes"})
      object[key] = object["points"][0][key];
  for (const auto& broken : verdict.broken)
    object["broken"].push_back(broken_json(broken));
  return object;
}

} // namespace

std::string check_json(const Checked& checked, const CheckContext& context, const sweep::Ended& ended) {
  Json object{{"verdicts", Json::array()}};
  for (const auto& verdict : checked.verdicts)
    object["verdicts"].push_back(verdict_json(verdict));
  const auto& c = checked.coverage;
  object["coverage"] = {{"standard", c.standard},
                        {"provokable", c.provokable},
                        {"proven", c.proven},
                        {"counted", c.counted},
                        {"apart", c.apart}};
  object["table"] = context.table.empty() ? Json(nullptr) : Json(context.table);
  object["notes"] = context.notes;
  object["runs"] = ended.outcome.runs;
  object["interrupted"] = ended.outcome.stopped;
  object["failures"] = Json::array();
  for (const auto& failure : ended.results.failures)
    object["failures"].push_back({{"kernel", failure.kernel},
                                  {"params", point_json(failure.params)},
                                  {"witness", failure.witness},
                                  {"reason", failure.reason}});
  return json_text("check", object);
}

} // namespace recount::check
