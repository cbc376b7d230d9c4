#include "run/result/observation.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <random>

namespace recount::result {
namespace {

/// Kinds that lose time: their share is of the time of the repetition.
constexpr std::array losing{Flag::Kind::steal, Flag::Kind::preempted, Flag::Kind::throttled,
                            Flag::Kind::frequency};

} // namespace

std::vector<Flag> disturbances(const Observation& observation) {
  std::vector<Flag> all;
  for (const Flag& flag : observation.flags) {
    if (flag.kind == Flag::Kind::thermal) all.push_back(flag);
    if (std::ranges::find(losing, flag.kind) != losing.end() && flag.share.value_or(0) > disturbed_percent)
      all.emplace_back(flag.kind, fmt::format("{} {:.3g} %", name_of(flag.kind), *flag.share), flag.share);
  }
  return all;
}

Flag sampled_flag(double percent, double error) {
  // Below 10 %, two digits, as in 0.012; 100 is never 1e+02.
  const std::string share = percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent);
  return {Flag::Kind::sampled,
          fmt::format("sampled {} % of the accesses, error {:.0f}", share, std::ceil(error)), percent,
          std::ceil(error)};
}

std::optional<double> sampling_error(const Observation& observation) {
  for (const Flag& flag : observation.flags)
    if (flag.kind == Flag::Kind::sampled) return flag.error;
  return {};
}

std::optional<double> as_double(const Number& number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&number)) return *real;
  return std::nullopt;
}

std::optional<std::int64_t> integer(const Params& params, const std::string& name) {
  const auto found = params.find(name);
  if (found == params.end()) return {};
  const auto* const number = std::get_if<std::int64_t>(&found->second);
  return number ? std::optional(*number) : std::nullopt;
}

std::string word(const Params& params, const std::string& name) {
  const auto found = params.find(name);
  const auto* const word = found == params.end() ? nullptr : std::get_if<std::string>(&found->second);
  return word ? *word : "";
}

bool is_reading(const Observation& observation) {
  if (observation.kernel == "visit") return true;
  return observation.kernel == "chase" && integer(observation.params, "rounds").value_or(0) == 0;
}

bool is_inference(const Run& run) {
  const auto note = [&](const char* name) {
    const auto found = run.plan.find(name);
    return found == run.plan.end() ? std::string() : found->second;
  };
  return note("study") == "caches" && !Witness(note("witness")).modelled();
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
