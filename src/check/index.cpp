#include "check/index.hpp"

#include "witness/counting.hpp"
#include "witness/witness.hpp"

#include <algorithm>

namespace recount::check {

int process_of(int repetition) {
  static const int passes = witness::find("both").passes;
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
      out.reason = o->reason;
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

} // namespace recount::check
