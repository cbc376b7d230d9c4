#include "show/command/command.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "count/event/event_file.hpp"
#include "count/event/pfm.hpp"
#include "count/lint/lint.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/command/removed.hpp"

#include <recount/error.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

// The one file that knows CLI11, which is slow to compile.
namespace recount::command {
namespace {
CLI::App& app(void* pointer) {
  return *static_cast<CLI::App*>(pointer);
}

/// From 2.4 on CLI11 rejects `--n` together with `-n`. It is given a long name of one letter as `--n_`.
constexpr char one_letter_mark = '_';

/// The type of the positional arguments that are a program.
constexpr const char* program_type = "[ARGUMENT...]";

/// The name that CLI11 knows for `word`, an option with or without `=VALUE`.
std::string marked(std::string word) {
  const bool one_letter = word.size() > 2 && word.starts_with("--") && (word.size() == 3 || word[3] == '=');
  if (one_letter) word.insert(3, 1, one_letter_mark);
  return word;
}

/// A name or a message of CLI11, with the names that the user knows.
std::string unmarked(std::string text) {
  const auto in_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  for (auto at = text.find("--"); at != text.npos; at = text.find("--", at + 2))
    if (at + 3 < text.size() && text[at + 3] == one_letter_mark && !in_word(at + 4)) text.erase(at + 3, 1);
  return text;
}

class Formatter : public CLI::Formatter {
public:
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return unmarked(CLI::Formatter::make_option_name(option, positional));
  }
  /// Its prose within the line; below the name where lines are short.
  std::string make_option(const CLI::Option* option, bool positional) const override {
    constexpr std::size_t min_for_columns = 70;
    const std::size_t columns = std::min(line_width(), max_of_prose),
                      indent = columns < min_for_columns ? 6 : get_column_width();
    std::string text = "  " + make_option_name(option, positional) + make_option_opts(option);
    const std::string prose = wrap(make_option_desc(option), columns, indent);
    if (prose.empty()) return text + '\n';
    if (width(text) < indent)
      text.resize(text.size() + indent - width(text), ' ');
    else
      text += '\n' + std::string(indent, ' ');
    return text + prose + '\n';
  }
};

std::string page(const Command& command) {
  return "recount " + command.name + " --help";
}

bool is_help(const std::string& argument) {
  return argument == "--help" || argument == "-h";
}

/// The word that help is requested for: the one after --help, or the first argument.
std::string help_topic(std::span<const std::string> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto help = std::find_if(arguments.begin(), end, is_help);
  if (help == end) return {};
  if (help + 1 != end && !(help + 1)->starts_with("-")) return *(help + 1);
  return arguments.front().starts_with("-") ? std::string() : arguments.front();
}

/// Moves the long options that `parser` does not know, with their values, into `rest`.
std::vector<std::string> take_rest(const CLI::App& parser, std::span<const std::string> arguments,
                                   std::vector<std::string>& rest) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      kept.insert(kept.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (!name.starts_with("--") || parser.get_option_no_throw(marked(name)) != nullptr) {
      kept.push_back(argument);
      continue;
    }
    if (equals == std::string::npos && i + 1 == arguments.size()) throw bad_input(name, "needs a value");
    rest.push_back(name);
    rest.push_back(equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1));
  }
  return kept;
}

/// Moves the program to run, with its arguments, into `program`.
std::vector<std::string> take_program(const CLI::App& parser, std::span<const std::string> arguments,
                                      std::vector<std::string>& program) {
  std::size_t end = 0, from = arguments.size();
  for (; end < arguments.size(); ++end) {
    const std::string& word = arguments[end];
    const bool stops = word == "--";
    if (stops || word.size() < 2 || word.front() != '-') {
      from = end + (stops ? 1U : 0U);
      break;
    }
    const bool is_long = word.starts_with("--");
    const auto* option =
        parser.get_option_no_throw(is_long ? marked(word.substr(0, word.find('='))) : word.substr(0, 2));
    const bool holds_value = is_long ? word.find('=') != std::string::npos : word.size() > 2;
    if (option && option->get_expected_min() > 0 && !holds_value) ++end; // the next word is its value
  }
  program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(std::min(from, arguments.size())),
                 arguments.end());
  return {arguments.begin(),
          arguments.begin() + static_cast<std::ptrdiff_t>(std::min(end, arguments.size()))};
}

std::vector<std::string> long_names(const CLI::App& parser) {
  std::vector<std::string> names;
  for (const auto* option : parser.get_options()) {
    for (const auto& name : option->get_lnames())
      names.push_back(unmarked("--" + name));
  }
  return names;
}

