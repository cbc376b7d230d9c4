// A subcommand: a name, its options, and what it does. Only command.cpp knows the parser library.
#pragma once

#include "base/host/job.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::command {

/// Declares options of one subcommand; a thin front of CLI11 that keeps its headers out of the commands.
/// Every bound variable must outlive the parse. `names`: "-e,--event", the long one last; `value`: what
/// stands for the value in --help; `prose`: effect and default.
class Options {
public:
  explicit Options(void* app) : app_(app) {}
  Options& flag(const std::string& names, bool& into, const std::string& prose);
  Options& text(const std::string& names, std::string& into, const std::string& value,
                const std::string& prose);
  /// A whole number. run() throws bad_input, which names the range, for one outside it.
  struct Range {
    long least, most;
  };
  Options& number(const std::string& names, long& into, const std::string& value, const std::string& prose,
                  Range range);
  Options& list(const std::string& names, std::vector<std::string>& into, const std::string& value,
                const std::string& prose); ///< repeatable; commas are left alone
  /// --events-file, repeatable: event files for event::use_event_files(), which run() calls.
  Options& event_files();
  /// --libpfm and --papi-source: the libpfm4 that run() chooses.
  Options& libpfm();
  Options& words(const std::string& name, std::vector<std::string>& into,
                 const std::string& prose); ///< the positional arguments
  /// A program and its arguments: everything behind `--`, or from the first word on that is neither an option
  /// nor the value of one. Its own options are left alone.
  Options& program(std::vector<std::string>& into, const std::string& prose);
  /// Every `--name VALUE` and `--name=VALUE` that the command does not know (kernel parameters), in order, as
  /// two elements each: "--name", "VALUE".
  Options& rest(std::vector<std::string>& into);
  /// What `--help TOPIC` and `TOPIC --help` print (`recount sweep --help stride`); an Error it throws is
  /// reported as usual.
  Options& help_topic(std::function<std::string(const std::string& topic)> text);
  /// What `--help` prints after the options.
  Options& footer(std::function<std::string()> text);

private:
  friend int run(const struct Command& command, std::span<const std::string> arguments);
  void* app_;
  std::vector<std::string>* rest_ = nullptr;
  std::vector<std::string>* program_ = nullptr;
  std::shared_ptr<std::vector<std::string>> event_files_ = std::make_shared<std::vector<std::string>>();
  using Texts = std::pair<std::string, std::string>;
  std::shared_ptr<Texts> libpfm_ = std::make_shared<Texts>(); ///< file, source tree
  std::function<std::string(const std::string&)> topic_;
};

/// --interval of commands that count over time, in milliseconds.
inline constexpr Options::Range interval_range{10, 3'600'000};

/// One subcommand. main.cpp only dispatches over commands().
struct Command {
  std::string name;  ///< "events"
  std::string prose; ///< one line, as in `recount --help` and the NAME of its page
  /// Declares the options and returns what runs once they are parsed; its value is the exit status.
  std::function<std::function<int()>(Options&)> declare;
  bool hidden = false; ///< for child processes of recount; not listed in help
  /// Exits with the status of the program that it runs; 125: recount itself failed, 126: the program cannot
  /// be run, 127: it was not found (as env(1) does).
  bool transparent = false;
};

/// A command whose options are declared into an `Arguments`, which its execution gets.
template <class Arguments, class Declare, class Execute>
[[nodiscard]] Command make_command(std::string name, std::string prose, Declare declare, Execute execute) {
  return {std::move(name), std::move(prose), [=](Options& options) -> std::function<int()> {
            const auto arguments = std::make_shared<Arguments>();
            declare(options, *arguments);
            return [=] { return execute(*arguments); };
          }};
}

/// Parses the arguments after the command's name and runs it. Throws recount::Error (bad_input) when they
/// do not parse. Returns the exit status.
int run(const Command& command, std::span<const std::string> arguments);

// What a command accepts, as data: for completions.

struct DeclaredOption {
  std::vector<std::string> names; ///< "-e", "--event": the long one last
  std::string value;              ///< "LIST"; empty: a flag
  std::string prose;
};

struct Declared {
  std::vector<DeclaredOption> options;
  std::string words;    ///< what the positional arguments are: "PRESET"; empty: none
  bool program = false; ///< they are a program and its arguments
};

[[nodiscard]] Declared declared(const Command& command);

// {host}, {task} and others in the names of output files.

/// Replaces {host}, {node} (the host where no launcher names it), {job}, {step}, {task} (also {rank}),
/// {tasks} and {pid}; "{{" is a literal "{". A text without "{" is returned as it is. Throws Error
/// (bad_input), naming `option`, for an unknown placeholder, and for one whose value is not known here.
[[nodiscard]] std::string replace_placeholders(const std::string& option, const std::string& text,
                                               const host::Job& job, const std::string& host);
/// The same with this process's job and host.
[[nodiscard]] std::string replace_placeholders(const std::string& option, const std::string& text);

} // namespace recount::command
