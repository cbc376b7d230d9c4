// User and kernel: the domain in an event name, and its bits in attr.
#pragma once

#include <recount/event.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace recount::event {

/// The domain of modifier letters: "u", "k", "uk" or "ku"; none for anything else.
[[nodiscard]] std::optional<Domain> parse_domain(std::string_view letters);

/// A name without the domain at its end.
struct Split {
  std::string_view name;
  std::optional<Domain> domain;
};
/// Removes ":u", ":k" or ":uk" from the end of a name. Pure; views into `name`.
[[nodiscard]] Split split_domain(std::string_view name);

/// Sets exclude_user, exclude_kernel and exclude_hv, as PAPI does for the same domain.
void apply(Domain domain, perf_event_attr& attr);

/// The name as libpfm4 wants it ("x:uk" becomes "x:u:k"), and whether it has a domain.
struct Modified {
  std::string name;
  bool domain_given = false;
};
[[nodiscard]] Modified for_libpfm(std::string_view name);

} // namespace recount::event
