#include "propose/measure.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/output_file.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "host/cpu.hpp"
#include "model/machine.hpp"
#include "process/child.hpp"
#include "sweep/progress.hpp"
#include "sweep/session.hpp"
#include "witness/header.hpp"
#include "witness/metric_events.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace recount::propose {
namespace {

std::optional<model::MachineDescription> caches() {
  try {
    return model::machine("host");
  } catch (const Error&) { // points that depend on cache sizes are left out
    return {};
  }
}

/// Those that perf can count here, alone.
std::vector<std::string> countable(const std::vector<std::string>& events) {
  std::vector<std::string> able;
  std::string why;
  for (const std::string& event : events) {
    const std::string refused = witness::resolve_metric(event).refused;
    if (refused.empty())
      able.push_back(event);
    else if (why.empty())
      why = event + ": " + refused;
  }
  if (able.empty())
    throw unavailable("--measure", "no event of this CPU can be counted: " + why, {}, "recount doctor");
  return able;
}

sweep::Batch batch_of(const MeasureOptions& options, const std::string& cpu,
                      const std::vector<std::string>& events) {
  sweep::Batch batch;
  batch.jobs = jobs_of(statements(caches()), events, options.repeat, 1);
  batch.how.cpu = command::parse_cpu(options.cpu);
  sweep::limit_runs(batch.how, options.timeout, std::chrono::seconds(60));
  batch.how.parallel = static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
  batch.header = witness::machine_header(command::command_line(), RECOUNT_VERSION, batch.how.cpu);
  batch.header.seed = 1;
  batch.header.plan = {{measured_setting, cpu},
                       {"--event", fmt::format("{}", fmt::join(options.events, ","))},
                       {"--repeat", std::to_string(options.repeat)}};
  batch.header.verdicts.clear();
  batch.file = options.output;
  batch.resume = options.resume;
  return batch;
}

/// A file that is removed with this object.
struct TemporaryFile {
  std::string path = (std::filesystem::temp_directory_path() / "recount-propose-XXXXXX").string();
  explicit TemporaryFile(const std::string& text) {
    const int fd = ::mkstemp(path.data());
    if (fd < 0 || ::close(fd) != 0 || !base::write_file(path, text)) throw base::cannot_write(path, errno);
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

result::Results measure(const MeasureOptions& options, const Proposals& relatives, bool& stopped) {
  EventIndex index(lint::source_of(relatives.cpu, nullptr), PapiVersion::v7_0);
  const auto events = countable(options.events.empty() ? events_to_count(index, relatives) : options.events);
  const sweep::Batch batch = batch_of(options, relatives.cpu, events);
  if (!options.quiet)
    command::note("recount propose: {}, {}\n", base::format_count(events.size(), "event"),
                  base::format_count(batch.jobs.size(), "run"));
  command::catch_stop_signals();
  sweep::ProgressLine line(options.quiet, "propose");
  sweep::Listener listener;
  listener.stop = [] { return command::stop_signal() != 0; };
  listener.progress = [&](const sweep::Progress& progress) { line.show(progress); };
  auto ended = sweep::conduct(batch, listener);
  line.clear();
  stopped = ended.outcome.stopped;
  if (stopped)
    command::tell_how_to_resume("propose", batch.file, batch.header.command,
                                !ended.results.observations.empty());
  return std::move(ended.results);
}

std::map<std::string, std::string> verdicts_on(const MeasuredProposals& proposals, std::string& why) {
  std::string table = "CPU," + proposals.cpu + "\n";
  process::Spawn spawn;
  const TemporaryFile file("");
  spawn.argv = {"/proc/self/exe", "check", "--table",  file.path, "--json",
                "--no-verdicts",  "-q",    "--repeat", "1"};
  for (const MeasuredPreset& row : proposals.rows) {
    table += row_of(row.preset, row.fits.found.front()) + "\n";
    spawn.argv.push_back(row.preset);
  }
  if (!base::write_file(file.path, table)) throw base::cannot_write(file.path, errno);
  std::map<std::string, std::string> verdicts;
  try {
    const auto ended = process::capture(spawn, {}, std::chrono::minutes(30));
    const Json json = Json::parse(ended.out);
    for (const auto& one : json.at("verdicts"))
      verdicts[one.at("preset").get<std::string>()] = one.at("verdict").get<std::string>();
  } catch (const std::exception& error) {
    why = fmt::format("recount check could not be run: {}", error.what());
  }
  return verdicts;
}

} // namespace recount::propose
