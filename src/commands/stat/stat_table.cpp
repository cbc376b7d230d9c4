#include "commands/stat/stat_table.hpp"
#include "base/names.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/process/waiter.hpp"
#include "base/statistics/statistics.hpp"
#include "commands/stat/second_count.hpp"
#include "show/command/measuring.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

namespace recount::stat {

bool is_beside(const Plan& plan, std::size_t r) {
  return plan.rates && r > 0 && plan.rows[r].kind == RowKind::metric && plan.rows[r].witness.empty() &&
         plan.rows[r - 1].kind == RowKind::event && !plan.rows[r - 1].part;
}

namespace {

constexpr const char* not_counted = "<not counted>";

bool is_sampled(const Flag& flag) {
  return flag.kind == Flag::Kind::sampled;
}

std::string deviation_text(const RowSummary& s) {
  if (!s.deviation) return {};
  if (*s.mean == 0) return fmt::format("+- {:.3g}", *s.deviation);
  return fmt::format("+- {:.1f} %", 100 * *s.deviation / std::abs(*s.mean));
}

/// "counted 57.1 %" of the time, of multiplexed events; "sampled 3.1 %: +- 1200", of simulated ones.
std::string coverage_text(const RowSummary& s) {
  if (s.share < 1) return fmt::format("counted {:.1f} %", 100 * s.share);
  const auto flag = std::ranges::find_if(s.flags, is_sampled);
  if (flag == s.flags.end()) return {};
  const double percent = flag->share.value_or(0);
  return fmt::format("sampled {} %: +- {:.0f}",
                     percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent),
                     flag->error.value_or(0));
}

/// "PAPI_TOT_INS by PAPI": of two rows of this name.
std::string listed_name(const PlanRow& row) {
  return row.twin ? row.name + " by PAPI" : row.name;
}

/// Whether a row of this name is refused as well.
bool is_refused(const Plan& plan, const std::string& name) {
  return std::ranges::any_of(plan.rows,
                             [&](const PlanRow& row) { return row.name == name && !row.refused.empty(); });
}

/// A mean without more digits than its deviation supports.
std::string value_text(const RowSummary& s, const ShownUnit& unit) {
  if (!s.mean) return not_counted;
  const auto deviation = s.deviation ? std::optional(*s.deviation / unit.size) : std::nullopt;
  return command::format_number(*s.mean / unit.size, deviation);
}

/// "12.3 K/s"
std::string per_second_text(double rate) {
  constexpr std::array<std::pair<double, const char*>, 3> prefixes{{{1e9, "G"}, {1e6, "M"}, {1e3, "K"}}};
  for (const auto& [size, prefix] : prefixes)
    if (rate >= size) return fmt::format("{:.3g} {}/s", rate / size, prefix);
  return fmt::format("{:.3g} /s", rate);
}

/// Beside an event: the metric that follows it, else its count per second of wall time.
std::string rate_text(const Plan& plan, const RunResult& ended, std::size_t r) {
  if (r + 1 < plan.rows.size() && is_beside(plan, r + 1)) {
    const auto metric = summarise(ended.repetitions, r + 1);
    return metric.mean ? value_text(metric, {}) + " " + plan.rows[r + 1].unit : "";
  }
  const auto s = summarise(ended.repetitions, r);
  double seconds = 0;
  for (const Slice& slice : ended.repetitions)
    seconds += slice.end / static_cast<double>(ended.repetitions.size());
  const bool count = plan.rows[r].kind == RowKind::event && plan.rows[r].unit.empty();
  return count && s.mean && seconds > 0 ? per_second_text(*s.mean / seconds) : "";
}

std::string witness_name(const PlanRow& row) {
  if (row.kind == RowKind::usage) return row.name == "duration-time" ? "clock" : "rusage";
  return row.witness.empty() ? "perf" : row.witness.name();
}

std::string difference_text(const Difference& difference, const ShownUnit& unit) {
  if (!difference.value) return "-";
  if (*difference.value == 0) return "equal";
  const double value = *difference.value / unit.size;
  std::string text = (value < 0 ? "-" : "+") + command::format_number(std::abs(value));
  if (difference.relative) text += fmt::format(" ({:+.2g} %)", 100 * *difference.relative);
  return text + (difference.joint || difference.evidence == statistics::Evidence::clear ? "" : " ?");
}

std::string times_text(const RunResult& ended) {
  const auto s =
      summarise(ended.repetitions | ranges::views::transform(&Slice::end) | ranges::to<std::vector>());
  std::string text = completed_text(ended);
  if (!s.mean) return text;
  std::string times = s.values.size() == 1
                          ? command::format_number(*s.mean) + " s"
                          : fmt::format("{} repetitions of {} s {}", s.values.size(),
                                        command::format_number(*s.mean, s.deviation), deviation_text(s));
  if (ended.failed > 0)
    text = fmt::format("{} of {} failed: {}", ended.failed, base::format_count(ended.requested, "run"),
                       process::describe(*ended.exit));
  if (text.empty() && ended.stopped > 0)
    text = ended.requested == 1 ? "stopped at the time limit"
                                : fmt::format("{} of {} stopped at the time limit", ended.stopped,
                                              base::format_count(ended.requested, "run"));
  if (text.empty()) return times;
  return ended.requested > 1 && ended.cut_short ? text + ", " + times : times + ", " + text;
}

} // namespace

