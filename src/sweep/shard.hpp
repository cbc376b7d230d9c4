// --shard: one of several parts of the points of a plan, the same whoever computes it.
#pragma once

#include "host/job.hpp"
#include "sweep/plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace recount::sweep {

inline constexpr const char* shard_help =
    "run only part K of N of the points; auto: the task of srun, mpirun or a job array";

/// Part `number` of `of`; 1 of 1 is everything.
struct Shard {
  std::size_t number = 1, of = 1;
  [[nodiscard]] bool whole() const { return of == 1; }
  [[nodiscard]] std::string text() const; ///< "2/4"
};

/// "2/4", or "auto": the task and the number of tasks of `job`. Empty: everything. Throws Error (bad_input).
[[nodiscard]] Shard parse_shard(const std::string& text, const host::Job& job);

/// Keeps every N-th point, beginning with the K-th: neighbours, which take about as long, are spread over the
/// shards.
void keep_shard(std::vector<result::Params>& points, const Shard& shard);
/// The same for the points of the jobs, in the order of kernel and parameters, whatever the order of the
/// jobs: all runs of a point are in one shard.
void keep_shard(std::vector<Job>& jobs, const Shard& shard);

/// The setting of a plan that states the shard. It does not distinguish plans (difference()).
inline constexpr const char* shard_setting = "shard";
void state_shard(result::Run& header, const Shard& shard);

/// "recount sweep: shard 5/5 holds none of 3 points".
[[nodiscard]] std::string empty_shard_text(const std::string& command, const Shard& shard,
                                           std::size_t points);

} // namespace recount::sweep
