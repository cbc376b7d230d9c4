#include "stat/target_options.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "process/waiter.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sysinfo.h>

#include <algorithm>

namespace recount::stat {

Domain parse_domain(const std::string& name) {
  if (name.empty()) return allowed_domain();
  if (name == "user") return Domain::user;
  if (name == "kernel") return Domain::kernel;
  if (name == "all") return Domain::all;
  throw bad_input("--domain " + name, "is not one of user, kernel, all");
}

std::vector<pid_t> parse_pids(const std::vector<std::string>& lists) {
  std::vector<pid_t> pids;
  for (const std::string& word : command::list_words(lists)) {
    const pid_t pid = base::parse<pid_t>(word).value_or(0);
    if (pid <= 0) throw bad_input("--pid " + word, "invalid PID", "ps -e lists the running processes");
    if (const auto process = process::process_of(pid); process && *process != pid)
      throw bad_input("--pid " + word, fmt::format("is a thread of process {}", *process),
                      fmt::format("--pid {} counts all threads of that process", *process));
    pids.push_back(pid);
  }
  return pids;
}

std::vector<int> parse_cpus(const std::vector<std::string>& lists) {
  const auto online = base::parse_cpu_list(
      base::read_line("/sys/devices/system/cpu/online").value_or("0-" + std::to_string(::get_nprocs() - 1)));
  if (lists.empty()) return online;
  std::vector<int> cpus;
  for (const std::string& list : lists) {
    const auto some = base::parse_cpu_list(list);
    if (some.empty() || list.find_first_not_of("0123456789,-") != std::string::npos)
      throw bad_input("-C " + list, "is not a list of CPUs", "-C 0-3,8");
    for (const int cpu : some) {
      if (std::ranges::count(online, cpu) == 0)
        throw bad_input("-C " + list, fmt::format("CPU {} is not online", cpu),
                        "/sys/devices/system/cpu/online lists those that are");
      if (std::ranges::count(cpus, cpu) == 0) cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string show_cpus(const std::vector<int>& cpus) {
  return fmt::format("{} {}", cpus.size() > 1 ? "CPUs" : "CPU", fmt::join(cpus, " "));
}

std::string show_pids(const std::vector<pid_t>& pids) {
  return fmt::format("{} {}", pids.size() > 1 ? "processes" : "process", fmt::join(pids, " "));
}

std::vector<std::string> notes_of(const Plan& plan, const std::string& domain) {
  auto notes = plan.notes;
  if (domain.empty() && plan.domain == Domain::user)
    notes.emplace_back(
        "counted in user mode only: this user may not count in the kernel (see recount doctor)");
  if (auto note = errata_note(plan, host::this_machine().cpu); !note.empty())
    notes.push_back(std::move(note));
  return notes;
}

} // namespace recount::stat