ShownUnit shown_unit(const std::string& unit, double value) {
  if (is_nanoseconds(unit)) return {"ms", 1e6};
  if (unit != "bytes") return {unit, 1};
  constexpr double mebi = 1 << 20;
  return value < mebi ? ShownUnit{"KiB", 1024} : ShownUnit{"MiB", mebi};
}

std::string note_line(const std::string& text, std::FILE* stream) {
  return "  " + command::wrap(text, command::line_width(stream), 4) + "\n";
}

std::string last_lines_text(const RunResult& ended, const std::string& whose, std::FILE* stream) {
  std::string text = ended.last_lines.empty() ? "" : note_line(whose + "last lines on its stderr:", stream);
  for (const std::string& line : ended.last_lines)
    text += "    " + command::shortened(command::one_line(line), command::line_width(stream) - 4) + "\n";
  return text;
}

std::string not_counted_line(const std::vector<std::string>& names, const std::string& why,
                             std::FILE* stream) {
  std::string text = fmt::format("not counted: {}: {}", fmt::join(names, ", "), why);
  for (std::size_t at = 0; command::line_width(stream) < 80 && (at = text.find("perf::")) != text.npos;)
    text.erase(at, 6);
  return note_line(text, stream);
}

std::string metrics_table(const metric::Metrics& metrics) {
  std::string text;
  for (const metric::Metric& m : metrics) {
    text += command::fit(fmt::format("{}  {}", command::paint(command::Style::strong, m.name), m.unit),
                         command::line_width(), 2) +
            "\n";
    text += "    " + command::wrap(m.prose, command::line_width(), 4) + "\n";
    for (const metric::Formula& f : m.formulas)
      text += command::fit("    = " + f.text, command::line_width(), 6) + "\n";
  }
  return text;
}

show::Table metrics_list(const metric::Metrics& metrics) {
  show::Table table({{"metric"}, {"unit"}, {"formula"}, {"description"}}, "Metrics");
  for (const metric::Metric& m : metrics)
    for (const metric::Formula& f : m.formulas)
      table.add({m.name, m.unit, f.text, m.prose});
  return table;
}

