#include "base/format.hpp"
#include "base/host/machine.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "commands/cli/commands.hpp"
#include "commands/cli/completion_data.hpp" // made from data/completion.* by the build
#include "count/event/event_list.hpp"
#include "count/lint/rules.hpp"
#include "count/metric/metric.hpp"
#include "count/preset/standard.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"
#include "run/witness/backend.hpp"
#include "show/command/command.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <vector>

// recount completion: what a word of a command line may become, from what this program and machine know.
namespace recount::cli {

namespace {

struct Candidate {
  std::string text, prose;
};
using Names = std::vector<Candidate>;

/// What a word may become.
struct Candidates {
  enum class Kind { names, files, folders };
  Kind kind = Kind::names;
  Names names;
};

Names operator+(Names one, const Names& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/// `text` and `prose` project an element.
template <class Range, class Text, class Prose>
Names make_names(Range&& all, Text text, Prose prose) {
  Names names;
  for (const auto& one : all)
    names.push_back({std::string(std::invoke(text, one)), std::string(std::invoke(prose, one))});
  return names;
}

constexpr auto no_prose = [](const auto&) { return ""; };

template <class Range = std::initializer_list<const char*>>
Names words(Range&& list) {
  return make_names(list, std::identity(), no_prose);
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
  const bool full = preset_prefix.starts_with(typed.substr(0, preset_prefix.size()));
  return make_names(
      preset::standard_presets(),
      [&](const auto& preset) { return full ? preset.name : preset.name.substr(preset_prefix.size()); },
      [](const auto& preset) { return preset.text; });
}

Names metrics() {
  return make_names(metric::load(), &metric::Metric::name, &metric::Metric::prose);
}

Names witnesses() {
  Names names = make_names(
      witness::all(), [](const auto& backend) { return Witness(backend.kind).name(); },
      &witness::Backend::prose);
  for (const auto& machine : model::machine_names())
    names.push_back({"model:" + machine, "simulated caches of " + machine});
  return names;
}

Names processes() {
  Names names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error))
    if (const std::string pid = entry.path().filename(); base::parse<int>(pid))
      names.push_back({pid, base::read_trimmed(entry.path() / "comm").value_or("")});
  return names;
}

Names cpus() {
  return make_names(
      std::views::iota(0, host::this_machine().cpus), [](int cpu) { return std::to_string(cpu); }, no_prose);
}

/// The commands that users see.
Names command_names() {
  Names names;
  for (const auto& command : commands())
    if (!command.hidden) names.push_back({command.name, command.prose});
  return names;
}

using Source = std::function<Names(const std::string& typed)>;
using Table = std::map<std::string, Source>;

/// A fixed list of words.
Source fixed(std::initializer_list<const char*> list) {
  return [names = words(list)](const std::string&) { return names; };
}
/// What does not depend on what was typed.
template <class Function>
Source any(Function function) {
  return [function](const std::string&) { return Names(function()); };
}

/// Values of an option by its long name, after the command where commands differ.
const Table& option_table() {
  static const Source machines = any([] { return words(model::machine_names()); });
  static const Table table{
      {"--event", [](const auto& typed) { return events(typed) + presets(typed) + metrics(); }},
      {"--encode", events},
      {"--metric",
       [](const auto& typed) {
         return presets(typed) + words({"seconds", "tsc_cycles"}) + events(typed);
       }},
      {"--fits", presets},
      {"--witness", any(witnesses)},
      {"--figure", any([] {
         return make_names(
             figures(), [](const auto& f) { return f.entry.name; },
             [](const auto& f) { return f.entry.prose; });
       })},
      {"--machine", machines},
      {"--published-machine", machines},
      {"--rule", any([] { return make_names(lint::rules(), &lint::Rule::id, &lint::Rule::why); })},
      {"--pmu", any([] {
         return make_names(event::sources(host::pmus()), &event::Source::name, &event::Source::prose);
       })},
      {"--pid", any(processes)},
      {"--cpu", any([] { return cpus() + words({"none"}); })},
      {"--cpus", any(cpus)},
      {"--for", any(command_names)},
      {"--domain", fixed({"user", "kernel", "all"})},
      {"--statistic", fixed({"median", "minimum", "mean"})},
      {"--sample", fixed({"auto", "always", "never"})},
      {"--study", fixed({"lab", "report"})},
      {"profile --by", fixed({"module", "symbol", "function", "line", "address", "object", "line+object"})},
      {"compare --by", fixed({"node", "host", "file", "cpu", "kernel", "governor", "flags", "compiler",
                              "recount", "papi", "microcode", "java", "job", "step", "task"})},
      {"--call-graph", fixed({"fp", "dwarf", "lbr"})},
      {"--fail-on", fixed({"error", "warning", "note", "none"})},
      {"--papi-version", fixed({"7.0", "7.3"})},
  };
  return table;
}

/// Positional arguments by command.
const Table& argument_table() {
  static const Table table{
      {"events", events},
      {"presets", presets},
      {"check", [](const auto& typed) { return presets(typed) + events(typed); }},
      {"sweep", any([] {
         return make_names(
             kernel::all(), [](const auto* k) { return k->name(); },
             [](const auto* k) { return k->prose(); });
       })},
      {"completion", fixed({"bash", "zsh", "fish"})},
  };
  return table;
}

/// `typed`: the beginning of the value, or of its last item.
Candidates look_up(const Table& table, const std::string& name, const std::string& placeholder,
                   const std::string& typed) {
  if (const auto found = table.find(name); found != table.end())
    return {Candidates::Kind::names, found->second(typed)};
  if (placeholder.starts_with("FILE") || placeholder == "TABLE" || placeholder == "OLD")
    return {Candidates::Kind::files, {}};
  if (placeholder.starts_with("DIR") || placeholder == "FOLDER") return {Candidates::Kind::folders, {}};
  return {};
}

Names parameter_options(std::span<const kernel::Parameter> parameters) {
  return make_names(
      parameters, [](const auto& p) { return "--" + p.name; }, [](const auto& p) { return p.prose; });
}

/// The parameters of a kernel, which are options of `recount sweep`; none for any other word.
std::span<const kernel::Parameter> kernel_parameters(const std::string& name) {
  for (const auto* kernel : kernel::all())
    if (kernel->name() == name) return kernel->parameters();
  return {};
}

Candidates parameter_values(const kernel::Parameter& parameter) {
  return {Candidates::Kind::names, words(parameter.choices)};
}

// What the scripts of the shells request at each press of the key.

using command::Declared;
using command::DeclaredOption;
using Words = std::span<const std::string>;

/// The first line of the answer: "names", "files", "folders", or "program N", where the word N of the line
/// is that of the program whose own completion counts. Then the names, each with what it is after a tab.
void answer(std::string_view kind, const std::vector<Candidate>& names = {}, std::string_view prefix = {},
            std::string_view typed = {}) {
  std::string text(kind);
  for (const auto& [name, prose] : names)
    if (name.starts_with(typed))
      text += fmt::format("\n{}{}\t{}", prefix, name, prose.substr(0, prose.find('\n')));
  command::print("{}\n", text);
}

/// `before` comes before the value in the same word: "--event=".
void answer_value(const Candidates& candidates, const std::string& before, const std::string& typed) {
  static constexpr std::string_view kinds[] = {"names", "files", "folders"};
  answer(kinds[static_cast<std::size_t>(candidates.kind)], candidates.names, before, typed);
}

const DeclaredOption* find_option(const Declared& all, const std::string& word) {
  const auto named = [name = word.substr(0, word.find('='))](const DeclaredOption& one) {
    return std::ranges::find(one.names, name) != one.names.end();
  };
  const auto found = std::ranges::find_if(all.options, named);
  return found == all.options.end() ? nullptr : &*found;
}

bool takes_next(const Declared& all, const std::string& word) {
  const auto* const option = find_option(all, word);
  return option && !option->value.empty() && word.find('=') == std::string::npos;
}

/// A value, the last of a list where the option takes one.
void answer_option(const std::string& command, const DeclaredOption& option, std::string before,
                   std::string typed) {
  const bool list = option.value.starts_with("LIST") || option.value.ends_with(",...");
  if (const auto comma = typed.find_last_of(",{"); list && comma != std::string::npos) {
    before += typed.substr(0, comma + 1);
    typed.erase(0, comma + 1);
  }
  const std::string &name = option.names.back(), own = command + " " + name;
  answer_value(look_up(option_table(), option_table().contains(own) ? own : name, option.value, typed),
               before, typed);
}

/// Where the first argument is that is neither an option nor the value of one; the number of words if none.
std::size_t first_argument(const Declared& all, Words words) {
  std::size_t at = 0;
  for (; at < words.size(); ++at) {
    if (words[at] == "--") return at + 1;
    if (!words[at].starts_with("-")) break;
    if (takes_next(all, words[at])) ++at;
  }
  return std::min(at, words.size());
}

void answer_option_names(const Declared& all, Words words, const std::string& typed) {
  std::vector<Candidate> names;
  for (const auto& option : all.options)
    names.push_back({option.names.back(), option.prose});
  for (std::size_t i = 0; i < words.size(); ++i)
    for (auto&& option : parameter_options(kernel_parameters(words[i])))
      if (std::ranges::find(names, option.text, &Candidate::text) == names.end()) names.push_back(option);
  answer("names", names, {}, typed);
}

/// `words`: what follows the name of the command, the word to complete last.
void complete_arguments(const command::Command& command, Words words) {
  const Declared all = command::declared(command);
  const std::string& typed = words.back();
  const Words before = words.first(words.size() - 1);
  if (const std::size_t program = first_argument(all, before); all.program) {
    const bool starts = program < before.size() || (!before.empty() && before.back() == "--");
    if (starts || (program == before.size() && !typed.starts_with("-") &&
                   (before.empty() || !takes_next(all, before.back()))))
      return answer(fmt::format("program {}", program + 2));
  }
  if (!before.empty() && takes_next(all, before.back()))
    return answer_option(command.name, *find_option(all, before.back()), "", typed);
  if (const auto* const option = find_option(all, typed); option && typed.find('=') != std::string::npos) {
    const std::size_t value = typed.find('=') + 1;
    return answer_option(command.name, *option, typed.substr(0, value), typed.substr(value));
  }
  if (typed.starts_with("-")) return answer_option_names(all, before, typed);
  if (!before.empty() && before.back().starts_with("--"))
    for (const auto& word : before)
      for (const auto& parameter : kernel_parameters(word))
        if ("--" + parameter.name == before.back())
          return answer_value(parameter_values(parameter), "", typed);
  answer_value(look_up(argument_table(), command.name, all.words, typed), "", typed);
}

/// `words`: what follows "recount", the word to complete last.
void complete(Words words) {
  if (words.empty()) return answer("names");
  if (words.size() == 1 || (words.size() == 2 && words[0] == "help")) {
    auto names = command_names();
    if (words.size() == 1)
      for (const char* more : {"help", "--help", "--version"})
        names.push_back({more, ""});
    return answer("names", names, {}, words.back());
  }
  for (const auto& command : commands())
    if (command.name == words[0]) return complete_arguments(command, words.subspan(1));
  answer("names");
}

struct Shell {
  std::string_view name, script;
};
constexpr Shell shells[] = {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};

int print_script(const std::vector<std::string>& names) {
  if (names.size() != 1)
    throw bad_input("recount completion", "needs the name of one shell", "bash, zsh or fish");
  const auto* const shell = std::ranges::find(shells, std::string_view(names[0]), &Shell::name);
  if (shell == std::end(shells))
    throw bad_input(names[0], "no completion for this shell", "bash, zsh or fish");
  command::print("{}", shell->script);
  return 0;
}

} // namespace

command::Command completion_command() {
  return command::make_command<std::vector<std::string>>(
      "completion", "print the completion script of a shell",
      [](command::Options& options, std::vector<std::string>& names) {
        options.words("SHELL", names, "bash, zsh or fish");
      },
      print_script);
}

command::Command complete_command() {
  return {"complete", "what a word of a command line may become",
          [](command::Options& options) -> std::function<int()> {
            const auto words = std::make_shared<std::vector<std::string>>();
            options.program(*words, "the words, the last one to be completed");
            return [words] {
              complete(*words);
              return 0;
            };
          },
          true};
}

} // namespace recount::cli
