#include "check/verdict.hpp"

#include "check/index.hpp"
#include "kernel/kernel.hpp"
#include "kernel/proofs.hpp"
#include "preset/standard.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>

namespace recount::check {
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
    if (witness != "model") seen.insert({rank(metric), metric, kernel, point});
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