std::string interval_lines(const Plan& plan, const Slice& slice, bool head) {
  std::string text;
  if (head && slice.repetition > 0) text += fmt::format("repetition {}\n", slice.repetition + 1);
  if (head)
    text += fmt::format("{:>12} {:>16} {}\n", fmt::format("s{}", host::emulated_text()), "value", "metric");
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (!row.refused.empty() || row.kind == RowKind::usage || !row.witness.empty())
      continue; // printed, or known, at the end
    const auto value = result::as_double(slice.rows[r].value);
    const double share = summarise(std::span(&slice, 1), r).share;
    const ShownUnit unit = shown_unit(row.unit, value.value_or(0));
    text += fmt::format("{:>12.3f} {:>16} {}{}{}{}\n", slice.end,
                        value ? command::format_number(*value / unit.size) : "not counted", row.name,
                        unit.name.empty() ? "" : " ", unit.name,
                        share < 1 ? fmt::format(", counted {:.1f} %", 100 * share) : "");
  }
  return text;
}

namespace {

/// perf and PAPI side by side, with the difference.
show::Table counted_twice(const Plan& plan, const RunResult& ended) {
  using show::Role;
  show::Table table({{"event"},
                     {"perf", Role::number},
                     {"papi", Role::number},
                     {"unit", Role::words, 1},
                     {"papi - perf", Role::number, 0, "diff."},
                     {"", Role::number, 2}},
                    "Counts");
  std::map<std::size_t, Difference> by_row;
  for (const Difference& difference : differences(plan, ended))
    by_row[difference.perf] = difference;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (row.twin) continue; // beside perf
    const auto difference = by_row.find(r);
    const bool twice = difference != by_row.end();
    const auto perf = summarise(ended.repetitions, r);
    const auto papi = twice ? summarise(ended.repetitions, difference->second.papi) : RowSummary{};
    const ShownUnit unit = shown_unit(row.unit, perf.mean.value_or(papi.mean.value_or(0)));
    const auto value = [&](const RowSummary& s) {
      return show::Cell(value_text(s, unit), s.mean ? "" : "-");
    };
    table.add({command::event_cell(row.name), value(perf), twice ? value(papi) : show::Cell(), unit.name,
               twice ? difference_text(difference->second, unit) : "", coverage_text(perf)});
  }
  return table;
}

} // namespace

show::Table values_table(const Plan& plan, const RunResult& ended, bool counted_only) {
  const bool simulated =
      std::ranges::any_of(plan.rows, [](const auto& row) { return row.witness.modelled(); });
  if (!simulated && std::ranges::any_of(plan.rows, [](const auto& row) { return row.twin.has_value(); }))
    return counted_twice(plan, ended);
  using show::Role;
  const bool several = ended.repetitions.size() > 1;
  std::vector<show::Column> columns{
      {"event"},
      {several ? "mean" : "value", Role::number},
      {"unit"},
      {several ? "std. deviation" : "", Role::number, 2, several ? "deviation" : ""},
      {"", Role::number}};
  const bool modelled = std::ranges::any_of(plan.rows, [](const auto& row) { return !row.witness.empty(); });
  if (plan.rates) columns.insert(columns.begin() + 3, {"rate", Role::number, 3});
  if (modelled) columns.insert(columns.begin() + 1, {"witness", Role::words, 1});
  show::Table table(std::move(columns), "Counts");
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (is_beside(plan, r)) continue;
    const auto s = summarise(ended.repetitions, r);
    if (counted_only && !s.mean) continue;
    const ShownUnit unit = shown_unit(row.unit, s.mean.value_or(0));
    std::vector<show::Cell> cells{command::event_cell(row.name),
                                  {value_text(s, unit), s.mean ? "" : "-"},
                                  s.mean ? unit.name : "",
                                  deviation_text(s),
                                  coverage_text(s)};
    if (plan.rates) cells.insert(cells.begin() + 3, rate_text(plan, ended, r));
    if (modelled) cells.insert(cells.begin() + 1, witness_name(row));
    table.add(std::move(cells));
  }
  return table;
}

