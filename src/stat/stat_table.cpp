#include "stat/stat_table.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "process/waiter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace recount::stat {
namespace {

/// The displayed unit of a value and its divisor.
struct ShownUnit {
  std::string name;
  double size = 1;
};

ShownUnit shown_unit(const std::string& unit, double value) {
  if (unit == "ns") return {"ms", 1e6};
  if (unit != "bytes") return {unit, 1};
  constexpr double mebi = 1 << 20;
  return value < mebi ? ShownUnit{"KiB", 1024} : ShownUnit{"MiB", mebi};
}

bool is_sampled(const Flag& flag) {
  return flag.kind == Flag::Kind::sampled;
}

std::string show_deviation(const stat::Summary& s) {
  if (!s.deviation) return {};
  if (*s.mean == 0) return fmt::format("+- {:.3g}", *s.deviation);
  return fmt::format("+- {:.1f} %", 100 * *s.deviation / std::abs(*s.mean));
}

/// "57.1 %" of the time, for multiplexed events.
std::string format_share(double share) {
  return share < 1 ? fmt::format("{:.1f} %", 100 * share) : std::string();
}

/// "sampled 3.1 %: +- 1200", of one that is simulated in part.
std::string sampled_text(const stat::Summary& s) {
  const auto flag = std::ranges::find_if(s.flags, is_sampled);
  if (flag == s.flags.end()) return {};
  const double percent = flag->share.value_or(0);
  return fmt::format("sampled {} %: +- {:.0f}",
                     percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent),
                     flag->error.value_or(0));
}

/// Whether a row of this name is refused as well.
bool refused(const stat::Plan& plan, const std::string& name) {
  return std::ranges::any_of(
      plan.rows, [&](const stat::PlanRow& row) { return row.name == name && !row.refused.empty(); });
}

/// Reasons and flags shared by several rows are printed once.
void add_notes(std::string& text, const std::string& before, const std::map<std::string, std::string>& notes,
               std::size_t columns) {
  for (const auto& [note, names] : notes)
    text += "  " + command::wrap(fmt::format("{}{}: {}", before, names, note), columns, 4) + "\n";
}

std::string times_text(const stat::RunResult& ended) {
  std::vector<double> took;
  for (const stat::Slice& slice : ended.repetitions)
    took.push_back(slice.end);
  const auto s = stat::summarise(std::move(took));
  std::string text = completed_text(ended);
  if (!s.mean) return text;
  std::string times = s.values.size() == 1
                          ? command::format_number(*s.mean) + " s"
                          : fmt::format("{} repetitions of {} s {}", s.values.size(),
                                        command::format_number(*s.mean, s.deviation), show_deviation(s));
  if (ended.failed > 0)
    text = fmt::format("{} of {} failed: {}", ended.failed, base::format_count(ended.requested, "run"),
                       process::describe(*ended.exit));
  if (text.empty()) return times;
  return ended.requested > 1 && ended.cut_short ? text + ", " + times : times + ", " + text;
}

} // namespace

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

command::Table metrics_list(const metric::Metrics& metrics) {
  command::Table table({{"metric"}, {"unit"}, {"formula"}, {"description"}}, "Metrics");
  for (const metric::Metric& m : metrics)
    for (const metric::Formula& f : m.formulas)
      table.add({m.name, m.unit, f.text, m.prose});
  return table;
}

std::string interval_lines(const stat::Plan& plan, const stat::Slice& slice, bool head) {
  std::string text;
  if (head && slice.repetition > 0) text += fmt::format("repetition {}\n", slice.repetition + 1);
  if (head) text += fmt::format("{:>12} {:>16} {}\n", "s", "value", "metric");
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const stat::PlanRow& row = plan.rows[r];
    if (!row.refused.empty()) continue; // printed at the end
    const auto value = result::as_double(slice.rows[r].value);
    if (row.kind == stat::RowKind::usage) continue; // known at the end
    const double share = stat::summarise(std::span(&slice, 1), r).share;
    const ShownUnit unit = shown_unit(row.unit, value.value_or(0));
    text += fmt::format("{:>12.3f} {:>16} {}{}{}{}{}\n", slice.end,
                        value ? command::format_number(*value / unit.size) : "not counted", row.name,
                        unit.name.empty() ? "" : " " + unit.name,
                        share < 1 ? ", counted " + format_share(share) : "", row.mark.empty() ? "" : " ",
                        command::in_parentheses(row.mark));
  }
  return text;
}

