#include "cli/candidates.hpp"

#include "cli/tables.hpp"
#include "event/list.hpp"
#include "host/machine.hpp"
#include "kernel/kernel.hpp"
#include "lint/rules.hpp"
#include "metric/metric.hpp"
#include "model/machine.hpp"
#include "preset/standard.hpp"
#include "recount/error.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>

namespace recount::cli {
namespace {

using Names = std::vector<Candidate>;

Names operator+(Names one, const Names& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

Names words(std::initializer_list<const char*> list) {
  Names names;
  for (const char* word : list)
    names.push_back({word, ""});
  return names;
}

/// Events of this machine; the unit masks of the one that is followed by a colon.
Names events(const std::string& typed) {
  Names names;
  for (const auto& one : event::list({}, host::pmus())) {
    if (typed.starts_with(one.name + ":"))
      for (const auto& attribute : one.attributes)
        if (!attribute.modifier) names.push_back({one.name + ":" + attribute.name, attribute.prose});
    names.push_back({one.name, one.prose});
  }
  return names;
}

/// With and without PAPI_, as commands take them.
Names presets(const std::string& typed) {
  constexpr std::string_view prefix = "PAPI_";
  const bool full = std::string(prefix).starts_with(typed.substr(0, prefix.size()));
  Names names;
  for (const auto& preset : preset::standard_presets())
    names.push_back(
        {std::string(full ? preset.name : preset.name.substr(prefix.size())), std::string(preset.text)});
  return names;
}

Names metrics(const std::string&) {
  Names names;
  for (const auto& metric : metric::load())
    names.push_back({metric.name, metric.prose});
  return names;
}

Names machines(const std::string&) {
  Names names;
  for (const auto& name : model::machine_names())
    names.push_back({name, ""});
  return names;
}

Names witnesses(const std::string& typed) {
  Names names;
  for (const auto& witness : witness::all())
    names.push_back({witness.name, witness.prose});
  for (const auto& machine : machines(typed))
    names.push_back({"model:" + machine.text, "the model of this machine"});
  return names;
}

Names figure_names(const std::string&) {
  Names names;
  for (const auto& figure : figures())
    names.push_back({figure.entry.name, figure.entry.prose});
  return names;
}

Names kernels(const std::string&) {
  Names names;
  for (const auto* kernel : kernel::all())
    names.push_back({kernel->name(), kernel->prose()});
  return names;
}

Names rules(const std::string&) {
  Names names;
  for (const auto& rule : lint::rules())
    names.push_back({std::string(rule.id), std::string(rule.why)});
  return names;
}

Names pmus(const std::string&) {
  Names names;
  for (const auto& source : event::sources(host::pmus()))
    names.push_back({source.name, source.prose});
  return names;
}

Names processes(const std::string&) {
  Names names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != pid.npos) continue;
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    names.push_back({pid, name});
  }
  return names;
}

Names cpus(const std::string&) {
  Names names;
  for (int cpu = 0; cpu < host::this_machine().cpus; ++cpu)
    names.push_back({std::to_string(cpu), ""});
  return names;
}

using Source = Names (*)(const std::string& typed);

struct OptionValues {
  const char* option;
  Source names;
};

/// An option has one meaning in all commands (tests/cli/conventions.py). Those of one command only, whose
/// value is one of few words, are here with these words.
constexpr OptionValues option_table[] = {
    {"--event", [](const std::string& typed) { return events(typed) + presets(typed) + metrics(typed); }},
    {"--encode", events},
    {"--metric",
     [](const std::string& typed) {
       return presets(typed) + words({"seconds", "tsc_cycles"}) + events(typed);
     }},
    {"--fits", presets},
    {"--witness", witnesses},
    {"--figure", figure_names},
    {"--machine", machines},
    {"--published-machine", machines},
    {"--rule", rules},
    {"--pmu", pmus},
    {"--pid", processes},
    {"--cpu", [](const std::string& typed) { return cpus(typed) + words({"none"}); }},
    {"--cpus", cpus},
    {"--for", [](const std::string&) { return command_names(); }},
    {"--domain",
     [](const std::string&) {
       return words({"user", "kernel", "all"});
     }},
    {"--statistic",
     [](const std::string&) {
       return words({"median", "minimum", "mean"});
     }},
    {"--sample",
     [](const std::string&) {
       return words({"auto", "always", "never"});
     }},
    {"--study",
     [](const std::string&) {
       return words({"lab", "report"});
     }},
    {"--by",
     [](const std::string&) {
       return words({"module", "symbol", "function", "line", "address"});
     }},
    {"--fail-on",
     [](const std::string&) {
       return words({"error", "warning", "note", "none"});
     }},
    {"--papi-version",
     [](const std::string&) {
       return words({"7.0", "7.3"});
     }},
};

/// Positional arguments by command.
constexpr OptionValues argument_table[] = {
    {"events", events},
    {"presets", presets},
    {"check", [](const std::string& typed) { return presets(typed) + events(typed); }},
    {"sweep", kernels},
    {"completion",
     [](const std::string&) {
       return words({"bash", "zsh", "fish"});
     }},
};

Candidates look_up(std::span<const OptionValues> table, const std::string& name,
                   const std::string& placeholder, const std::string& typed) {
  const auto found = std::ranges::find(table, name, &OptionValues::option);
  if (found != table.end()) return {Candidates::Kind::names, found->names(typed)};
  if (placeholder.starts_with("FILE") || placeholder == "TABLE" || placeholder == "OLD")
    return {Candidates::Kind::files, {}};
  if (placeholder.starts_with("DIR") || placeholder == "FOLDER") return {Candidates::Kind::folders, {}};
  return {};
}

} // namespace

Candidates option_values(const std::string& option, const std::string& placeholder,
                         const std::string& typed) {
  return look_up(option_table, option, placeholder, typed);
}

Candidates arguments_of(const std::string& command, const std::string& placeholder,
                        const std::string& typed) {
  return look_up(argument_table, command, placeholder, typed);
}

std::vector<Candidate> kernel_options(const std::string& name) {
  std::vector<Candidate> names;
  for (const auto* kernel : kernel::all())
    if (kernel->name() == name)
      for (const auto& parameter : kernel->parameters())
        names.push_back({"--" + parameter.name, parameter.prose});
  return names;
}

std::vector<Candidate> nest_options(const std::string& file) {
  std::vector<Candidate> names;
  try {
    for (const auto& parameter : kernel::find_configured("nest", {{"file", file}}).parameters())
      names.push_back({"--" + parameter.name, parameter.prose});
  } catch (const Error&) { // no nest: it has no parameters
  }
  return names;
}

Candidates kernel_values(const std::string& name, const std::string& option) {
  for (const auto* kernel : kernel::all())
    for (const auto& parameter : kernel->parameters())
      if (kernel->name() == name && "--" + parameter.name == option) {
        if (parameter.name == "file") return {Candidates::Kind::files, {}};
        Names names;
        for (const auto& choice : parameter.choices)
          names.push_back({choice, ""});
        return {Candidates::Kind::names, names};
      }
  return {};
}

std::vector<Candidate> command_names() {
  std::vector<Candidate> names;
  for (const auto& command : commands())
    if (!command.hidden) names.push_back({command.name, command.prose});
  return names;
}

} // namespace recount::cli
