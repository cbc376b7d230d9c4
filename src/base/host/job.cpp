#include "base/host/job.hpp"

#include "base/format.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace recount::host {
namespace {

constexpr std::size_t max_tasks = 1'000'000'000;

std::optional<std::size_t> number_in(const Variable& variable, const char* name) {
  const char* const text = name ? variable(name) : nullptr;
  if (!text) return {};
  const auto value = base::parse<std::size_t>(text);
  return value && *value <= max_tasks ? value : std::nullopt;
}

std::string id_in(const Variable& variable, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* const text = variable(name); text && *text) {
      std::string id = std::string(text).substr(0, 100);
      std::ranges::replace_if(
          id, [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-'; }, '_');
      return id;
    }
  return {};
}

struct Launcher {
  const char *rank, *size;
  std::size_t first; ///< lowest rank
};

/// The innermost launcher first. SLURM_STEP_NUM_TASKS, not SLURM_NTASKS: a batch script has the latter with
/// SLURM_PROCID 0 and runs once.
constexpr Launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
    {"PMI_RANK", "PMI_SIZE", 0},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 0},
    {"PMIX_RANK", nullptr, 0},
    {"PARALLEL_SEQ", nullptr, 1},
};

void take_launcher(Job& job, const Variable& variable) {
  for (const Launcher& launcher : launchers) {
    const auto rank = number_in(variable, launcher.rank);
    if (!rank || *rank < launcher.first) continue;
    const bool slurm = std::strcmp(launcher.rank, "SLURM_PROCID") == 0;
    const std::size_t size = number_in(variable, launcher.size).value_or(slurm ? 1 : 0);
    if (size > 0 && *rank >= size) continue;
    if (job.task && size == 1) continue;
    job.task = *rank - launcher.first;
    job.tasks = size;
    if (size != 1) return;
  }
}

/// The elements of a job array are tasks as well.
void take_array(Job& job, const Variable& variable) {
  const auto at = number_in(variable, "SLURM_ARRAY_TASK_ID"),
             count = number_in(variable, "SLURM_ARRAY_TASK_COUNT"),
             least = number_in(variable, "SLURM_ARRAY_TASK_MIN"),
             step = number_in(variable, "SLURM_ARRAY_TASK_STEP");
  if (!at || !count || !least || *at < *least || step.value_or(1) == 0) return;
  const std::size_t element = (*at - *least) / step.value_or(1);
  if (element >= *count) return;
  const std::size_t size = std::max<std::size_t>(1, job.tasks);
  job.task = element * size + job.task.value_or(0);
  job.tasks = *count * size;
}

} // namespace

Job read_job(const Variable& variable) {
  Job job;
  job.id = id_in(variable, {"SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PARALLEL_PID"});
  job.step = id_in(variable, {"SLURM_STEP_ID"});
  job.node = id_in(variable, {"SLURMD_NODENAME"});
  take_launcher(job, variable);
  take_array(job, variable);
  return job;
}

Job this_job() {
  return read_job([](const char* name) { return std::getenv(name); });
}

} // namespace recount::host
