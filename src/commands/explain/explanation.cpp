#include "commands/explain/explanation.hpp"

#include "base/format.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "commands/explain/hypotheses_data.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/nest_simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <recount/error.hpp>

namespace recount::explain {
namespace {

/// An order of the loops of a product, and how it is printed.
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

/// Records the loops of product_nest().
class RecordedProduct {
public:
  RecordedProduct(const std::string& order, std::int64_t n, std::int64_t block,
                  const std::optional<model::Placement>& placement)
      : order_(order.substr(0, 3)), n_(n), block_(block), twice_(order.ends_with('2')) {
    constexpr std::int64_t page = 4096, offset = 16;
    const std::int64_t pitch = (n * n * element + offset + page - 1) / page * page;
    for (unsigned matrix = 0; matrix < bases_.size(); ++matrix)
      bases_[matrix] = static_cast<std::int64_t>(model::array_base(placement, kernel::assumed_base, matrix)) +
                       offset + (placement ? 0 : matrix * pitch);
  }

  model::Nest nest() {
    if (block_ > 0)
      blocks(0);
    else
      loops();
    return recorder_.nest();
  }

private:
  static constexpr std::int64_t element = sizeof(double);
  enum Matrix : unsigned { a, b, c };

  void access(model::Cause cause, Matrix matrix, const model::Affine& row, const model::Affine& column) {
    recorder_.access(cause, matrix, (row * n_ + column) * element + bases_[matrix],
                     static_cast<unsigned>(element));
  }
  void load_a(std::int64_t later = 0) { access(model::Cause::load, a, at_['i'], at_['k'] + later); }
  void load_b(std::int64_t later = 0) { access(model::Cause::load, b, at_['k'] + later, at_['j']); }
  void load_c() { access(model::Cause::load, c, at_['i'], at_['j']); }
  void store_c() { access(model::Cause::store, c, at_['i'], at_['j']); }

  /// The loops over blocks, ii outermost.
  void blocks(std::size_t depth) {
    if (depth == order_.size()) return loops();
    recorder_.loop(0, n_, block_, [&](const model::Affine& first) {
      first_["ijk"[depth]] = first;
      blocks(depth + 1);
    });
  }

  template <class Body>
  void loop(char variable, Body body) {
    const auto keep = [&](const model::Affine& now) {
      at_[variable] = now;
      body();
    };
    if (block_ > 0) {
      const model::Affine first = first_[variable];
      recorder_.loop(first, model::Bound{first + block_, model::Recorder::affine(n_)}, 1, keep);
    } else if (twice_ && variable == 'k') {
      recorder_.loop(0, n_ / 2 * 2, 2, keep);
    } else {
      recorder_.loop(0, n_, 1, keep);
    }
  }

  /// Elements that the innermost loop does not move along, and a sum along k, are kept in registers.
  void loops() {
    loop(order_[0], [&] { loop(order_[1], [&] { innermost(order_[2]); }); });
  }
  void innermost(char variable) {
    if (variable == 'k') {
      if (block_ > 0) load_c();
      loop(variable, [&] {
        load_a();
        load_b();
      });
      return store_c();
    }
    const bool along_i = variable == 'i';
    along_i ? load_b() : load_a();
    if (twice_) load_a(1);
    loop(variable, [&] {
      along_i ? load_a() : load_b();
      if (twice_) load_b(1);
      load_c();
      store_c();
    });
  }

