#include "run/batch.hpp"

#include "base/format.hpp"
#include "base/host/job.hpp"
#include "base/host/pmu.hpp"
#include "base/names.hpp"
#include "base/process/child.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "count/event/event_file.hpp"
#include "kernel/kernel.hpp"
#include "model/trace/request.hpp"
#include "run/resume.hpp"
#include "run/rounds.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace recount::sweep {

namespace {

/// Whether the results say anything about this machine: all but a described machine's model do.
bool of_this_machine(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return !job.witness.described_machine(); });
}

void check_same(const Batch& batch, const result::Results& recorded) {
  for (const auto& run : recorded.runs) {
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
std::unique_ptr<result::Writer> open(const Batch& batch, result::Results& recorded) {
  using Mode = result::Writer::Mode;
  if (batch.file.empty()) return nullptr;
  if (batch.file == "-" || !batch.resume || result::holds_nothing(batch.file))
    return std::make_unique<result::Writer>(batch.file, Mode::create, result::Writer::Resume::possible);
  check_same(batch, result::read(batch.file)); // before a torn line is cut: another's file stays as it is
  auto writer = std::make_unique<result::Writer>(batch.file, Mode::append);
  recorded = result::read(batch.file);
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
  if (planned.size() > result::max_planned_names) return;
  header.runs_planned = static_cast<std::int64_t>(jobs.size());
  header.planned = std::move(planned);
}

void add(Outcome& all, const Outcome& more) {
  all.observations += more.observations;
  all.failures += more.failures;
  all.runs += more.runs;
  all.stopped = more.stopped;
  all.elapsed += more.elapsed;
  all.overheads.insert(all.overheads.end(), more.overheads.begin(), more.overheads.end());
}

void run_until_decided(const Batch& batch, const Execution& execution, const Listener& listener,
                       BatchResult& ended) {
  const auto seconds = [&] { return std::chrono::duration<double>(ended.outcome.elapsed).count(); };
  const double begin = seconds(), announced_time = batch.until_decided.announced.value_or(begin),
               budget = std::min(stat::until_decided(announced_time) - begin, batch.until_decided.most);
  bool announced = false;
  for (bool goes_on = !ended.outcome.stopped; goes_on;) {
    const Further round = batch.until_decided.next(ended.results);
    if (round.jobs.empty() || seconds() - begin + round.seconds > budget) return;
    if (listener.further && !std::exchange(announced, true))
      listener.further(
          fmt::format("{} not decided after {} repetitions: up to {} more (-r fixes their number)",
                      base::format_count(round.undecided, "comparison"),
                      std::ranges::min(round.jobs, {}, &Job::repetition).repetition,
                      base::format_duration(std::chrono::duration<double>(budget))));
    ended.planned += round.jobs.size();
    const Outcome outcome = execute(round.jobs, execution, listener);
    add(ended.outcome, outcome);
    goes_on = !outcome.stopped && outcome.failures == 0;
  }
}

} // namespace

Further repeat_again(const std::vector<Job>& plan, const result::Results& results, std::uint64_t seed,
                     const std::function<bool(const Job&)>& is_wanted) {
  std::vector<Job> next;
  for (const Job& job : plan)
    if (job.repetition == 0 && is_wanted(job)) next.push_back(job);
  int most = 0;
  for (Job& job : next) {
    const int passes = witness::find(job.witness).passes;
    const auto after = [&](const auto& line) {
      if (line.kernel == job.kernel && line.params == job.point && line.witness == job.witness)
        job.repetition = std::max(job.repetition, line.repetition / passes + 1);
    };
    std::ranges::for_each(results.observations, after);
    std::ranges::for_each(results.failures, after);
    most = std::max(most, job.repetition);
  }
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(most));
  Further further;
  std::vector<Job>& jobs = further.jobs;
  for (int round = 0; round < most; ++round) {
    const std::size_t first = jobs.size();
    for (const Job& job : next)
      if (round < job.repetition) jobs.emplace_back(job).repetition += round;
    base::shuffle(std::span(jobs).subspan(first), random);
  }
  constexpr double start = 0.1; // of a process
  for (const auto& o : results.observations) {
    const auto same = [&](const Job& job) {
      return is_seconds(o.metric) && job.kernel == o.kernel && job.point == o.params &&
             job.witness == o.witness;
    };
    if (std::ranges::any_of(next, same)) further.seconds += start + result::as_double(o.value).value_or(0);
  }
  return further;
}

