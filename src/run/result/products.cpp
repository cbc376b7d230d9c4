#include "run/result/products.hpp"

#include "base/csv.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "count/preset/written.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <recount/error.hpp>
#include <set>
#include <tuple>

namespace recount::matmul {
namespace {

struct VariantRow {
  const char *variant, *name;
};
/// In the order of the studies, under the names of the laboratory and the report that they follow.
constexpr std::array variant_rows{VariantRow{"ijk", "simple"},    VariantRow{"ijk-mem", "straightforward"},
                                  VariantRow{"ikj", "line"},      VariantRow{"transposed", "transposed"},
                                  VariantRow{"blocked", "block"}, VariantRow{"dgemm", "OpenBLAS dgemm"}};

std::size_t variant_rank(const std::string& variant) {
  return static_cast<std::size_t>(std::ranges::find(variant_rows, variant, &VariantRow::variant) -
                                  variant_rows.begin());
}

std::string machine_name(const result::Run& run) {
  return run.cpu + " on " + run.host;
}

} // namespace

std::strong_ordering Product::operator<=>(const Product& other) const {
  const auto key = [](const Product& p) {
    return std::tuple(std::string_view(p.element), !p.build.empty(), variant_rank(p.variant),
                      std::string_view(p.variant), std::string_view(p.build), p.n, p.block, p.transposes);
  };
  return key(*this) <=> key(other);
}

double Product::operations() const {
  const auto size = static_cast<double>(n);
  return 2 * size * size * size;
}

Product Product::at_size(std::int64_t size) const {
  Product product = *this;
  product.n = size;
  return product;
}

Product Product::with_variant(const std::string& other) const {
  return {other, build, element, n, 0, false};
}

Product Product::with_build(const std::string& other) const {
  Product product = *this;
  product.build = other;
  return product;
}

std::optional<Product> parse_product(const std::string& kernel, const result::Params& point) {
  if (kernel != "matmul" && kernel != "matmul-vectorised" && kernel != "external" && kernel != "dgemm")
    return {};
  const auto word = [&](const std::string& name, const std::string& otherwise) {
    const std::string text = result::word(point, name);
    return text.empty() ? otherwise : text;
  };
  Product product;
  product.n = result::integer(point, "n").value_or(0);
  if (product.n <= 0) return {};
  product.element = word("element", "f64");
  product.variant = kernel == "dgemm" ? "dgemm" : word("variant", "");
  if (kernel == "matmul-vectorised") product.build = "vectorised";
  if (kernel == "external") product.build = word("language", "another program");
  if (product.variant == "blocked")
    product.block = std::min(result::integer(point, "block").value_or(0), product.n);
  product.transposes = product.variant == "transposed" && word("transpose", "included") == "included";
  return product;
}

std::optional<std::string> parse_variant(std::string_view name) {
  const auto* const row = std::ranges::find_if(
      variant_rows, [&](const VariantRow& r) { return r.name == name || r.variant == name; });
  return row == variant_rows.end() ? std::nullopt : std::optional<std::string>(row->variant);
}

std::string loops_name(const Product& product) {
  const std::size_t rank = variant_rank(product.variant);
  std::string name = rank < variant_rows.size() ? variant_rows[rank].name : product.variant;
  if (product.block > 0) name += fmt::format(" {}", product.block);
  if (product.variant == "transposed") name += product.transposes ? ", with copy" : ", without copy";
  if (!product.build.empty()) name += ", " + product.build;
  return name;
}

std::size_t Repetitions::disturbed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(values, [](const Repeated& one) { return !one.disturbances.empty(); }));
}

std::size_t count_disturbed(const Processes& processes) {
  return static_cast<std::size_t>(std::ranges::count(processes, true, &Processes::value_type::second));
}

void add_processes(Processes& all, const Processes& more) {
  for (const auto& [process, disturbed] : more)
    all[process] |= disturbed;
}

