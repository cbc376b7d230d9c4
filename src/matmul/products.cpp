#include "matmul/products.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace recount::matmul {
namespace {

Products& group_of(std::vector<Products>& groups, const result::Results& results, const std::string& run_id) {
  const result::Run* const run = results.run(run_id);
  const std::string machine = run ? run->cpu + " on " + run->host : "an unknown machine";
  const bool published = run && run->versions.contains("published");
  for (auto& group : groups)
    if (group.machine == machine && group.published == published) return group;
  Products& fresh = groups.emplace_back();
  fresh.run = run;
  fresh.machine = machine;
  fresh.published = published;
  return fresh;
}

void take(Repetitions& into, const result::Observation& o) {
  if (const auto value = result::as_double(o.value)) {
    into.values.push_back({o.repetition, *value, o.flags});
    if (!o.flags.empty()) ++into.flagged;
  } else if (into.reason.empty()) {
    into.reason = o.reason;
  }
}

void finish(Repetitions& all) {
  std::ranges::stable_sort(all.values, {}, &Repeated::repetition);
  std::vector<double> values;
  for (const Repeated& one : all.values)
    values.push_back(one.value);
  if (!values.empty()) all.summary = statistics::summarise(values);
}

/// Whether a witness is a machine without some part, and the whole machine is among `all`.
bool lacks_a_part(const std::string& witness, const std::set<std::string>& all) {
  const auto tilde = witness.find('~');
  if (tilde == std::string::npos) return false;
  const std::string whole = witness.substr(0, tilde);
  return all.contains(whole) || (whole == "model:host" && all.contains("model"));
}

/// The group decides, not the product: a study that was interrupted, or a run that failed, may leave a
/// product without the whole machine's values.
void mark_for_comparison(Products& group) {
  std::set<std::string> witnesses;
  for (const auto& [product, metrics] : group.of)
    for (const auto& [who, all] : metrics)
      witnesses.insert(who.first);
  for (auto& [product, metrics] : group.of)
    for (auto& [who, all] : metrics)
      all.for_comparison = lacks_a_part(who.first, witnesses);
}

std::int64_t whole_param(const result::Observation& o, const std::string& name) {
  const auto found = o.params.find(name);
  const auto* const whole = found == o.params.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return whole ? *whole : 0;
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
  for (const auto& o : results.observations) {
    const bool peak = o.kernel == "peak", bandwidth = o.kernel == "bandwidth";
    const auto value = result::as_double(o.value);
    if (!value || *value <= 0 || (!peak && !bandwidth)) continue;
    const auto width = o.params.find("width");
    const auto* const word = width == o.params.end() ? nullptr : std::get_if<std::string>(&width->second);
    const std::string name = word ? *word : "";
    auto& at = best[{&group_of(groups, results, o.run), {name, whole_param(o, "size")}}];
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
  for (const auto& o : results.observations)
    if (const auto product = product_of(o.kernel, o.params))
      take(group_of(groups, results, o.run).of[*product][{o.witness, o.metric}], o);
  for (auto& group : groups) {
    for (auto& [product, metrics] : group.of)
      for (auto& [who, all] : metrics)
        finish(all);
    mark_for_comparison(group);
  }
  add_ceilings(groups, results);
  std::ranges::stable_partition(groups, [](const Products& group) { return !group.published; });
  return groups;
}

int preference(const std::string& witness) {
  static constexpr std::array<std::string_view, 5> order{"perf", "papi", "clock", "published", "model"};
  return static_cast<int>(std::ranges::find(order, witness) - order.begin());
}

const Repetitions* repetitions(const Metrics& metrics, const std::string& metric,
                               const std::string& witness) {
  const Repetitions* best = nullptr;
  int rank = 0;
  for (const auto& [who, all] : metrics) {
    if (who.second != metric || !all.summary || (!witness.empty() && who.first != witness)) continue;
    if (witness.empty() && all.for_comparison) continue;
    if (best && preference(who.first) >= rank) continue;
    best = &all;
    rank = preference(who.first);
  }
  return best;
}

std::vector<std::string> witnesses(const Metrics& metrics, const std::string& metric) {
  std::vector<std::string> all;
  for (const auto& [who, values] : metrics)
    if (who.second == metric && values.summary) all.push_back(who.first);
  std::ranges::stable_sort(all, {}, preference);
  return all;
}

std::optional<Quantity> mean(const Metrics& metrics, const std::string& metric, const std::string& witness) {
  const Repetitions* const all = repetitions(metrics, metric, witness);
  if (!all) return {};
  for (const auto& [who, values] : metrics)
    if (&values == all) return Quantity{all->summary->mean, who.first};
  return {};
}

} // namespace recount::matmul
