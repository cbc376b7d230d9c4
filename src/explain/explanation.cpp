#include "explain/explanation.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "explain/hypotheses_data.hpp"
#include "kernel/nest/nest_kernel.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"
#include "statistics/statistics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <recount/error.hpp>

namespace recount::explain {
namespace {

/// A way to write a product, other than as its row is called.
struct LoopOrder {
  const char* order;
  const char* text;
};
constexpr LoopOrder loop_orders[] = {
    {"ijk", "i, j, k (simple)"},
    {"ikj", "i, k, j (line)"},
    {"jik", "j, i, k"},
    {"jki", "j, k, i (columns)"},
    {"kij", "k, i, j"},
    {"kji", "k, j, i (columns)"},
    {"ikj2", "i, k, j with two steps of k at a time"},
};

/// In the format of recount-nest(5). An element that the innermost loop does not move along, and a sum along
/// k, are in registers.
std::string product_text(const std::string& order, std::int64_t n, std::int64_t block) {
  const bool twice = order.ends_with('2');
  const auto loop = [&](char v) {
    const std::string range = block > 0           ? fmt::format("{0}{0}:min({0}{0} + {1}, {2})", v, block, n)
                              : twice && v == 'k' ? fmt::format("0:{}:2", n / 2 * 2)
                                                  : fmt::format("0:{}", n);
    return fmt::format("for {} in {} ", v, range);
  };
  std::string text = fmt::format("f64 a[{0}][{0}], b[{0}][{0}], c[{0}][{0}]\n", n);
  for (const char v : std::string_view("ijk").substr(0, block > 0 ? 3 : 0))
    text += fmt::format("for {0}{0} in 0:{1}:{2} ", v, n, block);
  text += loop(order[0]) + loop(order[1]) + "{ ";
  const std::string innermost = loop(order[2]);
  if (order[2] == 'k')
    text += fmt::format("f64 s = {}; {}s += a[i][k] * b[k][j]; c[i][j] = s", block > 0 ? "c[i][j]" : "0",
                        innermost);
  else if (order[2] == 'i')
    text += fmt::format("f64 y = b[k][j]; {}c[i][j] += a[i][k] * y", innermost);
  else
    text += fmt::format("f64 x = a[i][k]; {}{}c[i][j] += x * b[k][j]{}", twice ? "f64 y = a[i][k + 1]; " : "",
                        innermost, twice ? " + y * b[k + 1][j]" : "");
  return text + " }";
}

} // namespace

model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                         const std::optional<model::Placement>& placement) {
  constexpr std::int64_t offset = 16;
  const nest::Definition product = nest::parse("product", product_text(order, n, block));
  return kernel::NestKernel::recorded(nest::Point(product, {{}, {}, offset}), placement);
}

const model::MachineDescription& Predictor::first_level(const std::string& name) {
  const auto [at, added] = machines_.try_emplace(name);
  if (!added) return at->second;
  model::MachineDescription machine = model::machine(name);
  machine.levels.resize(1);
  machine.instructions.reset();
  machine.sampled = true;
  machine.sample_unit = model::SampledReplay::least_window;
  const auto page = machine.tlb ? machine.tlb->page : model::Placement{}.page;
  // A first level is indexed within pages: only where the matrices begin matters.
  machine.placement = model::Placement{.contiguous = true, .page = std::max(page, model::Placement{}.page)};
  return at->second = std::move(machine);
}