std::string published_clause(const ProductGroup& table) {
  std::size_t most = 1;
  for (const auto& [product, metrics] : table.products)
    for (const auto& [key, all] : metrics)
      if (key.first == Witness::published) most = std::max(most, all.values.size());
  if (most < 2) return "one value per product, as its source has it, of unknown spread";
  return fmt::format("{} of up to {} repetitions", statistics::name_of(table.statistic), most);
}

statistics::Evidence evidence(const Quantity& a, const Quantity& b) {
  const auto exact = [](const Quantity& q) {
    return q.repeatable || q.witness.modelled() || (q.witness == Witness::published && q.values.size() < 2);
  };
  if (!exact(a) || !exact(b)) return statistics::evidence(a.values, b.values);
  const bool ranges = a.low < a.high || b.low < b.high;
  return ranges && a.low <= b.high && b.low <= a.high ? statistics::Evidence::overlap
                                                      : statistics::Evidence::clear;
}

Quantity scaled(Quantity quantity, double factor) {
  for (double* number : {&quantity.value, &quantity.low, &quantity.high})
    *number *= factor;
  for (double& value : quantity.values)
    value *= factor;
  return quantity;
}

std::string reservation(const Quantity& comparison) {
  if (comparison.witness.modelled() && !comparison.clear()) return "the predicted ranges overlap";
  return statistics::reservation(comparison.evidence, comparison.compared);
}

std::int64_t ProductGroup::line() const {
  if (run)
    for (const auto& cache : run->caches)
      if (cache.line > 0) return cache.line;
  return 64;
}

std::string ProductGroup::version(const std::string& name, const std::string& otherwise) const {
  if (!run) return otherwise;
  const auto found = run->versions.find(name);
  return found == run->versions.end() ? otherwise : found->second;
}

Witness ProductGroup::model_witness() const {
  const std::string described = version("machine");
  return described.empty() ? Witness() : Witness(Witness::model, described);
}

std::vector<std::int64_t> ProductGroup::sizes(const Product& loops) const {
  std::set<std::int64_t> all;
  for (const auto& [product, metrics] : products)
    if (product.at_size(loops.n) == loops) all.insert(product.n);
  return {all.begin(), all.end()};
}

std::vector<Product> ProductGroup::loops() const {
  std::set<Product> all;
  for (const auto& [product, metrics] : products)
    all.insert(product.at_size(0));
  return {all.begin(), all.end()};
}

const Metrics& ProductGroup::metrics(const Product& product) const {
  return base::value_at(products, product);
}

namespace {

/// The model without samples and drawn placement.
Witness without_modes(const Witness& witness) {
  const std::string machine = model::without_modes(witness.detail);
  return {witness.kind, machine == "host" ? "" : machine};
}

Quantity make_quantity(const Witness& witness, const Repetitions& all, bool repeatable) {
  const statistics::Summary& s = *all.summary;
  Quantity quantity{s.value, witness, s.low, s.high};
  quantity.repeatable = repeatable;
  for (const Repeated& one : all.values) {
    quantity.values.push_back(one.value);
    if (!witness.modelled()) {
      quantity.processes[one.process] |= !one.disturbances.empty();
      continue;
    }
    quantity.low = std::min({one.value - one.error, quantity.low, s.min});
    quantity.high = std::max({one.value + one.error, quantity.high, s.max});
  }
  return quantity;
}

} // namespace

bool same_witness(const Witness& a, const Witness& b) {
  return without_modes(a) == without_modes(b);
}

std::optional<Quantity> ProductGroup::quantity(const Product& product, const std::string& metric,
                                               const Witness& witness) const {
  const Metrics& all = metrics(product);
  for (const Witness& name : witness.empty() ? witnesses : std::vector{witness})
    if (const auto at = all.find({name, metric}); at != all.end() && at->second.summary)
      return make_quantity(name, at->second, repeatable);
  for (const auto& [key, repetitions] : all)
    if (!witness.empty() && key.second == metric && repetitions.summary && same_witness(key.first, witness))
      return make_quantity(key.first, repetitions, repeatable);
  return {};
}

