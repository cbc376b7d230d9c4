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

bool Attached::attach(pid_t tid, const GroupOptions& options) {
  GroupOptions its = options;
  its.pid = tid;
  std::vector<Group> groups;
  try {
    for (const auto& members : plan_.groups) {
      std::vector<Event> events;
      for (const std::size_t e : members)
        events.push_back(plan_.events[e]);
      groups.emplace_back(std::move(events), its);
    }
  } catch (const Error&) {
    if (gone(tid)) return false; // ended after it was listed
    throw;
  }
  threads_.push_back(std::move(groups));
  return true;
}

Attached::Attached(const Plan& plan, pid_t pid, When when) : plan_(plan) {
  GroupOptions options;
  options.inherit = true;
  options.enable_on_exec = when == When::at_exec;
  const auto take = [&](pid_t tid) {
    if (!attach(tid, options)) return false;
    if (when == When::at_once)
      for (Group& group : threads_.back())
        group.start();
    return true;
  };
  if (process::each_thread(pid, take) == 0)
    throw bad_input("process " + std::to_string(pid), "there is no such process, or it has ended",
                    "ps -e lists the running processes");
}

void Attached::stop() {
  for (auto& groups : threads_)
    for (Group& group : groups)
      group.stop();
}

std::vector<Count> Attached::read() {
  std::vector<Count> sums(plan_.events.size());
  for (auto& groups : threads_)
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto& counts = groups[g].read();
      for (std::size_t i = 0; i < counts.size(); ++i)
        add(sums[plan_.groups[g][i]], counts[i]);
    }
  for (Count& sum : sums)
    if (sum.value) sum.reason.clear(); // a thread that never ran contributes nothing
  return sums;
}

} // namespace recount::stat
