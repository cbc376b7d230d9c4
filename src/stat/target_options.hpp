// What is counted: the options of the commands that count programs.
#pragma once

#include "command/command.hpp"
#include "stat/stat_plan.hpp"

#include <sys/types.h>

#include <string>
#include <vector>

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
[[nodiscard]] std::vector<std::string> notes_of(const Plan& plan, const std::string& domain);
/// --interval, in milliseconds.
inline constexpr command::Options::Range interval_range{10, 3'600'000};

} // namespace recount::stat
