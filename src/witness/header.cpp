#include "witness/header.hpp"

#include "host/machine.hpp"
#include "kernel/matmul/ceilings.hpp"
#include "verdict/store.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <perfmon/pfmlib.h>
#include <recount/error.hpp>
#include <recount/papi.hpp>

namespace recount::witness {
namespace {

std::vector<result::CacheNote> notes(const std::vector<host::Cache>& caches) {
  std::vector<result::CacheNote> all;
  for (const auto& cache : caches)
    if (cache.type != 'i') all.push_back({cache.name(), cache.size, cache.line, cache.ways});
  return all;
}

} // namespace

// pfm_get_version() returns 4.0 in every 4.x: the file name of the loaded library is more specific.
std::string libpfm_version() {
  const int stated = pfm_get_version();
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&pfm_get_version), &info) != 0 && info.dli_fname) {
    const std::string file = std::filesystem::canonical(info.dli_fname, error).filename();
    const std::size_t at = file.find(".so.");
    if (!error && file.starts_with("libpfm") && at != file.npos) return file.substr(at + 4);
  }
  return fmt::format("{}.{}", PFM_MAJ_VERSION(stated), PFM_MIN_VERSION(stated));
}

result::Run machine_header(std::vector<std::string> command, const std::string& version,
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
  run.versions = {
      {"recount", version},
      {"papi", papi::version()},
      {"libpfm4", libpfm_version()},
      {"libc", machine.libc},
      {"compiler", "g++ " __VERSION__},
      {"kernel_flags", RECOUNT_KERNEL_FLAGS},
      {"vectorised_flags", std::string(RECOUNT_VECTORISED_FLAGS " (") + kernel::vectorised_for() + ")"}};
  run.command = std::move(command);
  try {
    run.verdicts = verdict::Marks::here().by_name();
  } catch (const Error&) { // nothing that is measured depends on them; commands that show them warn
  }
  return run;
}

} // namespace recount::witness
