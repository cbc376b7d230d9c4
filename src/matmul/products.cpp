#include "matmul/products.hpp"

#include "base/names.hpp"
#include "base/witness.hpp"
#include "model/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

std::string word_of(const result::Params& point, const std::string& name) {
  const auto found = point.find(name);
  const auto* const word = found == point.end() ? nullptr : std::get_if<std::string>(&found->second);
  return word ? *word : "";
}

std::optional<Product> parse_product(const std::string& kernel, const result::Params& point) {
  if (kernel != "matmul" && kernel != "matmul-vectorised" && kernel != "external" && kernel != "dgemm")
    return {};
  const auto word = [&](const std::string& name, const std::string& otherwise) {
    const std::string text = word_of(point, name);
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
    return q.witness.modelled() || (q.witness == Witness::published && q.values.size() < 2);
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
  static const Metrics none;
  const auto at = products.find(product);
  return at == products.end() ? none : at->second;
}

namespace {

/// The model without samples and drawn placement.
Witness without_modes(const Witness& witness) {
  return {witness.kind, model::without_modes(witness.detail)};
}

/// Whether the witness is the requested one, or models its machine in samples or with drawn placement.
bool same_witness(const Witness& witness, const Witness& requested) {
  if (witness == requested) return true;
  const Witness whole = without_modes(witness);
  return whole != witness && (whole == requested || (whole.detail == "host" && requested == Witness::model));
}

Quantity make_quantity(const Witness& witness, const Repetitions& all) {
  const statistics::Summary& s = *all.summary;
  Quantity quantity{s.value, witness, s.low, s.high};
  quantity.disturbed = all.disturbed();
  for (const Repeated& one : all.values) {
    quantity.values.push_back(one.value);
    if (!witness.modelled()) continue;
    quantity.low = std::min({one.value - one.error, quantity.low, s.min});
    quantity.high = std::max({one.value + one.error, quantity.high, s.max});
  }
  return quantity;
}

} // namespace

std::optional<Quantity> ProductGroup::quantity(const Product& product, const std::string& metric,
                                               const Witness& witness) const {
  const Metrics& all = metrics(product);
  for (const Witness& name : witness.empty() ? witnesses : std::vector{witness})
    if (const auto at = all.find({name, metric}); at != all.end() && at->second.summary)
      return make_quantity(name, at->second);
  for (const auto& [key, repetitions] : all)
    if (!witness.empty() && key.second == metric && repetitions.summary && same_witness(key.first, witness))
      return make_quantity(key.first, repetitions);
  return {};
}

bool ProductGroup::undetermined(const Product& product, const std::string& metric,
                                const Witness& witness) const {
  return !quantity(product, metric, witness) && std::ranges::any_of(metrics(product), [&](const auto& entry) {
    return entry.first.second == metric && same_witness(entry.first.first, witness);
  });
}

const char* ProductGroup::absence(const Product& product) const {
  if (failed.contains(product)) return "failed";
  return products.contains(product) ? "not counted" : "not run";
}

bool ProductGroup::has_witness(const Witness& witness) const {
  return std::ranges::any_of(witnesses, [&](const auto& name) { return same_witness(name, witness); });
}

namespace {

/// The groups, each made where a run needs it.
class ProductGroups {
public:
  explicit ProductGroups(const result::Results& results) : results_(results), runs_(results.runs_by_id()) {
    all.reserve(results.runs.size() + 1); // pointers to them are kept
  }

  /// The run of this id, null where the results lack it, and its group.
  std::pair<const result::Run*, ProductGroup*> find(const std::string& id) {
    auto [at, fresh] = by_run_.try_emplace(id);
    if (!fresh) return at->second;
    const auto known = runs_.find(id);
    const result::Run* const run = known == runs_.end() ? nullptr : known->second;
    const std::string machine = run ? machine_name(*run) : "an unknown machine";
    const bool published = run && run->versions.contains("published");
    const auto group = std::ranges::find_if(
        all, [&](const ProductGroup& g) { return g.machine == machine && g.published == published; });
    if (group != all.end()) return at->second = {run, &*group};
    all.push_back({run, machine, published, results_.statistic, {}, {}, {}, {}});
    return at->second = {run, &all.back()};
  }

  std::vector<ProductGroup> all;

private:
  const result::Results& results_;
  const std::unordered_map<std::string, const result::Run*> runs_;
  std::map<std::string, std::pair<const result::Run*, ProductGroup*>> by_run_;
};

void add_value(Repetitions& all, const result::Observation& o, const std::optional<double>& value,
               const result::Run* run) {
  if (value)
    all.values.push_back(
        {{run, o.repetition}, *value, result::disturbances(o), result::sampling_error(o).value_or(0)});
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

/// Whether a witness is a machine without some part, and the whole machine is among `all`.
bool lacks_a_part(const Witness& witness, const std::set<Witness>& all) {
  const auto tilde = witness.detail.find('~');
  if (!witness.modelled() || tilde == std::string::npos) return false;
  const std::string whole = witness.detail.substr(0, tilde);
  return all.contains({Witness::model, whole}) || (whole == "host" && all.contains(Witness::model));
}

/// The group decides which witnesses are for comparison only, not the product: a study that was interrupted,
/// or a run that failed, may leave a product without the whole machine's values.
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
  };
  std::map<std::tuple<ProductGroup*, std::string, std::int64_t>, Best> best; // by width, size of the array
  for (const auto& o : results.observations) {
    const bool peak = o.kernel == "peak", bandwidth = o.kernel == "bandwidth";
    const auto value = result::as_double(o.value);
    if ((!peak && !bandwidth) || !value || *value <= 0) continue;
    auto& at = best[{groups.find(o.run).second, word_of(o.params, "width"),
                     result::integer(o.params, "size").value_or(0)}];
    if (is_seconds(o.metric) && (at.seconds == 0 || *value < at.seconds)) at.seconds = *value;
    if (peak && o.metric == "PAPI_DP_OPS") at.amount = *value;
    if (bandwidth && o.accesses) at.amount = 8 * static_cast<double>(*o.accesses);
  }
  for (const auto& [key, at] : best) {
    const auto& [group, width, size] = key;
    if (at.seconds <= 0 || at.amount <= 0) continue;
    group->ceilings.push_back(
        {size > 0 ? level_that_holds(*group, size) : width, size > 0, at.amount / at.seconds, size});
  }
}

} // namespace

std::vector<ProductGroup> group_products(const result::Results& results) {
  ProductGroups groups(results);
  for (const auto& o : results.observations)
    if (const auto product = parse_product(o.kernel, o.params)) {
      const auto [run, group] = groups.find(o.run);
      Metrics& metrics = group->products[*product];
      add_value(metrics[{o.witness, o.metric}], o, result::as_double(o.value), run);
      if (o.cpu_seconds) add_value(metrics[{o.witness, "cpu_seconds"}], o, o.cpu_seconds, run);
    }
  for (auto& group : groups.all) {
    for (auto& [product, metrics] : group.products)
      for (auto& [key, all] : metrics)
        summarise(all, results.statistic);
    find_witnesses(group);
  }
  for (const auto& failure : results.failures)
    if (const auto product = parse_product(failure.kernel, failure.params))
      groups.find(failure.run).second->failed.emplace(*product, failure.reason);
  add_ceilings(groups, results);
  std::ranges::stable_partition(groups.all, [](const ProductGroup& group) { return !group.published; });
  return std::move(groups.all);
}

} // namespace recount::matmul
