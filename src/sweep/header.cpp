#include "witness/results_header.hpp"
#include "sweep/plan.hpp"

namespace recount::sweep {

result::Run header(const Plan& plan, std::vector<std::string> command, const std::string& version,
                   std::optional<int> cpu) {
  result::Run run = witness::machine_header(std::move(command), version, cpu);
  run.seed = plan.seed;
  run.plan = settings(plan);
  return run;
}

} // namespace recount::sweep
