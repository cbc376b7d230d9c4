#include "profile/profile_report.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/nearest.hpp"
#include "command/measuring.hpp"
#include "command/outputs.hpp"
#include "profile/attributed.hpp"
#include "profile/profile_figure.hpp"
#include "result/results_file.hpp"
#include "statistics/statistics.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <boost/math/distributions/binomial.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace recount::profile {
namespace {
struct ByName {
  const char* name;
  By by;
};
constexpr ByName by_names[] = {
    {"module", By::module},   {"symbol", By::symbol}, {"function", By::function},      {"line", By::line},
    {"address", By::address}, {"object", By::object}, {"line+object", By::line_object}};

/// The row of one place alone, with what `by` does not tell apart left empty.
ProfileRow row_of(const Located& at, By by) {
  ProfileRow row;
  if (by == By::object) return row;
  row.module = at.module;
  if (by == By::module) return row;
  const symbol::Frame& frame = by == By::symbol ? at.function() : at.frames.front();
  row.function = frame.function;
  row.inlined = frame.inlined;
  if (!row.inlined) {
    row.start = at.start;
    row.end = at.end;
  }
  if (by == By::symbol || by == By::function) {
    if (row.function.empty()) row.start = row.end = 0;
    return row;
  }
  row.source = at.source();
  row.file = frame.file;
  row.line = frame.line;
  // Without a line, use the address.
  if (by == By::address || row.line == 0) row.address = at.address;
  if (by == By::address) row.instruction = at.instruction;
  return row;
}
} // namespace

By parse_by(const std::string& name) {
  std::vector<std::string> all;
  for (const auto& known : by_names) {
    if (name == known.name) return known.by;
    all.emplace_back(known.name);
  }
  throw bad_input(
      "--by " + name, "is not a grouping of samples",
      base::did_you_mean(name, all, "module, symbol, function, line, address, object or line+object"));
}

bool by_object(By by) {
  return by == By::object || by == By::line_object;
}

By figure_by(const std::vector<By>& ways) {
  const bool by_symbol = ways.empty() || ways.front() == By::address || by_object(ways.front()) ||
                         std::ranges::find(ways, By::symbol) != ways.end();
  return by_symbol ? By::symbol : ways.front();
}

std::string name_of(By by) {
  return by_names[static_cast<std::size_t>(by)].name;
}

namespace {
void add_object(ProfileRow& row, const NamedObject& object) {
  row.object->bytes += object.bytes;
  row.object->blocks += object.blocks;
  row.object->low = std::min(row.object->low, object.low);
  row.object->high = std::max(row.object->high, object.high);
}
} // namespace

std::vector<ProfileRow> gather(const Places& places, const Naming& naming, By by) {
  using Key =
      std::tuple<std::string, std::string, std::string, int, std::uint64_t, std::uint64_t, std::string>;
  std::map<Key, ProfileRow> rows;
  std::set<std::pair<const ProfileRow*, std::uint32_t>> added; // objects of a row
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    const auto tally = places.tally(i);
    if (std::ranges::all_of(tally, [](const Tally& t) { return t.samples == 0; })) continue; // only in chains
    ProfileRow one = row_of(naming.places[i], by);
    const std::uint32_t object = by_object(by) ? places.places()[i].object : 0;
    const NamedObject* const data = object > 0 ? &naming.objects.at(object - 1) : nullptr;
    if (data)
      one.object = NamedObject{data->name, data->kind, data->module, 0, 0, ~0ULL, 0, data->row, data->calls};
    Key key(one.module, one.function, one.file, one.line, one.address, one.start,
            data ? data->name + '\n' + data->module : std::string());
    ProfileRow& row = rows.try_emplace(std::move(key), std::move(one)).first->second;
    if (data && added.emplace(&row, object).second) add_object(row, *data);
    row.tallies.resize(places.events());
    for (std::size_t e = 0; e < tally.size(); ++e) {
      row.tallies[e].samples += tally[e].samples;
      row.tallies[e].weight += tally[e].weight;
    }
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows)
    sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const ProfileRow& a, const ProfileRow& b) {
    for (std::size_t e = 0; e < a.tallies.size(); ++e)
      if (a.tallies[e].weight != b.tallies[e].weight) return a.tallies[e].weight > b.tallies[e].weight;
    return false;
  });
  return sorted;
}

