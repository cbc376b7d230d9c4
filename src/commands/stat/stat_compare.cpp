#include "commands/stat/stat_compare.hpp"
#include "base/names.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "commands/stat/stat_table.hpp"
#include "kernel/command_line.hpp"
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

/// Whether the values differ, or by less than 2 %.
bool is_decided(const std::vector<double>& first, const std::vector<double>& second,
                statistics::Evidence evidence) {
  constexpr double equal = 0.02;
  if (evidence == statistics::Evidence::clear) return true;
  if (evidence == statistics::Evidence::few) return false;
  const auto one = statistics::summarise(first), other = statistics::summarise(second);
  return std::max(one.high, other.high) - std::min(one.low, other.low) <= equal * std::abs(one.value);
}

std::string median_text(const std::vector<double>& values, const std::string& unit) {
  if (values.empty()) return "not counted";
  const double value = statistics::median(values);
  const ShownUnit shown = shown_unit(unit, value);
  return command::format_number(value / shown.size) + (shown.name.empty() ? "" : " " + shown.name);
}

/// "1.500"; "1.02 ?" where that is not established.
std::string ratio_text(const ComparedRow& row, const ComparedSide& side) {
  if (side.values.empty() || row.sides[row.baseline].values.empty()) return "-";
  const bool clear = side.evidence == statistics::Evidence::clear;
  if (!side.ratio) return clear ? "differs" : side.decided ? "equal" : "?";
  return fmt::format("{:.{}f}{}", *side.ratio, clear ? 3 : 2, side.decided ? "" : " ?");
}

/// "2 / 1": numbers of commands, from 1.
std::string ratio_name(std::size_t side, std::size_t baseline) {
  return fmt::format("{} / {}", side + 1, baseline + 1);
}

