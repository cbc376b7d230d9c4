#include "base/json.hpp"
#include "profile/report.hpp"

namespace recount::profile {
namespace {
Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json event_json(const Profile& p, std::size_t e) {
  const auto& event = p.recording.events[e];
  const auto& count = p.recording.report.events[e];
  Json json{{"name", event.event.name}};
  if (const std::string mark = mark_of(p, e); !mark.empty()) json["verdict"] = mark;
  json[event.frequency != 0 ? "frequency" : "period"] = event.frequency != 0 ? event.frequency : event.period;
  if (!p.recording.not_counted.empty()) {
    json["counted"] = Json();
    json["reason"] = p.recording.not_counted;
    return json;
  }
  json["samples"] = count.samples;
  json["weight"] = count.weight;
  json["counted"] = count.occurrences;
  json["lost"] = count.lost ? Json(*count.lost) : Json();
  json["throttled"] = count.throttled;
  json["enabled_ns"] = count.enabled_ns;
  json["running_ns"] = count.running_ns;
  json["every_occurrence"] = every_occurrence(p, e);
  if (!p.recording.sampled.empty()) json["flags"] = {p.recording.sampled[e]};
  return json;
}

Json object_json(const NamedObject& object, profile::By by) {
  Json json{{"name", object.name}, {"kind", object.kind}};
  if (!object.module.empty()) json["module"] = object.module;
  if (object.bytes > 0) json["bytes"] = object.bytes;
  if (object.blocks > 0) json["blocks"] = object.blocks;
  if (object.row > 0) json["row"] = object.row;
  if (!object.calls.empty()) json["calls"] = object.calls;
  // Those of all lines.
  if (by == profile::By::object && object.low <= object.high)
    json["offset_low"] = object.low, json["offset_high"] = object.high;
  return json;
}

std::string key_of(profile::By by) {
  return by == profile::By::line_object ? "line_object" : profile::name_of(by);
}

Json row_json(const Profile& p, const profile::ProfileRow& row, profile::By by) {
  Json json = by == profile::By::object ? Json::object() : Json{{"module", row.module}};
  if (by_object(by)) json["object"] = row.object ? object_json(*row.object, by) : Json();
  if (by != profile::By::module && by != profile::By::object) {
    json["function"] = text_or_null(row.function);
    json["inlined"] = row.inlined;
    if (row.start != 0) json["function_start"] = row.start, json["function_end"] = row.end;
  }
  if (by == profile::By::line || by == profile::By::address || by == profile::By::line_object) {
    json["file"] = text_or_null(row.file);
    json["line"] = row.line > 0 ? Json(row.line) : Json();
  }
  if (row.address != 0) json["address"] = row.address;
  if (!row.instruction.empty()) json["instruction"] = row.instruction;
  Json& events = json["events"] = Json::object();
  for (std::size_t e = 0; e < row.tallies.size(); ++e) {
    const auto share = profile::share_of(row.tallies[e], p.recording.places, e, every_occurrence(p, e));
    events[p.recording.events[e].event.name] = {{"samples", row.tallies[e].samples},
                                                {"weight", row.tallies[e].weight},
                                                {"share", share.value},
                                                {"low", share.low},
                                                {"high", share.high}};
  }
  return json;
}
} // namespace

std::string profile_json(const Profile& p, const std::vector<profile::By>& by) {
  const auto& report = p.recording.report;
  Json json{{"subject", p.subject},
            {"seconds", p.recording.seconds},
            {"status", process::shell_status(p.recording.exit)}};
  json["complete"] = report.complete() && !killed(p.recording.exit);
  json["lost_records"] = report.lost_records;
  json["cost"] = {{"reader_ns", report.reader_ns},
                  {"records", report.records},
                  {"bytes", report.bytes},
                  {"ring_bytes", report.rings * report.ring_bytes}};
  Json& events = json["events"] = Json::array();
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    events.push_back(event_json(p, e));
  for (const auto way : by) {
    Json& rows = json["by_" + key_of(way)] = Json::array();
    for (const auto& row : profile::gather(p.recording.places, p.naming, way))
      rows.push_back(row_json(p, row, way));
  }
  auto notes = p.recording.notes;
  notes.insert(notes.end(), p.naming.notes.begin(), p.naming.notes.end());
  json["notes"] = notes;
  return json_text("profile", json);
}

} // namespace recount::profile
