#include "result/run.hpp"

#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <random>
#include <unistd.h>

namespace recount::result {

bool is_inference(const Run& run) {
  const auto study = run.plan.find("study");
  return study != run.plan.end() && study->second == "caches";
}

Run new_run() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const std::tm utc = fmt::gmtime(now);
  Run run;
  run.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc);
  run.id = fmt::format("{:%Y%m%dT%H%M%SZ}-{}-{:08x}", utc, ::getpid(), std::random_device{}());
  return run;
}

} // namespace recount::result
