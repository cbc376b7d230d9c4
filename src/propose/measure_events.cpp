#include "propose/measure_events.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "command/measuring.hpp"
#include "command/print.hpp"
#include "lint/lint.hpp"
#include "model/machine.hpp"
#include "process/child.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

namespace recount::propose {
namespace {

/// The caches of this machine. Without them, points that depend on cache sizes are omitted.
std::optional<model::MachineDescription> caches_here() {
  try {
    return model::machine("host");
  } catch (const Error&) {
    return {};
  }
}

/// The events that perf can count on this machine.
std::vector<std::string> countable(const std::vector<std::string>& events) {
  std::vector<std::string> able;
  std::string first_reason;
  for (const std::string& event : events) {
    const std::string refused = witness::resolve_metric(event).refused.text();
    if (refused.empty())
      able.push_back(event);
    else if (first_reason.empty())
      first_reason = event + ": " + refused;
  }
  if (able.empty())
    throw unavailable("--measure", "no event of this CPU can be counted: " + first_reason, {},
                      "recount doctor");
  return able;
}

sweep::Batch make_batch(const MeasureOptions& options, const std::string& cpu,
                        const std::vector<std::string>& events) {
  sweep::Batch batch = sweep::make_batch("propose", options, std::chrono::seconds(60), 1,
                                         {{measured_setting, cpu},
                                          {"--event", fmt::format("{}", fmt::join(options.events, ","))},
                                          {"--repeat", std::to_string(options.repeat)}});
  batch.jobs = jobs_of(statements(caches_here()), events, options.repeat, 1);
  batch.header.verdicts.clear();
  return batch;
}

/// A file that is removed with this object.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / "recount-propose-XXXXXX").string();
  TemporaryFile() {
    const int fd = ::mkstemp(path.data());
    if (fd < 0 || ::close(fd) != 0) throw base::cannot_write(path, errno);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path.c_str()); }
};

} // namespace

void check_options(const MeasureOptions& options) {
  sweep::Execution how;
  sweep::limit_runs(how, options.timeout, std::chrono::seconds(60));
  if (!options.cpu.empty()) static_cast<void>(command::parse_cpu(options.cpu));
}

sweep::Ended measure(const MeasureOptions& options, const Proposals& relatives) {
  EventIndex index(lint::source_of(relatives.cpu, nullptr), PapiVersion::v7_0);
  const auto events = countable(options.events.empty() ? events_to_count(index, relatives) : options.events);
  const sweep::Batch batch = make_batch(options, relatives.cpu, events);
  if (!options.quiet)
    command::note("recount propose: {}, {}\n", base::format_count(events.size(), "event"),
                  base::format_count(batch.jobs.size(), "run"));
  return sweep::run_batch(batch);
}

RowVerdicts check_rows(const MeasuredProposals& proposals) {
  std::string table = "CPU," + proposals.cpu + "\n";
  process::Spawn spawn;
  const TemporaryFile file;
  spawn.argv = {"/proc/self/exe", "check", "--table",  file.path, "--json",
                "--no-verdicts",  "-q",    "--repeat", "1"};
  for (const MeasuredPreset& row : proposals.rows) {
    table += row_of(row.preset, row.fits.found.front()) + "\n";
    spawn.argv.push_back(row.preset);
  }
  if (!base::write_file(file.path, table)) throw base::cannot_write(file.path, errno);
  RowVerdicts checked;
  try {
    const auto ended = process::capture(spawn, {}, std::chrono::minutes(30));
    const Json json = Json::parse(ended.out);
    for (const auto& verdict : json.at("verdicts"))
      checked.by_preset[verdict.at("preset").get<std::string>()] = verdict.at("verdict").get<std::string>();
  } catch (const std::exception& error) {
    checked.failure = fmt::format("recount check could not be run: {}", error.what());
  }
  return checked;
}

} // namespace recount::propose
