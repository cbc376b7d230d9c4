#include "stat/plan.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace recount::stat {
namespace {

/// An event that each core type counts apart, as one.
result::Observation sum_of_cores(std::span<const Count> counts) {
  result::Observation o;
  double sum = 0;
  std::uint64_t enabled = 0, running = 0;
  for (const Count& count : counts) {
    if (o.reason.empty()) o.reason = count.reason;
    sum += scale(count).value_or(0);
    enabled = std::max(enabled, count.enabled_ns);
    running += count.running_ns;
  }
  o.enabled_ns = static_cast<std::int64_t>(enabled);
  o.running_ns = static_cast<std::int64_t>(std::min(running, enabled)); // a thread runs on one core at a time
  if (std::ranges::none_of(counts, [](const Count& c) { return c.value.has_value(); })) return o;
  o.reason.clear();
  o.value = sum;
  return o;
}

/// An operand as a separate observation.
result::Observation observe(const Operand& operand, std::span<const Count> counts) {
  result::Observation o;
  std::vector<Count> its;
  for (const std::size_t e : operand.events)
    its.push_back(counts[e]);
  if (!operand.asked.preset && its.size() > 1) return sum_of_cores(its);
  witness::fill(o, operand.asked, its);
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
  for (const std::string& flag : part.flags)
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
    o.flags.push_back("outside its range: the events do not count what " + formula.text + " assumes");
  return o;
}

} // namespace

std::vector<result::Observation> evaluate(const Plan& plan, std::span<const Count> counts, double seconds) {
  std::vector<result::Observation> all;
  for (const PlanRow& row : plan.rows) {
    result::Observation o;
    if (!row.refused.empty())
      o.reason = (row.refused_by.empty() ? "" : row.refused_by + ": ") + row.refused;
    else if (row.kind == RowKind::usage)
      o.reason = "known only for a command, after it has ended";
    else
      o = row.kind == RowKind::metric ? ratio(row, counts, seconds) : observe(row.operands.front(), counts);
    o.witness = row.kind == RowKind::usage ? "rusage" : "perf";
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
  constexpr double slack = 1 << 18; // what the child touched between the query and exec
  const bool hidden = usage.max_rss <= exit.before_exec.max_rss + slack;
  for (std::size_t r = 0; r < plan.rows.size(); ++r) {
    const PlanRow& row = plan.rows[r];
    if (row.kind != RowKind::usage) continue;
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

} // namespace recount::stat
