// A subcommand: a name, its options, and what it does. Only options.cpp knows the parser library.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace recount::cli {

/// Declares options of one subcommand; a thin front of CLI11 that keeps its headers out of the commands.
/// Every bound variable must outlive the parse.
class Options {
public:
  explicit Options(void* app) : app_(app) {}
  Options& flag(const std::string& names, bool& into, const std::string& prose);
  Options& text(const std::string& names, std::string& into, const std::string& value, const std::string& prose);
  Options& number(const std::string& names, long& into, const std::string& value, const std::string& prose);
  Options& list(const std::string& names, std::vector<std::string>& into, const std::string& value,
                const std::string& prose); ///< repeatable
  Options& words(const std::string& name, std::vector<std::string>& into,
                 const std::string& prose); ///< the positional arguments
  Options& rest(std::vector<std::string>& into); ///< all arguments not recognised, in order (kernel parameters)

private:
  void* app_;
};

/// One subcommand. main.cpp only dispatches over commands().
struct Command {
  std::string name;  ///< "events"
  std::string prose; ///< one line, as in `recount --help` and the NAME of its page
  /// Declares the options and returns what runs once they are parsed; its value is the exit status.
  std::function<std::function<int()>(Options&)> declare;
};

/// Each file of a subcommand defines one of these; main.cpp lists them.
Command doctor_command();
Command events_command();
Command sweep_command();
Command plot_command();

} // namespace recount::cli