command::Table values_table(const stat::Plan& plan, const stat::RunResult& ended) {
  using Align = command::Table::Align;
  const bool several = ended.repetitions.size() > 1;
  std::vector<command::Table::Column> columns{{"event"},
                                              {several ? "mean" : "value", Align::right},
                                              {"unit"},
                                              {several ? "deviation" : "", Align::right},
                                              {"", Align::right}};
  const bool modelled = std::ranges::any_of(plan.rows, [](const auto& row) { return !row.witness.empty(); });
  if (modelled) columns.insert(columns.begin() + 1, {"witness"});
  if (!row_marks(plan).empty()) columns.push_back({"verdict"});
  command::Table table(std::move(columns), "Counts");
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const stat::PlanRow& row = plan.rows[r];
    const auto s = stat::summarise(ended.repetitions, r);
    if (!s.mean) continue;
    const ShownUnit unit = shown_unit(row.unit, *s.mean);
    const auto deviation = s.deviation ? std::optional(*s.deviation / unit.size) : std::nullopt;
    const auto counted = format_share(s.share);
    std::vector<std::string> cells{"  " + row.name, command::format_number(*s.mean / unit.size, deviation),
                                   unit.name, show_deviation(s),
                                   counted.empty() ? sampled_text(s) : "counted " + counted};
    if (modelled) cells.insert(cells.begin() + 1, row.witness.empty() ? "perf" : row.witness);
    if (!row.mark.empty()) cells.push_back(command::in_parentheses(row.mark));
    table.add(std::move(cells));
  }
  return table;
}

std::string stat_table(const stat::Plan& plan, const stat::RunResult& ended, const std::string& what,
                       std::FILE* stream) {
  std::map<std::string, std::string> missing, flags;
  std::set<std::string> fixes;
  const std::string cut_short = cut_short_flag(ended); // printed once, in the first line
  const auto note = [](auto& notes, const std::string& why, const std::string& name) {
    std::string& names = notes[why];
    names += (names.empty() ? "" : ", ") + name;
  };
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const stat::PlanRow& row = plan.rows[r];
    const auto s = stat::summarise(ended.repetitions, r);
    for (const Flag& flag : s.flags)
      if (!is_sampled(flag) && flag.text != cut_short) note(flags, flag.text, row.name);
    if (!row.refused.empty() && row.refused_by != row.name && refused(plan, row.refused_by))
      continue; // printed for the event itself
    if (!row.refused.empty()) fixes.insert(command::fix_of(row.refused));
    if (!row.refused.empty())
      note(missing, command::brief(row.refused),
           row.refused_by.empty() ? row.name : row.name + " (" + row.refused_by + ")");
    else if (s.mean && s.missing > 0)
      note(missing, s.reason,
           fmt::format("{} in {} of {}", row.name, s.missing,
                       base::format_count(ended.repetitions.size(), "repetition")));
    else if (!s.mean && !ended.repetitions.empty())
      note(missing, s.reason, row.name);
  }
  const std::size_t columns = command::line_width(stream);
  const command::Table table = values_table(plan, ended);
  std::string text = fmt::format("{}: {}\n", what, times_text(ended));
  if (!table.empty()) text += table.text(stream);
  add_notes(text, "not counted: ", missing, columns);
  fixes.erase("");
  if (ended.cut_short && ended.signal == 0 && ended.requested > 1) fixes.emplace(keep_failures);
  for (const std::string& fix : fixes)
    text += "  " + command::wrap("fix: " + fix, columns, 4) + "\n";
  add_notes(text, "", flags, columns);
  for (const std::string& n : plan.notes)
    text += "  " + command::wrap(n, columns, 4) + "\n";
  return text;
}

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
