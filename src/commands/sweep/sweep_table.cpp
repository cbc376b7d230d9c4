#include "commands/sweep/sweep_table.hpp"

#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "run/program.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/document/groups.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace recount::sweep {
namespace {

using result::make_json;

/// Counts whole, times with six digits.
std::string show(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.6g}", value);
}

/// Speed-ups as matmul shows them: "1.93 x".
std::string show_value(const SweepGroup& group) {
  const double value = group.summary->value;
  return group.metric == speed_up ? fmt::format("{:.2f} x", value) : show(value);
}

std::string show_per_access(const SweepGroup& group) {
  const auto each = group.per_access();
  if (!each) return "-";
  return is_seconds(group.metric) ? fmt::format("{:.4g} ns", *each * 1e9) : fmt::format("{:.4g}", *each);
}

std::string show_interval(const statistics::Summary& s) {
  return s.n < 2 && s.low == s.high ? "-" : fmt::format("{} to {}", show(s.low), show(s.high));
}

Json json(const SweepGroup& group) {
  Json object{{"params", make_json(group.params)}, {"witness", group.witness}, {"metric", group.metric}};
  object["n"] = group.values.size();
  for (const auto& [name, member] : summary_members)
    object[name] = group.summary ? Json((*group.summary).*member) : Json();
  if (group.accesses) object["accesses"] = *group.accesses;
  if (const auto each = group.per_access()) object["per_access"] = *each;
  object["flagged"] = group.flagged;
  if (group.missing > 0) object["missing"] = group.missing;
  if (!group.reason.empty()) object["reason"] = group.reason->text();
  return object;
}

} // namespace

show::Table sweep_summary(const BatchResult& ended, const Selection& selection) {
  auto groups = sweep_groups(ended.results);
  const auto names = varying(groups);
  if (selection.least > 0) groups = least(std::move(groups), selection.least, selection.first);
  using show::Role;
  std::vector<show::Column> columns;
  for (const auto& name : names)
    columns.push_back({name, Role::number, 0, {}, true});
  for (const char* head : {"metric", "witness"})
    columns.push_back({head, Role::words});
  const statistics::Statistic statistic = ended.results.statistic;
  const bool few = selection.least > 0; // fewer columns, so that the line is short
  const bool intervals = statistic == statistics::Statistic::median &&
                         !(few && std::ranges::all_of(groups, [](const SweepGroup& group) {
                             return show_interval(*group.summary) == "-";
                           }));
  if (!few) columns.push_back({std::ranges::count(names, "n") > 0 ? "runs" : "n", Role::number, 3});
  columns.push_back({statistics::name_of(statistic), Role::number});
  if (intervals) columns.push_back({"95 % interval", Role::number, 2});
  if (few) columns.push_back({"of first point", Role::number});
  const bool per_access =
      !few && std::ranges::any_of(groups, [](const SweepGroup& group) { return group.accesses.has_value(); });
  if (per_access) columns.push_back({"per access", Role::number, 1});
  const bool flagged = std::ranges::any_of(groups, [](const SweepGroup& group) { return group.flagged > 0; });
  const bool disturbed = !few || flagged;
  if (disturbed) columns.push_back({"disturbed", Role::number, flagged ? 0 : 4}); // a mark is never left out
  show::Table table(columns, "Summary");
  for (const auto& group : groups) {
    std::vector<std::string> row;
    for (const auto& name : names)
      row.push_back(result::text(group.params.at(name)));
    row.insert(row.end(), {group.metric, group.witness.name()});
    if (!few) row.push_back(std::to_string(group.values.size()));
    if (const auto& s = group.summary) {
      row.push_back(show_value(group));
      if (intervals) row.push_back(show_interval(*s));
      if (few) row.push_back(group.of_first ? fmt::format("{:.3g}", *group.of_first) : "-");
      if (per_access) row.push_back(show_per_access(group));
      if (disturbed) row.push_back(group.flagged > 0 ? std::to_string(group.flagged) : "-");
    } else {
      row.push_back("not counted");
    }
    table.add(row);
  }
  table.add_data(sweep_data(groups));
  return table;
}

