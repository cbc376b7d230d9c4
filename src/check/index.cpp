#include "check/index.hpp"

#include "check/agreement.hpp"
#include "check/verdict.hpp"
#include "kernel/kernel.hpp"
#include "kernel/proofs.hpp"
#include "preset/standard.hpp"
#include "witness/backend.hpp"
#include "witness/counting.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

namespace recount::check {

int process_of(int repetition) {
  static const int passes = witness::find(Witness::both).passes;
  return repetition / passes;
}

Measurement measurement(const Index::Series& series, const std::string& otherwise) {
  Measurement out;
  int process = -1;
  for (const auto& [repetition, o] : series) {
    if (const auto value = result::as_double(o->value)) {
      if (process_of(repetition) != process) out.values.emplace_back();
      process = process_of(repetition);
      out.values.back().push_back(*value);
      if (o->bias) out.empty[o->nesting].push_back(static_cast<double>(*o->bias));
    } else if (out.reason.empty()) {
      out.reason = o->reason.get().text();
    }
    for (const auto& flag : o->flags) {
      out.crashed = out.crashed || flag.kind == Flag::Kind::papi_crashes;
      out.by_row = out.by_row || flag.kind == Flag::Kind::unevaluated_row;
      if (flag.kind == Flag::Kind::other_papi_value) out.other_value = flag.text;
    }
  }
  if (out.values.empty() && out.reason.empty()) out.reason = otherwise;
  return out;
}

statistics::Groups differences(const Index::Series& perf, const Index::Series& papi) {
  statistics::Groups groups;
  int process = -1;
  for (const auto& [repetition, o] : perf) {
    const auto other = papi.find(repetition);
    if (other == papi.end()) continue;
    const auto a = result::as_double(o->value), b = result::as_double(other->second->value);
    if (!a || !b) continue;
    if (process_of(repetition) != process) groups.emplace_back();
    process = process_of(repetition);
    groups.back().push_back(*a - *b);
  }
  return groups;
}

bool apart(const Index::Series& series) {
  return std::ranges::any_of(series, [](const auto& one) { return one.second->nesting == "apart"; });
}

namespace {

Trial counts_of(const std::string& metric, const std::string& preset, const kernel::Kernel& kernel,
                const result::Params& point, const Index& index) {
  Trial t;
  t.preset = metric;
  t.metric = preset;
  t.kernel = kernel.name();
  t.point = point;
  const auto& perf = index.of(t.kernel, t.point, metric, Witness::perf);
  const auto& papi = index.of(t.kernel, t.point, metric, Witness::papi);
  std::string otherwise = index.failure(t.kernel, t.point);
  if (otherwise.empty()) otherwise = "not run";
  t.perf = measurement(perf, otherwise);
  t.papi = measurement(papi, otherwise);
  t.differences = differences(perf, papi);
  t.apart = apart(perf);
  return t;
}

double accesses_of(const Index::Series& series) {
  for (const auto& [repetition, o] : series)
    if (o->accesses) return static_cast<double>(*o->accesses);
  return 0;
}

} // namespace

std::optional<Stated> stated_at(const std::string& preset, const kernel::Kernel& kernel,
                                const result::Params& point, const Index& index, std::string& unstated) {
  for (const auto& known : index.expected(kernel, point))
    if (known.metric == preset) return Stated{known.value, known.below, known.above, known.form};
  const auto& model = index.of(kernel.name(), point, preset, Witness::model);
  if (model.empty()) {
    unstated = "the model was not run";
  } else if (const auto value = result::as_double(model.begin()->second->value)) {
    return Stated{*value, 0, 0, "simulated caches"};
  } else {
    unstated = model.begin()->second->reason.get().text();
  }
  return {};
}

Trial trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = counts_of(metric, proof.preset, *proof.kernel, proof.point, index);
  t.tolerance = proof.tolerance;
  t.stated = stated_at(proof.preset, *proof.kernel, proof.point, index, t.unstated);
  return t;
}

Trial side_trial_of(const std::string& metric, const kernel::Proof& proof, const Index& index) {
  Trial t = trial_of(metric, proof, index);
  if (!t.stated) return t;
  double stray = stray_occurrences;
  if (const auto& model = index.of(t.kernel, t.point, t.metric, Witness::model); !model.empty())
    stray += t.tolerance * accesses_of(index.of(t.kernel, t.point, metric, Witness::perf));
  t.stated->below = std::min(std::max(t.stated->below, stray), std::max(t.stated->value, t.stated->below));
  t.stated->above = std::max(t.stated->above, stray);
  return t;
}

Trial trial_of(const std::string& metric, const kernel::Relation& relation, const Index& index) {
  Trial t = counts_of(metric, relation.preset, *relation.kernel, relation.point, index);
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

/// The metric of the expected count: NAME=METRIC in the setting, else itself.
std::string held_against(const result::Results& results, const std::string& metric) {
  for (const auto& run : results.runs) {
    const auto names = run.plan.find(setting);
    if (names == run.plan.end()) continue;
    std::istringstream words(names->second);
    for (std::string word; words >> word;)
      if (word.size() > metric.size() + 1 && word.starts_with(metric + "="))
        return word.substr(metric.size() + 1);
  }
  return metric;
}

/// Tolerance of the kernel's proof of the metric; none where the kernel does not verify it.
std::optional<double> tolerance_of(const std::string& kernel, const std::string& metric) {
  for (const auto& row : kernel::proof_rows()) {
    if (row.kernel != kernel) continue;
    std::istringstream presets(row.presets);
    for (std::string preset; presets >> preset;)
      if (preset == metric) return row.tolerance;
  }
  return {};
}

std::size_t rank(const std::string& metric) {
  const auto all = preset::standard_presets();
  const auto found = std::ranges::find(all, std::string_view(metric), &preset::Standard::name);
  return static_cast<std::size_t>(found - all.begin());
}

} // namespace

bool is_check(const result::Results& results) noexcept {
  return std::ranges::any_of(results.runs, [](const auto& run) { return run.plan.contains(setting); });
}

std::vector<PresetVerdict> verdicts_of(const result::Results& results) {
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
    const std::string as = held_against(results, metric);
    const auto tolerance = tolerance_of(name, as);
    if (!tolerance) continue;
    try {
      auto trial = trial_of(metric, {as, kernel, point, *tolerance, {}}, index);
      if (trial.stated) trials.push_back(std::move(trial));
    } catch (const Error&) { // a point that is none of the kernel's: another recount's, or made up
    }
  }
  return check::verdicts(trials, {});
}

} // namespace recount::check
