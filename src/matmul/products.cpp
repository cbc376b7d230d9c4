#include "matmul/products.hpp"

#include "base/witness.hpp"
#include "model/machine.hpp"
#include "result/results_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

// Repetitions numbered over all runs of a machine.
namespace recount::matmul {

/// What to add to the repetitions of each run, by its id. A run that repeats what earlier runs of its machine
/// measured is another study, and its repetitions follow theirs; one that repeats nothing completes them, as
/// a resumed run does. Without this the metrics of two studies would be paired by repetition.
[[nodiscard]] std::map<std::string, int> first_repetitions(const result::Results& results);

namespace {

/// The group of each run, and of each point the product with its metrics: looked up once, since the
/// observations of a point share it (result::Shared).
class ProductIndex {
public:
  ProductIndex(std::vector<Products>& groups, const result::Results& results)
      : groups_(groups), results_(results) {}

  Products& group(const result::Shared<std::string>& run) {
    const auto [at, fresh] = by_run_.try_emplace(run.identity(), 0);
    if (fresh) at->second = find_group(run);
    return groups_[at->second];
  }

  /// By name: nothing of a text that is not shared is kept.
  Products& group(const std::string& run_id) { return groups_[find_group(run_id)]; }

  /// Nothing where the observation is not of a product.
  Metrics* metrics(const result::Observation& o) {
    auto& points = by_point_[o.kernel];
    const auto [at, fresh] = points.try_emplace({o.run.identity(), o.params.identity()}, nullptr);
    if (fresh)
      if (const auto product = product_of(o.kernel, o.params)) at->second = &group(o.run).of[*product];
    return at->second;
  }

private:
  std::size_t find_group(const std::string& run_id) {
    const result::Run* const run = results_.run(run_id);
    const std::string machine = run ? run->cpu + " on " + run->host : "an unknown machine";
    const bool published = run && run->versions.contains("published");
    for (std::size_t i = 0; i < groups_.size(); ++i)
      if (groups_[i].machine == machine && groups_[i].published == published) return i;
    Products& fresh = groups_.emplace_back();
    fresh.run = run;
    fresh.machine = machine;
    fresh.published = published;
    fresh.statistic = results_.statistic;
    return groups_.size() - 1;
  }

