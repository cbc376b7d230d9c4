#include "stat/attached.hpp"

#include "process/threads.hpp"

#include <recount/error.hpp>

#include <cerrno>
#include <csignal>

namespace recount::stat {
namespace {

bool gone(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH;
}

} // namespace

void add(Count& sum, const Count& more) {
  if (more.value)
    sum.value = sum.value.value_or(0) + *more.value;
  else if (sum.reason.empty())
    sum.reason = more.reason;
  sum.enabled_ns += more.enabled_ns;
  sum.running_ns += more.running_ns;
}

void Attached::open(std::size_t group, const GroupOptions& options) {
  std::vector<Event> events;
  for (const std::size_t e : plan_.groups[group])
    events.push_back(plan_.events[e]);
  parts_.push_back({group, Group(std::move(events), options)});
}

bool Attached::attach(pid_t tid, const GroupOptions& options, bool start) {
  GroupOptions its = options;
  its.pid = tid;
  const auto first = static_cast<std::ptrdiff_t>(parts_.size());
  try {
    for (std::size_t group = 0; group < plan_.groups.size(); ++group)
      open(group, its);
  } catch (const Error&) {
    parts_.erase(parts_.begin() + first, parts_.end());
    if (gone(tid)) return false; // ended after it was listed
    throw;
  }
  for (auto part = parts_.begin() + first; start && part != parts_.end(); ++part)
    part->counts.start();
  return true;
}

Attached::Attached(const Plan& plan, pid_t pid, When when) : plan_(plan) {
  GroupOptions options;
  options.inherit = true;
  options.enable_on_exec = when == When::at_exec;
  const auto take = [&](pid_t tid) { return attach(tid, options, when == When::at_once); };
  if (process::each_thread(pid, take) == 0)
    throw bad_input("process " + std::to_string(pid), "there is no such process, or it has ended",
                    "ps -e lists the running processes");
}

Attached::Attached(const Plan& plan) : plan_(plan) {
  GroupOptions options;
  options.pid = -1;
  for (std::size_t group = 0; group < plan.groups.size(); ++group)
    for (const int cpu : cpus_of_group(plan, plan.groups[group])) {
      options.cpu = cpu;
      open(group, options);
    }
  for (Part& part : parts_)
    part.counts.start();
}

void Attached::stop() {
  for (Part& part : parts_)
    part.counts.stop();
}

std::vector<Count> Attached::read() {
  std::vector<Count> sums(plan_.events.size());
  for (Part& part : parts_) {
    const auto& counts = part.counts.read();
    for (std::size_t i = 0; i < counts.size(); ++i)
      add(sums[plan_.groups[part.group][i]], counts[i]);
  }
  for (Count& sum : sums)
    if (sum.value) sum.reason.clear(); // a thread that never ran contributes nothing
  return sums;
}

} // namespace recount::stat