BatchResult run_missing(const Batch& batch, Listener listener) {
  BatchResult ended;
  const auto writer = open(batch, ended.results);
  const auto left = remaining(batch.jobs, ended.results);
  ended.planned = batch.jobs.size();
  ended.already_recorded = batch.jobs.size() - left.size();
  if (left.empty()) return ended;

  result::Run header = batch.header;
  state_plan(header, batch.jobs);
  if (!ended.results.runs.empty()) header.resumes = ended.results.runs.front().id;
  if (writer) writer->write(header);
  ended.results.runs.push_back(header);
  Execution execution = batch.execution;
  execution.run = header.id;
  listener.observation = [&, then = std::move(listener.observation)](const result::Observation& observation) {
    {
      const trace::Pause pause;
      if (writer) writer->write(observation);
      ended.results.observations.push_back(observation);
    }
    then(observation);
  };
  listener.failure = [&](const result::Failure& failure) {
    if (writer) writer->write(failure);
    ended.results.failures.push_back(failure);
  };
  ended.outcome = execute(left, execution, listener);
  if (batch.until_decided.next) run_until_decided(batch, execution, listener, ended);
  return ended;
}

Batch make_batch(std::string command, const BatchOptions& options, std::chrono::seconds default_timeout,
                 std::uint64_t seed, std::map<std::string, std::string> plan) {
  Batch batch;
  batch.command = std::move(command);
  for (const std::string& file : event::chosen_event_files())
    batch.execution.program.push_back("--events-file=" + file);
  batch.execution.cpu = host::parse_cpu(options.cpu);
  limit_runs(batch.execution, options.timeout, default_timeout);
  batch.execution.parallel = options.parallel > 0
                                 ? static_cast<int>(options.parallel)
                                 : static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
  batch.shard = parse_shard(options.shard, host::this_job());
  batch.header = witness::machine_header(process::command_line(), RECOUNT_VERSION, batch.execution.cpu);
  batch.header.seed = seed;
  batch.header.plan = std::move(plan);
  state_shard(batch.header, batch.shard);
  batch.file = options.output;
  batch.resume = options.resume;
  batch.quiet = options.quiet;
  return batch;
}

void check_memory(const std::vector<Job>& jobs, std::int64_t most, const std::string& setting) {
  std::int64_t largest = 0;
  const Job* where = nullptr;
  for (const Job& job : jobs) {
    if (job.repetition > 0 || !witness::find(job.witness).native) continue;
    if (const auto bytes = kernel::find(job.kernel).bytes(job.point); bytes > largest) {
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

std::string unfinished_text(const std::vector<Unfinished>& runs) {
  std::string text;
  for (const auto& run : runs)
    text += fmt::format("stopped: {} {} {}: {:.3g} % simulated\n", run.job.witness, run.job.kernel,
                        result::describe(run.job.point), 100 * run.simulated);
  return text;
}

constexpr std::size_t named_failures = 6; // points of a line

std::string failures_text(const std::vector<result::Failure>& failures) {
  std::string text;
  for (const auto& [kind, group] : base::grouped(failures, [](const result::Failure& one) {
         return std::tuple(one.witness, one.reason.code, one.reason.cause);
       })) {
    std::vector<std::string> points;
    for (const result::Failure* const one : group)
      if (const std::string point = result::describe(one->params); std::ranges::count(points, point) == 0)
        points.push_back(point);
    std::ranges::sort(points);
    const std::size_t shown = std::min(points.size(), named_failures);
    text += fmt::format(
        "{} of {} failed: {} ({}{})\n", base::format_count(group.size(), "run"), group.front()->witness,
        group.front()->reason.text(), fmt::join(std::span(points).first(shown), "; "),
        shown < points.size() ? fmt::format("; and {} more points", points.size() - shown) : "");
  }
  return text;
}

} // namespace recount::sweep