/// Of the intervals of the medians, the largest one.
double relative_width(const ComparedRow& row) {
  double width = 0;
  for (const ComparedSide& side : row.sides) {
    const auto s = statistics::summarise(side.values);
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

Json side_json(const ComparedSide& side, bool compared) {
  Json json = Json::object();
  if (side.values.empty()) {
    json["reason"] = side.reason.text();
  } else {
    const auto s = statistics::summarise(side.values);
    json = {{"median", s.value}, {"interval", {s.low, s.high}}, {"values", side.values}};
  }
  if (!compared) return json;
  json["ratio"] = or_null(side.ratio);
  json["evidence"] = name_of(side.evidence);
  json["distinguishable"] = side.evidence == statistics::Evidence::clear;
  return json;
}

} // namespace

std::vector<std::vector<std::string>> split_commands(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> commands(1);
  for (const std::string& word : words)
    if (word == between_commands)
      commands.emplace_back();
    else
      commands.back().push_back(word);
  if (commands.size() < 2 || std::ranges::any_of(commands, &std::vector<std::string>::empty))
    throw bad_input("--compare", "needs two commands or more with --- between them",
                    "recount stat --compare -- COMMAND1 --- COMMAND2");
  return commands;
}

double last_round(const Results& results) {
  double seconds = 0;
  for (const RunResult& result : results)
    seconds += result.repetitions.back().end;
  return seconds;
}

Results run_in_turn(const Plan& plan, std::vector<Request> requests,
                    const std::function<bool(const Results& results)>& go_on) {
  Results results(requests.size());
  const process::HeldSignals signals; // also between the runs
  std::vector<std::vector<Pass>> passes;
  for (std::size_t side = 0; side < requests.size(); ++side) {
    results[side].requested = requests[side].repeat;
    requests[side].progress = {};
    warm_up(results[side], requests[side], signals);
    if (!results[side].goes_on()) return results;
    passes.push_back({perf_pass(plan, requests[side])});
  }
  for (int repetition = 0;; ++repetition) {
    for (std::size_t turn = 0; turn < requests.size(); ++turn) {
      const std::size_t side = (static_cast<std::size_t>(repetition) + turn) % requests.size();
      RunResult& all = results[side];
      all.requested = std::max(all.requested, repetition + 1);
      add_repetition(all, plan, requests[side], passes[side], repetition, signals);
      if (all.cut_short && all.requested == 1) all.repetitions.clear();
      if (!all.goes_on()) return results;
    }
    if (!go_on(results)) return results;
  }
}

bool ComparedRow::decided() const {
  return std::ranges::all_of(sides, &ComparedSide::decided);
}

void judge(ComparedRow& row) {
  const std::vector<double>& base = row.sides[row.baseline].values;
  for (ComparedSide& side : row.sides) {
    if (&side.values == &base || base.empty() || side.values.empty()) continue;
    side.evidence = statistics::evidence(base, side.values);
    side.decided = is_decided(base, side.values, side.evidence);
    if (const double median = statistics::median(base); median != 0)
      side.ratio = statistics::median(side.values) / median;
  }
}

bool leads_cpu_time(const std::vector<ComparedRow>& rows) {
  const auto wall = std::ranges::find(rows, wall_time, &ComparedRow::name),
             cpu = std::ranges::find(rows, cpu_time, &ComparedRow::name);
  if (cpu == rows.end()) return false;
  constexpr double least = 0.1; // of wall time, else what it waits for is compared
  for (std::size_t side = 0; side < cpu->sides.size(); ++side) {
    const ComparedSide& one = cpu->sides[side];
    if ((side != cpu->baseline && one.evidence == statistics::Evidence::few) ||
        statistics::median(one.values) <= least * statistics::median(wall->sides[side].values))
      return false;
  }
  return relative_width(*wall) > std::max(0.05, 2 * relative_width(*cpu));
}

bool decided(const std::vector<ComparedRow>& rows, bool requested) {
  if (!requested || rows.size() == 1) return rows.front().decided();
  return std::ranges::all_of(rows,
                             [](const ComparedRow& row) { return row.name == wall_time || row.decided(); });
}

std::vector<ComparedRow> compare_rows(const Plan& plan, const Results& results, std::size_t baseline) {
  std::vector<ComparedRow> rows{{.name = wall_time, .unit = "ns", .sides = {}, .baseline = baseline}};
  for (const RunResult& result : results)
    rows.front().sides.push_back(
        {.values = result.repetitions |
                   ranges::views::transform([](const Slice& slice) { return slice.end * 1e9; }) |
                   ranges::to<std::vector>()});
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    ComparedRow& row = rows.emplace_back(ComparedRow{.name = plan.rows[r].name,
                                                     .unit = plan.rows[r].unit,
                                                     .sides = {},
                                                     .baseline = baseline,
                                                     .derived = is_beside(plan, r)});
    for (const RunResult& result : results) {
      RowSummary s = summarise(result.repetitions, r);
      row.sides.push_back({.values = s.values, .reason = s.values.empty() ? s.reason : Reason()});
    }
  }
  std::ranges::for_each(rows, judge);
  if (leads_cpu_time(rows)) {
    const auto cpu = std::ranges::find(rows, cpu_time, &ComparedRow::name);
    std::rotate(rows.begin(), cpu, cpu + 1);
  }
  return rows;
}

namespace {

/// The medians and their ratios to that of the baseline, for CSV.
std::vector<show::Datum> comparison_data(const ComparedRow& row) {
  std::vector<show::Datum> all, ratios;
  const ComparedSide& base = row.sides[row.baseline];
  for (std::size_t i = 0; i < row.sides.size(); ++i) {
    const ComparedSide& side = row.sides[i];
    show::Datum& datum = all.emplace_back();
    datum.keys = {{"command", std::to_string(i + 1)}};
    datum.quantity = row.name;
    datum.unit = row.unit;
    datum.witness = row.name == wall_time ? "clock" : "perf";
    datum.repetitions = side.values.size();
    datum.reason = side.reason.text();
    if (!side.values.empty()) {
      const auto s = statistics::summarise(side.values);
      datum = datum.with(statistics::name_of(s.statistic), s.value, s.low, s.high);
    }
    if (i == row.baseline) continue;
    show::Datum& ratio = ratios.emplace_back();
    ratio.keys = {{"command", ratio_name(i, row.baseline)}};
    ratio.quantity = row.name;
    ratio.statistic = "ratio of the medians";
    ratio.repetitions = std::min(base.values.size(), side.values.size());
    if (side.evidence == statistics::Evidence::clear) ratio.value = side.ratio;
    const Reason& why = base.values.empty() ? base.reason : side.reason;
    ratio.reason = !why.empty() ? why.text() : statistics::reservation(side.evidence, ratio.repetitions);
  }
  all.insert(all.end(), ratios.begin(), ratios.end());
  return all;
}

} // namespace

