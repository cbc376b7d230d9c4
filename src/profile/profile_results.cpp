#include "profile/profile_results.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "command/measuring.hpp"
#include "command/outputs.hpp"
#include "profile/modelled_recording.hpp"
#include "profile/profile_figure.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <fmt/format.h>

#include <limits>

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
  json.update({{"samples", count.samples},
               {"weight", count.weight},
               {"counted", count.occurrences},
               {"lost", or_null(count.lost)},
               {"throttled", count.throttled},
               {"enabled_ns", count.enabled_ns},
               {"running_ns", count.running_ns},
               {"every_occurrence", every_occurrence(p, e)}});
  if (!p.recording.sampled.empty()) json["flags"].push_back(p.recording.sampled[e].text);
  return json;
}

Json object_json(const DataObject& object, By by) {
  Json json{{"name", object.name}, {"kind", name_of(object.kind)}};
  if (!object.module.empty()) json["module"] = object.module;
  if (object.bytes > 0) json["bytes"] = object.bytes;
  if (object.blocks > 0) json["blocks"] = object.blocks;
  if (object.row > 0) json["row"] = object.row;
  if (!object.call_names.empty()) json["calls"] = object.call_names;
  // The offsets are those of all lines.
  if (by == By::object && object.low <= object.high)
    json.update({{"offset_low", object.low}, {"offset_high", object.high}});
  return json;
}

Json row_json(const Profile& p, const ProfileRow& row, By by) {
  Json json = Json::object();
  if (by != By::object) json["module"] = row.module;
  if (by_object(by)) json["object"] = row.object ? object_json(*row.object, by) : Json();
  if (by != By::module && by != By::object) {
    json["function"] = text_or_null(row.function);
    json["inlined"] = row.inlined;
    if (row.start != 0) json.update({{"function_start", row.start}, {"function_end", row.end}});
  }
  if (by == By::line || by == By::address || by == By::line_object) {
    json["file"] = text_or_null(row.file);
    json["line"] = row.line > 0 ? Json(row.line) : Json();
  }
  if (row.address != 0) json["address"] = row.address;
  if (!row.instruction.empty()) json["instruction"] = row.instruction;
  Json& events = json["events"] = Json::object();
  for (std::size_t e = 0; e < row.tallies.size(); ++e) {
    const Tally& tally = row.tallies[e];
    const Share share = share_of(p, tally, e);
    events[p.recording.events[e].event.name] = {{"samples", tally.samples},
                                                {"weight", tally.weight},
                                                {"share", share.value},
                                                {"low", share.low},
                                                {"high", share.high}};
  }
  return json;
}
} // namespace

std::string profile_json(const Profile& p, const std::vector<By>& by) {
  const auto& report = p.recording.report;
  Json json{{"subject", p.subject},
            {"seconds", p.recording.seconds},
            {"status", process::shell_status(p.recording.exit)},
            {"complete", report.complete() && !killed(p.recording.exit)},
            {"lost_records", report.lost_records},
            {"cost",
             {{"reader_ns", report.reader_ns},
              {"records", report.records},
              {"bytes", report.bytes},
              {"ring_bytes", report.rings * report.ring_bytes}}},
            {"events", Json::array()}};
  for (std::size_t e = 0; e < p.recording.events.size(); ++e)
    json["events"].push_back(event_json(p, e));
  for (const By way : by) {
    Json& rows = json["by_" + (way == By::line_object ? "line_object" : name_of(way))] = Json::array();
    for (const auto& row : group_places(p.recording.places, p.naming, way))
      rows.push_back(row_json(p, row, way));
  }
  json["notes"] = p.recording.notes;
  for (const auto& note : p.naming.notes)
    json["notes"].push_back(note);
  return json_text("profile", json);
}

