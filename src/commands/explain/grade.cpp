#include "commands/explain/grade.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

namespace recount::explain {
namespace {

using Kind = TableFinding::Kind;

/// As a published table names its columns.
std::string column_name(const std::string& metric) {
  return base::lower_case(metric.starts_with("PAPI_") ? metric.substr(5) : metric);
}

std::string make_place(const std::string& loops) {
  return matmul::loops_name({loops, "", "f64", 0, 0}) + ", l1_dcm";
}
std::string make_place(const std::string& metric, const Cell& cell) {
  return fmt::format("{}, {}", cell.text(), column_name(metric));
}

/// What no program has, by step of the innermost loop: a core with vectors of 512 bits, a miss in every
/// cache; up to three accesses, each with a page walk.
struct PossibleRange {
  const char* metric;
  double least, most;
  const char *below, *above;
};
constexpr PossibleRange possible_ranges[] = {
    {seconds_metric, 1e-11, 1e-7, "over 200 GFLOP/s of one core", "over 100 ns per step"},
    {l1_metric, 0, 6, "", "over 6 misses per step"},
    {l2_metric, 0, 12, "", "over 12 misses per step"},
};

/// A whole column of such values has a wrong unit.
void add_implausible(const Group& group, Grade& to) {
  for (const PossibleRange& range : possible_ranges) {
    std::vector<Mark> marks;
    const Column& column = group.column(range.metric);
    for (const auto& [cell, values] : column) {
      const double share = values.median / cell.cube();
      if (share < range.least || share > range.most)
        marks.push_back({Verdict::implausible, make_place(range.metric, cell),
                         share < range.least ? range.below : range.above});
    }
    if (marks.size() > 2 && marks.size() == column.size())
      marks = {{Verdict::slip, "column " + column_name(range.metric), marks.front().text + " in all rows"}};
    std::ranges::move(marks, std::back_inserter(to.marks));
  }
}

void add_findings(const Explanation& e, Grade& to) {
  for (const TableFinding& finding : e.findings) {
    const std::string place = finding.cells.empty() ? "column " + column_name(finding.metric)
                                                    : make_place(finding.metric, finding.cells.front());
    if (!finding.slip.empty())
      to.marks.push_back({Verdict::slip, place, finding.slip});
    else if (finding.kind == Kind::copied)
      to.marks.push_back({Verdict::repeated, place, "as in " + finding.cells.back().text()});
    else if (finding.kind == Kind::rotated)
      to.marks.push_back({Verdict::exchanged, place, "columns in another order"});
    else if (finding.kind == Kind::dead)
      to.marks.push_back({Verdict::implausible, place, "0 in every product"});
  }
}

/// Cells that the machine of the others does not explain.
void add_unexplained(const Explanation& e, Grade& to) {
  constexpr double precise = 1.02, most = 1.1;
  for (const Cell& cell : e.unexplained)
    for (const Trial* trial : e.survivors()) {
      const auto at = std::ranges::find(trial->compared, cell, &Comparison::cell);
      if (at == trial->compared.end()) continue;
      const std::string slip = slip_text(at->measured / at->predicted.value, precise, most);
      to.marks.push_back({slip.empty() ? Verdict::consistent : Verdict::slip, make_place(l1_metric, cell),
                          slip.empty() ? "not of the machine of the others" : slip});
      break;
    }
}

void add_explanation(const Explanation& e, Grade& to) {
  const auto mark = [&](bool when, Verdict verdict, const std::string& place, const std::string& text) {
    if (when) to.marks.push_back({verdict, place, text});
  };
  mark(e.exchanged, Verdict::exchanged, "columns l1_dcm and l2_dcm", "exchanged");
  mark(e.exchanged_labels, Verdict::exchanged, "rows of simple and line", "labels exchanged");
  for (const MovedRows& rows : e.moved)
    mark(true, Verdict::exchanged, make_place(rows.loops), "rows in another order");
  mark(!e.rescaled.empty(), Verdict::slip, "column l1_dcm", e.rescaled);
  for (const OtherLoops& other : e.other_loops)
    mark(true, Verdict::other_loops, make_place(other.named),
         other.orders.empty() ? "of no order of the loops" : "fit " + other.orders.front());
  mark(!e.l1, Verdict::undecided, "l1_dcm", "fewer than three counts");
  mark(e.l1 && e.survivors().empty(), Verdict::undecided, "l1_dcm", "of no machine that is known");
}

// Values that two tables share.

using Place = std::pair<std::string, Cell>;        ///< metric and cell
using Runs = std::map<Place, std::vector<double>>; ///< of a table

Runs all_runs(const Group& group) {
  Runs all;
  for (const auto& [metric, column] : group.columns)
    for (const auto& [cell, values] : column)
      all.emplace(Place{metric, cell}, values.runs);
  return all;
}

/// Whether the digits of a value are noise: its runs differ, or others who are near do.
bool is_noisy(const std::vector<Runs>& tables, const Place& place, double value) {
  constexpr double near = 0.03;
  return std::ranges::any_of(tables, [&](const Runs& runs) {
    const auto at = runs.find(place);
    return at != runs.end() && std::ranges::any_of(at->second, [&](double run) {
             return run != value && std::abs(run - value) < near * value;
           });
  });
}

/// Places of which all runs of one table are runs of the other to the last digit, those of noise. One of many
/// runs may be equal by chance.
std::vector<Place> shared_places(const std::vector<Runs>& tables, std::size_t one, std::size_t other) {
  constexpr int digits = 6;
  std::vector<Place> shared;
  for (const auto& of_one : tables[one]) {
    const auto at = tables[other].find(of_one.first);
    if (at == tables[other].end()) continue;
    const bool fewer = of_one.second.size() < at->second.size();
    const auto &few = fewer ? of_one.second : at->second, &many = fewer ? at->second : of_one.second;
    if (std::ranges::all_of(few, [&](double run) {
          return count_digits(run) >= digits && std::ranges::count(many, run) > 0 &&
                 is_noisy(tables, of_one.first, run);
        }))
      shared.push_back(of_one.first);
  }
  return shared;
}

void add_shared(const std::vector<Group>& groups, std::vector<Grade>& to) {
  constexpr std::size_t least = 4;
  const auto tables = base::mapped(groups, all_runs);
  for (std::size_t one = 0; one < tables.size(); ++one)
    for (std::size_t other = 0; other < one; ++other) {
      const auto shared = shared_places(tables, one, other);
      if (shared.size() < least) continue;
      for (const auto& [from, with] : {std::pair{one, other}, std::pair{other, one}})
        to[from].marks.push_back({Verdict::same_values, make_place(shared[0].first, shared[0].second),
                                  fmt::format("{} values as {}", shared.size(), groups[with].name)});
    }
}

} // namespace

std::string verdict_text(Verdict verdict) {
  static constexpr const char* texts[] = {"copied?",        "exchanged",   "digit or unit", "implausible",
                                          "value repeated", "other loops", "not decided",   "consistent"};
  return texts[static_cast<std::size_t>(verdict)];
}

std::vector<Grade> grade(const std::vector<Group>& groups, const std::vector<Explanation>& explanations) {
  std::vector<Grade> all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Grade& one = all.emplace_back(Grade{groups[i].name, {}});
    add_findings(explanations[i], one);
    add_explanation(explanations[i], one);
    add_unexplained(explanations[i], one);
    const auto marked = one.marks;
    add_implausible(groups[i], one);
    std::erase_if(one.marks, [&](const Mark& mark) { // a slip is the reason
      return mark.verdict == Verdict::implausible && std::ranges::any_of(marked, [&](const Mark& slip) {
               return slip.verdict == Verdict::slip && slip.place == mark.place;
             });
    });
  }
  add_shared(groups, all);
  for (Grade& one : all) {
    if (one.marks.empty()) one.marks.push_back({Verdict::consistent, "", ""});
    std::ranges::stable_sort(one.marks, {}, &Mark::verdict);
  }
  return all;
}

} // namespace recount::explain
