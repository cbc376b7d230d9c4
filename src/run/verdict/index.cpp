#include "run/verdict/index.hpp"

#include "base/text.hpp"
#include "count/preset/standard.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace recount::check {

int process_number(int repetition) {
  static const int passes = witness::find(Witness::both).passes;
  return repetition / passes;
}

namespace {

/// The values that `value(repetition, observation)` gives, in a group for each process.
template <class Value>
statistics::Groups by_process(const Index::Series& series, const Value& value) {
  statistics::Groups groups;
  int process = -1;
  for (const auto& [repetition, o] : series)
    if (const std::optional<double> one = value(repetition, *o)) {
      if (process_number(repetition) != process) groups.emplace_back();
      process = process_number(repetition);
      groups.back().push_back(*one);
    }
  return groups;
}

} // namespace

Measurement measurement(const Index::Series& series, const std::string& otherwise) {
  Measurement out;
  out.values = by_process(series, [](int, const auto& o) { return result::as_double(o.value); });
  for (const auto& [repetition, o] : series) {
    const bool counted = result::as_double(o->value).has_value();
    if (counted && o->bias) out.empty[o->nesting].push_back(static_cast<double>(*o->bias));
    if (!counted && out.reason.empty()) out.reason = o->reason;
    for (const auto& flag : o->flags) {
      out.crashed = out.crashed || flag.kind == Flag::Kind::papi_crashes;
      out.definition_unusable = out.definition_unusable || flag.kind == Flag::Kind::unevaluated_row;
      if (flag.kind == Flag::Kind::other_papi_value) out.other_value = flag.text;
    }
  }
  if (out.values.empty() && out.reason.empty()) out.reason = otherwise;
  return out;
}

statistics::Groups differences(const Index::Series& perf, const Index::Series& papi) {
  return by_process(perf, [&](int repetition, const auto& o) -> std::optional<double> {
    const auto other = papi.find(repetition);
    if (other == papi.end()) return {};
    const auto a = result::as_double(o.value), b = result::as_double(other->second->value);
    return a && b ? std::optional(*a - *b) : std::nullopt;
  });
}

namespace {

Trial make_trial(const std::string& metric, const std::string& preset, const kernel::Kernel& kernel,
                 const result::Params& point, const Index& index) {
  Trial t;
  t.preset = metric;
  t.metric = preset;
  t.kernel = kernel.name();
  t.point = point;
  const auto& perf = index.of(t.kernel, t.point, metric, Witness::perf);
  const auto& papi = index.of(t.kernel, t.point, metric, Witness::papi);
  const std::string failure = index.failure(t.kernel, t.point);
  const std::string otherwise = failure.empty() ? "not run" : failure;
  t.perf = measurement(perf, otherwise);
  t.papi = measurement(papi, otherwise);
  t.differences = differences(perf, papi);
  t.separate_runs = std::ranges::any_of(
      perf, [](const auto& one) { return one.second->nesting == result::Nesting::apart; });
  return t;
}

} // namespace

Statement statement(const std::string& preset, const kernel::Kernel& kernel, const result::Params& point,
                    const Index& index) {
  for (const auto& known : index.expected(kernel, point))
    if (known.metric == preset) return {Stated{known.value, known.below, known.above, known.form}, {}};
  const auto& model = index.of(kernel.name(), point, preset, Witness::model);
  if (model.empty()) return {{}, "the model was not run"};
  const result::Observation& simulated = *model.begin()->second;
  if (const auto value = result::as_double(simulated.value))
    return {Stated{*value, 0, 0, "simulated caches"}, {}};
  return {{}, simulated.reason};
}

Trial make_trial(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = make_trial(metric, proof.preset, *proof.kernel, proof.point, index);
  t.tolerance = proof.tolerance;
  auto [stated, reason] = statement(proof.preset, *proof.kernel, proof.point, index);
  t.stated = std::move(stated);
  t.unstated = std::move(reason);
  return t;
}

namespace {

/// Whether prefetchers may count as this preset, as the tolerance of the point says.
bool prefetched(const kernel::Proof& proof) {
  constexpr double rough = 0.2;
  return proof.tolerance >= rough &&
         std::ranges::any_of(std::array{"PAPI_L1_", "PAPI_L2_", "PAPI_L3_", "PAPI_PRF_"},
                             [&](const char* prefix) { return proof.preset.starts_with(prefix); });
}

} // namespace

