#include "sweep/session.hpp"
#include "result/write.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <recount/error.hpp>

namespace recount::sweep {
namespace {

/// Whether the results say anything about this machine: all but a described machine's model do.
bool of_this_machine(const Plan& plan) {
  return std::any_of(plan.witnesses.begin(), plan.witnesses.end(),
                     [](const std::string& name) { return !name.starts_with("model:"); });
}

void check_same(const Session& session, const result::Results& there) {
  for (const auto& run : there.runs) {
    const std::string other = difference(run.plan, session.header.plan);
    if (!other.empty())
      throw bad_input(session.file, "holds another sweep: " + other,
                      "give the options that the file was begun with, or choose another -o FILE");
    if (run.cpu != session.header.cpu && of_this_machine(session.plan))
      throw bad_input(
          session.file,
          fmt::format("was begun on another CPU: \"{}\", this is \"{}\"", run.cpu, session.header.cpu),
          "choose another -o FILE; files of several machines merge with cat");
  }
}

/// Opens the file and takes in what it holds.
std::unique_ptr<result::Writer> open(const Session& session, result::Results& there) {
  using Mode = result::Writer::Mode;
  if (session.file.empty()) return nullptr;
  if (session.file == "-" || !session.resume || result::holds_nothing(session.file))
    return std::make_unique<result::Writer>(session.file, Mode::create);
  check_same(session, result::read(session.file)); // before a torn line is cut: another's file stays as it is
  auto writer = std::make_unique<result::Writer>(session.file, Mode::append);
  there = result::read(session.file);
  return writer;
}

} // namespace

Ended conduct(const Session& session, const Listener& listener) {
  Ended ended;
  const auto jobs = schedule(session.plan, session.grid);
  const auto writer = open(session, ended.results);
  const auto left = remaining(jobs, ended.results);
  ended.planned = jobs.size();
  ended.there = jobs.size() - left.size();
  if (left.empty()) return ended;

  result::Run header = session.header;
  if (!ended.results.runs.empty()) header.resumes = ended.results.runs.front().id;
  if (writer) writer->write(header);
  ended.results.runs.push_back(header);
  Execution how = session.how;
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
  ended.outcome = execute(session.plan.kernel, left, how, ours);
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
                 fmt::format("needs {} bytes of memory, more than the {} there are to use", largest, most),
                 setting,
                 "leave out the large sizes, or observe with --witness model, which needs no memory"});
}

} // namespace recount::sweep
