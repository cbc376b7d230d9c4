// recount completion: the scripts of the shells, and what they ask for at each press of the key.
#include "cli/candidates.hpp"
#include "cli/completion_data.hpp" // made from data/completion.* by the build
#include "cli/tables.hpp"
#include "command/declared.hpp"
#include "command/print.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

namespace recount::cli {
namespace {

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
  if (candidates.kind == Candidates::Kind::files) return answer("files");
  if (candidates.kind == Candidates::Kind::folders) return answer("folders");
  answer("names", candidates.names, before, typed);
}

const DeclaredOption* option_of(const Declared& all, const std::string& word) {
  const auto named = [name = word.substr(0, word.find('='))](const DeclaredOption& one) {
    return std::ranges::find(one.names, name) != one.names.end();
  };
  const auto found = std::ranges::find_if(all.options, named);
  return found == all.options.end() ? nullptr : &*found;
}

bool takes_next(const Declared& all, const std::string& word) {
  const auto* const option = option_of(all, word);
  return option && !option->value.empty() && word.find('=') == std::string::npos;
}

/// A value, the last of a list where the option takes one.
void answer_option(const DeclaredOption& option, std::string before, std::string typed) {
  const bool list = option.value.starts_with("LIST") || option.value.ends_with(",...");
  if (const auto comma = typed.find_last_of(",{"); list && comma != std::string::npos) {
    before += typed.substr(0, comma + 1);
    typed.erase(0, comma + 1);
  }
  answer_value(option_values(option.names.back(), option.value, typed), before, typed);
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
    for (auto&& option :
         i > 0 && words[i - 1] == "--file" ? nest_options(words[i]) : kernel_options(words[i]))
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
    return answer_option(*option_of(all, before.back()), "", typed);
  if (const auto* const option = option_of(all, typed); option && typed.find('=') != std::string::npos) {
    const std::size_t value = typed.find('=') + 1;
    return answer_option(*option, typed.substr(0, value), typed.substr(value));
  }
  if (typed.starts_with("-")) return answer_option_names(all, before, typed);
  if (!before.empty() && before.back().starts_with("--"))
    for (const auto& word : before)
      for (const auto& option : kernel_options(word))
        if (option.text == before.back()) return answer_value(kernel_values(word, option.text), "", typed);
  answer_value(arguments_of(command.name, all.words, typed), "", typed);
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
  return {"completion", "print the completion script of a shell",
          [](command::Options& options) -> std::function<int()> {
            const auto names = std::make_shared<std::vector<std::string>>();
            options.words("SHELL", *names, "bash, zsh or fish");
            return [names] { return print_script(*names); };
          }};
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