bool ProductGroup::undetermined(const Product& product, const std::string& metric,
                                const Witness& witness) const {
  return !quantity(product, metric, witness) && std::ranges::any_of(metrics(product), [&](const auto& entry) {
    return entry.first.second == metric && same_witness(entry.first.first, witness);
  });
}

std::string ProductGroup::absence(const Product& product) const {
  if (failed.contains(product)) return "failed";
  return products.contains(product) ? "not counted" : std::string(not_run);
}

bool ProductGroup::has_witness(const Witness& witness) const {
  return std::ranges::any_of(witnesses, [&](const auto& name) { return same_witness(name, witness); });
}

namespace {

/// The groups in the order of their first use.
class ProductGroups {
public:
  explicit ProductGroups(const result::Results& results) : results_(results), runs_(results.runs_by_id()) {
    all.reserve(results.runs.size() + 1); // pointers to them are kept
  }

  /// The run of this id, null where the results lack it, and its group.
  std::pair<const result::Run*, ProductGroup*> find(const std::string& id) {
    auto [at, fresh] = by_run_.try_emplace(id);
    if (!fresh) return at->second;
    const result::Run* const run = base::value_at(runs_, id);
    const std::string machine = run ? machine_name(*run) : "an unknown machine";
    const bool published = run && run->versions.contains("published");
    const auto group = std::ranges::find_if(
        all, [&](const ProductGroup& g) { return g.machine == machine && g.published == published; });
    if (group != all.end()) return at->second = {run, &*group};
    all.push_back({run,
                   machine,
                   published,
                   results_.statistic,
                   {},
                   {},
                   {},
                   {},
                   run && run->versions.contains("emulation")});
    return at->second = {run, &all.back()};
  }

  std::vector<ProductGroup> all;

private:
  const result::Results& results_;
  const std::unordered_map<std::string, const result::Run*> runs_;
  std::map<std::string, std::pair<const result::Run*, ProductGroup*>> by_run_;
};

void add_value(Repetitions& all, const result::Observation& o, const std::optional<double>& value,
               const Process& process) {
  if (value)
    all.values.push_back({process, *value, result::disturbances(o), result::sampling_error(o).value_or(0)});
  else if (all.reason.empty())
    all.reason = o.reason;
}

void summarise(Repetitions& all, statistics::Statistic statistic) {
  std::ranges::stable_sort(all.values, {}, &Repeated::process);
  std::vector<double> values;
  for (const Repeated& one : all.values)
    values.push_back(one.value);
  if (!values.empty()) all.summary = statistics::summarise(values, statistic);
}

/// Whether the witness is a reduced model ("X~no-tlb") and `all` has the whole model X.
bool lacks_a_part(const Witness& witness, const std::set<Witness>& all) {
  const auto tilde = witness.detail.find('~');
  if (!witness.modelled() || tilde == std::string::npos) return false;
  const std::string whole = witness.detail.substr(0, tilde);
  return all.contains({Witness::model, whole}) || (whole == "host" && all.contains(Witness::model));
}

/// Reduced models are for comparison only. They are told by group: one product may lack the values of the
/// whole model because its run failed.
void find_witnesses(ProductGroup& group) {
  static const std::array<Witness, 5> order{Witness::perf, Witness::papi, Witness::clock, Witness::published,
                                            Witness::model};
  std::set<Witness> names, machines;
  for (const auto& [product, metrics] : group.products)
    for (const auto& [key, all] : metrics) {
      names.insert(key.first);
      machines.insert(without_modes(key.first));
    }
  for (const Witness& name : names)
    if (!lacks_a_part(without_modes(name), machines)) group.witnesses.push_back(name);
  std::ranges::stable_sort(group.witnesses, {},
                           [](const Witness& name) { return std::ranges::find(order, name); });
}

/// The innermost level that holds that number of bytes.
std::string level_that_holds(const ProductGroup& group, std::int64_t size) {
  if (group.run)
    for (const auto& cache : group.run->caches)
      if (size <= cache.size) return cache.level;
  return "memory";
}

void add_ceilings(ProductGroups& groups, const result::Results& results) {
  struct Best {
    double seconds = 0, amount = 0;
    bool disturbed = false;
  };
  std::map<std::tuple<ProductGroup*, std::string, std::int64_t>, Best> best; // by width, size of the array
  for (const auto& o : results.observations) {
    const bool peak = o.kernel == "peak", bandwidth = o.kernel == "bandwidth";
    const auto value = result::as_double(o.value);
    if ((!peak && !bandwidth) || !value || *value <= 0) continue;
    auto& at = best[{groups.find(o.run).second, result::word(o.params, "width"),
                     result::integer(o.params, "size").value_or(0)}];
    if (is_seconds(o.metric) && (at.seconds == 0 || *value < at.seconds)) {
      at.seconds = *value;
      at.disturbed = !result::disturbances(o).empty();
    }
    if (peak && o.metric == "PAPI_DP_OPS") at.amount = *value;
    if (bandwidth && o.accesses) at.amount = 8 * static_cast<double>(*o.accesses);
  }
  for (const auto& [key, at] : best) {
    const auto& [group, width, size] = key;
    if (at.seconds <= 0 || at.amount <= 0) continue;
    group->ceilings.push_back({size > 0 ? level_that_holds(*group, size) : width, size > 0,
                               at.amount / at.seconds, size, at.disturbed});
  }
}

} // namespace