  std::vector<Products>& groups_;
  const result::Results& results_;
  std::unordered_map<const void*, std::size_t> by_run_;
  std::unordered_map<std::string, std::unordered_map<result::Identities, Metrics*, result::HashOfIdentities>>
      by_point_;
};

void take(Repetitions& into, const result::Observation& o, const std::optional<double>& value,
          int repetition) {
  if (value) {
    into.values.push_back(
        {repetition, *value, result::disturbances(o), result::sampling_error(o).value_or(0)});
    if (!into.values.back().disturbances.empty()) ++into.flagged;
  } else if (into.reason.empty()) {
    into.reason = o.reason.get().text();
  }
}

void finish(Repetitions& all, statistics::Statistic statistic) {
  std::ranges::stable_sort(all.values, {}, &Repeated::repetition);
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

/// The model without samples and drawn placement.
Witness without_modes(const Witness& witness) {
  return {witness.kind, model::without_modes(witness.detail)};
}

/// The group decides, not the product: a study that was interrupted, or a run that failed, may leave a
/// product without the whole machine's values.
void mark_for_comparison(Products& group) {
  std::set<Witness> witnesses;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics)
      witnesses.insert(without_modes(who.first));
  for (auto& [product, metrics] : group.of)
    for (auto& [who, all] : metrics)
      all.for_comparison = lacks_a_part(without_modes(who.first), witnesses);
}

/// A point of `peak` or `bandwidth`: its best time, and what it did in it.
struct Best {
  double seconds = 0, amount = 0;
};

/// The innermost level that holds that number of bytes.
std::string level_of(const Products& group, std::int64_t size) {
  if (group.run)
    for (const auto& cache : group.run->caches)
      if (size <= cache.size) return cache.level;
  return "memory";
}

void add_ceilings(std::vector<Products>& groups, const result::Results& results) {
  std::map<std::pair<Products*, std::pair<std::string, std::int64_t>>, Best> best;
  ProductIndex index(groups, results);
  for (const auto& o : results.observations) {
    const bool peak = o.kernel == "peak", bandwidth = o.kernel == "bandwidth";
    if (!peak && !bandwidth) continue;
    const auto value = result::as_double(o.value);
    if (!value || *value <= 0) continue;
    const auto width = o.params.find("width");
    const auto* const word = width == o.params.end() ? nullptr : std::get_if<std::string>(&width->second);
    const std::string name = word ? *word : "";
    auto& at = best[{&index.group(o.run), {name, result::integer(o.params, "size").value_or(0)}}];
    if (o.metric == "seconds" && (at.seconds == 0 || *value < at.seconds)) at.seconds = *value;
    if (peak && o.metric == "PAPI_DP_OPS") at.amount = *value;
    if (bandwidth && o.accesses) at.amount = 8 * static_cast<double>(*o.accesses);
  }
  for (const auto& [key, at] : best) {
    auto& [group, point] = key;
    if (at.seconds <= 0 || at.amount <= 0) continue;
    const bool bandwidth = point.second > 0;
    group->ceilings.push_back({bandwidth ? level_of(*group, point.second) : point.first, bandwidth,
                               at.amount / at.seconds, point.second});
  }
}

} // namespace

std::int64_t Products::line() const {
  if (run)
    for (const auto& cache : run->caches)
      if (cache.line > 0) return cache.line;
  return 64;
}

std::int64_t Products::cache(const std::string& level) const {
  if (run)
    for (const auto& cache : run->caches)
      if (cache.level == level) return cache.size;
  return 0;
}

std::vector<std::int64_t> Products::sizes(const Product& loops) const {
  std::set<std::int64_t> all;
  for (const auto& [product, metrics] : of)
    if (at_size(product, loops.n) == loops) all.insert(product.n);
  return {all.begin(), all.end()};
}

std::vector<Product> Products::loops() const {
  std::set<Product> all;
  for (const auto& [product, metrics] : of)
    all.insert(at_size(product, 0));
  return {all.begin(), all.end()};
}

std::vector<Products> products(const result::Results& results) {
  std::vector<Products> groups;
  groups.reserve(results.runs.size() + 1); // pointers to them are kept while they are filled
  ProductIndex index(groups, results);
  auto first = first_repetitions(results);
  for (const auto& o : results.observations)
    if (Metrics* const metrics = index.metrics(o)) {
      const int repetition = first[o.run] + o.repetition;
      take((*metrics)[{o.witness, o.metric}], o, result::as_double(o.value), repetition);
      if (o.cpu_seconds) take((*metrics)[{o.witness, "cpu_seconds"}], o, o.cpu_seconds, repetition);
    }
  for (auto& group : groups) {
    for (auto& [product, metrics] : group.of)
      for (auto& [who, all] : metrics)
        finish(all, results.statistic);
    mark_for_comparison(group);
  }
  for (const auto& failure : results.failures)
    if (const auto product = product_of(failure.kernel, failure.params))
      index.group(failure.run).failed.emplace(*product, failure.reason);
  add_ceilings(groups, results);
  std::ranges::stable_partition(groups, [](const Products& group) { return !group.published; });
  return groups;
}

const char* absence(const Products& group, const Product& product) {
  if (group.failed.contains(product)) return "failed";
  return group.of.contains(product) ? "not counted" : "not run";
}

int preference(const Witness& witness) {
  static const std::array<Witness, 5> order{Witness::perf, Witness::papi, Witness::clock, Witness::published,
                                            Witness::model};
  return static_cast<int>(std::ranges::find(order, witness) - order.begin());
}

bool same_witness(const Witness& witness, const Witness& named) {
  if (witness == named) return true;
  const Witness whole = without_modes(witness);
  return whole != witness && (whole == named || (whole.detail == "host" && named == Witness::model));
}

const Repetitions* repetitions(const Metrics& metrics, const std::string& metric, const Witness& witness) {
  const Repetitions* best = nullptr;
  int rank = 0;
  for (const auto& [who, all] : metrics) {
    if (who.second != metric || !all.summary || (!witness.empty() && !same_witness(who.first, witness)))
      continue;
    if (witness.empty() && all.for_comparison) continue;
    const int own = who.first == witness ? -1 : preference(who.first);
    if (best && own >= rank) continue;
    best = &all;
    rank = own;
  }
  return best;
}

std::vector<Witness> witnesses(const Metrics& metrics, const std::string& metric) {
  std::vector<Witness> all;
  for (const auto& [who, values] : metrics)
    if (who.second == metric && values.summary) all.push_back(who.first);
  std::ranges::stable_sort(all, {}, preference);
  return all;
}

std::optional<Quantity> central(const Metrics& metrics, const std::string& metric, const Witness& witness) {
  const Repetitions* const all = repetitions(metrics, metric, witness);
  if (!all) return {};
  for (const auto& [who, of_metric] : metrics) {
    if (&of_metric != all) continue;
    const statistics::Summary& s = *all->summary;
    Quantity quantity{s.value, who.first, s.low, s.high};
    for (const Repeated& one : all->values)
      quantity.values.emplace_back(one.repetition, one.value);
    quantity.flagged = all->flagged;
    if (who.first.modelled())
      for (const Repeated& one : all->values) {
        quantity.low = std::min({one.value - one.error, quantity.low, s.min});
        quantity.high = std::max({one.value + one.error, quantity.high, s.max});
      }
    return quantity;
  }
  return {};
}

statistics::Evidence evidence(const Quantity& a, const Quantity& b) {
  const auto exact = [](const Quantity& q) {
    return q.witness.modelled() || (q.witness == Witness::published && q.values.size() < 2);
  };
  if (exact(a) && exact(b)) { // ranges of draws and of samples may overlap
    const bool ranges = a.low < a.high || b.low < b.high;
    return ranges && a.low <= b.high && b.low <= a.high ? statistics::Evidence::overlap
                                                        : statistics::Evidence::clear;
  }
  const auto values = [](const Quantity& q) {
    std::vector<double> all;
    for (const auto& [repetition, value] : q.values)
      all.push_back(value);
    return all;
  };
  return statistics::evidence(values(a), values(b));
}

Quantity scaled(Quantity quantity, double factor) {
  for (double* number : {&quantity.value, &quantity.low, &quantity.high})
    *number *= factor;
  for (auto& [repetition, value] : quantity.values)
    value *= factor;
  return quantity;
}

std::string reservation(const Quantity& comparison) {
  if (comparison.witness.modelled() && !comparison.clear()) return "the predicted ranges overlap";
  return statistics::reservation(comparison.evidence, comparison.compared);
}

namespace {

struct LoopsRow {
  const char *variant, *name, *prose;
};
constexpr std::array loops_rows{
    LoopsRow{"ijk", "simple", "i, j, k with the sum in a register"},
    LoopsRow{"ijk-mem", "straightforward", "i, j, k with the sum in memory"},
    LoopsRow{"ikj", "line", "i, k, j along the rows of all three matrices"},
    LoopsRow{"transposed", "transposed", "i, j, k over a transposed copy of b, the sum in memory"},
    LoopsRow{"blocked", "block", "i, k, j inside square blocks"},
    LoopsRow{"dgemm", "OpenBLAS dgemm", "cblas_dgemm of OpenBLAS in one thread"},
};

const LoopsRow* row_of(const std::string& variant) {
  const auto* const at =
      std::ranges::find_if(loops_rows, [&](const LoopsRow& row) { return row.variant == variant; });
  return at == loops_rows.end() ? nullptr : at;
}

std::string text_of(const result::Params& point, const std::string& name, const std::string& otherwise) {
  const auto found = point.find(name);
  if (found == point.end()) return otherwise;
  const auto* const word = std::get_if<std::string>(&found->second);
  return word ? *word : otherwise;
}

} // namespace

double Product::operations() const {
  const auto size = static_cast<double>(n);
  return 2 * size * size * size;
}

std::optional<Product> product_of(const std::string& kernel, const result::Params& point) {
  Product product;
  product.n = result::integer(point, "n").value_or(0);
  if (product.n <= 0) return {};
  product.element = text_of(point, "element", "f64");
  if (kernel == "dgemm") {
    product.variant = "dgemm";
    return product;
  }
  product.variant = text_of(point, "variant", "");
  if (kernel == "matmul-vectorised")
    product.build = "vectorised";
  else if (kernel == "external")
    product.build = text_of(point, "language", "another program");
  else if (kernel != "matmul")
    return {};
  if (product.variant == "blocked")
    product.block = std::min(result::integer(point, "block").value_or(0), product.n);
  product.transposes =
      product.variant == "transposed" && text_of(point, "transpose", "included") == "included";
  return product;
}

std::string loops_name(const Product& product) {
  const LoopsRow* const row = row_of(product.variant);
  std::string name = row ? row->name : product.variant;
  if (product.block > 0) name += fmt::format(" {}", product.block);
  if (product.variant == "transposed") name += product.transposes ? ", with copy" : ", without copy";
  if (!product.build.empty()) name += ", " + product.build;
  return name;
}

std::string loops_prose(const Product& product) {
  const LoopsRow* const row = row_of(product.variant);
  return row ? row->prose : product.variant;
}

Product at_size(Product product, std::int64_t n) {
  product.n = n;
  return product;
}

namespace {

/// A value of a run: what was measured, and in which of its repetitions.
struct ValueKey {
  std::size_t what = 0;
  int repetition = 0;
};

std::size_t key_of(std::size_t what, int repetition) {
  return std::hash<std::size_t>()(what) * 1000003 + static_cast<std::size_t>(repetition);
}

/// The studies of one machine.
class Studies {
public:
  int add(const std::vector<ValueKey>& values) {
    int first = next_;
    for (const int begin : begins_)
      if (std::ranges::none_of(values, [&](const ValueKey& m) {
            return taken_.contains(key_of(m.what, begin + m.repetition));
          })) {
        first = begin;
        break;
      }
    begins_.insert(first);
    for (const ValueKey& m : values) {
      taken_.insert(key_of(m.what, first + m.repetition));
      next_ = std::max(next_, first + m.repetition + 1);
    }
    return first;
  }

private:
  std::set<int> begins_;
  std::unordered_set<std::size_t> taken_;
  int next_ = 0;
};

std::string machine_of(const result::Run& run) {
  return run.cpu + " on " + run.host;
}

} // namespace

std::map<std::string, int> first_repetitions(const result::Results& results) {
  std::map<std::string, int> first;
  std::map<std::string, std::size_t> runs; // by machine
  for (const auto& run : results.runs)
    ++runs[machine_of(run)];
  std::map<std::string, std::vector<ValueKey>> values; // of runs that are not alone
  for (const auto& run : results.runs)
    if (runs[machine_of(run)] > 1) values[run.id];
  if (values.empty()) return first;
  for (const auto& o : results.observations)
    if (const auto of_run = values.find(o.run); of_run != values.end())
      of_run->second.push_back({std::hash<std::string>()(o.kernel + ' ' + result::describe(o.params) + ' ' +
                                                         o.witness.name() + ' ' + o.metric),
                                o.repetition});
  std::map<std::string, Studies> studies; // by machine
  for (const auto& run : results.runs)
    if (const auto of_run = values.find(run.id); of_run != values.end())
      first[run.id] = studies[machine_of(run)].add(of_run->second);
  return first;
}

} // namespace recount::matmul
