// What tests over page faults need of a machine.
#pragma once

#include "count/preset/catalogue.hpp"
#include "run/witness/backend.hpp"

#include <string>

namespace recount::test {

/// Why presets cannot stand for page faults here; empty when all is well.
inline std::string obstacle() {
  if (!preset::default_pmu()) return "libpfm4 does not know this CPU, so PAPI loads no table here";
  for (const char* name : {"perf", "papi"})
    if (std::string why = witness::find(name).missing({"perf::PAGE-FAULTS"}).text(); !why.empty())
      return name + (": " + why);
  return {};
}

} // namespace recount::test