Trial make_side_trial(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = make_trial(metric, proof, index);
  if (!t.stated) return t;
  double stray = stray_occurrences;
  if (!index.of(t.kernel, t.point, t.metric, Witness::model).empty() || prefetched(proof))
    for (const auto& [repetition, o] : index.of(t.kernel, t.point, metric, Witness::perf))
      if (o->accesses) {
        stray += t.tolerance * static_cast<double>(*o->accesses);
        break;
      }
  t.stated->below = std::min(std::max(t.stated->below, stray), std::max(t.stated->value, t.stated->below));
  t.stated->above = std::max(t.stated->above, stray);
  return t;
}

Trial make_trial(const std::string& metric, const kernel::Relation& relation, const Index& index) {
  Trial t = make_trial(metric, relation.preset, *relation.kernel, relation.point, index);
  t.relative = true;
  const auto& base = index.of(relation.base_kernel->name(), relation.base_point, metric, Witness::perf);
  const auto counted = statistics::estimate(measurement(base, "not run").values);
  if (!counted) {
    t.unstated = "no count at the point to compare with";
    return t;
  }
  const double unit = std::max(counted->median, 0.0);
  const double least = relation.least * unit, most = relation.most * unit + stray_occurrences;
  const double middle = (least + most) / 2;
  t.stated =
      Stated{middle, middle - least, most - middle,
             fmt::format("{:g} to {:g} times the count in {} {}: {}", relation.least, relation.most,
                         relation.base_kernel->name(), result::describe(relation.base_point), relation.why)};
  return t;
}

namespace {

constexpr const char* setting = "check";

const kernel::Kernel* kernel_named(const std::string& name) {
  const auto all = kernel::all();
  const auto found = std::ranges::find_if(all, [&](const auto* k) { return k->name() == name; });
  return found == all.end() ? nullptr : *found;
}

/// The metric of the expected count: NAME=METRIC in the setting, else the same.
std::string reference_metric(const result::Results& results, const std::string& metric) {
  for (const auto& run : results.runs)
    if (const auto names = run.plan.find(setting); names != run.plan.end())
      for (const std::string& word : base::words(names->second))
        if (word.size() > metric.size() + 1 && word.starts_with(metric + "="))
          return word.substr(metric.size() + 1);
  return metric;
}

/// Tolerance of the kernel's proof of the metric; none where the kernel does not verify it.
std::optional<double> find_tolerance(const std::string& kernel, const std::string& metric) {
  for (const auto& row : kernel::proof_rows())
    if (row.kernel == kernel && std::ranges::count(base::words(row.presets), metric) > 0)
      return row.tolerance;
  return {};
}

std::size_t rank(const std::string& metric) {
  const auto all = preset::standard_presets();
  const auto found = std::ranges::find(all, std::string_view(metric), &preset::StandardPreset::name);
  return static_cast<std::size_t>(found - all.begin());
}

} // namespace

bool is_check(const result::Results& results) noexcept {
  return std::ranges::any_of(results.runs, [](const auto& run) { return run.plan.contains(setting); });
}

std::vector<PresetVerdict> read_verdicts(const result::Results& results) {
  const Index index(results);
  std::set<std::tuple<std::size_t, std::string, std::string, result::Params>> seen;
  for (const auto& [key, series] : index.all()) {
    const auto& [kernel, point, metric, witness] = key;
    if (witness != Witness::model) seen.insert({rank(metric), metric, kernel, point});
  }
  std::vector<Trial> trials;
  for (const auto& [order, metric, name, point] : seen) {
    const kernel::Kernel* const kernel = kernel_named(name);
    if (!kernel) continue;
    const std::string reference = reference_metric(results, metric);
    const auto tolerance = find_tolerance(name, reference);
    if (!tolerance) continue;
    try {
      auto trial = make_trial(metric, {reference, kernel, point, *tolerance, {}}, index);
      if (trial.stated) trials.push_back(std::move(trial));
    } catch (const Error&) { // not a point of the kernel: of another recount, or invented
    }
  }
  return check::verdicts(trials, {});
}

} // namespace recount::check
