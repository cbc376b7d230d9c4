#include "sweep/header.hpp"
#include "host/machine.hpp"

#include <fmt/format.h>
#include <perfmon/pfmlib.h>
#include <recount/papi.hpp>

namespace recount::sweep {
namespace {

std::vector<result::CacheNote> notes(const std::vector<host::Cache>& caches) {
  std::vector<result::CacheNote> all;
  for (const auto& cache : caches)
    if (cache.type != 'i') all.push_back({cache.name(), cache.size, cache.line, cache.ways});
  return all;
}

} // namespace

result::Run header(const Plan& plan, std::vector<std::string> command, const std::string& version,
                   std::optional<int> cpu) {
  const host::Machine& machine = host::this_machine();
  result::Run run = result::new_run();
  run.host = machine.hostname;
  run.cpu = machine.cpu.name;
  run.cpus = machine.cpus;
  run.caches = notes(cpu ? host::caches_of(*cpu) : machine.caches);
  run.governor = machine.governor;
  run.os = machine.os + " " + machine.architecture;
  run.virtualised = machine.hypervisor;
  const int pfm = pfm_get_version();
  run.versions = {{"recount", version},
                  {"papi", papi::version()},
                  {"libpfm4", fmt::format("{}.{}", PFM_MAJ_VERSION(pfm), PFM_MIN_VERSION(pfm))},
                  {"libc", machine.libc},
                  {"compiler", "g++ " __VERSION__},
                  {"kernel_flags", RECOUNT_KERNEL_FLAGS}};
  run.command = std::move(command);
  run.seed = plan.seed;
  run.plan = settings(plan);
  return run;
}

} // namespace recount::sweep
