#include "commands/stat/stat_compare.hpp"
#include "base/names.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "commands/stat/stat_table.hpp"
#include "show/command/measuring.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace recount::stat {
namespace {

constexpr const char* wall_time = "wall time";
constexpr const char* cpu_time = "perf::TASK-CLOCK";

constexpr const char* between_commands = "---";

void judge(ComparedRow& row) {
  if (row.first.empty() || row.second.empty()) return;
  row.evidence = statistics::evidence(row.first, row.second);
  if (const double median = statistics::median(row.first); median != 0)
    row.ratio = statistics::median(row.second) / median;
}

std::string median_text(const std::vector<double>& values, const std::string& unit) {
  if (values.empty()) return "not counted";
  const double value = statistics::median(values);
  const ShownUnit shown = shown_unit(unit, value);
  return command::format_number(value / shown.size) + (shown.name.empty() ? "" : " " + shown.name);
}

/// "1.500"; "1.02 ?" where that is not established.
std::string ratio_text(const ComparedRow& row) {
  if (row.first.empty() || row.second.empty()) return "-";
  const bool clear = row.evidence == statistics::Evidence::clear, decided = row.decided();
  if (!row.ratio) return clear ? "differs" : decided ? "equal" : "?";
  return fmt::format("{:.{}f}{}", *row.ratio, clear ? 3 : 2, decided ? "" : " ?");
}

/// Of the interval of the median, the larger one.
double relative_width(const ComparedRow& row) {
  double width = 0;
  for (const auto* side : {&row.first, &row.second}) {
    const auto s = statistics::summarise(*side);
    if (s.value > 0) width = std::max(width, (s.high - s.low) / s.value);
  }
  return width;
}

const char* name_of(statistics::Evidence evidence) {
  switch (evidence) {
  case statistics::Evidence::clear: return "clear";
  case statistics::Evidence::overlap: return "overlap";
  case statistics::Evidence::weak: return "weak";
  default: return "few";
  }
}

Json side_json(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto s = statistics::summarise(values);
  return {{"median", s.value}, {"interval", {s.low, s.high}}, {"values", values}};
}

} // namespace

std::pair<std::vector<std::string>, std::vector<std::string>>
split_commands(const std::vector<std::string>& words) {
  const auto at = std::ranges::find(words, between_commands);
  const bool one = at != words.end() && std::find(at + 1, words.end(), between_commands) == words.end();
  if (!one || at == words.begin() || at + 1 == words.end())
    throw bad_input("--compare", "needs two commands with one --- between them",
                    "recount stat --compare -- COMMAND1 --- COMMAND2");
  return {{words.begin(), at}, {at + 1, words.end()}};
}

TwoResults run_in_turn(const Plan& plan, const Request& first, const Request& second,
                       const std::function<bool(const TwoResults& both)>& go_on) {
  TwoResults both;
  RunResult* const results[] = {&both.first, &both.second};
  const process::HeldSignals signals; // also between the runs
  Request requests[] = {first, second};
  for (const int side : {0, 1}) {
    results[side]->requested = first.repeat;
    requests[side].progress = {};
    warm_up(*results[side], requests[side], signals);
    if (!results[side]->goes_on()) return both;
  }
  const std::vector<Pass> passes[] = {{perf_pass(plan, requests[0])}, {perf_pass(plan, requests[1])}};
  for (int repetition = 0;; ++repetition) {
    for (const int side : {repetition % 2, 1 - repetition % 2}) {
      RunResult& all = *results[side];
      all.requested = std::max(all.requested, repetition + 1);
      add_repetition(all, plan, requests[side], passes[side], repetition, signals);
      if (all.cut_short && all.requested == 1) all.repetitions.clear();
      if (!all.goes_on()) return both;
    }
    if (!go_on(both)) return both;
  }
}

bool ComparedRow::decided() const {
  constexpr double equal = 0.02;
  if (first.empty() || second.empty() || evidence == statistics::Evidence::clear) return true;
  if (evidence == statistics::Evidence::few) return false;
  const auto one = statistics::summarise(first), other = statistics::summarise(second);
  return std::max(one.high, other.high) - std::min(one.low, other.low) <= equal * std::abs(one.value);
}

bool leads_cpu_time(const std::vector<ComparedRow>& rows) {
  const auto wall = std::ranges::find(rows, wall_time, &ComparedRow::name),
             cpu = std::ranges::find(rows, cpu_time, &ComparedRow::name);
  if (cpu == rows.end() || cpu->evidence == statistics::Evidence::few) return false;
  constexpr double least = 0.1; // of wall time, else what it waits for is compared
  return statistics::median(cpu->first) > least * statistics::median(wall->first) &&
         statistics::median(cpu->second) > least * statistics::median(wall->second) &&
         relative_width(*wall) > std::max(0.05, 2 * relative_width(*cpu));
}

bool decided(const std::vector<ComparedRow>& rows, bool requested) {
  if (!requested || rows.size() == 1) return rows.front().decided();
  return std::ranges::all_of(rows,
                             [](const ComparedRow& row) { return row.name == wall_time || row.decided(); });
}

