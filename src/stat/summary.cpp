#include "stat/run.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace recount::stat {

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
