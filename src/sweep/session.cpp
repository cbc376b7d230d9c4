#include "sweep/session.hpp"

#include "base/json.hpp"
#include "base/names.hpp"
#include "result/completeness.hpp"
#include "result/observation.hpp"
#include "result/results_file.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/serve.hpp"
#include "sweep/sweep_plan.hpp"
#include "witness/results_header.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

namespace recount::sweep {
namespace {

/// Whether the results say anything about this machine: all but a described machine's model do.
bool of_this_machine(const std::vector<Job>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [](const Job& job) { return !described_machine(job.witness); });
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
    if (witness.passes != 1 || witness.names(job.witness) != std::vector{job.witness}) return;
    ++planned[result::planned_name(job.witness, job.kernel, job.point)];
  }
  if (planned.size() > result::most_planned_names) return;
  header.runs_planned = static_cast<std::int64_t>(jobs.size());
  header.planned = std::move(planned);
}

} // namespace

Ended conduct(const Session& session, const Listener& listener) {
  return conduct(
      Batch{schedule(session.plan, session.grid), session.how, session.header, session.file, session.resume},
      listener);
}

Ended conduct(const Batch& batch, const Listener& listener) {
  Ended ended;
  const auto& jobs = batch.jobs;
  const auto writer = open(batch, ended.results);
  const auto left = remaining(jobs, ended.results);
  ended.planned = jobs.size();
  ended.there = jobs.size() - left.size();
  if (left.empty()) return ended;

  result::Run header = batch.header;
  state_plan(header, jobs);
  if (!ended.results.runs.empty()) header.resumes = ended.results.runs.front().id;
  if (writer) writer->write(header);
  ended.results.runs.push_back(header);
  Execution how = batch.how;
  how.run = header.id;
  Listener ours = listener;
  ours.observation = [&](const result::Observation& observation) {
    if (writer) writer->write(observation);
    ended.results.observations.push_back(observation);
    if (listener.observation) listener.observation(observation);
  };
  ours.failure = [&](const result::Failure& failure) {
    if (writer) writer->write(failure);
    ended.results.failures.push_back(failure);
    if (listener.failure) listener.failure(failure);
  };
  ended.outcome = execute(left, how, ours);
  return ended;
}

void check_memory(const Session& session, std::int64_t most, const std::string& setting) {
  const auto& witnesses = session.plan.witnesses;
  if (std::none_of(witnesses.begin(), witnesses.end(),
                   [](const std::string& name) { return witness::find(name).native; }))
    return;
  std::int64_t largest = 0;
  const result::Params* where = nullptr;
  for (const auto& point : session.grid.points)
    if (const std::int64_t bytes = session.kernel.bytes(point); bytes > largest) {
      largest = bytes;
      where = &point;
    }
  if (where && largest > most)
    throw Error(ErrorKind::bad_input,
                {session.plan.kernel + " " + result::describe(*where),
                 Reason(fmt::format("needs {} bytes of memory, more than the {} available", largest, most),
                        setting, "leave out large sizes, or use --witness model, which needs no memory")});
}

namespace {

std::string text(const Axis& axis) {
  std::string all;
  for (const auto& value : axis.values) {
    if (!all.empty()) all += ',';
    all += result::text(value);
  }
  return all;
}

/// Long lists are shortened in the middle.
std::string brief(const std::string& text) {
  return text.size() <= 60 ? text : text.substr(0, 28) + "..." + text.substr(text.size() - 28);
}

} // namespace

std::map<std::string, std::string> settings(const Plan& plan) {
  std::map<std::string, std::string> all;
  all["kernel"] = plan.kernel;
  for (const auto& axis : plan.axes)
    all["--" + axis.name] = text(axis);
  for (std::size_t i = 0; i < plan.conditions.size(); ++i)
    all[i == 0 ? "where" : fmt::format("where {}", i + 1)] = plan.conditions[i].text;
  all["witness"] = fmt::format("{}", fmt::join(plan.witnesses, ","));
  if (!plan.metrics.empty()) all["metric"] = fmt::format("{}", fmt::join(plan.metrics, ","));
  all["repeat"] = std::to_string(plan.repeat);
  add_modes(all, plan.modes);
  return all;
}

std::string difference(const std::map<std::string, std::string>& theirs,
                       const std::map<std::string, std::string>& ours) {
  for (const auto& [name, value] : theirs) {
    if (name == shard_setting) continue; // parts of one plan share a file
    const auto mine = ours.find(name);
    if (mine == ours.end())
      return fmt::format("{} was {} in the file and is not given now", name, brief(value));
    if (mine->second != value)
      return fmt::format("{} was {} in the file and is {} now", name, brief(value), brief(mine->second));
  }
  for (const auto& [name, value] : ours)
    if (!theirs.contains(name) && name != shard_setting)
      return fmt::format("{} is {} now and was not given in the file", name, brief(value));
  return {};
}

std::string to_request(const witness::Task& task) {
  const Json object{{"run", task.run},
                    {"kernel", task.kernel},
                    {"params", result::params_json(task.point)},
                    {"repetition", task.repetition},
                    {"witness", task.witness},
                    {"metrics", task.metrics}};
  return dumped(object);
}

witness::Task parse_request(std::string_view text) {
  try {
    const Json object = Json::parse(text);
    witness::Task task;
    task.run = object.at("run").get<std::string>();
    task.kernel = object.at("kernel").get<std::string>();
    task.point = result::parse_params(object.at("params").get<std::string>(), "the request's params");
    task.repetition = object.at("repetition").get<int>();
    task.witness = object.at("witness").get<std::string>();
    task.metrics = object.at("metrics").get<std::vector<std::string>>();
    return task;
  } catch (const Json::exception&) {
    throw bad_input("run-point", "no request of recount sweep on stdin",
                    "run recount sweep, which starts this command itself");
  }
}

result::Run header(const Plan& plan, std::vector<std::string> command, const std::string& version,
                   std::optional<int> cpu) {
  result::Run run = witness::machine_header(std::move(command), version, cpu);
  run.seed = plan.seed;
  run.plan = settings(plan);
  return run;
}

} // namespace recount::sweep
