#include "command/measuring.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "host/pmu.hpp"
#include "process/signals.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <random>

namespace recount::command {
namespace {
volatile std::sig_atomic_t stopped_by = 0;
} // namespace

std::uint64_t parse_seed(const std::string& text) {
  if (text.empty()) return std::random_device{}();
  if (const auto seed = base::parse<std::uint64_t>(text)) return *seed;
  throw bad_input("--seed " + text, fmt::format("is not a whole number from 0 to {}", ~std::uint64_t{0}));
}

std::optional<int> parse_cpu(const std::string& text) {
  if (text == "none") return std::nullopt;
  const auto candidates = host::candidates();
  if (text.empty()) {
    const int best = host::best_cpu(candidates);
    return best < 0 ? std::nullopt : std::optional(best);
  }
  std::vector<int> allowed;
  for (const auto& candidate : candidates) {
    allowed.push_back(candidate.cpu);
    if (text == std::to_string(candidate.cpu)) return candidate.cpu;
  }
  throw bad_input("--cpu " + text, "not a CPU that this process may run on",
                  fmt::format("--cpu with one of {}, or none for no pinning", fmt::join(allowed, ", ")));
}

std::vector<std::string> list_words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const auto& list : lists)
    for (const auto word : base::split(list, ','))
      if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end())
        words.emplace_back(word);
  return words;
}

std::vector<Witness> list_witnesses(const std::vector<std::string>& lists) {
  const auto words = list_words(lists);
  return {words.begin(), words.end()};
}

std::string without_text(const std::map<std::string, Reason>& left_out) {
  const auto without_pmu =
      std::ranges::find_if(left_out, [](const auto& one) { return one.second.code == ReasonCode::no_pmu; });
  std::map<std::string, std::vector<std::string>> reasons;
  for (const auto& [what, why] : left_out)
    reasons[brief(without_pmu != left_out.end() && is_preset(why.cause) ? without_pmu->second : why)]
        .push_back(what);
  std::string text;
  for (const auto& [why, what] : reasons)
    text += fmt::format("{}{}: {}", text.empty() ? "without " : "; ", fmt::join(what, ", "), why);
  return text;
}

std::vector<std::string> command_line() {
  const std::string text = base::read_file("/proc/self/cmdline").value_or("");
  std::vector<std::string> words;
  for (const auto word : base::split(text, '\0'))
    words.emplace_back(word);
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = [](int number) { stopped_by = number; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (number != SIGHUP || !process::is_ignored(SIGHUP)) // by nohup(1)
      ::sigaction(number, &action, nullptr);
}

int stop_signal() {
  return stopped_by;
}

verdict::Marks verdict_marks(const std::string& command, bool left_out) {
  if (left_out) return {};
  try {
    return verdict::Marks::of_this_machine();
  } catch (const Error& error) {
    command::note("recount {}: warning: {}: {}; values are not marked with verdicts\n", command,
                  error.problem().subject, error.problem().cause);
    return {};
  }
}

} // namespace recount::command