/// An argument that fits nothing, named with what it may have meant.
[[noreturn]] void throw_unexpected(const CLI::App& parser, const Command& command) {
  const std::string argument =
      parser.remaining().empty() ? command.name : unmarked(parser.remaining().front());
  if (const Removed* const removed = find_removed(command.name, argument))
    throw bad_input(argument, std::string(removed->was), std::string(removed->fix));
  const bool option = argument.starts_with("-");
  throw bad_input(argument,
                  option ? "recount " + command.name + " has no such option"
                         : "unexpected argument of recount " + command.name,
                  // A letter is near to every short name.
                  argument.starts_with("--") ? base::did_you_mean(argument, long_names(parser), page(command))
                                             : page(command));
}

/// Options that name files or folders to write: those of several tasks must differ, so they may hold {host},
/// {task} and others.
bool names_output(const std::string& name) {
  static const std::set<std::string> outputs{"--output", "--plot", "--export", "--bundle", "--folded"};
  return outputs.contains(name);
}

/// CLI11 takes any --flag=TEXT.
void check_flags(const CLI::App& parser, const std::vector<std::string>& arguments, const Command& command) {
  for (const auto& argument : arguments) {
    if (argument == "--") return;
    const auto equals = argument.find('=');
    if (!argument.starts_with("--") || equals == std::string::npos) continue;
    const auto* option = parser.get_option_no_throw(marked(argument.substr(0, equals)));
    if (option && option->get_expected_max() == 0)
      throw bad_input(argument, argument.substr(0, equals) + " takes no value", page(command));
  }
}
} // namespace

Options& Options::flag(const std::string& names, bool& into, const std::string& prose) {
  app(app_).add_flag(marked(names), into, prose);
  return *this;
}

Options& Options::text(const std::string& names, std::string& into, const std::string& value,
                       const std::string& prose) {
  const std::string name = names.substr(names.rfind(',') + 1);
  const auto take = [&into, name, value](const std::string& text) {
    if (text.empty()) throw bad_input(name, "is empty", "give " + value + ", or leave it out");
    into = names_output(name) ? replace_placeholders(name, text) : text;
  };
  app(app_).add_option_function<std::string>(marked(names), take, prose)->type_name(value);
  return *this;
}

Options& Options::number(const std::string& names, long& into, const std::string& value,
                         const std::string& prose, Range range) {
  const std::string name = names.substr(names.rfind(',') + 1);
  // Not by CLI11, which takes 010 for 8 and 2^64 for 2^63-1.
  const auto take = [&into, name, range](const std::string& text) {
    const auto number = base::parse<long>(text);
    if (!number && (text.empty() || text.find_first_not_of("-0123456789") != text.npos))
      throw bad_input(name + " " + text, "is not a whole number");
    if (!number || *number < range.least || *number > range.most)
      throw bad_input(name + " " + text, fmt::format("must be between {} and {}", range.least, range.most));
    into = *number;
  };
  app(app_).add_option_function<std::string>(marked(names), take, prose)->type_name(value);
  return *this;
}

Options& Options::list(const std::string& names, std::vector<std::string>& into, const std::string& value,
                       const std::string& prose) {
  app(app_).add_option(marked(names), into, prose)->type_name(value)->allow_extra_args(false)->take_all();
  return *this;
}

Options& Options::event_files() {
  return list("--events-file", *event_files_, "FILE", "also know the events of FILE, see recount-events(1)");
}

Options& Options::libpfm() {
  text("--libpfm", libpfm_->first, "FILE",
       "look up event names in this shared libpfm4 (default: the installed one)");
  return text(
      "--papi-source", libpfm_->second, "DIR",
      "look up event names in the libpfm4 of this source tree of PAPI, which is built for all architectures "
      "and cached; the default table is then DIR/src/papi_events.csv");
}

Options& Options::words(const std::string& name, std::vector<std::string>& into, const std::string& prose) {
  app(app_).add_option(name, into, prose)->type_name("");
  return *this;
}

Options& Options::program(std::vector<std::string>& into, const std::string& prose) {
  app(app_).add_option("COMMAND", into, prose)->type_name(program_type);
  program_ = &into;
  return *this;
}

Options& Options::rest(std::vector<std::string>& into) {
  rest_ = &into;
  return *this;
}

Options& Options::footer(std::function<std::string()> text) {
  app(app_).footer(std::move(text));
  return *this;
}

Options& Options::help_topic(std::function<std::string(const std::string&)> text) {
  topic_ = std::move(text);
  return *this;
}

namespace {
constexpr const char *help_names = "-h,--help", *help_prose = "print this and exit";
}