std::vector<ProductGroup> group_products(const result::Results& results) {
  ProductGroups groups(results);
  for (const auto& o : results.observations)
    if (const auto product = parse_product(o.kernel, o.params)) {
      const auto [run, group] = groups.find(o.run);
      auto& [key, metrics] = *group->products.try_emplace(*product).first;
      const Process process{run, o.repetition, &key};
      add_value(metrics[{o.witness, o.metric}], o, result::as_double(o.value), process);
      if (o.cpu_seconds) add_value(metrics[{o.witness, "cpu_seconds"}], o, o.cpu_seconds, process);
    }
  for (auto& group : groups.all) {
    for (auto& [product, metrics] : group.products)
      for (auto& [key, all] : metrics)
        summarise(all, results.statistic);
    find_witnesses(group);
  }
  for (const auto& failure : results.failures)
    if (const auto product = parse_product(failure.kernel, failure.params))
      groups.find(failure.run).second->failed.emplace(*product, failure.reason.text());
  add_ceilings(groups, results);
  std::ranges::stable_partition(groups.all, [](const ProductGroup& group) { return !group.published; });
  return std::move(groups.all);
}

namespace {

/// The presets that a study knows what to do with.
constexpr std::array preset_columns{"l1_dcm",  "l1_icm",  "l1_tcm", "l2_icm", "l2_tcm", "l2_dcm",
                                    "l3_dcm",  "l2_dca",  "l2_dch", "ld_ins", "sr_ins", "lst_ins",
                                    "tot_cyc", "tot_ins", "fp_ops", "dp_ops", "tlb_dm"};

/// What a column of values holds.
struct Metric {
  std::string name;     ///< "seconds", "PAPI_L1_DCM"
  std::string language; ///< of a time; empty: C++
};

/// The metric of a column of values; empty: another column, or an unknown one.
std::optional<Metric> parse_metric(std::string column) {
  const auto upper = [](unsigned char c) { return static_cast<char>(std::toupper(c)); };
  if (column == "seconds" || column == "seconds_cpp") return Metric{"seconds", ""};
  if (constexpr std::string_view prefix = "seconds_";
      column.starts_with(prefix) && column.size() > prefix.size()) {
    column.erase(0, prefix.size());
    column[0] = upper(static_cast<unsigned char>(column[0]));
    return Metric{"seconds", column};
  }
  if (std::ranges::find(preset_columns, column) == preset_columns.end()) return {};
  std::ranges::transform(column, column.begin(), upper);
  return Metric{"PAPI_" + column, ""};
}

/// Columns that describe where a row was measured, in words.
constexpr std::array described_columns{"group",       "cpu", "microarchitecture", "pages", "flags",
                                       "pages_basis", "note"};

class Reader {
public:
  Reader(std::string_view text, const std::string& file, Duplicates duplicates)
      : table_(base::parse_csv(text, file, see_page)), duplicates_(duplicates) {}