namespace {

/// A CPU, core or thread with counts of its own, and the repetitions with these.
struct PlaceSlices {
  std::string name;
  std::vector<Slice> slices = {};
};
/// Empty: none were counted separately.
std::vector<PlaceSlices> places_in(const RunResult& ended) {
  std::vector<PlaceSlices> places;
  for (const Slice& slice : ended.repetitions)
    for (const auto& [name, rows] : slice.places) {
      auto at = std::ranges::find(places, name, &PlaceSlices::name);
      if (at == places.end()) at = places.insert(at, {name});
      at->slices.emplace_back(slice).rows = rows;
    }
  std::ranges::sort(places, {}, [](const PlaceSlices& place) {
    return std::pair(place.name.size(), place.name); // CPU2 before CPU10
  });
  return places;
}

show::Table places_table(const Plan& plan, const std::vector<PlaceSlices>& places) {
  using show::Role;
  show::Table table({{"where"}, {"value", Role::number}, {"unit"}, {"event"}, {"", Role::number}}, "Places");
  for (const auto& [name, slices] : places)
    for (std::size_t r = 0; r < plan.rows.size(); ++r) {
      const PlanRow& row = plan.rows[r];
      if (row.kind == RowKind::usage || !row.witness.empty() || !row.refused.empty()) continue;
      const auto s = summarise(slices, r);
      const ShownUnit unit = shown_unit(row.unit, s.mean.value_or(0));
      table.add({"  " + name, value_text(s, unit), s.mean ? unit.name : "", row.name, coverage_text(s)});
    }
  return table;
}

/// The values of a row of the plan. `keys`: what it is of.
void add_count(std::vector<show::Datum>& all, const PlanRow& row, const RowSummary& s,
               const std::vector<std::pair<std::string, std::string>>& keys) {
  show::Datum datum{keys, row.name};
  datum.unit = row.unit;
  datum.witness = witness_name(row);
  datum.repetitions = s.values.size();
  datum.reason = row.refused.empty() ? s.reason.text() : row.refused.text();
  if (!s.mean) {
    all.push_back(datum);
    return;
  }
  const auto sampled = std::ranges::find_if(s.flags, is_sampled);
  if (s.values.size() == 1) {
    const auto bound = [&](double side) {
      return sampled == s.flags.end() ? std::nullopt
                                      : std::optional(*s.mean + side * sampled->error.value_or(0));
    };
    all.push_back(datum.with("value", s.values.front(), bound(-1), bound(1)));
  } else {
    const auto summary = statistics::summarise(s.values);
    all.insert(all.end(), {datum.with("median", summary.median, summary.low, summary.high),
                           datum.with("mean", s.mean), datum.with("standard deviation", s.deviation)});
  }
  datum.unit.clear();
  if (s.share < 1) all.push_back(datum.with("share of the time counted", s.share));
  if (sampled != s.flags.end())
    all.push_back(datum.with("share of the accesses simulated", sampled->share.value_or(0) / 100));
}

} // namespace

std::vector<show::Datum> count_data(const Plan& plan, const RunResult& ended, const std::string& what) {
  std::vector<show::Datum> all;
  for (std::size_t r = 0; r < plan.rows.size(); ++r)
    add_count(all, plan.rows[r], summarise(ended.repetitions, r), {{"command", what}});
  for (const auto& [place, slices] : places_in(ended))
    for (std::size_t r = 0; r < plan.rows.size(); ++r)
      if (const PlanRow& row = plan.rows[r];
          row.kind != RowKind::usage && row.witness.empty() && row.refused.empty())
        add_count(all, row, summarise(slices, r), {{"command", what}, {"where", place}});
  return all;
}

