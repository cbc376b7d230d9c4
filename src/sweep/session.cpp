#include "sweep/session.hpp"
#include "base/names.hpp"
#include "result/completeness.hpp"
#include "result/results_file.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <recount/error.hpp>

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
                 fmt::format("needs {} bytes of memory, more than the {} available", largest, most), setting,
                 "leave out large sizes, or use --witness model, which needs no memory"});
}

} // namespace recount::sweep