namespace {

constexpr std::size_t max_lines = 20; // of a first screen

/// A line per point, a column per metric and witness; of many points, as many as a screen holds, evenly
/// chosen.
std::string points_text(const std::vector<SweepGroup>& groups, statistics::Statistic statistic) {
  const auto names = varying(groups);
  using Series = std::pair<std::string, Witness>;
  std::vector<Series> series;
  std::vector<result::Params> points;
  std::map<std::pair<std::size_t, std::size_t>, const SweepGroup*> cells;
  const auto place = [](auto& all, const auto& one) {
    const auto at = std::ranges::find(all, one);
    const auto index = static_cast<std::size_t>(at - all.begin());
    if (at == all.end()) all.push_back(one);
    return index;
  };
  bool flagged = false;
  for (const SweepGroup& group : groups) {
    flagged = flagged || group.flagged > 0;
    const std::size_t column = place(series, Series{group.metric, group.witness});
    cells[{place(points, group.params), column}] = &group;
  }
  show::Table table;
  for (const auto& name : names)
    table.columns.push_back({name, show::Role::number, 0, {}, true});
  for (int rank = 0; const auto& [metric, witness] : series) {
    const std::string event = command::short_event_name(metric),
                      bare = event.substr(is_preset(event) ? preset_prefix.size() : 0);
    table.columns.push_back({fmt::format("{} {}", metric, witness), show::Role::number,
                             witness == Witness::clock ? 0 : rank++,
                             fmt::format("{} {}", bare, witness.modelled() ? "model" : witness.name())});
  }
  const std::size_t shown = std::min(points.size(), max_lines);
  for (std::size_t line = 0; line < shown; ++line) {
    const std::size_t point = shown < 2 ? 0 : line * (points.size() - 1) / (shown - 1);
    std::vector<std::string> row;
    for (const auto& name : names)
      row.push_back(result::text(points[point].at(name)));
    for (std::size_t column = 0; column < series.size(); ++column) {
      const auto at = cells.find({point, column});
      const SweepGroup* const group = at == cells.end() ? nullptr : at->second;
      row.push_back(!group            ? "-"
                    : !group->summary ? "not counted"
                                      : (group->accesses ? show_per_access(*group) : show_value(*group)) +
                                            (group->flagged > 0 ? " *"
                                             : flagged          ? "  "
                                                                : ""));
    }
    table.add(row);
  }
  const bool per_access =
      std::ranges::any_of(groups, [](const SweepGroup& group) { return group.accesses.has_value(); });
  const std::string note =
      fmt::format("{}{}{}; -v: each value with its interval", statistics::name_of(statistic),
                  per_access ? " per access" : "", flagged ? "; *: disturbed repetitions" : "");
  return command::table_text(table) +
         (shown < points.size() ? fmt::format("  {} of {} points\n", shown, points.size()) : "") +
         command::wrap(note, command::line_width(), 2) + "\n";
}

} // namespace

std::string sweep_table(const BatchResult& ended, const Selection& selection) {
  const show::Table table = sweep_summary(ended, selection);
  std::string text;
  if (!ended.results.runs.empty() && host::is_emulated(ended.results.runs.back().cpu))
    text = command::wrap(base::printable(ended.results.runs.back().cpu), command::line_width(), 2) + "\n\n";
  std::map<std::string, std::string> reasons;
  const auto groups = sweep_groups(ended.results);
  const bool program = !groups.empty() && !ended.results.observations.empty() &&
                       ended.results.observations.front().kernel == program_kernel;
  const bool narrow = command::line_width() < 80 && !table.empty();
  if (!selection.all && selection.least == 0 && (narrow || program || table.rows.size() > max_lines))
    text += points_text(groups, ended.results.statistic);
  else if (!table.empty())
    text += command::table_text(table);
  if (std::ranges::any_of(groups, [](const SweepGroup& group) {
        return group.witness.modelled() && group.summary && group.summary->low < group.summary->high;
      }))
    text += command::wrap(
                "interval of a modelled value: range of its draws of placement, widened by the error of "
                "sampling",
                command::line_width(), 2) +
            "\n";
  if (const std::string outliers = outliers_text(groups); !outliers.empty())
    text += command::wrap(outliers, command::line_width(), 2) + "\n";
  for (const std::string& note : program_notes(groups))
    text += command::wrap(note, command::line_width(), 2) + "\n";
  for (const auto& group : groups)
    if (!group.reason.empty())
      reasons.try_emplace(group.witness.name() + " " + group.metric, group.reason->text());
  for (const auto& [what, reason] : reasons)
    text += command::wrap(fmt::format("not counted: {}: {}", what, reason), command::line_width(), 2) + "\n";
  return text;
}

