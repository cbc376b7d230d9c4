// Witnesses: those that work here are the default of sweep.
#include "doctor/doctor.hpp"
#include "witness/witness.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace recount::doctor {

Area examine_witnesses() {
  Area area{"Witnesses", {}};
  std::vector<std::string> usable;
  for (const auto& w : witness::all()) {
    const std::string why = w.missing(w.default_metrics);
    if (why.empty()) usable.push_back(w.name);
    area.findings.push_back({why.empty() ? Finding::State::works : Finding::State::missing,
                             w.name,
                             why.empty() ? w.prose
                                         : fmt::format("{}; its default metrics ({}) are not available: {}",
                                                       w.prose, fmt::join(w.default_metrics, ", "), why),
                             {}});
  }
  area.findings.push_back({Finding::State::note,
                           "default",
                           usable.empty() ? "none: no witness works on this machine"
                                          : fmt::format("recount sweep uses {}", fmt::join(usable, ", ")),
                           {}});
  return area;
}

} // namespace recount::doctor