Declared declared(const Command& command) {
  CLI::App parser(command.prose, command.name);
  parser.set_help_flag(help_names, help_prose);
  Options options(&parser);
  static_cast<void>(command.declare(options));
  Declared all;
  for (const auto* option : parser.get_options()) {
    if (!option->nonpositional()) {
      all.words = option->get_name(true);
      all.program = option->get_type_name() == program_type;
      continue;
    }
    DeclaredOption one{
        {}, option->get_expected_max() == 0 ? "" : option->get_type_name(), option->get_description()};
    for (const auto& name : option->get_snames())
      one.names.push_back("-" + name);
    for (const auto& name : option->get_lnames())
      one.names.push_back(unmarked("--" + name));
    all.options.push_back(std::move(one));
  }
  return all;
}

int run(const Command& command, std::span<const std::string> arguments) {
  CLI::App parser(command.prose, "recount " + command.name);
  parser.formatter(std::make_shared<Formatter>());
  parser.get_formatter()->column_width(34);
  parser.set_help_flag(help_names, help_prose);
  Options options(&parser);
  const auto action = command.declare(options);
  if (options.topic_ && !arguments.empty()) {
    if (const auto topic = help_topic(arguments); !topic.empty()) {
      command::print("{}", fit_lines(options.topic_(topic), line_width()));
      return 0;
    }
  }
  std::vector<std::string> kept(arguments.begin(), arguments.end()), program;
  if (options.program_) kept = take_program(parser, arguments, program);
  const bool help = std::any_of(kept.begin(), std::find(kept.begin(), kept.end(), "--"), is_help);
  if (options.rest_ && !help) kept = take_rest(parser, arguments, *options.rest_);
  check_flags(parser, kept, command);
  std::transform(kept.begin(), std::find(kept.begin(), kept.end(), "--"), kept.begin(), marked);
  std::reverse(kept.begin(), kept.end()); // as CLI11 wants them
  try {
    parser.parse(kept);
  } catch (const CLI::CallForHelp&) {
    command::print("{}", fit_lines(parser.help(), line_width()));
    return 0;
  } catch (const CLI::ExtrasError&) {
    throw_unexpected(parser, command);
  } catch (const CLI::ParseError& e) {
    throw bad_input("recount " + command.name, unmarked(e.what()), page(command));
  }
  event::use_event_files(*options.event_files_);
  const auto& [library, source] = *options.libpfm_;
  if (!library.empty() && !source.empty())
    throw bad_input("--libpfm, --papi-source", "cannot be combined", "choose one");
  if (!library.empty()) event::pfm::use_library(library);
  if (!source.empty()) lint::use_papi_source(source);
  if (options.program_) *options.program_ = std::move(program);
  return action();
}

namespace {

std::string placeholder_value(const std::string& option, const std::string& text, const std::string& name,
                              const host::Job& job, const std::string& host) {
  const std::string task = job.task ? std::to_string(*job.task) : "";
  const std::map<std::string, std::string> known{
      {"host", host},
      {"node", job.node.empty() ? host : job.node},
      {"job", job.id},
      {"step", job.step},
      {"task", task},
      {"rank", task},
      {"tasks", job.tasks > 0 ? std::to_string(job.tasks) : std::string()},
      {"pid", std::to_string(::getpid())},
  };
  const auto found = known.find(name);
  if (found == known.end())
    throw bad_input(option + " " + text, "unknown placeholder {" + name + "}",
                    "use {host}, {node}, {job}, {step}, {task}, {rank}, {tasks} or {pid}; {{ is a literal {");
  if (found->second.empty())
    throw bad_input(option + " " + text, "no launcher states the value of {" + name + "}",
                    "run it under srun, sbatch, mpirun or parallel, or use {host} or {pid}");
  return found->second;
}

} // namespace

std::string replace_placeholders(const std::string& option, const std::string& text, const host::Job& job,
                                 const std::string& host) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      out += text[at++];
    } else if (text.substr(at, 2) == "{{") {
      out += '{';
      at += 2;
    } else {
      const std::size_t end = text.find('}', at);
      if (end == text.npos) throw bad_input(option + " " + text, "a { without }", "{{ is a literal {");
      out += placeholder_value(option, text, text.substr(at + 1, end - at - 1), job, host);
      at = end + 1;
    }
  }
  return out;
}

std::string replace_placeholders(const std::string& option, const std::string& text) {
  if (text.find('{') == text.npos) return text;
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::string host = name;
  std::ranges::replace(host, '/', '_');
  return replace_placeholders(option, text, host::this_job(), host);
}

} // namespace recount::command