  std::string order_;
  std::int64_t n_, block_;
  bool twice_;
  std::array<std::int64_t, 3> bases_{};
  std::map<char, model::Affine> at_, first_; ///< loop variables, and where their blocks begin
  model::Recorder recorder_;
};

} // namespace

model::Nest product_nest(const std::string& order, std::int64_t n, std::int64_t block,
                         const std::optional<model::Placement>& placement) {
  return RecordedProduct(order, n, block, placement).nest();
}

const model::MachineDescription& Predictor::first_level(const std::string& name) {
  const auto [at, added] = machines_.try_emplace(name);
  if (!added) return at->second;
  model::MachineDescription machine = model::machine(name);
  machine.levels.resize(1);
  machine.instructions.reset();
  machine.sampled = true;
  machine.sample_unit = model::SampledReplay::min_window;
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

/// Bounds of L1 misses per n^3 for any L1 of 32 to 64 KiB with lines of 64 bytes: 1 per step of a column, 1/8
/// per step of a row; a page walk adds up to 1.
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

/// Sorts the values; true if each is then possible for the cell at its position.
bool fit_sorted(const std::vector<Cell>& by_size, std::vector<Values>& values) {
  std::ranges::sort(values, {}, &Values::median);
  return std::ranges::equal(by_size, values,
                            [](const Cell& cell, const Values& at) { return is_possible(cell, at.median); });
}

/// Multiplies one value by ten and sorts, if all then fit, else changes nothing; whether it did.
bool fit_with_digit(const std::vector<Cell>& by_size, std::vector<Values>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<Values> tried = values;
    for (double& run : tried[i].runs)
      run *= 10;
    tried[i] = Values(tried[i].runs, tried[i].witness);
    if (!fit_sorted(by_size, tried)) continue;
    values = std::move(tried);
    return true;
  }
  return false;
}

/// What a hypothesis claims about one subject.
struct Claim {
  const char* subject;
  std::string text;
  bool restricts = true; ///< false: every machine satisfies it
};
std::vector<Claim> claims(const MachineHypothesis& hypothesis) {
  const auto machine = model::machine(hypothesis.machine.substr(0, hypothesis.machine.find("~huge")));
  const auto& l1 = machine.levels.front();
  const bool walks = machine.tlb && !hypothesis.huge;
  const auto tlb = machine.tlb ? machine.tlb->levels.back() : model::TlbLevel{};
  return {
      {"L1", fmt::format("L1 of {} KiB, {} ways", l1.size / 1024, l1.ways)},
      {"page walks", walks ? "4 KiB pages, and page walks are counted"
                           : "no page walks among the counted misses: huge pages, or walks are not counted"},
      {"second TLB level",
       machine.tlb ? fmt::format("second TLB level of {} entries, {} ways{}", tlb.entries, tlb.ways,
                                 tlb.index.empty() ? "" : ", hashed index")
                   : "any second TLB level",
       machine.tlb.has_value()}};
}

} // namespace

Comparison compare_cell(const Cell& cell, const Values& measured, const Predicted& predicted,
                        double allowance) {
  Comparison c{cell, measured.median, predicted, 0, allowance, measured.witness};
  if (predicted.low > measured.high) c.off = predicted.low / std::max(measured.high, 1.0) - 1;
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
    std::vector<Values> values;
    MovedRows rows{row.loops, 0, 0, false};
    for (const auto& [cell, all] : column)
      if (cell.loops == row.loops) {
        cells.push_back(cell);
        values.push_back(all);
        if (is_possible(cell, all.median)) ++rows.in_place;
      }
    rows.cells = cells.size();
    if (rows.cells < 4 || 4 * rows.in_place >= 3 * rows.cells) continue;
    // Smaller blocks miss more often.
    std::ranges::sort(cells, {}, [](const Cell& c) {
      return c.cube() * (1 + (c.block > 0 ? 8.0 / static_cast<double>(c.block) : 0));
    });
    if (!fit_sorted(cells, values)) {
      if (!fit_with_digit(cells, values)) continue;
      rows.digit = true;
    }
    for (std::size_t i = 0; i < cells.size(); ++i)
      column.at(cells[i]) = std::move(values[i]);
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
    if (l1 && trial.survives) all.push_back(&trial);
  return all;
}

namespace {

/// The different claims of the survivors, by subject.
std::map<std::string_view, std::vector<Claim>> surviving_claims(const Explanation& e) {
  std::map<std::string_view, std::vector<Claim>> all;
  for (const Trial* trial : e.survivors())
    for (Claim& claim : claims(*trial->hypothesis))
      if (auto& others = all[claim.subject]; !std::ranges::count(others, claim.text, &Claim::text))
        others.push_back(std::move(claim));
  return all;
}

} // namespace

std::vector<std::string> Explanation::determined() const {
  std::vector<std::string> texts;
  for (const auto& [subject, all] : surviving_claims(*this))
    if (all.size() == 1 && all[0].restricts) texts.push_back(all[0].text);
  return texts;
}

