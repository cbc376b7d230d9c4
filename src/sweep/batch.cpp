#include "sweep/batch.hpp"

#include "base/format.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "host/job.hpp"
#include "host/pmu.hpp"
#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "witness/backend.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace recount::sweep {
namespace {

/// Whether the results say anything about this machine: all but a described machine's model do.
bool of_this_machine(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return !job.witness.described_machine(); });
}

void check_same(const Batch& batch, const result::Results& there) {
  for (const auto& run : there.runs) {
    if (run.plan.empty()) continue; // nobody's sweep: values taken over from elsewhere
    const std::string other = difference(run.plan, batch.header.plan);
    if (!other.empty())
      throw bad_input(batch.file, "contains another sweep: " + other,
                      "use the options that the file was created with, or another -o FILE");
    if (run.cpu != batch.header.cpu && of_this_machine(batch.jobs))
      throw bad_input(
          batch.file,
          fmt::format("was created on another CPU: \"{}\", this is \"{}\"", run.cpu, batch.header.cpu),
          "use another -o FILE; files of several machines can be joined with cat");
  }
}

/// Opens the file and takes in what it holds.
std::unique_ptr<result::Writer> open(const Batch& batch, result::Results& there) {
  using Mode = result::Writer::Mode;
  if (batch.file.empty()) return nullptr;
  if (batch.file == "-" || !batch.resume || result::holds_nothing(batch.file))
    return std::make_unique<result::Writer>(batch.file, Mode::create, result::Writer::Resume::possible);
  check_same(batch, result::read(batch.file)); // before a torn line is cut: another's file stays as it is
  auto writer = std::make_unique<result::Writer>(batch.file, Mode::append);
  there = result::read(batch.file);
  return writer;
}

/// What is planned, for files that are read while they are incomplete. A witness that speaks for others
/// ("both") leaves no observations of its own name: such a plan is not stated.
void state_plan(result::Run& header, const std::vector<Job>& jobs) {
  std::map<std::string, std::int64_t> planned;
  for (const Job& job : jobs) {
    const auto& witness = witness::find(job.witness);
    if (witness.passes != 1 || witness.recorded_witnesses(job.witness) != std::vector{job.witness}) return;
    ++planned[result::planned_name(job.witness, job.kernel, job.point)];
  }
  if (planned.size() > result::most_planned_names) return;
  header.runs_planned = static_cast<std::int64_t>(jobs.size());
  header.planned = std::move(planned);
}

Ended run_missing(const Batch& batch, Listener listener) {
  Ended ended;
  const auto writer = open(batch, ended.results);
  const auto left = remaining(batch.jobs, ended.results);
  ended.planned = batch.jobs.size();
  ended.there = batch.jobs.size() - left.size();
  if (left.empty()) return ended;

  result::Run header = batch.header;
  state_plan(header, batch.jobs);
  if (!ended.results.runs.empty()) header.resumes = ended.results.runs.front().id;
  if (writer) writer->write(header);
  ended.results.runs.push_back(header);
  Execution how = batch.how;
  how.run = header.id;
  listener.observation = [&, then = std::move(listener.observation)](const result::Observation& observation) {
    if (writer) writer->write(observation);
    ended.results.observations.push_back(observation);
    then(observation);
  };
  listener.failure = [&](const result::Failure& failure) {
    if (writer) writer->write(failure);
    ended.results.failures.push_back(failure);
  };
  ended.outcome = execute(left, how, listener);
  return ended;
}

} // namespace

void declare_runs(command::Options& options, BatchOptions& into, int limit) {
  options
      .text("--cpu", into.cpu, "N",
            "measure on this CPU, or none for no pinning (default: the least disturbed)")
      .text("--timeout", into.timeout, "SECONDS",
            fmt::format("time-out per run: wall time (default {}), for the model CPU time (default none)",
                        limit))
      .flag("--resume", into.resume, "resume FILE: run only what is missing")
      .flag("-q,--quiet", into.quiet, "print no progress and no notes");
}

