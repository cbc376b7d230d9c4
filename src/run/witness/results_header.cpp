#include "run/witness/results_header.hpp"

#include "base/host/emulation.hpp"
#include "base/host/job.hpp"
#include "base/host/machine.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "count/event/pfm.hpp"
#include "count/preset/catalogue.hpp"
#include "kernel/matmul/matmul.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <fmt/format.h>

#include <cstdlib>

namespace recount::witness {
namespace {

std::vector<result::CacheNote> cache_notes(const std::vector<host::Cache>& caches) {
  std::vector<result::CacheNote> all;
  for (const auto& cache : caches)
    if (cache.type != 'i') all.push_back({cache.name(), cache.size, cache.line, cache.ways});
  return all;
}

/// What a comparison of machines needs beside the versions of software; absent where it is not stated.
void add_circumstances(result::Run& run, std::optional<int> cpu) {
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) run.versions[name] = value;
  };
  add("microcode", host::this_cpu().microcode);
  // PAPI reads it; copies with one name differ in the hash of their text (FNV-1a).
  if (const char* const table = std::getenv("PAPI_CSV_EVENT_FILE"); table && *table) {
    add("preset_table", table);
    if (const auto text = base::read_file(table))
      add("preset_table_hash", fmt::format("{:016x}", base::fnv(*text)));
  }
  if (const auto* const core = preset::default_pmu()) add("pmu", core->name);
  const auto khz = base::read_number(
      fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq", cpu.value_or(0)));
  if (khz) add("max_mhz", std::to_string(*khz / 1000));
  const host::Job job = host::this_job();
  add("node", job.node);
  add("job", job.id);
  add("step", job.step);
  if (job.task) add("task", std::to_string(*job.task));
  if (job.tasks > 0) add("tasks", std::to_string(job.tasks));
}

} // namespace

result::Run machine_header(std::vector<std::string> command, const std::string& version,
                           std::optional<int> cpu) {
  const host::Machine& machine = host::this_machine();
  result::Run run = result::new_run();
  run.host = machine.hostname;
  run.cpu = machine.cpu.name;
  run.cpus = machine.cpus;
  run.caches = cache_notes(cpu ? host::read_caches(*cpu) : machine.caches);
  run.governor = machine.governor;
  run.os = machine.os + " " + machine.architecture;
  run.virtualised = machine.hypervisor;
  run.versions = {
      {"recount", version},
      {"papi", papi::version()},
      {"libpfm4", event::pfm::library_version()},
      {"libc", machine.libc},
      {"compiler", "g++ " __VERSION__},
      {"kernel_flags", RECOUNT_KERNEL_FLAGS},
      {"vectorised_flags", std::string(RECOUNT_VECTORISED_FLAGS " (") + kernel::vectorised_for() + ")"}};
  if (host::this_emulation().repeatable) run.versions["emulation"] = "repeatable";
  add_circumstances(run, cpu);
  run.command = std::move(command);
  return run;
}

} // namespace recount::witness