show::Table comparison_table(const std::vector<ComparedRow>& rows) {
  using show::Role;
  const std::size_t baseline = rows.front().baseline;
  show::Table table({{"event"}}, "Comparison");
  for (std::size_t i = 0; i < rows.front().sides.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    table.columns.push_back(
        {number + ": median", Role::number, i == baseline ? 0 : static_cast<int>(i) + 1, number});
    if (i != baseline) table.columns.push_back({ratio_name(i, baseline), Role::number});
  }
  for (const ComparedRow& row : rows) {
    table.add_data(comparison_data(row));
    const auto empty = [](const ComparedSide& side) { return side.values.empty(); };
    if (row.derived || std::ranges::all_of(row.sides, empty)) continue;
    std::vector<show::Cell> cells{command::event_cell(row.name)};
    for (std::size_t i = 0; i < row.sides.size(); ++i) {
      cells.emplace_back(median_text(row.sides[i].values, row.unit));
      if (i != baseline) cells.emplace_back(ratio_text(row, row.sides[i]));
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string comparison_text(const std::vector<ComparedRow>& rows, const std::vector<Request>& requests,
                            std::FILE* stream) {
  const std::size_t n = std::ranges::min(
      rows.front().sides | ranges::views::transform([](const auto& side) { return side.values.size(); }));
  const std::size_t columns = command::line_width(stream);
  std::string text;
  for (std::size_t i = 0; i < requests.size(); ++i)
    text +=
        command::fit(fmt::format("{}: {}", i + 1, kernel::quoted(requests[i].command)), columns, 2) + "\n";
  text += base::format_count(n, "repetition") + " of each in turn\n";
  const show::Table table = comparison_table(rows);
  if (!table.empty()) text += command::table_text(table, stream);
  if (leads_cpu_time(rows))
    text += note_line(fmt::format("wall time varies by {:.0f} %, CPU by {:.0f} %",
                                  100 * relative_width(rows[1]), 100 * relative_width(rows[0])),
                      stream);
  std::map<std::string, std::vector<std::string>> missing; // by reason
  for (const ComparedRow& row : rows)
    if (const auto side = std::ranges::find(row.sides, true, [](const auto& s) { return s.values.empty(); });
        side != row.sides.end() && !row.derived)
      missing[command::brief(side->reason)].push_back(row.name);
  for (const auto& [why, names] : missing)
    text += not_counted_line(names, why, stream);
  const bool open =
      std::ranges::any_of(rows, [](const ComparedRow& row) { return !row.derived && !row.decided(); });
  const std::string why = columns < 80
                              ? ""
                              : fmt::format(" (intervals overlap, or too few runs; -r {} may decide)",
                                            std::max<std::size_t>(10, 2 * n));
  return text + note_line((open ? "?: not established" + why + ". " : "") + "More: --json", stream);
}

std::string cut_short_text(const Results& results) {
  std::string text;
  bool failed = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const RunResult& ended = results[i];
    failed = failed || (ended.cut_short && ended.signal == 0);
    const std::string why = ended.cut_short    ? completed_text(ended)
                            : ended.failed > 0 ? base::format_count(ended.failed, "run") + " failed"
                                               : "";
    if (!why.empty()) text += fmt::format("  {}: {}\n", i + 1, why);
  }
  return text + (failed ? fmt::format("  fix: {}\n", keep_failures) : "");
}

std::string comparison_json(const std::vector<ComparedRow>& rows, const std::vector<Request>& requests,
                            const Results& results) {
  Json json{{"commands", requests | ranges::views::transform(&Request::command) | ranges::to<std::vector>()},
            {"baseline", rows.front().baseline + 1},
            {"repeat", std::ranges::max(results | ranges::views::transform(&RunResult::requested))},
            {"runs", results | ranges::views::transform(runs_json) | ranges::to<std::vector>()},
            {"metrics", Json::array()}};
  for (const ComparedRow& row : rows) {
    Json one{{"name", row.name}, {"unit", row.unit}, {"sides", Json::array()}};
    for (const ComparedSide& side : row.sides)
      one["sides"].push_back(side_json(side, &side != &row.sides[row.baseline]));
    json["metrics"].push_back(std::move(one));
  }
  return json_text("stat-compare", json);
}

} // namespace recount::stat