  /// One table for each word in the column `group`, in the order of the file.
  std::vector<Published> read() {
    line_ = table_.head.number;
    if (!table_.head.fields.empty()) check_head();
    for (const auto& line : table_.rows) {
      line_ = line.number;
      read_row(line.fields);
    }
    std::erase_if(tables_, [](const Published& table) { return table.observations.empty(); });
    if (tables_.empty()) fail("has no values", "columns variant, n, l1_dcm ... and one row per product");
    for (Published& table : tables_)
      if (!table_.comments.empty()) table.run.versions["source"] = table_.comments;
    return std::move(tables_);
  }

private:
  using Cells = std::map<std::string_view, std::string_view>; ///< by column, those that are not empty

  static constexpr const char* see_page = "see recount-matmul(1)";
  [[noreturn]] void fail(const std::string& cause, const std::string& fix = see_page) const {
    table_.fail(line_, cause, fix);
  }

  void check_head() const {
    std::vector<std::string> known{"variant", "n",           "block",       "repetition",
                                   "seconds", "seconds_cpp", "seconds_java"};
    const auto& head = table_.head.fields;
    known.insert(known.begin(), described_columns.begin(), described_columns.end());
    const auto measured = known.begin() + described_columns.size() + 4;
    for (const auto column : head)
      if (std::find(known.begin(), measured, column) == measured && !parse_metric(std::string(column))) {
        known.insert(known.end(), preset_columns.begin(), preset_columns.end());
        fail(fmt::format("unknown column \"{:.80}\"", column), base::did_you_mean(column, known));
      }
    for (const char* needed : {"variant", "n"})
      if (std::ranges::find(head, needed) == head.end()) fail(std::string("there is no column ") + needed);
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view field, const char* what, bool zero = false) const {
    return table_.number<Number>(line_, field, what, see_page, zero);
  }

  [[nodiscard]] std::int64_t whole_number(std::string_view field) const {
    constexpr std::int64_t most = 1 << 20;
    const auto whole = number<std::int64_t>(field, "whole number above 0");
    if (whole > most) fail(fmt::format("{} is over {}", whole, most));
    return whole;
  }

  [[nodiscard]] result::Params make_product(const Cells& cells) const {
    if (!cells.contains("variant") || !cells.contains("n")) fail("the row has no variant or no n");
    const auto variant = parse_variant(cells.at("variant"));
    if (!variant || *variant == "dgemm")
      fail(fmt::format("\"{:.40}\" is not a variant", cells.at("variant")),
           "simple, line, block or a variant of the kernel matmul");
    result::Params given{
        {"element", std::string("f64")}, {"variant", *variant}, {"n", whole_number(cells.at("n"))}};
    if (const auto block = cells.find("block"); block != cells.end())
      given["block"] = whole_number(block->second);
    return given;
  }