std::vector<ComparedRow> compare_rows(const Plan& plan, const TwoResults& both) {
  const auto times = [](const RunResult& result) {
    return result.repetitions | ranges::views::transform([](const Slice& slice) { return slice.end * 1e9; }) |
           ranges::to<std::vector>();
  };
  std::vector<ComparedRow> rows{
      {.name = wall_time, .unit = "ns", .first = times(both.first), .second = times(both.second)}};
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const RowSummary first = summarise(both.first.repetitions, r),
                     second = summarise(both.second.repetitions, r);
    rows.push_back({.name = plan.rows[r].name,
                    .unit = plan.rows[r].unit,
                    .first = first.values,
                    .second = second.values,
                    .reason = first.values.empty()    ? first.reason
                              : second.values.empty() ? second.reason
                                                      : std::string(),
                    .beside = is_beside(plan, r)});
  }
  std::ranges::for_each(rows, judge);
  if (leads_cpu_time(rows)) {
    const auto cpu = std::ranges::find(rows, cpu_time, &ComparedRow::name);
    std::rotate(rows.begin(), cpu, cpu + 1);
  }
  return rows;
}

namespace {

/// Both medians and their ratio, for CSV.
std::vector<show::Datum> comparison_data(const ComparedRow& row) {
  std::vector<show::Datum> all;
  for (const auto* side : {&row.first, &row.second}) {
    show::Datum& datum = all.emplace_back();
    datum.keys = {{"command", side == &row.first ? "1" : "2"}};
    datum.quantity = row.name;
    datum.unit = row.unit;
    datum.witness = row.name == wall_time ? "clock" : "perf";
    datum.repetitions = side->size();
    if (side->empty()) {
      datum.reason = row.reason.text();
      continue;
    }
    const auto s = statistics::summarise(*side);
    datum = datum.with(statistics::name_of(s.statistic), s.value, s.low, s.high);
  }
  show::Datum& ratio = all.emplace_back();
  ratio.keys = {{"command", "2 / 1"}};
  ratio.quantity = row.name;
  ratio.statistic = "ratio of the medians";
  ratio.repetitions = std::min(row.first.size(), row.second.size());
  if (row.evidence == statistics::Evidence::clear) ratio.value = row.ratio;
  ratio.reason =
      !row.reason.empty() ? row.reason.text() : statistics::reservation(row.evidence, ratio.repetitions);
  return all;
}

} // namespace

show::Table comparison_table(const std::vector<ComparedRow>& rows) {
  using show::Role;
  show::Table table({{"event"},
                     {"1: median", Role::number, 1, "1"},
                     {"2: median", Role::number, 0, "2"},
                     {"2 / 1", Role::number}},
                    "Comparison");
  for (const ComparedRow& row : rows)
    if (!row.beside && (!row.first.empty() || !row.second.empty()))
      table.add({command::event_cell(row.name), median_text(row.first, row.unit),
                 median_text(row.second, row.unit), ratio_text(row)});
  for (const ComparedRow& row : rows)
    table.add_data(comparison_data(row));
  return table;
}

std::string comparison_text(const std::vector<ComparedRow>& rows, const std::string& first,
                            const std::string& second, std::FILE* stream) {
  const std::size_t n = std::min(rows.front().first.size(), rows.front().second.size());
  const std::size_t columns = command::line_width(stream);
  std::string text;
  for (const std::string& line :
       {"1: " + first, "2: " + second, base::format_count(n, "repetition") + " of each in turn"})
    text += command::fit(line, columns, 2) + "\n";
  const show::Table table = comparison_table(rows);
  if (!table.empty()) text += command::table_text(table, stream);
  if (leads_cpu_time(rows))
    text += note_line(fmt::format("wall time varies by {:.0f} %, CPU by {:.0f} %",
                                  100 * relative_width(rows[1]), 100 * relative_width(rows[0])),
                      stream);
  std::map<std::string, std::vector<std::string>> missing; // by reason
  for (const ComparedRow& row : rows)
    if (!row.reason.empty() && !row.beside) missing[command::brief(row.reason)].push_back(row.name);
  for (const auto& [why, names] : missing)
    text += not_counted_line(names, why, stream);
  const bool open =
      std::ranges::any_of(rows, [](const ComparedRow& row) { return !row.beside && !row.decided(); });
  const std::string why = columns < 80
                              ? ""
                              : fmt::format(" (intervals overlap, or too few runs; -r {} may decide)",
                                            std::max<std::size_t>(10, 2 * n));
  return text + note_line((open ? "?: not established" + why + ". " : "") + "More: --json", stream);
}

std::string cut_short_text(const TwoResults& both) {
  std::string text;
  bool failed = false;
  for (const RunResult* ended : {&both.first, &both.second}) {
    failed = failed || (ended->cut_short && ended->signal == 0);
    const std::string why = ended->cut_short    ? completed_text(*ended)
                            : ended->failed > 0 ? base::format_count(ended->failed, "run") + " failed"
                                                : "";
    if (!why.empty()) text += fmt::format("  {}: {}\n", ended == &both.first ? 1 : 2, why);
  }
  return text + (failed ? fmt::format("  fix: {}\n", keep_failures) : "");
}

std::string comparison_json(const std::vector<ComparedRow>& rows, const Request& first, const Request& second,
                            const TwoResults& both) {
  Json json{{"commands", {first.command, second.command}},
            {"repeat", std::max(both.first.requested, both.second.requested)}};
  json["runs"] = {runs_json(both.first), runs_json(both.second)};
  json["metrics"] = Json::array();
  for (const ComparedRow& row : rows) {
    Json one{{"name", row.name}, {"unit", row.unit}};
    one["first"] = side_json(row.first);
    one["second"] = side_json(row.second);
    one["ratio"] = or_null(row.ratio);
    one["evidence"] = name_of(row.evidence);
    one["distinguishable"] = row.evidence == statistics::Evidence::clear;
    if (!row.reason.empty()) one["reason"] = row.reason.text();
    json["metrics"].push_back(std::move(one));
  }
  return json_text("stat-compare", json);
}

} // namespace recount::stat
