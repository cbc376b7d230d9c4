// The domain qualifiers of native event names, in the one form that PAPI honours.
#pragma once

#include <recount/event.hpp>

#include <optional>
#include <string>

namespace recount::papi {

/// A native name taken apart: "perf::PAGE-FAULTS:u" is "perf::PAGE-FAULTS" and user.
struct Qualified {
  std::string name;             ///< without u and k
  std::optional<Domain> domain; ///< what they said; nothing when there were none
};

/// Takes :u, :k, :uk, :u=0, :k=1 and their like off a name; other attributes stay. Error (bad_input) when
/// they leave nothing to count. Pure.
[[nodiscard]] Qualified split_domain(const std::string& name);

/// The name with both qualifiers written out, ":u=1:k=0". PAPI's perf_event component looks for the texts
/// ":u=" and ":k=" and lets the set's domain overrule whichever is missing, so only both together are exact.
[[nodiscard]] std::string join_domain(const std::string& name, Domain domain);

} // namespace recount::papi
