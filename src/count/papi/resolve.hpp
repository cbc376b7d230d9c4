// From an event's name to PAPI's code for it, and what to say when there is none.
#pragma once

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <optional>
#include <string>
#include <vector>

namespace recount::papi {

/// PAPI's code of an event, and the component that counts it.
struct Resolved {
  int code = 0;
  int component = 0;
};

/// The PMUs of this kernel, for a message.
[[nodiscard]] std::string pmus_here();

/// The component of the core PMU and of software events, "perf_event".
[[nodiscard]] int cpu_component();
[[nodiscard]] std::string component_name(int component);

/// Resolves a preset or native name; native ones of the core component with the domain written out. Throws
/// Error: bad_input for unknown names, with the nearest ones; unavailable for what this machine lacks.
[[nodiscard]] Resolved resolve(const std::string& name, Domain domain);

/// The Error when PAPI_add_event returned `code`; `others` are the events already in the set.
[[nodiscard]] Error refused(const std::string& name, int code, const std::vector<std::string>& others);

/// Every preset name PAPI has, whether or not it is defined here.
[[nodiscard]] std::vector<std::string> preset_names();

// The domain qualifiers of native event names, in the one form that PAPI honours.

/// A native name taken apart: "perf::PAGE-FAULTS:u" is "perf::PAGE-FAULTS" and user.
struct Qualified {
  std::string name;             ///< without u and k
  std::optional<Domain> domain; ///< none: the name has no qualifiers
};

/// Takes :u, :k, :uk, :u=0, :k=1 and their like off a name; other attributes stay. Error (bad_input) when
/// they leave nothing to count. Pure.
[[nodiscard]] Qualified split_domain(const std::string& name);

/// The name with both qualifiers written out, ":u=1:k=0". PAPI's perf_event component looks for the texts
/// ":u=" and ":k=" and lets the set's domain overrule whichever is missing, so only both together are exact.
[[nodiscard]] std::string join_domain(const std::string& name, Domain domain);

} // namespace recount::papi
