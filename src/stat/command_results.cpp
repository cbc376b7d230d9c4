#include "stat/command_results.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "command/measuring.hpp"
#include "process/waiter.hpp"
#include "result/results_file.hpp"
#include "witness/results_header.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <recount/error.hpp>
#include <sys/sysinfo.h>

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

CommandResults::CommandResults(const std::string& path, std::string subject,
                               std::map<std::string, std::string> plan,
                               std::map<std::string, std::string> verdicts)
    : subject_(std::move(subject)) {
  if (path.empty()) return;
  result::Run header = witness::machine_header(command::command_line(), RECOUNT_VERSION);
  header.plan = std::move(plan);
  header.verdicts = std::move(verdicts);
  header.plan["kernel"] = "command";
  run_ = header.id;
  writer_ = std::make_unique<result::Writer>(path, result::Writer::Mode::create);
  writer_->write(header);
}

CommandResults::~CommandResults() = default;

void CommandResults::write(const Slice& slice) {
  if (!writer_) return;
  result::Observation time;
  time.witness = Witness::clock;
  time.metric = "seconds";
  time.value = slice.end - slice.begin;
  write(time, slice);
  for (const result::Observation& o : slice.rows)
    write(o, slice);
}

void CommandResults::write(result::Observation o, const Slice& slice) {
  o.run = run_;
  o.kernel = "command";
  o.params["command"] = subject_;
  if (slice.interval) {
    o.params["interval"] = std::int64_t{*slice.interval};
    o.params["begin_us"] = static_cast<std::int64_t>(slice.begin * 1e6);
  }
  o.repetition = slice.repetition;
  o.seconds = slice.end - slice.begin;
  writer_->write(o);
}

void CommandResults::write(result::Section section) {
  if (!writer_) return;
  section.run = run_;
  section.kernel = "command";
  section.params["command"] = subject_;
  writer_->write(section);
}

} // namespace recount::stat