std::string stat_table(const Plan& plan, const RunResult& ended, const std::string& what, std::FILE* stream) {
  std::map<std::string, std::vector<std::string>> missing, flags; // names of rows, by reason and flag
  std::set<std::string> fixes;
  const std::string cut_short = cut_short_flag(ended); // printed once, in the first line
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    const auto s = summarise(ended.repetitions, r);
    for (const Flag& flag : s.flags)
      if (!is_sampled(flag) && flag.text != cut_short) flags[flag.text].push_back(listed_name(row));
    if (!row.refused.empty() && row.refused_by != row.name && is_refused(plan, row.refused_by))
      continue; // printed for the event itself
    if (!row.refused.empty()) {
      if (row.refused.code != ReasonCode::no_pmu) fixes.insert(row.refused.fix);
      missing[command::brief(row.refused)].push_back(
          listed_name(row) + (row.refused_by.empty() ? "" : " (" + row.refused_by + ")"));
    } else if (s.mean && s.missing > 0) {
      missing[s.reason.text()].push_back(
          fmt::format("{} in {} of {}", listed_name(row), s.missing,
                      base::format_count(ended.repetitions.size(), "repetition")));
    } else if (!s.mean && !ended.repetitions.empty()) {
      missing[s.reason.text()].push_back(listed_name(row));
    }
  }
  fixes.erase("");
  if (ended.cut_short && ended.signal == 0 && ended.requested > 1) fixes.emplace(keep_failures);
  std::string text = fmt::format("{}: {}{}\n", what, times_text(ended), host::emulated_text());
  if (const auto places = places_in(ended); !places.empty())
    text += command::table_text(places_table(plan, places), stream);
  const bool named_below = command::line_width(stream) < 80 && !missing.empty();
  const show::Table table = values_table(plan, ended, named_below);
  if (!table.empty()) text += command::table_text(table, stream);
  for (const auto& [why, names] : missing)
    text += not_counted_line(names, why, stream);
  for (const std::string& fix : fixes)
    text += note_line("fix: " + fix, stream);
  for (const auto& [flag, names] : flags)
    text += note_line(fmt::format("{}: {}", fmt::join(names, ", "), flag), stream);
  for (const auto& notes : {difference_notes(plan, ended), plan.notes})
    for (const std::string& note : notes)
      text += note_line(note, stream);
  return text;
}

