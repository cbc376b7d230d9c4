#include "stat/stat_plan.hpp"
#include "stat/stat_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace recount::stat {
namespace {

std::vector<Count> counts_of(const Operand& operand, std::span<const Count> counts) {
  std::vector<Count> its;
  for (const std::size_t e : operand.events)
    its.push_back(counts[e]);
  return its;
}

/// An operand as a separate observation.
result::Observation observe(const Operand& operand, std::span<const Count> counts) {
  result::Observation o;
  witness::fill(o, operand.requested, counts_of(operand, counts));
  if (const auto value = result::as_double(o.value); value && !operand.scale.unit.empty())
    o.value = *value * operand.scale.factor;
  return o;
}

/// The part of one core type. It is scaled as the sum is: its own running time is the time on that core type.
result::Observation observe_part(const Operand& operand, std::size_t part, std::span<const Count> counts) {
  const auto its = counts_of(operand, counts);
  const Count sum = sum_of_core_types(its);
  result::Observation o;
  o.enabled_ns = static_cast<std::int64_t>(its[part].enabled_ns);
  o.running_ns = static_cast<std::int64_t>(its[part].running_ns);
  o.reason = its[part].reason;
  if (its[part].value)
    o.value = static_cast<std::int64_t>(std::llround(static_cast<double>(*its[part].value) / share(sum)));
  return o;
}

double share_of(const result::Observation& o) {
  if (!o.enabled_ns || !o.running_ns || *o.enabled_ns == 0) return 1;
  return static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns);
}

/// Flags and times of an operand limit those of the metric.
void take_over(const result::Observation& part, result::Observation& whole) {
  if (!whole.enabled_ns || share_of(part) < share_of(whole)) {
    whole.enabled_ns = part.enabled_ns;
    whole.running_ns = part.running_ns;
  }
  for (const Flag& flag : part.flags)
    if (std::ranges::find(whole.flags, flag) == whole.flags.end()) whole.flags.push_back(flag);
}

result::Observation ratio(const PlanRow& row, std::span<const Count> counts, double seconds) {
  result::Observation o;
  const metric::Formula& formula = row.metric.formulas[row.formula];
  std::vector<double> values;
  auto next = row.operands.begin();
  for (const formula::Quantity& quantity : formula.named.quantities) {
    if (quantity.name.empty()) continue;
    if (quantity.name == metric::seconds) {
      values.push_back(seconds);
      continue;
    }
    const result::Observation part = observe(*next++, counts);
    take_over(part, o);
    const auto value = result::as_double(part.value);
    if (!value) {
      o.reason = quantity.name + ": " + part.reason;
      return o;
    }
    values.push_back(*value);
  }
  const metric::Value value = metric::evaluate(row.metric, formula, values);
  if (value.value)
    o.value = *value.value;
  else
    o.reason = value.why;
  if (value.outside)
    o.flags.emplace_back(Flag::Kind::note,
                         "outside its range: the events do not count what " + formula.text + " assumes");
  return o;
}

} // namespace

std::vector<result::Observation> evaluate(const Plan& plan, std::span<const Count> counts, double seconds) {
  std::vector<result::Observation> all;
  for (const PlanRow& row : plan.rows) {
    result::Observation o;
    if (row.kind == RowKind::modelled)
      o.reason = "not simulated";
    else if (!row.refused.empty())
      o.reason = (row.refused_by.empty() ? "" : row.refused_by + ": ") + row.refused;
    else if (row.kind == RowKind::usage && row.name == "duration-time")
      o.value = seconds * 1e9;
    else if (row.kind == RowKind::usage)
      o.reason = "known only for a command, after it has ended";
    else if (row.part)
      o = observe_part(row.operands.front(), *row.part, counts);
    else
      o = row.kind == RowKind::metric ? ratio(row, counts, seconds) : observe(row.operands.front(), counts);
    o.witness = row.kind != RowKind::usage ? "perf" : row.name == "duration-time" ? "clock" : "rusage";
    o.metric = row.name;
    o.unit = row.unit;
    all.push_back(std::move(o));
  }
  return all;
}

void fill_usage(const Plan& plan, const process::Exit& exit, std::vector<result::Observation>& rows) {
  if (!exit.usage) return;
  const process::Usage& usage = *exit.usage;
  // Linux keeps the peak of a process over exec: a value up to that of recount's own child is unknown.
  // What the child touched between the query and exec, and pages that Linux counts per CPU and adds up later.
  const double slack = (1 << 18) + 0.05 * exit.before_exec.max_rss;
  const bool hidden = usage.max_rss <= exit.before_exec.max_rss + slack;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (row.kind != RowKind::usage || row.name == "duration-time") continue;
    if (row.name == "max-rss" && hidden) {
      rows[r].reason =
          fmt::format("at most {:.1f} MiB, the size of recount before exec", usage.max_rss / (1 << 20));
      continue;
    }
    rows[r].value = row.name == "user-time"     ? usage.user_ns
                    : row.name == "system-time" ? usage.system_ns
                                                : usage.max_rss;
    rows[r].reason.clear();
  }
}

Summary summarise(std::vector<double> values) {
  Summary s;
  s.values = std::move(values);
  const auto n = static_cast<double>(s.values.size());
  if (s.values.empty()) return s;
  s.mean = std::accumulate(s.values.begin(), s.values.end(), 0.0) / n;
  if (s.values.size() < 2) return s;
  double squares = 0;
  for (const double value : s.values)
    squares += (value - *s.mean) * (value - *s.mean);
  s.deviation = std::sqrt(squares / (n - 1));
  return s;
}

Summary summarise(std::span<const Slice> slices, std::size_t row) {
  std::vector<double> values;
  for (const Slice& slice : slices)
    if (const auto value = result::as_double(slice.rows[row].value)) values.push_back(*value);
  Summary s = summarise(std::move(values));
  s.missing = slices.size() - s.values.size();
  if (slices.empty()) s.reason = "no run completed";
  for (const Slice& slice : slices) {
    const result::Observation& o = slice.rows[row];
    if (s.reason.empty()) s.reason = o.reason;
    if (o.value.index() != 0 && o.enabled_ns && o.running_ns && *o.enabled_ns > 0)
      s.share = std::min(s.share, static_cast<double>(*o.running_ns) / static_cast<double>(*o.enabled_ns));
    for (const Flag& flag : o.flags)
      if (std::ranges::find(s.flags, flag) == s.flags.end()) s.flags.push_back(flag);
  }
  return s;
}

} // namespace recount::stat
