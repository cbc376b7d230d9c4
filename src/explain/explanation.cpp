#include "explain/explanation.hpp"

#include "base/format.hpp"
#include "model/machine.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace recount::explain {
namespace {

std::size_t count_cells(const Column& column, const std::string& loops) {
  return static_cast<std::size_t>(
      std::ranges::count_if(column, [&](const auto& one) { return one.first.loops == loops; }));
}

std::size_t count_survivors(const std::vector<Trial>& trials) {
  return static_cast<std::size_t>(std::ranges::count(trials, true, &Trial::survives));
}

/// Of misses of L1 per n^3 for any first level of 32 to 64 KiB with lines of 64 bytes, with or without page
/// walks: a line per step of a column is 1, per step of a row 1/8; a walk adds up to one line.
struct PossibleMisses {
  const char* loops;
  double least, most;
};
constexpr PossibleMisses possible[] = {{"ijk", 0.9, 2.4}, {"ikj", 0.12, 0.3}, {"blocked", 0.12, 0.3}};

bool is_possible(const Cell& cell, double value) {
  const auto* const row =
      std::ranges::find_if(possible, [&](const PossibleMisses& p) { return p.loops == cell.loops; });
  return row == std::end(possible) || (value >= row->least * cell.cube() && value <= row->most * cell.cube());
}

/// Values in the order of the sizes, if that makes them possible; one of them times ten, if that does.
struct Sorted {
  std::vector<double> values;
  bool digit = false;
};
std::optional<Sorted> sort_values(const std::vector<Cell>& by_size, std::vector<double> values) {
  const auto fits = [&](std::vector<double> some) {
    std::ranges::sort(some);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (!is_possible(by_size[i], some[i])) return false;
    return true;
  };
  if (fits(values)) {
    std::ranges::sort(values);
    return Sorted{values, false};
  }
  for (double& value : values) {
    value *= 10;
    if (fits(values)) {
      std::ranges::sort(values);
      return Sorted{values, true};
    }
    value /= 10;
  }
  return {};
}

std::string ways_text(const model::TlbLevel& level) {
  return fmt::format("{} entries, {} ways{}", level.entries, level.ways,
                     level.index.empty() ? "" : ", hashed index");
}

/// What a hypothesis says, by subject.
std::vector<std::pair<std::string, std::string>> facts(const MachineHypothesis& hypothesis) {
  const std::string name = hypothesis.machine.substr(0, hypothesis.machine.find("~huge"));
  const auto machine = model::machine(name);
  const auto& l1 = machine.levels.front();
  const bool walks = machine.tlb && !hypothesis.huge;
  return {
      {"L1", fmt::format("L1 of {} KiB, {} ways", l1.size / 1024, l1.ways)},
      {"page walks", walks ? "4 KiB pages, and page walks are counted"
                           : "no page walks among the counted misses: huge pages, or walks are not counted"},
      {"second TLB level", machine.tlb ? ways_text(machine.tlb->levels.back()) : "any"}};
}

} // namespace

Comparison compare_cell(const Cell& cell, const Values& measured, const Predicted& predicted,
                        double allowance) {
  Comparison c{cell, measured.median, predicted, 0, allowance};
  if (predicted.low > measured.high) c.off = predicted.low / measured.high - 1;
  if (predicted.high < measured.low) c.off = predicted.high / measured.low - 1;
  return c;
}

std::vector<Comparison> Trial::refuting() const {
  std::vector<Comparison> all;
  std::ranges::copy_if(compared, std::back_inserter(all), &Comparison::refutes);
  return all;
}

std::vector<Cell> refute(std::vector<Trial>& trials, const std::string& loops) {
  for (Trial& trial : trials)
    trial.survives = trial.survives && !trial.abandoned;
  std::map<Cell, std::size_t> refuted;
  for (const Trial& trial : trials)
    for (const Comparison& c : trial.refuting())
      if (trial.survives && c.cell.loops == loops) ++refuted[c.cell];
  const std::size_t all = count_survivors(trials);
  std::vector<Cell> unexplained;
  for (const auto& [cell, times] : refuted)
    if (times == all) unexplained.push_back(cell);
  for (Trial& trial : trials)
    for (const Comparison& c : trial.refuting())
      if (c.cell.loops == loops && std::ranges::find(unexplained, c.cell) == unexplained.end())
        trial.survives = false;
  return unexplained;
}