namespace {

/// Quoted where it would be read as several cells (RFC 4180).
std::string cell(const std::string& text, const std::string& separator) {
  if (text.find(separator) == text.npos && text.find_first_of("\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// VALUE,UNIT,EVENT[,SPREAD],RUNNING,PERCENT,WITNESS: times in msec, as perf has them. `several`: with the
/// relative standard error of the mean.
std::string csv_line(const PlanRow& row, const RowSummary& s, double running_ns, bool several,
                     const std::string& separator) {
  const bool time = is_nanoseconds(row.unit);
  const double size = time ? 1e6 : 1;
  std::vector<std::string> cells{s.mean ? fmt::format("{}", *s.mean / size) : not_counted,
                                 time ? "msec" : row.unit, row.name};
  if (several) {
    const double n = static_cast<double>(s.values.size());
    const bool known = s.deviation && *s.mean != 0;
    cells.push_back(known ? fmt::format("{:.2f}%", 100 * *s.deviation / std::sqrt(n) / std::abs(*s.mean))
                          : "");
  }
  cells.push_back(fmt::format("{:.0f}", s.mean ? running_ns : 0));
  cells.push_back(fmt::format("{:.2f}", s.mean ? 100 * s.share : 0));
  cells.push_back(witness_name(row));
  std::string line;
  for (const std::string& one : cells)
    line += (&one == cells.data() ? "" : separator) + cell(one, separator);
  return line + "\n";
}

std::string csv_lines(const Plan& plan, std::span<const Slice> slices, bool usage, const std::string& lead,
                      const std::string& separator, bool several) {
  std::string text;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    if (!usage && (plan.rows[r].kind == RowKind::usage || !plan.rows[r].witness.empty())) continue;
    double running = 0;
    for (const Slice& slice : slices)
      running +=
          static_cast<double>(slice.rows[r].running_ns.value_or(0)) / static_cast<double>(slices.size());
    text += lead + csv_line(plan.rows[r], summarise(slices, r), running, several, separator);
  }
  return text;
}

} // namespace

std::string interval_csv(const Plan& plan, const Slice& slice, const std::string& separator) {
  const std::string lead = fmt::format("{:.9f}{}", slice.end, separator);
  return csv_lines(plan, std::span(&slice, 1), false, lead, separator, false);
}

std::string stat_csv(const Plan& plan, const RunResult& ended, const std::string& separator) {
  std::string text;
  for (const auto& [name, slices] : places_in(ended))
    text += csv_lines(plan, slices, false, cell(name, separator) + separator, separator, ended.requested > 1);
  if (!text.empty()) return text;
  return csv_lines(plan, ended.repetitions, true, "", separator, ended.requested > 1);
}

namespace {

Json difference_json(const Difference& difference) {
  Json json{{"of", "perf"}, {"value", or_null(difference.value)}, {"relative", or_null(difference.relative)}};
  json["same_runs"] = difference.joint;
  json["reported"] = difference.reported;
  if (!difference.why.empty()) json["why"] = difference.why;
  return json;
}

constexpr const char* kind_names[] = {"event", "preset", "metric", "usage", "modelled"}; // as RowKind

Json described(const PlanRow& row) {
  Json json{{"name", row.name}, {"kind", kind_names[static_cast<std::size_t>(row.kind)]}};
  if (!row.witness.empty()) json["witness"] = row.witness;
  if (row.part) json["part_of"] = row.operands.front().name;
  if (!row.unit.empty()) json["unit"] = row.unit;
  if (row.kind == RowKind::metric && row.refused.empty())
    json["formula"] = row.metric.formulas[row.formula].text;
  return json;
}

Json with_summary(const PlanRow& row, const RowSummary& s) {
  Json json = described(row);
  json["mean"] = or_null(s.mean);
  json["deviation"] = or_null(s.deviation);
  json["values"] = s.values;
  if (s.share < 1) json["share"] = s.share;
  if (s.missing > 0) json["missing"] = s.missing;
  if (!s.reason.empty()) json["reason"] = s.reason.text();
  for (const Flag& flag : s.flags)
    json["flags"].push_back(flag.text);
  return json;
}

Json with_values(const Plan& plan, const Slice& slice) {
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
  if (ended.stopped > 0) json["stopped"] = ended.stopped;
  if (ended.cut_short) json["cut_short"] = interruption_text(ended);
  return json;
}

std::string stat_json(const Plan& plan, const Request& request, const RunResult& ended,
                      const std::vector<Slice>& intervals) {
  Json json;
  json["command"] = request.command;
  if (!request.pids.empty()) json["pids"] = request.pids;
  if (!plan.cpus.empty()) json["cpus"] = plan.cpus;
  json["status"] = ended.exit ? Json(exit_status(ended)) : Json();
  if (!request.command.empty()) json["runs"] = runs_json(ended);
  json["domain"] = plan.domain == Domain::user ? "user" : plan.domain == Domain::kernel ? "kernel" : "all";
  json["seconds"] = ended.repetitions | ranges::views::transform(&Slice::end) | ranges::to<std::vector>();
  json["metrics"] = Json::array();
  for (std::size_t r = 0; r < plan.rows.size(); ++r)
    json["metrics"].push_back(with_summary(plan.rows[r], summarise(ended.repetitions, r)));
  for (const Difference& difference : differences(plan, ended))
    json["metrics"][difference.papi]["difference"] = difference_json(difference);
  for (const auto& [name, slices] : places_in(ended)) {
    Json place{{"name", name}, {"metrics", Json::array()}};
    for (std::size_t r = 0; r < plan.rows.size(); ++r)
      if (plan.rows[r].kind != RowKind::usage)
        place["metrics"].push_back(with_summary(plan.rows[r], summarise(slices, r)));
    json["places"].push_back(std::move(place));
  }
  json["groups"] = make_array(plan.groups, [&](const auto& group) {
    return make_array(group, [&](std::size_t e) { return plan.events[e].name; });
  });
  for (const Slice& slice : intervals)
    json["intervals"].push_back(with_values(plan, slice));
  if (!plan.notes.empty()) json["notes"] = plan.notes;
  return json_text("stat", json);
}

} // namespace recount::stat