  void read_row(const std::vector<std::string_view>& fields) {
    const auto& columns = table_.head.fields;
    Cells cells;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!fields[i].empty()) cells.emplace(columns[i], fields[i]);
    read_table_row(cells);
    const auto given = make_product(cells);
    const auto point = kernel::complete(kernel::find("matmul"), given);
    auto& points = tables_[current_].points;
    if (std::ranges::find(points, point) == points.end()) points.push_back(point);
    const auto repetition = cells.find("repetition");
    const int number = parse_repetition(repetition == cells.end() ? "1" : repetition->second, point);
    if (const auto [before, added] = lines_.try_emplace({current_, point, number}, line_); !added)
      fail(fmt::format("the product is that of line {}", before->second),
           "for several runs of one product add a column repetition: 1, 2 ...");
    for (const auto column : columns)
      if (const auto metric = parse_metric(std::string(column)); metric && cells.contains(column))
        add_value(*metric, cells.at(column), point, given, number);
  }

  /// The number of the repetition, from 0. A word ("mean", "run-b") takes the next free one of its product.
  int parse_repetition(std::string_view field, const result::Params& point) {
    const bool keep = duplicates_ == Duplicates::keep;
    if (std::isalpha(static_cast<unsigned char>(field.front())) == 0) {
      const int number = static_cast<int>(whole_number(field)) - 1;
      if (!keep || !lines_.contains({current_, point, number})) return number;
    } else if (!words_.emplace(current_, point, field).second && !keep)
      fail(fmt::format("the product has another repetition \"{:.40}\"", field), "another word or number");
    int next = 0;
    while (lines_.contains({current_, point, next}))
      ++next;
    return next;
  }

  void add_value(const Metric& metric, std::string_view field, const result::Params& point,
                 const result::Params& given, int repetition) {
    result::Observation o;
    o.kernel = "matmul";
    o.params = point;
    o.repetition = repetition;
    o.witness = Witness::published;
    o.metric = metric.name;
    if (is_preset(metric.name))
      o.value = number<std::int64_t>(field, "count", true);
    else
      o.value = number<double>(field, "time in seconds");
    if (!metric.language.empty()) {
      o.kernel = "external";
      o.params = given;
      o.params["language"] = metric.language;
    }
    tables_[current_].observations.push_back(std::move(o));
  }

  /// Selects the table of the row's group. What describes a machine is the same in all rows of a group.
  void read_table_row(const Cells& cells) {
    const auto group = cells.find("group");
    const std::string name = group == cells.end() ? std::string() : std::string(group->second);
    const auto [at, added] = groups_.try_emplace(name, tables_.size());
    current_ = at->second;
    if (added) tables_.emplace_back();
    if (tables_.size() > max_groups) fail(fmt::format("has more than {} groups", max_groups));
    auto& versions = tables_[current_].run.versions;
    for (const char* column : {"group", "cpu", "microarchitecture", "pages", "flags"}) {
      const auto cell = cells.find(column);
      if (cell == cells.end()) continue;
      const auto [before, first] = versions.try_emplace(column, cell->second);
      if (!first && before->second != cell->second)
        fail(fmt::format("{} is \"{:.40}\", but was \"{:.40}\" in this group", column, cell->second,
                         before->second),
             "one group per machine and build");
    }
  }

  static constexpr std::size_t max_groups = 1000;
  base::CsvTable table_;
  Duplicates duplicates_;
  int line_ = 0;
  std::map<std::tuple<std::size_t, result::Params, int>, int> lines_;    ///< of every product and repetition
  std::set<std::tuple<std::size_t, result::Params, std::string>> words_; ///< in the column repetition
  std::map<std::string, std::size_t> groups_;                            ///< positions in `tables_`
  std::vector<Published> tables_;
  std::size_t current_ = 0;
};

/// Letters and digits only, in lower case.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c))) all += c;
  return base::lower_case(all);
}

/// The longest name of a shipped machine that the text mentions.
std::string machine_in(std::string_view text) {
  std::string best;
  for (const auto& name : model::machine_names())
    if (plain(text).find(plain(name)) != std::string::npos && name.size() > best.size()) best = name;
  return best;
}

