// The place of this process in a job: of a batch system, an MPI launcher or GNU parallel.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace recount::host {

/// What the launcher states. A text is empty where it states nothing.
struct Job {
  std::string id;                  ///< "17"; of a job array, that of the array
  std::string step;                ///< of Slurm
  std::string node;                ///< by Slurm's name, which may differ from the host's
  std::optional<std::size_t> task; ///< from 0, over all elements of a job array
  std::size_t tasks = 0;           ///< 0: not stated
};

/// The value of an environment variable; nullptr where it is not set.
using Variable = std::function<const char*(const char*)>;

/// From the variables of srun(1) and sbatch(1), of Open MPI, of PMI and PMIx, and of parallel(1). A launcher
/// that started a single task gives way to one around it. In a batch script outside srun, the task is 0 of 1.
/// Characters of an id that do not belong in a file name are replaced by "_". Pure but for `variable`.
[[nodiscard]] Job read_job(const Variable& variable);
/// read_job() of this process's environment.
[[nodiscard]] Job this_job();

} // namespace recount::host
