// What the commands that count programs share: options, and results of the kernel "command".
#pragma once

#include "command/command.hpp"
#include "result/observation.hpp"
#include "stat/stat_run.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace recount::result {
class Writer;
}

namespace recount::stat {

/// --domain; the allowed domain if empty. Throws Error (bad_input).
[[nodiscard]] Domain parse_domain(const std::string& name);
/// --pid: process IDs, separated by commas. Throws Error (bad_input).
[[nodiscard]] std::vector<pid_t> parse_pids(const std::vector<std::string>& lists);
/// -C: CPUs that are online, each once; all of these for an empty list. Throws Error (bad_input).
[[nodiscard]] std::vector<int> parse_cpus(const std::vector<std::string>& lists);
/// "CPU 0", "CPUs 0 1".
[[nodiscard]] std::string show_cpus(const std::vector<int>& cpus);
/// "process 1", "processes 1 2".
[[nodiscard]] std::string show_pids(const std::vector<pid_t>& pids);

/// Notes about a plan; `domain` is the argument of --domain.
[[nodiscard]] std::vector<std::string> notes_of(const stat::Plan& plan, const std::string& domain);
/// --interval, in milliseconds.
inline constexpr command::Options::Range interval_range{10, 3'600'000};

/// Writes recount-results(5); does nothing without a file. Throws as result::Writer does.
class CommandResults {
public:
  /// `plan`: the requested settings besides the subject (the command line or the processes).
  /// `verdicts`: row_marks() of what is counted.
  CommandResults(const std::string& path, std::string subject, std::map<std::string, std::string> plan,
                 std::map<std::string, std::string> verdicts);
  ~CommandResults();
  void write(const stat::Slice& slice);
  /// Run, kernel and params are filled in.
  void write(result::Section section);

private:
  void write(result::Observation observation, const stat::Slice& slice);
  std::string subject_, run_;
  std::unique_ptr<result::Writer> writer_;
};

} // namespace recount::stat