Predicted Predictor::l1_misses(const std::string& machine, const std::string& order, std::int64_t n,
                               std::int64_t block, std::size_t draws) {
  std::vector<Predicted>& all = cells_[{machine, order, n, block}];
  while (all.size() < draws) {
    model::MachineDescription described = first_level(machine);
    described.placement->draw = all.size();
    described.seed = all.size() + 1;
    model::Hierarchy caches(described);
    model::simulate_nest(product_nest(order, n, block, described.placement), caches);
    const auto count = static_cast<double>(model::metrics(caches).at("PAPI_L1_DCM"));
    const double half = base::value_at(model::sampling_errors(caches), "PAPI_L1_DCM");
    Predicted next = all.empty() ? Predicted{count, count - half, count + half} : all.back();
    next.low = std::min(next.low, count - half);
    next.high = std::max(next.high, count + half);
    all.push_back(next);
  }
  return all[draws - 1];
}

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
  Comparison c{cell, measured.median, predicted, 0, allowance, measured.witness};
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
  for (const LoopOrder& order : loop_orders) {
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
  to.blocks_model = survivors.empty() ? "i7-9700" : survivors.front()->hypothesis->machine;
  for (const auto& [cell, values] : column) {
    if (cell.loops != "blocked" || cell.block < 1 ||
        (!to.blocks.empty() && to.blocks.back().block == cell.block))
      continue;
    const double modelled = predictor_.l1_misses(to.blocks_model, "ikj", cell.n, cell.block).value;
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
void try_counts(const Hypotheses& hypotheses, const Group& group, Explanation& to) {
  constexpr std::int64_t streamed = 1000; // rows: 8 MB, more than any L2 described holds
  constexpr double lines_per_step = 1.0 / 8;
  std::map<Cell, double> times;
  for (const auto& [cell, values] : group.column(l2_metric))
    if (cell.loops == "ikj" && cell.n >= streamed)
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

/// Exchanges columns and labels back, so that what follows is about the events and loops that were counted.
void put_right(Group& group, Explanation& e) {
  if (!e.exchanged && !e.exchanged_labels) return;
  if (e.exchanged) std::swap(group.columns[l1_metric], group.columns[l2_metric]);
  if (e.exchanged_labels)
    for (auto& [metric, column] : group.columns)
      column = exchange_labels(column);
  std::erase_if(e.findings, [](const TableFinding& f) { return f.kind == TableFinding::Kind::more_than_l1; });
  check_levels(group, e.findings);
}

} // namespace

Explanation Explainer::explain(const Group& group) {
  Explanation e;
  e.group = group.name;
  e.cpu = group.cpu;
  e.findings = check_table(group);
  Group counted = group;
  for (const TableFinding& finding : e.findings)
    if (finding.kind == TableFinding::Kind::dead) counted.columns.erase(finding.metric);
  if (!counted.column(l1_metric).empty()) e.moved = sort_moved_rows(counted.columns.at(l1_metric));
  for (auto& [metric, column] : counted.columns)
    std::erase_if(column, [&](const auto& one) { return is_mistaken(e.findings, metric, one.first); });
  const Column& l1 = counted.column(l1_metric);
  try_machines(l1, e);
  if (e.l1 && e.survivors().empty()) {
    Explanation other = e;
    try_machines(counted.column(l2_metric), other);
    other.exchanged = true;
    if (!other.l1 || other.survivors().empty()) {
      other.exchanged = false;
      other.exchanged_labels = true;
      try_machines(exchange_labels(l1), other);
    }
    if (other.l1 && !other.survivors().empty()) e = other;
  }
  put_right(counted, e);
  measure_blocks(counted.column(l1_metric), e);
  try_counts(hypotheses_, counted, e);
  choose_next(e);
  return e;
}

double Hypotheses::allowance(const std::string& loops, std::int64_t n) const {
  double share = 0;
  for (const Allowance& row : allowances)
    if (row.loops == loops && n >= row.from) share = row.share;
  return share;
}

Hypotheses parse_hypotheses(std::string_view text, const std::string& file) {
  Hypotheses all;
  const auto number = [](const base::DataRow& row, std::string_view word) {
    const auto value = base::parse<double>(word);
    if (!value || !(*value >= 0) || !(*value <= 1e6))
      throw bad_input(row.where, "\"" + std::string(word) + "\" is not a number from 0 to 1000000");
    return *value;
  };
  for (const base::DataRow& row : base::data_rows(text, file)) {
    const auto& cells = row.cells;
    if (cells.size() == 3 && cells[0] == "L1") {
      for (const bool huge : {false, true})
        if (!huge || cells[1].find('~') == cells[1].npos)
          all.machines.push_back(
              {std::string(cells[1]) + (huge ? "~huge" : ""), huge, std::string(cells[2])});
    } else if (cells.size() == 4 && cells[0] == "L2") {
      const auto bounds = base::words(cells[2]);
      if (bounds.size() != 2) throw bad_input(row.where, "two bounds are needed");
      all.counts.push_back(
          {std::string(cells[1]), number(row, bounds[0]), number(row, bounds[1]), std::string(cells[3])});
    } else if (cells.size() == 4 && cells[0] == "allowance") {
      all.allowances.push_back({std::string(cells[1]), static_cast<std::int64_t>(number(row, cells[2])),
                                number(row, cells[3]) / 100});
    } else {
      throw bad_input(row.where, "is not a row of L1, L2 or allowance");
    }
  }
  return all;
}

const Hypotheses& shipped_hypotheses() {
  static const Hypotheses all = parse_hypotheses(hypotheses_data, "hypotheses.txt");
  return all;
}

} // namespace recount::explain