std::vector<std::string> Explanation::undetermined() const {
  std::vector<std::string> texts;
  for (const auto& [subject, all] : surviving_claims(*this))
    if (all.size() > 1)
      texts.push_back(fmt::format("{}", fmt::join(base::mapped(all, &Claim::text), "; or ")));
  return texts;
}

Comparison Explainer::predict(const MachineHypothesis& hypothesis, const Cell& cell, const Values& values,
                              const std::string& order, double rounded) {
  // The placement of the matrices changes the count by less than this share: a larger gap needs no more
  // draws.
  constexpr double far = 0.05;
  constexpr std::size_t max_draws = 8;
  const double allowance = hypotheses_.allowance(cell.loops, cell.n) + rounded;
  for (std::size_t draws = 1;; ++draws) {
    const Comparison c = compare_cell(
        cell, values, predictor_.l1_misses(hypothesis.machine, order, cell.n, cell.block, draws), allowance);
    if (!c.refutes() || std::abs(c.off) >= far || draws == max_draws) return c;
  }
}

bool Explainer::compare(const MachineHypothesis& hypothesis, const Column& column, const std::string& loops,
                        const std::string& order, std::vector<Comparison>& to) {
  const std::size_t most = max_unexplained(count_cells(column, loops));
  const double rounded = rounding(column);
  std::size_t refuting = 0;
  for (const auto& [cell, values] : column) {
    if (cell.loops != loops) continue;
    to.push_back(predict(hypothesis, cell, values, order, rounded));
    if (to.back().refutes() && ++refuting > most) return false;
  }
  return true;
}

void Explainer::try_machines(const Column& column, Explanation& to) {
  constexpr std::size_t min_cells = 3;
  to.trials.clear();
  to.unexplained.clear();
  to.other_loops.clear();
  for (const MachineHypothesis& hypothesis : hypotheses_.machines)
    to.trials.push_back({&hypothesis, {}, false, true});
  to.l1 = false;
  for (const char* loops : {"ijk", "ikj"}) {
    if (count_cells(column, loops) < min_cells) continue;
    to.l1 = true;
    const std::vector<Trial> before = to.trials;
    if (count_survivors(before) == 0) return;
    for (Trial& trial : to.trials)
      if (trial.survives) trial.abandoned = !compare(*trial.hypothesis, column, loops, loops, trial.compared);
    const auto unexplained = refute(to.trials, loops);
    const bool later =
        std::ranges::any_of(before, [](const Trial& trial) { return !trial.compared.empty(); });
    if (later && count_survivors(to.trials) == 0) { // other code is likelier than another machine
      to.trials = before;
      find_other_loops(column, loops, to);
      continue;
    }
    to.unexplained.insert(to.unexplained.end(), unexplained.begin(), unexplained.end());
  }
}

