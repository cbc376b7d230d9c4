#include "result/observation.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <string_view>

namespace recount::result {
namespace {

/// The time of a repetition in milliseconds; 0: not stated.
double milliseconds(const Observation& o) {
  if (o.seconds) return 1000 * *o.seconds;
  return o.metric == "seconds" ? 1000 * as_double(o.value).value_or(0) : 0;
}

/// The share of its time, in per cent, that a flag says was lost. Flags of recount 0.1.0 have no share: it
/// follows from their milliseconds. Nothing where it is not known.
std::optional<double> lost_percent(const std::string& flag, const Observation& o) {
  double amount = 0, percent = 0;
  int end = 0;
  // NOLINTBEGIN(cert-err34-c): what does not match leaves the count of matches small
  if (const auto open = flag.rfind('(');
      open != std::string::npos && std::sscanf(flag.c_str() + open, "(%lf %%)", &percent) == 1)
    return percent;
  for (const char* format : {"steal %lf ms%n", "throttled %lf ms%n"})
    if (std::sscanf(flag.c_str(), format, &amount, &end) == 1 && end > 0 && milliseconds(o) > 0)
      return std::min(100.0, 100 * amount / milliseconds(o));
  if (std::sscanf(flag.c_str(), "frequency %lf to %lf MHz", &amount, &percent) == 2 &&
      std::max(amount, percent) > 0)
    return 100 * std::abs(amount - percent) / std::max(amount, percent);
  // NOLINTEND(cert-err34-c)
  return {};
}

constexpr std::array<std::string_view, 4> losing{"steal", "preempted", "throttled", "frequency"};

} // namespace

std::vector<std::string> disturbances(const Observation& observation) {
  std::vector<std::string> all;
  for (const auto& flag : observation.flags) {
    const std::string what = flag.substr(0, flag.find(' '));
    if (flag == "thermal throttling") all.push_back(flag);
    if (std::ranges::find(losing, what) == losing.end()) continue;
    if (const auto lost = lost_percent(flag, observation); lost && *lost > disturbed_percent)
      all.push_back(fmt::format("{} {:.3g} %", what, *lost));
  }
  return all;
}

std::string sampled_flag(double percent, double error) {
  // Few percent are told to two digits, as 0.012; 100 is never 1e+02.
  const std::string share = percent < 10 ? fmt::format("{:.2g}", percent) : fmt::format("{:.0f}", percent);
  return fmt::format("sampled {} % of the accesses, error {:.0f}", share, std::ceil(error));
}

std::optional<double> sampling_error(const Observation& observation) {
  for (const auto& flag : observation.flags) {
    double percent = 0, error = 0;
    // NOLINTNEXTLINE(cert-err34-c): what does not match leaves the count of matches small
    if (std::sscanf(flag.c_str(), "sampled %lf %% of the accesses, error %lf", &percent, &error) == 2)
      return error;
  }
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

std::string text(const ParamValue& value) {
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number ? std::to_string(*number) : std::get<std::string>(value);
}

std::string describe(const Params& params) {
  std::string all;
  for (const auto& [name, value] : params)
    all += (all.empty() ? "" : " ") + name + '=' + text(value);
  return all;
}

bool is_reading(const Observation& observation) {
  if (observation.kernel == "visit") return true;
  return observation.kernel == "chase" && integer(observation.params, "rounds").value_or(0) == 0;
}

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