namespace {
/// Addresses from 2^63 on, those of the kernel, are text: numbers of results are signed.
result::ParamValue address_value(std::uint64_t address) {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fmt::format("{:#x}", address);
  return static_cast<std::int64_t>(address);
}

result::Observation make_observation(const Profile& p, std::size_t event, const std::string& run,
                                     std::uint64_t weight) {
  result::Observation o;
  o.run = run;
  o.kernel = "profile";
  o.params["command"] = p.subject;
  o.witness = "perf";
  o.metric = p.recording.events[event].event.name;
  if (const auto modelled = modelled_event(o.metric)) {
    o.witness = modelled->machine == "host" ? "model" : "model:" + modelled->machine;
    o.metric = modelled->metric;
  }
  o.reason = p.recording.not_counted;
  if (o.reason.empty()) o.value = static_cast<std::int64_t>(weight);
  if (is_clock(p.recording.events[event].event)) o.unit = "ns";
  return o;
}

result::Observation make_total(const Profile& p, std::size_t event, const std::string& run) {
  auto o = make_observation(p, event, run, p.recording.places.total(event).weight);
  o.seconds = p.recording.seconds;
  const auto& count = p.recording.report.events[event];
  const auto note = [&](std::string text) { o.flags.emplace_back(Flag::Kind::note, std::move(text)); };
  note(base::format_count(count.samples, "sample"));
  if (!p.recording.sampled.empty()) o.flags.push_back(p.recording.sampled[event]);
  if (killed(p.recording.exit)) note("incomplete: " + process::describe(p.recording.exit));
  if (count.lost.value_or(0) > 0) note(fmt::format("{} lost", *count.lost));
  if (count.throttled > 0) note("throttled " + base::format_count(count.throttled, "time"));
  return o;
}

void set_place(result::Observation& o, const Profile& p, std::size_t place) {
  const Located& at = p.naming.places[place];
  if (const std::uint32_t object = p.recording.places.places()[place].object; object > 0)
    o.params["object"] = p.naming.objects.at(object - 1).name;
  o.params["module"] = at.module;
  o.params["address"] = address_value(at.address);
  if (!at.function().function.empty()) o.params["function"] = at.function().function;
  if (at.frames.front().inlined) o.params["inlined"] = at.frames.front().function;
  if (at.end > at.start) {
    o.params["start"] = address_value(at.start);
    o.params["end"] = address_value(at.end);
  }
  if (const auto source = at.source(); !source.empty()) o.params["source"] = source;
}

/// The total of each event, then each place with occurrences.
std::vector<result::Observation> make_observations(const Profile& p, const std::string& run) {
  std::vector<result::Observation> all;
  const auto& places = p.recording.places;
  for (std::size_t e = 0; e < places.events(); ++e)
    all.push_back(make_total(p, e, run));
  for (std::size_t i = 0; i < places.places().size(); ++i)
    for (std::size_t e = 0; e < places.events(); ++e)
      if (const Tally& tally = places.tally(i)[e]; tally.samples > 0)
        set_place(all.emplace_back(make_observation(p, e, run, tally.weight)), p, i);
  return all;
}
} // namespace

ProfileResults::ProfileResults(const std::string& output, std::string plot, By by,
                               std::map<std::string, std::string> verdicts)
    : plot_(std::move(plot)) {
  if (output.empty() && plot_.empty()) return;
  header_ = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header_.plan = {{"kernel", "profile"}, {"by", name_of(by)}};
  header_.verdicts = std::move(verdicts);
  if (output.empty()) return;
  writer_ = std::make_unique<result::Writer>(output, result::Writer::Mode::create);
  writer_->write(header_);
}

ProfileResults::~ProfileResults() = default;

void ProfileResults::finish(const Profile& profile) {
  if (!writer_ && plot_.empty()) return;
  result::Results results;
  results.runs = {header_};
  results.observations = make_observations(profile, header_.id);
  if (writer_)
    for (const auto& o : results.observations)
      writer_->write(o);
  if (!plot_.empty()) command::draw_to(plot_, compose_over_addresses(results, {}));
}

} // namespace recount::profile