std::vector<MovedRows> sort_moved_rows(Column& column) {
  std::vector<MovedRows> moved;
  for (const PossibleMisses& row : possible) {
    std::vector<Cell> cells;
    std::vector<double> values;
    MovedRows rows{row.loops, 0, 0, false};
    for (const auto& [cell, all] : column)
      if (cell.loops == row.loops) {
        cells.push_back(cell);
        values.push_back(all.median);
        if (is_possible(cell, all.median)) ++rows.in_place;
      }
    rows.cells = cells.size();
    if (rows.cells < 4 || 4 * rows.in_place >= 3 * rows.cells) continue;
    // Smaller blocks miss more often.
    std::ranges::sort(cells, {}, [](const Cell& c) {
      return c.cube() * (1 + (c.block > 0 ? 8.0 / static_cast<double>(c.block) : 0));
    });
    const auto sorted = sort_values(cells, values);
    if (!sorted) continue;
    rows.digit = sorted->digit;
    for (std::size_t i = 0; i < cells.size(); ++i)
      column.at(cells[i]) = Values({sorted->values[i]});
    moved.push_back(rows);
  }
  return moved;
}

double NextMeasurement::factor() const {
  const auto [least, most] = std::ranges::minmax(predicted, {}, [](const auto& one) { return one.second; });
  return most.second / least.second;
}

std::vector<const Trial*> Explanation::survivors() const {
  std::vector<const Trial*> all;
  for (const Trial& trial : trials)
    if (trial.survives) all.push_back(&trial);
  return all;
}

namespace {

/// What the survivors say of each subject, in its order.
std::vector<std::pair<std::string, std::vector<std::string>>> said(const Explanation& e) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const Trial* trial : e.survivors())
    for (const auto& [subject, text] : facts(*trial->hypothesis)) {
      auto at = std::ranges::find(all, subject, [](const auto& one) { return one.first; });
      if (at == all.end()) at = all.insert(all.end(), {subject, {}});
      if (std::ranges::find(at->second, text) == at->second.end()) at->second.push_back(text);
    }
  return all;
}

} // namespace

std::vector<std::string> Explanation::determined() const {
  std::vector<std::string> texts;
  for (const auto& [subject, all] : said(*this))
    if (all.size() == 1) texts.push_back(subject == "second TLB level" ? subject + " of " + all[0] : all[0]);
  return texts;
}

std::vector<std::string> Explanation::undetermined() const {
  std::vector<std::string> texts;
  for (const auto& [subject, all] : said(*this))
    if (all.size() > 1) texts.push_back(fmt::format("{}: {}", subject, fmt::join(all, "; or ")));
  return texts;
}

Comparison Explainer::predict(const MachineHypothesis& hypothesis, const Cell& cell, const Values& values,
                              const std::string& order, double rounded) {
  // One draw refutes what is far off; only for the rest it matters where the matrices are.
  constexpr double far = 0.05;
  constexpr std::size_t most_draws = 8;
  const double allowance = hypotheses_.allowance(cell.loops, cell.n) + rounded;
  for (std::size_t draws = 1;; ++draws) {
    const Comparison c = compare_cell(
        cell, values, predictor_.l1_misses(hypothesis.machine, order, cell.n, cell.block, draws), allowance);
    if (!c.refutes() || std::abs(c.off) >= far || draws == most_draws) return c;
  }
}

/// Compares the survivors with the cells of some loops.
std::vector<Cell> Explainer::try_loops(std::vector<Trial>& trials, const Column& column,
                                       const std::string& loops) {
  const std::size_t most = most_unexplained(count_cells(column, loops));
  const double rounded = rounding(column);
  for (Trial& trial : trials) {
    std::size_t refuting = 0;
    for (const auto& [cell, values] : column) {
      if (!trial.survives || cell.loops != loops || trial.abandoned) continue;
      trial.compared.push_back(predict(*trial.hypothesis, cell, values, loops, rounded));
      if (trial.compared.back().refutes() && ++refuting > most) trial.abandoned = true;
    }
  }
  return refute(trials, loops);
}

void Explainer::try_machines(const Column& column, Explanation& to) {
  constexpr std::size_t least_cells = 3;
  to.trials.clear();
  to.unexplained.clear();
  to.other_loops.clear();
  for (const MachineHypothesis& hypothesis : hypotheses_.machines)
    to.trials.push_back({&hypothesis, {}, false, true});
  to.l1 = false;
  for (const char* loops : {"ijk", "ikj"}) {
    if (count_cells(column, loops) < least_cells) continue;
    to.l1 = true;
    const std::vector<Trial> before = to.trials;
    if (count_survivors(before) == 0) return;
    const auto unexplained = try_loops(to.trials, column, loops);
    const bool later =
        std::ranges::any_of(before, [](const Trial& trial) { return !trial.compared.empty(); });
    if (later && count_survivors(to.trials) == 0) { // of other code, rather than of another machine
      to.trials = before;
      find_other_loops(column, loops, to);
      continue;
    }
    to.unexplained.insert(to.unexplained.end(), unexplained.begin(), unexplained.end());
  }
}