/// The presets that a table holds values of.
std::vector<std::string> counted(const Published& table) {
  std::vector<std::string> presets;
  for (const auto& o : table.observations)
    if (is_preset(o.metric) && std::ranges::find(presets, o.metric) == presets.end())
      presets.push_back(o.metric);
  return presets;
}

/// The description of the CPU that a table names, or of its microarchitecture; empty: there is none.
std::string find_machine(const std::map<std::string, std::string>& versions, const std::string& file) {
  const auto word = [&](const char* key) { return base::value_at(versions, key); };
  std::string found = machine_in(word("cpu"));
  if (found.empty() && word("cpu").empty()) found = machine_in(word("source") + " " + file);
  if (found.empty()) found = machine_of_microarchitecture(word("microarchitecture"));
  if (!found.empty() && word("pages") == "huge") found += "~huge";
  return found;
}

/// Fills in what identifies the run of a table.
void complete_run(Published& published, const std::string& file, const std::string& machine,
                  const std::string& id) {
  const std::string name = std::filesystem::path(file).filename().string();
  auto& versions = published.run.versions;
  const std::string known = machine.empty() ? find_machine(versions, name) : machine;
  const auto group = versions.find("group"), cpu = versions.find("cpu");
  versions["published"] = name + (group == versions.end() ? "" : " " + group->second);
  if (versions["source"].empty()) versions["source"] = name;
  if (!known.empty()) {
    versions["machine"] = known;
    if (const std::string pmu = model::machine(known).pmu; !pmu.empty())
      published.run.presets = preset_notes(counted(published), pmu);
  }
  published.run.id = "published-" + id + (group == versions.end() ? "" : "-" + group->second);
  published.run.host = versions["published"];
  const std::string stated = cpu == versions.end() || cpu->second == "?" ? known : cpu->second;
  published.run.cpu = stated.empty() ? "unknown CPU" : stated;
  for (auto& o : published.observations)
    o.run = published.run.id;
}

} // namespace

std::string machine_of_microarchitecture(std::string_view microarchitecture) {
  for (const auto& name : model::machine_names())
    if (!microarchitecture.empty() && model::machine(name).microarchitecture == microarchitecture)
      return name;
  return {};
}

std::vector<Published> parse_published(std::string_view text, const std::string& file,
                                       const std::string& machine, Duplicates duplicates) {
  if (!machine.empty()) static_cast<void>(model::machine(machine));
  std::vector<Published> tables = Reader(text, file, duplicates).read();
  const std::string id = fmt::format("{:016x}", base::fnv(text));
  for (Published& table : tables)
    complete_run(table, file, machine, id);
  return tables;
}

std::vector<Published> read_published(const std::string& file, const std::string& machine,
                                      Duplicates duplicates) {
  const std::string text = base::read_file(file).value_or("");
  if (text.empty())
    throw bad_input(file, std::filesystem::exists(file) ? "is empty, or cannot be read" : "no such file");
  return parse_published(text, file, machine, duplicates);
}

std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                const std::string& cpu) {
  std::map<std::string, std::string> notes;
  const event::pfm::Table* const core = cpu.empty() ? preset::default_pmu() : preset::core_pmu(cpu);
  if (!core) return notes;
  try {
    const std::string path = preset::papi_table();
    const PresetTable table = PresetTable::read(path);
    const auto view = preset::view(table.document(), core->name, core, PapiVersion::v7_0);
    const std::string file = std::filesystem::path(path).filename().string();
    for (const auto& name : presets)
      if (const Preset* const found = view.loaded.find(name))
        notes[name] = fmt::format("{} ({}, {}:{})", preset::formula_text(*found), name_of(found->type), file,
                                  found->place.line);
  } catch (const Error&) { // no table, or one that PAPI cannot read either, so that nothing is counted by it
  }
  return notes;
}

} // namespace recount::matmul