// Apart, since Boost.Math takes long to compile.

Share share_of(double k, double n) {
  Share share;
  if (!(n > 0)) return share;
  k = std::clamp(k, 0.0, n);
  share.value = k / n;
  constexpr double tail = 0.025;
  using Binomial = boost::math::binomial_distribution<double, statistics::Double>;
  share.low = k > 0 ? Binomial::find_lower_bound_on_p(n, k, tail) : 0;
  share.high = k < n ? Binomial::find_upper_bound_on_p(n, k, tail) : 1;
  return share;
}

Share share_of(const Tally& part, const Places& places, std::size_t event, bool exact) {
  const double all = static_cast<double>(places.total(event).weight), n = places.effective(event);
  Share share = share_of(all > 0 ? static_cast<double>(part.weight) / all * n : 0, n);
  share.exact = exact && n > 0;
  if (share.exact) share.low = share.high = share.value;
  return share;
}

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
  if (!p.recording.sampled.empty()) json["flags"].push_back(p.recording.sampled[e].text);
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

namespace {

/// Addresses beyond 2^63, the kernel's, are no whole numbers of results.
result::ParamValue address_value(std::uint64_t address) {
  if (address > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return fmt::format("{:#x}", address);
  return static_cast<std::int64_t>(address);
}

result::Observation observation(const Profile& p, std::size_t event, const std::string& run,
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
  if (profile::is_clock(p.recording.events[event].event)) o.unit = "ns";
  return o;
}

result::Observation whole(const Profile& p, std::size_t event, const std::string& run) {
  auto o = observation(p, event, run, p.recording.places.total(event).weight);
  o.seconds = p.recording.seconds;
  const auto& count = p.recording.report.events[event];
  o.flags.emplace_back(Flag::Kind::note, base::format_count(count.samples, "sample"));
  if (!p.recording.sampled.empty()) o.flags.push_back(p.recording.sampled[event]);
  if (killed(p.recording.exit))
    o.flags.emplace_back(Flag::Kind::note, "incomplete: " + process::describe(p.recording.exit));
  if (count.lost.value_or(0) > 0) o.flags.emplace_back(Flag::Kind::note, fmt::format("{} lost", *count.lost));
  if (count.throttled > 0)
    o.flags.emplace_back(Flag::Kind::note, "throttled " + base::format_count(count.throttled, "time"));
  return o;
}

void fill_place(result::Observation& o, const profile::Naming& naming, const Places& places,
                std::size_t place) {
  const profile::Located& at = naming.places[place];
  if (const std::uint32_t object = places.places()[place].object; object > 0)
    o.params["object"] = naming.objects.at(object - 1).name;
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

/// The whole of each event, then each place with occurrences.
std::vector<result::Observation> observations(const Profile& p, const std::string& run) {
  std::vector<result::Observation> all;
  const auto& places = p.recording.places;
  for (std::size_t e = 0; e < places.events(); ++e)
    all.push_back(whole(p, e, run));
  for (std::size_t i = 0; i < places.places().size(); ++i) {
    for (std::size_t e = 0; e < places.events(); ++e) {
      if (places.tally(i)[e].samples == 0) continue;
      all.push_back(observation(p, e, run, places.tally(i)[e].weight));
      fill_place(all.back(), p.naming, places, i);
    }
  }
  return all;
}

} // namespace

ProfileResults::ProfileResults(const std::string& output, std::string plot, profile::By by,
                               std::map<std::string, std::string> verdicts)
    : plot_(std::move(plot)) {
  if (output.empty() && plot_.empty()) return;
  header_ = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header_.plan = {{"kernel", "profile"}, {"by", profile::name_of(by)}};
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
  results.observations = observations(profile, header_.id);
  if (writer_)
    for (const auto& o : results.observations)
      writer_->write(o);
  if (!plot_.empty()) command::draw_to(plot_, profile::compose_over_addresses(results, {}));
}

} // namespace recount::profile
