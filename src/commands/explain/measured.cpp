#include "commands/explain/explanation.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/statistics/statistics.hpp"
#include "base/text.hpp"
#include "run/result/products.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>

namespace recount::explain {

std::string Cell::text() const {
  matmul::Product product{loops, "", "f64", n, block};
  return fmt::format("{}, n = {}", matmul::loops_name(product), n);
}

Values::Values(std::vector<double> all, Witness from) : runs(std::move(all)), witness(std::move(from)) {
  // Runs of one program differ by a percent or two; where more do, by more.
  constexpr double usual = 0.03, deviations = 5;
  median = low = high = statistics::median(runs);
  const double most = std::max(usual * median, deviations * statistics::median_absolute_deviation(runs));
  for (const double run : runs) {
    if (std::abs(run - median) > most && runs.size() > 2) {
      outliers.push_back(run);
      continue;
    }
    low = std::min(low, run);
    high = std::max(high, run);
  }
}

const Column& Group::column(const std::string& metric) const {
  return base::value_at(columns, metric);
}

std::vector<Group> measured_groups(const std::vector<matmul::ProductGroup>& all) {
  std::vector<Group> groups;
  for (const auto& from : all) {
    Group group{from.published ? from.version("published") : from.machine, from.run ? from.run->cpu : "", {}};
    for (const auto& [product, metrics] : from.products) {
      if (product.element != "f64" || !product.build.empty() || product.transposes) continue;
      for (const auto& [key, repetitions] : metrics) {
        const auto& [witness, metric] = key;
        if (witness.modelled()) continue;
        std::vector<double> runs;
        for (const auto& one : repetitions.values)
          runs.push_back(one.value);
        if (!runs.empty())
          group.columns[metric].try_emplace(Cell{product.variant, product.block, product.n}, std::move(runs),
                                            witness);
      }
    }
    if (!group.columns.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

constexpr std::array product_names{"variant", "n", "block"};
constexpr std::array counted_names{"seconds", "l1_dcm", "l1_icm", "l1_tcm", "l2_dcm", "l2_icm", "l2_tcm"};

/// "PAPI_L1_DCM" and "L1 DCM" are l1_dcm; "Time" is seconds.
std::string normal_name(std::string_view name) {
  std::string normal;
  for (const char c : base::lower_case(name))
    normal += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (normal.starts_with("papi_")) normal.erase(0, 5);
  return normal == "time" ? "seconds" : normal;
}

template <class Names>
bool contains(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The name before a colon, an equals sign or the last blank, and the first word behind it.
std::pair<std::string, std::string> split_line(std::string_view line) {
  auto at = line.find_first_of(":=");
  if (at == line.npos) at = line.find_last_of(" \t");
  if (at == line.npos) return {};
  const auto value = base::trim(line.substr(at + 1));
  return {normal_name(base::trim(line.substr(0, at))),
          std::string(value.substr(0, value.find_first_of(" \t")))};
}

class TextReader {
public:
  explicit TextReader(const std::string& file) : file_(file) {}

  void read_line(std::string_view line) {
    ++line_;
    const auto [name, value] = split_line(base::trim(line));
    if (contains(product_names, name))
      set_product(name, value);
    else if (contains(counted_names, name))
      add_count(name, value);
  }

  std::string table() {
    end_run();
    return fmt::format("{},{}\n{}", fmt::join(product_names, ","), fmt::join(counted_names, ","), rows_);
  }

private:
  using Fields = std::map<std::string, std::string>;

  [[noreturn]] void fail(const std::string& cause, const std::string& fix) const {
    throw bad_input(fmt::format("{}:{}", file_, line_), cause, fix);
  }

  void set_product(const std::string& name, const std::string& value) {
    end_run();
    if (name == "variant") {
      if (!matmul::parse_variant(value))
        fail(fmt::format("\"{:.40}\" is not a variant", value), "simple, line or block");
      product_.erase("block");
    } else if (base::parse<std::int64_t>(value).value_or(0) < 1) {
      fail(fmt::format("\"{:.40}\" is not a whole number above 0", value), name + ": 600");
    }
    product_[name] = value;
  }

  void add_count(const std::string& name, const std::string& value) {
    if (!product_.contains("variant") || !product_.contains("n"))
      fail("a count before its product", "lines \"variant: simple\" and \"n: 600\" before it");
    const bool whole = name != "seconds";
    if (whole ? base::parse<std::int64_t>(value).value_or(-1) < 0 : !(base::parse<double>(value) > 0.0))
      fail(fmt::format("\"{:.40}\" is not a {}", value, whole ? "count" : "time in seconds"),
           name + (whole ? ": 244526955" : ": 0.19"));
    if (run_.contains(name)) end_run();
    run_[name] = value;
  }

  void end_run() {
    if (run_.empty()) return;
    std::vector<std::string> fields;
    for (const char* name : product_names)
      fields.push_back(product_[name]);
    for (const char* name : counted_names)
      fields.push_back(run_[name]);
    rows_ += fmt::format("{}\n", fmt::join(fields, ","));
    run_.clear();
  }

  const std::string& file_;
  int line_ = 0;
  Fields product_, run_;
  std::string rows_;
};

/// A published table (CSV, recount-matmul(1)) of lines "NAME: VALUE", "NAME = VALUE" or "NAME VALUE". Names,
/// in any case: variant, n, block, time or seconds, and misses of L1 and L2 as "PAPI_L1_DCM" or "L1 DCM". A
/// product holds for the counts behind it; a count that is there already begins a further run. Other lines
/// are ignored. Pure. Throws recount::Error (bad_input) naming file and line.
std::string table_from_text(std::string_view text, const std::string& file) {
  TextReader reader(file);
  for (const auto line : base::split(text, '\n'))
    reader.read_line(line);
  return reader.table();
}

std::vector<matmul::Published> read_tables(const std::string& file) {
  if (file.ends_with(".csv")) return matmul::read_published(file, {}, matmul::Duplicates::keep);
  return matmul::parse_published(table_from_text(base::require_file(file), file), file, {},
                                 matmul::Duplicates::keep);
}

} // namespace

std::vector<Group> read_measured(const std::string& file) {
  result::Results results;
  if (file.ends_with(".csv") || file.ends_with(".txt")) {
    for (auto& table : read_tables(file)) {
      results.runs.push_back(std::move(table.run));
      std::ranges::move(table.observations, std::back_inserter(results.observations));
    }
  } else {
    results = result::read(file);
  }
  auto groups = measured_groups(matmul::group_products(results));
  if (groups.empty())
    throw bad_input(file, "has no counts of products of doubles",
                    "rows of recount-matmul(1), PUBLISHED TABLES, or a results file of recount matmul");
  return groups;
}

namespace {

using Kind = TableFinding::Kind;

/// The factors that a ratio is within `precise` of, else the nearest within `most`.
std::vector<double> find_slips(double ratio, double precise, double most) {
  std::vector<double> fit;
  double nearest = 0, best = most;
  for (const double factor : slip_factors) {
    const double off = std::max(ratio, 1 / ratio) / factor, times = std::max(off, 1 / off);
    if (times <= precise) fit.push_back(factor);
    if (times <= best) nearest = factor, best = times;
  }
  if (fit.empty() && nearest > 0) fit = {nearest};
  return fit;
}

std::string slips_text(const std::vector<double>& slips, double ratio) {
  return fmt::format("{} times too {}", fmt::join(slips, " or "), ratio < 1 ? "small" : "large");
}

/// Makes the finding of a value that is `ratio` times what it should be.
TableFinding digit_finding(const std::string& metric, const Cell& cell, double ratio,
                           const std::vector<double>& slips) {
  const bool lost = ratio < 1, digit = slips.size() == 1 && slips.front() == 10;
  const std::string slip =
      digit ? fmt::format("a digit was {}", lost ? "lost" : "added") : "its unit or a digit is wrong";
  return {lost ? Kind::digit_lost : Kind::digit_added,
          metric,
          {cell},
          fmt::format("{} of {} is {:.4g} times {} than that of its neighbours: {}", metric, cell.text(),
                      std::max(ratio, 1 / ratio), lost ? "smaller" : "larger", slip),
          slips_text(slips, ratio)};
}

/// Long times have other causes, and rare events no typical share.
bool can_slip(const std::string& metric, double reference, double ratio) {
  constexpr double rare = 0.01, longest = 900;
  return metric == seconds_metric ? ratio < 1 || ratio > longest : reference > rare;
}

/// A value between two neighbours of nearly the same share of n^3, smaller or larger by a factor of slips.
/// Columns of simple have other shares where rows are whole pages.
void check_digits(const std::string& metric, const Column& column, std::vector<TableFinding>& found) {
  constexpr double neighbours_agree = 1.5, window = 1.25, noise = 1.03;
  std::vector<std::pair<Cell, double>> row;
  const auto check = [&] {
    for (std::size_t i = 0; row.size() > 2 && i < row.size(); ++i) {
      const double a = row[i == 0 ? 2 : i - 1].second, b = row[i + 1 < row.size() ? i + 1 : i - 2].second;
      const double reference = std::sqrt(a * b), spread = std::max(a, b) / std::min(a, b);
      const double ratio = row[i].second / reference;
      if (!(spread <= neighbours_agree) || !(ratio > 0) || !can_slip(metric, reference, ratio)) continue;
      const auto slips = find_slips(ratio, std::min(noise * std::sqrt(spread), window), window);
      if (!slips.empty()) found.push_back(digit_finding(metric, row[i].first, ratio, slips));
    }
    row.clear();
  };
  const auto whole_pages = [](const Cell& cell) { return cell.loops == "ijk" && cell.n % 512 == 0; };
  for (const auto& [cell, values] : column) {
    if (!row.empty() && (row.back().first.loops != cell.loops || row.back().first.block != cell.block ||
                         whole_pages(row.back().first) != whole_pages(cell)))
      check();
    row.emplace_back(cell, values.median / cell.cube());
  }
  check();
}

/// Equal counts of five digits or more in two places.
void check_copies(const Group& group, std::vector<TableFinding>& found) {
  constexpr double least = 1e5;
  constexpr int digits = 5;
  std::map<double, std::pair<std::string, Cell>> first;
  for (const auto& [metric, column] : group.columns) {
    if (!is_preset(metric)) continue;
    for (const auto& [cell, values] : column)
      for (const double run : values.runs) {
        if (run < least || count_digits(run) < digits) continue;
        const auto [at, added] = first.try_emplace(run, metric, cell);
        if (added || (at->second.first == metric && at->second.second == cell)) continue;
        found.push_back({Kind::copied,
                         metric,
                         {cell, at->second.second},
                         fmt::format("{} of {} is to the last digit {} of {}: copied", metric, cell.text(),
                                     at->second.first, at->second.second.text())});
      }
  }
}

/// Runs of a cell that are far from the others.
void check_outliers(const Group& group, std::vector<TableFinding>& found) {
  constexpr double noise = 1.03;
  for (const auto& [metric, column] : group.columns)
    for (const auto& [cell, values] : column) {
      if (values.outliers.empty()) continue;
      const double ratio = values.outliers.front() / values.median;
      const std::string text = can_slip(metric, values.median / cell.cube(), ratio)
                                   ? slip_text(ratio, noise, noise)
                                   : std::string();
      if (metric != l1_metric && text.empty()) continue;
      found.push_back({Kind::outlier,
                       metric,
                       {cell},
                       fmt::format("{} of {}: {} of {} left out, {:.3g} against a median of {:.3g}", metric,
                                   cell.text(), base::format_count(values.outliers.size(), "run"),
                                   values.runs.size(), values.outliers.front(), values.median),
                       text});
    }
}

/// Data, instructions and both of one level satisfy DCM + ICM = TCM; if they do not as labelled, but always
/// do in another order, the labels are in the wrong order.
void check_identity(const Group& group, int level, std::vector<TableFinding>& found) {
  const std::array<std::string, 3> names{fmt::format("PAPI_L{}_DCM", level),
                                         fmt::format("PAPI_L{}_ICM", level),
                                         fmt::format("PAPI_L{}_TCM", level)};
  std::vector<std::array<double, 3>> rows;
  for (const auto& [cell, values] : group.column(names[0])) {
    const auto icm = group.column(names[1]).find(cell), tcm = group.column(names[2]).find(cell);
    if (icm != group.column(names[1]).end() && tcm != group.column(names[2]).end())
      rows.push_back({values.median, icm->second.median, tcm->second.median});
  }
  if (rows.size() < 3) return;
  // Misses of instructions are few in a loop of a few instructions.
  const auto holds = [&](const std::array<std::size_t, 3>& at) {
    constexpr double tolerance = 1e-3;
    return std::ranges::count_if(rows,
                                 [&](const auto& row) {
                                   const double dcm = row[at[0]], icm = row[at[1]], tcm = row[at[2]];
                                   return icm <= dcm && std::abs(dcm + icm - tcm) <= tolerance * tcm;
                                 }) *
               10 >=
           static_cast<std::ptrdiff_t>(rows.size()) * 9;
  };
  std::array<std::size_t, 3> order{0, 1, 2};
  if (holds(order)) return;
  std::vector<std::array<std::size_t, 3>> fits;
  while (std::ranges::next_permutation(order).found)
    if (holds(order)) fits.push_back(order);
  if (fits.empty()) return;
  std::vector<std::string> texts;
  for (const auto& fit : fits)
    texts.push_back(fmt::format("{} holds {}, {} holds {}, {} holds {}", names[fit[0]], names[0],
                                names[fit[1]], names[1], names[fit[2]], names[2]));
  found.push_back({Kind::rotated,
                   names[0],
                   {},
                   fmt::format("{0} + {1} = {2} fails as labelled, and holds if the column {3}", names[0],
                               names[1], names[2], fmt::join(texts, "; or "))});
}

/// Counts of 0, also of a product whose matrices exceed the level: any machine misses there.
void check_dead(const Group& group, const std::string& metric, std::int64_t exceeds,
                std::vector<TableFinding>& found) {
  const Column& column = group.column(metric);
  if (std::ranges::all_of(column, [](const auto& one) { return one.second.median == 0; }) &&
      std::ranges::any_of(column, [&](const auto& one) { return one.first.n >= exceeds; }))
    found.push_back(
        {Kind::dead, metric, {}, metric + " is 0 in every product: the event counts nothing there"});
}

} // namespace

void check_levels(const Column& l1, const Column& l2, std::vector<TableFinding>& found) {
  std::erase_if(found, [](const auto& one) { return one.kind == Kind::more_than_l1; });
  TableFinding finding{Kind::more_than_l1, l2_metric, {}, {}};
  for (const auto& [cell, values] : l2) {
    const auto first = l1.find(cell);
    if (first != l1.end() && values.low > first->second.high) finding.cells.push_back(cell);
  }
  if (finding.cells.empty()) return;
  finding.text =
      fmt::format("{} exceeds {} in {} of {}: it counts more than the misses of L1 that miss L2 as well",
                  l2_metric, l1_metric, base::format_count(finding.cells.size(), "cell"), l2.size());
  found.push_back(std::move(finding));
}

double rounding(const Column& column) {
  int most = 0;
  for (const auto& [cell, values] : column)
    for (const double run : values.runs)
      most = std::max(most, count_digits(run));
  constexpr int exact = 6;
  return most == 0 || most > exact ? 0 : 0.5 * std::pow(10.0, 1 - most);
}

std::vector<TableFinding> check_table(const Group& group) {
  std::vector<TableFinding> found;
  for (const char* metric : {l1_metric, l2_metric, seconds_metric})
    check_digits(metric, group.column(metric), found);
  check_copies(group, found);
  check_outliers(group, found);
  for (const int level : {1, 2})
    check_identity(group, level, found);
  for (const char* metric : {l1_metric, l2_metric})
    if (const double half = rounding(group.column(metric)); half > 0)
      found.push_back({Kind::rounded,
                       metric,
                       {},
                       fmt::format("{} is rounded: its values are exact to {:.2g} %", metric, 100 * half)});
  check_levels(group.column(l1_metric), group.column(l2_metric), found);
  check_dead(group, l1_metric, 100, found);
  check_dead(group, l2_metric, 1000, found);
  return found;
}

int count_digits(double value) {
  std::string text = fmt::format("{}", value);
  text.resize(std::min(text.size(), text.find('e')));
  std::erase(text, '.');
  const auto first = text.find_first_not_of('0');
  return first == text.npos ? 0 : static_cast<int>(text.find_last_not_of('0') - first + 1);
}

std::string slip_text(double ratio, double precise, double most) {
  const auto slips = find_slips(ratio, precise, most);
  return slips.empty() ? "" : slips_text(slips, ratio);
}

bool is_mistaken(const std::vector<TableFinding>& findings, const std::string& metric, const Cell& cell) {
  return std::ranges::any_of(findings, [&](const TableFinding& finding) {
    const bool digit = finding.kind == Kind::digit_lost || finding.kind == Kind::digit_added;
    return finding.metric == metric &&
           (finding.kind == Kind::dead || (digit && finding.cells.front() == cell));
  });
}

} // namespace recount::explain