/// Orders whose values fit on a machine that other loops have left, or for a group of one kind of loops on a
/// shipped one.
void Explainer::find_other_loops(const Column& column, const std::string& loops, Explanation& to) {
  constexpr std::size_t most_machines = 3;
  OtherLoops found{loops, {}};
  const double rounded = rounding(column);
  for (const LoopOrder& order : loop_orders()) {
    if (order.order == loops) continue;
    std::size_t machines = 0;
    for (const Trial& trial : to.trials) {
      if (!trial.survives || machines++ == most_machines) continue;
      std::size_t refuting = 0;
      for (const auto& [cell, values] : column)
        if (cell.loops == loops && refuting <= most_unexplained(count_cells(column, loops)))
          refuting += std::size_t{predict(*trial.hypothesis, cell, values, order.order, rounded).refutes()};
      if (refuting > most_unexplained(count_cells(column, loops))) continue;
      found.orders.emplace_back(order.text);
      break;
    }
  }
  to.other_loops.push_back(found);
}

void Explainer::measure_blocks(const Column& column, Explanation& to) {
  const auto survivors = to.survivors();
  const std::string machine = survivors.empty() ? "i7-9700" : survivors.front()->hypothesis->machine;
  for (const auto& [cell, values] : column) {
    if (cell.loops != "blocked" || cell.block < 1 ||
        (!to.blocks.empty() && to.blocks.back().block == cell.block))
      continue;
    const double modelled = predictor_.l1_misses(machine, "ikj", cell.n, cell.block).value;
    to.blocks.push_back(
        {cell.block, (values.median - modelled) * static_cast<double>(cell.block) / cell.cube()});
  }
}

void Explainer::choose_next(Explanation& to) {
  constexpr std::int64_t sizes[] = {800, 1200, 1600, 2400, 4000};
  const auto survivors = to.survivors();
  if (!to.l1 || survivors.size() < 2) return;
  for (const std::int64_t n : sizes) {
    NextMeasurement next{{"ijk", 0, n}, {}};
    for (const Trial* trial : survivors)
      next.predicted.emplace_back(trial->hypothesis,
                                  predictor_.l1_misses(trial->hypothesis->machine, "ijk", n, 0).value);
    if (next.factor() > 1 + 3 * hypotheses_.allowance("ijk", n) &&
        (!to.next || next.factor() > to.next->factor()))
      to.next = next;
  }
}

namespace {

/// Compares the counts of streamed matrices with the lines that must come into L2 at least.
void try_counts(const Hypotheses& hypotheses, const Group& group, const std::vector<TableFinding>& findings,
                Explanation& to) {
  constexpr std::int64_t streamed = 1000; // rows: 8 MB, more than any L2 described holds
  constexpr double lines_per_step = 1.0 / 8;
  std::map<Cell, double> times;
  for (const auto& [cell, values] : group.column(to.exchanged ? l1_metric : l2_metric))
    if (cell.loops == "ikj" && cell.n >= streamed && !is_mistaken(findings, l2_metric, cell))
      times[cell] = values.median / (lines_per_step * cell.cube());
  if (times.size() < 3) return;
  std::vector<double> all;
  for (const auto& [cell, factor] : times)
    all.push_back(factor);
  to.lines_requested = statistics::median(all);
  for (const CountHypothesis& hypothesis : hypotheses.counts) {
    CountTrial trial{&hypothesis, {}, false};
    for (const auto& [cell, factor] : times)
      if (factor < hypothesis.least || factor > hypothesis.most) trial.refuting.push_back(cell);
    trial.survives = trial.refuting.size() <= most_unexplained(times.size());
    to.counts.push_back(std::move(trial));
  }
}

Column exchange_labels(const Column& column) {
  Column other;
  for (const auto& [cell, values] : column) {
    Cell renamed = cell;
    if (cell.loops == "ijk") renamed.loops = "ikj";
    if (cell.loops == "ikj") renamed.loops = "ijk";
    other.emplace(renamed, values);
  }
  return other;
}

} // namespace

Explanation Explainer::explain(const Group& group) {
  Explanation e;
  e.group = group.name;
  e.cpu = group.cpu;
  e.findings = check_table(group);
  Column l1 = group.column(l1_metric);
  e.moved = sort_moved_rows(l1);
  std::erase_if(l1, [&](const auto& one) { return is_mistaken(e.findings, l1_metric, one.first); });
  try_machines(l1, e);
  if (e.l1 && e.survivors().empty()) {
    Explanation other = e;
    try_machines(group.column(l2_metric), other);
    other.exchanged = true;
    if (!other.l1 || other.survivors().empty()) {
      other.exchanged = false;
      other.exchanged_labels = true;
      try_machines(exchange_labels(l1), other);
    }
    if (other.l1 && !other.survivors().empty()) e = other;
  }
  measure_blocks(l1, e);
  try_counts(hypotheses_, group, e.findings, e);
  choose_next(e);
  return e;
}

} // namespace recount::explain