void declare_sharded_runs(command::Options& options, BatchOptions& into, int limit) {
  options.text("--seed", into.seed, "N", "seed of the order of the runs (default: random, printed)")
      .text("--shard", into.shard, "K/N",
            "run only part K of N of the points; auto: the task of srun, mpirun or a job array")
      .number("-j,--jobs", into.parallel, "N", "model runs at a time (default: the number of usable CPUs)",
              {1, 10'000});
  declare_runs(options, into, limit);
}

Batch make_batch(std::string command, const BatchOptions& options, std::chrono::seconds limit,
                 std::uint64_t seed, std::map<std::string, std::string> plan) {
  Batch batch;
  batch.command = std::move(command);
  batch.how.cpu = command::parse_cpu(options.cpu);
  limit_runs(batch.how, options.timeout, limit);
  batch.how.parallel = options.parallel > 0
                           ? static_cast<int>(options.parallel)
                           : static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
  batch.shard = parse_shard(options.shard, host::this_job());
  batch.header = witness::machine_header(command::command_line(), RECOUNT_VERSION, batch.how.cpu);
  batch.header.seed = seed;
  batch.header.plan = std::move(plan);
  state_shard(batch.header, batch.shard);
  batch.file = options.output;
  batch.resume = options.resume;
  batch.quiet = options.quiet;
  return batch;
}

Ended run_batch(const Batch& batch) {
  command::catch_stop_signals();
  ProgressLine line(batch.quiet, batch.command);
  bool measured = false;
  Listener listener;
  listener.stop = [] { return command::stop_signal() != 0; };
  listener.progress = [&](const Progress& progress) { line.show(progress); };
  listener.observation = [&](const result::Observation&) { measured = true; };
  const auto print_resume_command = [&] {
    line.clear();
    command::print_resume_command(batch.command, batch.file, batch.header.command, measured);
  };
  try {
    Ended ended = run_missing(batch, listener);
    line.clear();
    measured = !ended.results.observations.empty();
    if (ended.outcome.stopped) print_resume_command();
    return ended;
  } catch (const Error&) {
    print_resume_command();
    throw;
  }
}

int exit_status(const Batch& batch, const Ended& ended) {
  if (ended.outcome.stopped) return 128 + command::stop_signal();
  const auto& all = ended.results.observations;
  if (std::ranges::any_of(all, [](const auto& o) { return o.value.index() != 0; }))
    return ended.results.failures.empty() ? 0 : 1;
  if (ended.results.failures.empty()) // else failures_text() has the reasons
    command::note("recount {}: nothing was counted: see recount doctor\n", batch.command);
  return 3;
}

void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting) {
  std::int64_t largest = 0;
  const Job* where = nullptr;
  for (const Job& job : jobs) {
    if (job.repetition > 0 || !witness::find(job.witness).native) continue;
    if (const auto bytes = kernel::find_configured(job.kernel, job.point).bytes(job.point); bytes > largest) {
      largest = bytes;
      where = &job;
    }
  }
  if (largest > most)
    throw Error(ErrorKind::bad_input,
                {where->kernel + " " + result::describe(where->point),
                 Reason(fmt::format("needs {} bytes of memory, more than the {} available", largest, most),
                        setting, "leave out large sizes, or use --witness model, which needs no memory")});
}

/// Reasons that differ in their numbers only are one kind.
std::string kind_of_reason(const std::string& reason) {
  std::string text;
  for (const char c : reason)
    if (!std::isdigit(static_cast<unsigned char>(c)))
      text += c;
    else if (!text.ends_with('#'))
      text += '#';
  return text;
}

std::string unfinished_text(const std::vector<Unfinished>& runs) {
  std::string text;
  for (const auto& run : runs)
    text += fmt::format("stopped: {} {} {}: {:.3g} % simulated\n", run.job.witness, run.job.kernel,
                        result::describe(run.job.point), 100 * run.simulated);
  return text;
}

std::string failures_text(const std::vector<result::Failure>& failures) {
  std::map<std::string, std::pair<std::size_t, const result::Failure*>> reasons;
  for (const auto& failure : failures) {
    auto& [count, first] = reasons[failure.witness.name() + kind_of_reason(failure.reason)];
    if (count++ == 0) first = &failure;
  }
  std::string text;
  for (const auto& [key, found] : reasons)
    text += fmt::format("{} of {} failed: {} (first: {})\n", base::format_count(found.first, "run"),
                        found.second->witness, found.second->reason, result::describe(found.second->params));
  return text;
}

} // namespace recount::sweep
