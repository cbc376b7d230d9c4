#include "witness/preset_terms.hpp"

namespace recount::witness {

bool is_preset(const std::string& metric) {
  return metric.starts_with("PAPI_");
}

std::string preset_refused(const std::string& metric) {
  return "the events behind " + metric +
         " are not known to the perf witness, which counts events by their own "
         "names (see recount events); the papi witness takes presets";
}

} // namespace recount::witness
