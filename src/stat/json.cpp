#include "base/json.hpp"
#include "process/waiter.hpp"
#include "stat/report.hpp"

namespace recount::stat {
namespace {

const char* kind_name(stat::RowKind kind) {
  switch (kind) {
  case stat::RowKind::event: return "event";
  case stat::RowKind::preset: return "preset";
  case stat::RowKind::metric: return "metric";
  case stat::RowKind::usage: return "usage";
  case stat::RowKind::modelled: return "modelled";
  }
  return "";
}

Json described(const stat::PlanRow& row) {
  Json json{{"name", row.name}, {"kind", kind_name(row.kind)}};
  if (!row.witness.empty()) json["witness"] = row.witness;
  if (!row.mark.empty()) json["verdict"] = row.mark;
  if (row.part) json["part_of"] = row.operands.front().name;
  if (!row.unit.empty()) json["unit"] = row.unit;
  if (row.kind == stat::RowKind::metric && row.refused.empty())
    json["formula"] = row.metric.formulas[row.formula].text;
  return json;
}

Json with_summary(const stat::PlanRow& row, const stat::Summary& s) {
  Json json = described(row);
  json["mean"] = or_null(s.mean);
  json["deviation"] = or_null(s.deviation);
  json["values"] = s.values;
  if (s.share < 1) json["share"] = s.share;
  if (s.missing > 0) json["missing"] = s.missing;
  if (!s.reason.empty()) json["reason"] = s.reason;
  for (const Flag& flag : s.flags)
    json["flags"].push_back(flag.text);
  return json;
}

Json with_values(const stat::Plan& plan, const stat::Slice& slice) {
  Json json{{"repetition", slice.repetition}, {"begin", slice.begin}, {"end", slice.end}};
  Json& values = json["values"] = Json::object();
  for (std::size_t r = 0; r < plan.rows.size(); ++r)
    values[plan.rows[r].name] = or_null(result::as_double(slice.rows[r].value));
  return json;
}

} // namespace

std::string metrics_json(const metric::Metrics& metrics) {
  Json all = Json::array();
  for (const metric::Metric& m : metrics) {
    Json json{{"name", m.name}, {"unit", m.unit}, {"prose", m.prose}, {"file", m.file}, {"line", m.line}};
    for (const metric::Formula& f : m.formulas)
      json["formulas"].push_back(f.text);
    all.push_back(std::move(json));
  }
  return json_text("metrics", {{"metrics", std::move(all)}});
}

Json runs_json(const RunResult& ended) {
  Json json{{"requested", ended.requested}, {"completed", ended.completed()}, {"failed", ended.failed}};
  if (ended.cut_short) json["cut_short"] = how_cut_short(ended);
  return json;
}

std::string stat_json(const stat::Plan& plan, const stat::Request& request, const stat::RunResult& ended,
                      const std::vector<stat::Slice>& intervals) {
  Json json;
  json["command"] = request.command;
  if (!request.pids.empty()) json["pids"] = request.pids;
  if (!plan.cpus.empty()) json["cpus"] = plan.cpus;
  json["status"] = ended.exit ? Json(status_of(ended)) : Json();
  if (!request.command.empty()) json["runs"] = runs_json(ended);
  json["domain"] = plan.domain == Domain::user ? "user" : plan.domain == Domain::kernel ? "kernel" : "all";
  std::vector<double> seconds;
  for (const stat::Slice& slice : ended.repetitions)
    seconds.push_back(slice.end);
  json["seconds"] = seconds;
  json["metrics"] = Json::array();
  for (std::size_t r = 0; r < plan.rows.size(); ++r)
    json["metrics"].push_back(with_summary(plan.rows[r], stat::summarise(ended.repetitions, r)));
  json["groups"] = Json::array();
  for (const auto& group : plan.groups) {
    Json names = Json::array();
    for (const std::size_t e : group)
      names.push_back(plan.events[e].name);
    json["groups"].push_back(std::move(names));
  }
  if (!intervals.empty())
    for (const stat::Slice& slice : intervals)
      json["intervals"].push_back(with_values(plan, slice));
  if (!plan.notes.empty()) json["notes"] = plan.notes;
  return json_text("stat", json);
}

} // namespace recount::stat