std::string sweep_json(const SweepRun& run, const BatchResult& ended) {
  Json object{{"kernel", run.plan.kernel}, {"seed", run.plan.seed}};
  object["cpu"] = run.batch.execution.cpu ? Json(*run.batch.execution.cpu) : Json();
  object["runs"] = ended.outcome.runs;
  object["runs_there"] = ended.already_recorded;
  object["runs_planned"] = ended.planned;
  object["stopped"] = ended.outcome.stopped;
  object["summary"] = make_array(sweep_groups(ended.results), json);
  object["failures"] = make_array(ended.results.failures, [](const result::Failure& f) {
    return Json{{"params", make_json(f.params)},
                {"repetition", f.repetition},
                {"witness", f.witness},
                {"reason", f.reason.text()}};
  });
  object["skipped"] = make_array(run.grid.skipped, [](const Skipped& s) {
    return Json{{"params", make_json(s.point)}, {"reason", s.problem.cause}};
  });
  return json_text("sweep", object);
}

std::string skipped_text(const Grid& grid) {
  std::string text;
  for (const auto& [kind, group] :
       base::grouped(grid.skipped, [](const Skipped& one) { return one.problem.subject; }))
    text += fmt::format("{} of {} skipped: {} (first: {})\n", group.size(),
                        base::format_count(grid.points.size() + grid.skipped.size(), "point"),
                        group.front()->problem.cause, result::describe(group.front()->point));
  return text;
}

// Every value of a sweep, as a file of the report.
namespace {

/// Products have an appendix of their own; counts of a command (recount stat) are no sweep.
bool is_sweep(const result::Run& run) {
  const auto kernel = run.plan.find("kernel");
  return kernel != run.plan.end() && run.plan.contains("repeat") && kernel->second != "matmul" &&
         kernel->second != "command" && !result::is_inference(run);
}

std::vector<document::Block> write_values(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    std::set<std::string> runs, kernels;
    for (const auto& run : part.results->runs)
      if (is_sweep(run)) runs.insert(run.id);
    for (const auto& o : part.results->observations)
      if (runs.contains(o.run)) kernels.insert(o.kernel);
    for (const auto& kernel : kernels) {
      const document::Part own =
          document::only(part, [&](const auto& o) { return o.kernel == kernel && runs.contains(o.run); });
      const auto groups = sweep_groups(*own.results);
      show::Table table({}, fmt::format("all values of the kernel {}, {} of the repetitions: {}", kernel,
                                        statistics::name_of(part.results->statistic), part.machine));
      table.file = "sweep-" + kernel;
      table.data = sweep_data(groups);
      blocks.emplace_back(std::move(table));
      if (std::string outliers = outliers_text(groups); !outliers.empty())
        blocks.emplace_back(document::Paragraph{std::move(outliers)});
    }
  }
  return blocks;
}

} // namespace

document::Section values_section() {
  return {"", write_values, {}, {}, true};
}

void check_figure(const std::string& path, const std::string& figure,
                  const std::vector<plot::Figure>& figures) {
  if (figure.empty()) return;
  static_cast<void>(plot::find(figures, figure));
  if (path.empty())
    throw bad_input("--figure " + figure, "there is nowhere to draw it", "add --plot FILE, or --plot -");
}

void draw_sweep(const std::string& path, const std::string& figure, const std::vector<plot::Figure>& figures,
                const result::Results& results) {
  if (path.empty()) return;
  const plot::Choice all;
  const auto& drawn = figure.empty() ? plot::suitable(figures, results, all) : plot::find(figures, figure);
  command::draw_to(path, drawn.compose(results, all));
}

} // namespace recount::sweep