/// Finds the orders of the loops whose values fit, on one of the first surviving machines.
void Explainer::find_other_loops(const Column& column, const std::string& loops, Explanation& to) {
  constexpr std::size_t max_machines = 3;
  OtherLoops found{loops, {}};
  auto machines = to.survivors();
  machines.resize(std::min(machines.size(), max_machines));
  for (const LoopOrder& order : loop_orders)
    if (order.order != loops && std::ranges::any_of(machines, [&](const Trial* trial) {
          std::vector<Comparison> compared;
          return compare(*trial->hypothesis, column, loops, order.order, compared);
        }))
      found.orders.emplace_back(order.text);
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
  if (survivors.size() < 2) return;
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

/// Compares PAPI_L2_DCM of streamed matrices with the fewest lines that L2 must fetch.
void try_counts(const Hypotheses& hypotheses, const Column& column, Explanation& to) {
  constexpr std::int64_t streamed = 1000; // rows: 8 MB, more than any L2 described holds
  constexpr double lines_per_step = 1.0 / 8;
  std::map<Cell, double> times;
  for (const auto& [cell, values] : column)
    if (cell.loops == "ikj" && cell.n >= streamed)
      times[cell] = values.median / (lines_per_step * cell.cube());
  if (times.size() < 3) return;
  to.lines_requested = statistics::median(base::mapped(times, [](const auto& one) { return one.second; }));
  for (const CountHypothesis& hypothesis : hypotheses.counts) {
    CountTrial trial{&hypothesis, {}, false};
    for (const auto& [cell, factor] : times)
      if (factor < hypothesis.least || factor > hypothesis.most) trial.refuting.push_back(cell);
    trial.survives = trial.refuting.size() <= max_unexplained(times.size());
    to.counts.push_back(std::move(trial));
  }
}

/// The column with all values divided by a factor of slips, and what they are instead ("8 times too large"),
/// where most values are impossible and would then be possible.
std::vector<std::pair<std::string, Column>> rescale(const Column& column) {
  const auto mostly_possible = [](const Column& values) {
    return 4 * std::ranges::count_if(
                   values, [](const auto& one) { return is_possible(one.first, one.second.median); }) >=
           3 * std::ssize(values);
  };
  std::vector<std::pair<std::string, Column>> all;
  for (const double factor : slip_factors)
    for (const bool large : {true, false}) {
      Column other;
      for (const auto& [cell, values] : column) {
        std::vector<double> runs = values.runs;
        for (double& run : runs)
          run *= large ? 1 / factor : factor;
        other.try_emplace(cell, std::move(runs), values.witness);
      }
      if (!mostly_possible(column) && mostly_possible(other))
        all.emplace_back(fmt::format("{} times too {}", factor, large ? "large" : "small"), std::move(other));
    }
  return all;
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
  Column l1 = group.column(l1_metric), l2 = group.column(l2_metric);
  e.moved = sort_moved_rows(l1);
  std::erase_if(l1, [&](const auto& one) { return is_mistaken(e.findings, l1_metric, one.first); });
  std::erase_if(l2, [&](const auto& one) { return is_mistaken(e.findings, l2_metric, one.first); });
  try_machines(l1, e);
  if (e.l1 && e.survivors().empty()) {
    struct Reading {
      bool Explanation::*mistake;
      std::string rescaled;
      Column l1, l2;
    };
    std::vector<Reading> readings{
        {&Explanation::exchanged, "", l2, l1},
        {&Explanation::exchanged_labels, "", exchange_labels(l1), exchange_labels(l2)}};
    for (const auto& [text, column] : rescale(l1))
      readings.push_back({nullptr, text, column, l2});
    Column read_l1 = l1, read_l2 = l2;
    for (Reading& read : readings) {
      if (!read.mistake && e.exchanged + e.exchanged_labels > 0) break;
      Explanation other = e;
      if (read.mistake) other.*read.mistake = true;
      try_machines(read.l1, other);
      if (other.survivors().empty()) continue;
      other.rescaled = e.rescaled.empty() ? read.rescaled : e.rescaled + " or " + read.rescaled;
      e = std::move(other);
      read_l1 = std::move(read.l1);
      read_l2 = std::move(read.l2);
      if (read.mistake) break;
    }
    l1 = std::move(read_l1);
    l2 = std::move(read_l2);
  }
  check_levels(l1, l2, e.findings);
  measure_blocks(l1, e);
  try_counts(hypotheses_, l2, e);
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
      const std::string machine(cells[1]), claim(cells[2]);
      all.machines.push_back({machine, machine.ends_with("~huge"), claim});
      if (machine.find('~') == machine.npos) all.machines.push_back({machine + "~huge", true, claim});
    } else if (cells.size() == 4 && cells[0] == "L2") {
      const auto bounds = base::mapped(base::words(cells[2]), [&](auto& word) { return number(row, word); });
      if (bounds.size() != 2 || bounds[0] > bounds[1])
        throw bad_input(row.where, fmt::format("\"{}\" is not LEAST MOST", cells[2]),
                        fmt::format("L2 | {} | 0.93 1.07 | {}", cells[1], cells[3]));
      all.counts.push_back({std::string(cells[1]), bounds[0], bounds[1], std::string(cells[3])});
    } else if (cells.size() == 4 && cells[0] == "allowance") {
      all.allowances.push_back({std::string(cells[1]), static_cast<std::int64_t>(number(row, cells[2])),
                                number(row, cells[3]) / 100});
    } else {
      throw bad_input(row.where, "is not a row of L1, L2 or allowance", "see recount-explain(1), HYPOTHESES");
    }
  }
  return all;
}

const Hypotheses& shipped_hypotheses() {
  static const Hypotheses all = parse_hypotheses(hypotheses_data, "hypotheses.txt");
  return all;
}

} // namespace recount::explain
