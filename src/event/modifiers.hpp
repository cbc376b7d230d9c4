// Modifiers of perf(1) that libpfm4 does not have: precision, guest and host.
#pragma once

#include <recount/event.hpp>

#include <string>

namespace recount::event {

/// Letters after the last colon (or slash) of a name, as perf-list(1) defines them.
struct Modifiers {
  std::string name;     ///< without them, with the letters of a domain
  unsigned precise = 0; ///< as many as p; P, the maximum of the PMU: 3, which is lowered when sampling
  bool guest = false;   ///< G: only guests
  bool host = false;    ///< H: only the host
  [[nodiscard]] bool any() const { return precise > 0 || guest || host; }
};
/// Splits a name; any() is false where its end is something else, such as a unit mask. Pure.
[[nodiscard]] Modifiers split_modifiers(const std::string& name);
/// Sets precise_ip, exclude_host and exclude_guest. Pure.
void apply(const Modifiers& modifiers, perf_event_attr& attr);

} // namespace recount::event
