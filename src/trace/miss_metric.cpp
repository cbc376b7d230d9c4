#include "trace/miss_metric.hpp"

#include "base/nearest.hpp"
#include "model/metrics.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <utility>

namespace recount::trace {
namespace {

model::Counts zero_counts(const model::MachineDescription& machine) {
  model::Counts counts;
  counts.levels.resize(machine.levels.size());
  counts.prefetch.resize(machine.levels.size());
  if (machine.tlb) counts.tlb.resize(machine.tlb->levels.size());
  return counts;
}

/// Whether a count of the first level also counts hits.
bool counts_hits(std::size_t field) {
  return field == model::number(model::Cause::load) || field == model::number(model::Cause::store);
}

std::int64_t read(const model::LevelCounts& counts, std::size_t field) {
  if (field < model::causes) return counts.accesses[field];
  if (field < 2 * model::causes) return counts.misses[field - model::causes];
  return counts.*model::LevelCounts::others[field - 2 * model::causes];
}

} // namespace

// Metrics are linear in the counts: a factor is the value of the metric when only that count is 1.
void MissMetric::add_terms(const model::MachineDescription& machine, bool tlb) {
  model::Counts counts = zero_counts(machine);
  auto& levels = tlb ? counts.tlb : counts.levels;
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (std::size_t field = 0; field < model::LevelCounts::size; ++field) {
      *levels[level].fields()[field] = 1;
      const std::int64_t factor = model::metrics(counts, machine).at(name_);
      *levels[level].fields()[field] = 0;
      if (factor == 0) continue;
      if (level == 0 && counts_hits(field)) return terms_.clear();
      terms_.push_back({tlb, level, field, factor});
    }
}

MissMetric::MissMetric(std::string name, const model::MachineDescription& machine) : name_(std::move(name)) {
  const auto names = model::metric_names(machine);
  if (std::ranges::count(names, name_) == 0)
    throw bad_input(name_, "the model of " + machine.name + " has no such metric",
                    base::did_you_mean(name_, names, "recount-machines(5) lists its metrics"));
  add_terms(machine, false);
  if (!terms_.empty() || name_.find("TLB") != name_.npos) add_terms(machine, true);
  if (terms_.empty())
    throw bad_input(name_, "changes with accesses that hit",
                    "choose misses, such as PAPI_L1_DCM or PAPI_TLB_DM");
}

std::int64_t MissMetric::value(const model::Hierarchy& caches) const {
  std::int64_t sum = 0;
  for (const Term& term : terms_)
    sum += term.factor *
           read(term.tlb ? caches.tlb_counts(term.level) : caches.level(term.level).counts, term.field);
  return sum;
}

} // namespace recount::trace
