#include "commands/stat/stat_compare.hpp"
#include "base/names.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "commands/stat/stat_table.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>

namespace recount::stat {
namespace {

constexpr const char* wall_time = "wall time";

constexpr const char* between_commands = "---";

void judge(ComparedRow& row) {
  if (row.first.empty() || row.second.empty()) return;
  row.evidence = statistics::evidence(row.first, row.second);
  if (const double median = statistics::median(row.first); median != 0)
    row.ratio = statistics::median(row.second) / median;
}

std::string number_text(double value, const std::string& unit) {
  return command::format_number(is_nanoseconds(unit) ? value / shown_unit(unit, value).size : value);
}

std::string median_text(const std::vector<double>& values, const std::string& unit) {
  return values.empty() ? "" : number_text(statistics::median(values), unit);
}

std::string interval_text(const std::vector<double>& values, const std::string& unit) {
  if (values.empty()) return "not counted";
  const auto s = statistics::summarise(values);
  if (s.low == s.high) return number_text(s.value, unit);
  return fmt::format("{} ({} to {})", number_text(s.value, unit), number_text(s.low, unit),
                     number_text(s.high, unit));
}

/// The least and the greatest ratio of values of two repetitions, which allow no conclusion.
std::optional<std::pair<double, double>> range_of_two(const ComparedRow& row) {
  if (row.evidence != statistics::Evidence::few || std::min(row.first.size(), row.second.size()) < 2)
    return {};
  const auto [low1, high1] = std::ranges::minmax(row.first);
  const auto [low2, high2] = std::ranges::minmax(row.second);
  if (!row.ratio || low1 <= 0) return {};
  return std::pair(low2 / high1, high2 / low1);
}

std::string ratio_text(const ComparedRow& row) {
  if (row.first.empty() || row.second.empty()) return "-";
  if (const auto range = range_of_two(row))
    return fmt::format("{:.3f} ({:.3f} to {:.3f})", *row.ratio, range->first, range->second);
  if (row.evidence != statistics::Evidence::clear) return "n.d.";
  return row.ratio ? fmt::format("{:.3f}", *row.ratio) : "differs";
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

TwoResults run_in_turn(const Plan& plan, const Request& first, const Request& second) {
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
  for (int repetition = 0; repetition < first.repeat; ++repetition)
    for (const int side : {repetition % 2, 1 - repetition % 2}) {
      RunResult& all = *results[side];
      add_repetition(all, plan, requests[side], passes[side], repetition, signals);
      if (all.cut_short && all.requested == 1) all.repetitions.clear();
      if (!all.goes_on()) return both;
      if (first.progress && side == 1 - repetition % 2) first.progress(repetition + 1, both.last_pair());
    }
  return both;
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
                                                      : std::string()});
  }
  std::ranges::for_each(rows, judge);
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
                     {"1: median (95 % interval)", Role::number, 0, "1: median"},
                     {"2: median (95 % interval)", Role::number, 0, "2: median"},
                     {"unit", Role::words, 1},
                     {"2 / 1", Role::number}},
                    "Comparison");
  for (const ComparedRow& row : rows)
    if (!row.first.empty() || !row.second.empty())
      table.add({row.name,
                 {interval_text(row.first, row.unit), median_text(row.first, row.unit)},
                 {interval_text(row.second, row.unit), median_text(row.second, row.unit)},
                 is_nanoseconds(row.unit) ? "ms" : row.unit,
                 ratio_text(row)});
  for (const ComparedRow& row : rows)
    table.add_data(comparison_data(row));
  return table;
}

std::string comparison_text(const std::vector<ComparedRow>& rows, const std::string& first,
                            const std::string& second, std::FILE* stream) {
  const std::size_t n = std::min(rows.front().first.size(), rows.front().second.size());
  std::string text =
      fmt::format("1: {}\n2: {}\n{} of each in turn\n", first, second, base::format_count(n, "repetition"));
  if (const show::Table table = comparison_table(rows); !table.empty())
    text += command::table_text(table, stream);
  for (const ComparedRow& row : rows)
    if (!row.reason.empty())
      text += note_line("not counted: " + row.name + ": " + command::brief(row.reason), stream);
  if (std::ranges::any_of(rows, [](const auto& row) { return range_of_two(row).has_value(); }))
    text += note_line("2 / 1 with its range: no conclusion from fewer than 3 repetitions; repeat with -r 10",
                      stream);
  if (std::ranges::any_of(rows, [](const auto& row) { return ratio_text(row) == "n.d."; }))
    text +=
        note_line(fmt::format("n.d.: not distinguishable from noise; repeat with -r {} on a quiet machine",
                              std::max<std::size_t>(10, 2 * n)),
                  stream);
  return text;
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
  Json json{{"commands", {first.command, second.command}}, {"repeat", first.repeat}};
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
