#include "sweep/shard.hpp"

#include "base/format.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace recount::sweep {
namespace {

constexpr std::size_t most_shards = 1'000'000;

Shard shard_of_job(const host::Job& job) {
  if (!job.task || job.tasks == 0)
    throw bad_input("--shard auto", "no launcher states the task and the number of tasks",
                    "run it under srun, mpirun or in a job array, or name the part: --shard 1/4");
  return {*job.task + 1, job.tasks};
}

} // namespace

std::string Shard::text() const {
  return fmt::format("{}/{}", number, of);
}

Shard parse_shard(const std::string& text, const host::Job& job) {
  if (text.empty()) return {};
  if (text == "auto") return shard_of_job(job);
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, shard.number);
  const bool first = error == std::errc() && slash != end && *slash == '/';
  const auto [last, other] = first ? std::from_chars(slash + 1, end, shard.of)
                                   : std::from_chars_result{text.data(), std::errc::invalid_argument};
  if (other != std::errc() || last != end || shard.number < 1 || shard.number > shard.of ||
      shard.of > most_shards)
    throw bad_input("--shard " + text, fmt::format("is not K/N with K from 1 to N, N up to {}", most_shards),
                    "--shard 1/4, or --shard auto");
  return shard;
}

void keep_shard(std::vector<result::Params>& points, const Shard& shard) {
  std::size_t index = 0;
  std::erase_if(points, [&](const auto&) { return index++ % shard.of != shard.number - 1; });
}

void keep_shard(std::vector<Job>& jobs, const Shard& shard) {
  if (shard.whole()) return;
  std::map<std::pair<std::string, result::Params>, std::size_t> places;
  for (const Job& job : jobs)
    places.try_emplace({job.kernel, job.point}, 0);
  std::size_t index = 0;
  for (auto& [point, place] : places)
    place = index++;
  std::erase_if(jobs, [&](const Job& job) {
    return places.at({job.kernel, job.point}) % shard.of != shard.number - 1;
  });
}

void state_shard(result::Run& header, const Shard& shard) {
  if (!shard.whole()) header.plan[shard_setting] = shard.text();
}

std::string empty_shard_text(const std::string& command, const Shard& shard, std::size_t points) {
  return fmt::format("recount {}: shard {} is empty (points = {})\n", command, shard.text(), points);
}

} // namespace recount::sweep
