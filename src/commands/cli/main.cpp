// recount: finds the command, runs it, turns errors into a message and an exit status.
#include "base/host/machine.hpp"
#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "commands/cli/commands.hpp"
#include "count/event/pfm.hpp"
#include "count/symbol/disassembly.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>
#include <recount/papi.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <zlib.h>

namespace recount::cli {
/// The commit that the program was built from, "-dirty" if files were changed; "none": not from a clone.
extern const char* const commit;
} // namespace recount::cli

namespace {
using namespace recount;

std::string usage() {
  const std::size_t columns = std::min(command::line_width(), command::max_of_prose);
  const auto paragraph = [columns](const std::string& text) {
    return command::wrap(text, columns, 0) + "\n";
  };
  std::string text =
      "usage: recount COMMAND [options]\n" +
      paragraph("Counts events by perf_event and by PAPI, compares both with a model; commands:");
  for (const auto& command : cli::commands()) // a screen of 24 lines at 80 columns
    if (!command.hidden)
      text += fmt::format("  {:<11} {}\n", command.name, command::wrap(command.prose, columns, 14));
  return text + paragraph("Options: `recount COMMAND --help`. Manual: recount(1). Begin: `recount doctor`.");
}

/// One line with the version of recount and its commit, then one line for each library that every command
/// loads; `all`: also for those that are loaded when they are first used.
std::string version_text(bool all) {
  const std::string built_from = cli::commit;
  symbol::Versions versions{{"libpfm4", event::pfm::library_version()}, {"zlib", zlibVersion()}};
  if (all) {
    versions.emplace_back("PAPI", papi::version());
    versions.emplace_back("hwloc", "API " + host::hwloc_version());
    for (auto&& version : symbol::library_versions())
      versions.push_back(version);
  }
  std::string text = "recount " RECOUNT_VERSION;
  if (built_from != "none") text += " (commit " + built_from + ")";
  for (const auto& [library, version] : versions)
    text += fmt::format("\n{:<10}{}", library, version);
  return text + "\n";
}

/// Whether the exit status of the command is that of a program that it runs.
bool transparent = false;

int dispatch(std::vector<std::string> words) {
  if (words.size() >= 2 && words[0] == "help") words = {words[1], "--help"};
  if (words.empty()) {
    command::note("{}", usage());
    return 2;
  }
  const std::string& name = words[0];
  if (name == "--help" || name == "-h" || name == "help") {
    command::print("{}", usage());
    return 0;
  }
  if (name == "--version") {
    const bool all = words.size() > 1 && (words[1] == "-v" || words[1] == "--verbose");
    command::print("{}", command::fit_lines(version_text(all), command::line_width()));
    return 0;
  }
  std::vector<std::string> names;
  for (const auto& command : cli::commands()) {
    if (command.name == name) {
      transparent = command.transparent;
      return command::run(command, std::span(words).subspan(1));
    }
    if (!command.hidden) names.push_back(command.name);
  }
  constexpr std::pair<std::string_view, const char*> of_perf[] = {
      {"annotate", "recount profile --annotate FUNCTION -- COMMAND"},
      {"bench", "recount cost"},
      {"diff", "recount compare BEFORE AFTER"},
      {"list", "recount events"},
      {"mem", "recount profile -w model:NAME --by object -- COMMAND"},
      {"probe", "recount profile --function NAME -- COMMAND"},
      {"record", "recount profile -- COMMAND"},
      {"script", "recount profile --folded FILE -- COMMAND"},
      {"test", "recount doctor"},
      {"top", "recount watch"}};
  if (const auto* known = std::ranges::find(of_perf, name, &std::pair<std::string_view, const char*>::first);
      known != std::end(of_perf))
    throw bad_input(name, "no such command; it is one of perf(1)", known->second);
  throw bad_input(name, name.starts_with("-") ? "no such option" : "no such command",
                  base::did_you_mean(name, names, "recount --help"));
}

/// A descriptor 0, 1 or 2 that came closed would be given to the first file opened, and then written to.
void occupy_standard_descriptors() {
  int fd = 0;
  while ((fd = ::open("/dev/null", O_RDONLY)) >= 0 && fd <= 2) {
  }
  if (fd > 2) ::close(fd);
}

int exit_status(const Error& error) {
  if (const auto* cannot = dynamic_cast<const process::CannotRun*>(&error); cannot && transparent)
    return cannot->status();
  if (transparent) return 125;
  return error.kind() == ErrorKind::bad_input ? 2 : 3;
}

/// Unlike command::note() this does not throw when stderr cannot be written: the exit status still reports
/// the error.
void complain(const std::string& text) {
  try {
    command::note("{}", text);
  } catch (const std::system_error&) {
  }
}

int failure_of_output(const std::error_code& code) {
  if (code.value() == EPIPE) { // the reader has gone: end as any filter does
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  complain(fmt::format("recount: standard output: {}\n", code.message()));
  return transparent ? 125 : 3;
}
} // namespace

int main(int argc, char** argv) {
  process::record_inherited();
  occupy_standard_descriptors();
  event::pfm::allow_restart(); // recount calls PAPI from one thread
  try {
    const int status = dispatch({argv + 1, argv + argc});
    const int error = command::failed_output();
    return error == 0 ? status : failure_of_output({error, std::generic_category()});
  } catch (const Error& e) {
    command::flush(stdout);
    complain(command::error_text(e));
    return exit_status(e);
  } catch (const std::bad_alloc&) {
    complain("recount: not enough memory\n");
  } catch (const std::system_error& e) {
    // fmt reports a failed write to stdout this way.
    if (std::ferror(stdout) != 0) return failure_of_output(e.code());
    complain(fmt::format("recount: {}\n", e.what()));
  } catch (const std::exception& e) {
    complain(fmt::format("recount: {}\n", e.what()));
  }
  return transparent ? 125 : 3;
}
