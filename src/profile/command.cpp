// recount profile: where in a program events occur.
#include "command/command.hpp"
#include "stat/command_results.hpp"
#include "command/output.hpp"
#include "profile/function_table.hpp"
#include "profile/report.hpp"
#include "profile/results.hpp"
#include "sweep/options.hpp"
#include "command/table_export.hpp"
#include "profile/folded.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <recount/error.hpp>

namespace recount::cli {
namespace {

struct ProfileOptions {
  std::vector<std::string> events, by, annotate, functions, pids, command;
  std::string folded, debug_path, output, plot, export_to;
  long cpu = -1, top = 15, frames = 0;
  bool chains = false, json = false, calls = false;
};

/// Opened before anything runs, so that nothing is measured in vain.
class FoldedFile {
public:
  explicit FoldedFile(const std::string& path) : path_(path) {
    if (path.empty()) return;
    file_ = std::fopen(path.c_str(), "we");
    if (!file_)
      throw bad_input("--folded " + path, std::string("cannot be written: ") + std::strerror(errno));
  }
  FoldedFile(const FoldedFile&) = delete;
  FoldedFile& operator=(const FoldedFile&) = delete;
  ~FoldedFile() {
    if (file_) std::fclose(file_);
  }
  void write(const Profile& p) {
    if (!file_) return;
    const std::string text = profile::folded(p.recording.places, p.naming, 0);
    const bool whole =
        std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0;
    if (!whole) throw unavailable(path_, std::string("cannot be written: ") + std::strerror(errno));
  }

private:
  std::string path_;
  std::FILE* file_ = nullptr;
};

void check(const ProfileOptions& o) {
  if (o.command.empty() && o.pids.empty())
    throw bad_input("recount profile", "there is nothing to profile",
                    "recount profile -- COMMAND, or recount profile -p PID");
  if (o.top < 1 || o.top > 1'000'000)
    throw bad_input(fmt::format("--top {}", o.top), "is not from 1 to 1000000");
  if (o.frames < 0 || o.frames > 1024)
    throw bad_input(fmt::format("--frames {}", o.frames), "is not from 0 to 1024");
  if (o.json && o.output == "-")
    throw bad_input("standard output", "is wanted by both --json and -o -", "give one of them a file");
  if (o.cpu < -1 || o.cpu > 65535 || (o.cpu >= 0 && o.command.empty()))
    throw bad_input(fmt::format("--cpu {}", o.cpu),
                    o.command.empty() ? "there is no command to run on it" : "is no CPU");
}

profile::Who who_of(const ProfileOptions& o) {
  profile::Who who;
  who.command = o.command;
  who.pids = parse_pids(o.pids);
  if (o.cpu >= 0) who.cpu = static_cast<int>(o.cpu);
  return who;
}

std::string subject_of(const ProfileOptions& o) {
  return o.pids.empty() ? quoted(o.command) : show_pids(parse_pids(o.pids));
}

/// The standard output is the command's, where there is one.
std::FILE* stream_of(const ProfileOptions& o) {
  return o.command.empty() ? stdout : stderr;
}

profile::RecordSettings settings_of(const ProfileOptions& o) {
  profile::RecordSettings settings;
  settings.events = profile::parse_asked(o.events.empty() ? std::vector<std::string>{"cpu-clock"} : o.events);
  settings.who = who_of(o);
  settings.chains = o.chains || o.frames > 0 || !o.folded.empty();
  settings.frames = static_cast<unsigned>(o.frames);
  return settings;
}

std::vector<profile::By> ways_of(const ProfileOptions& o) {
  std::vector<profile::By> ways;
  for (const std::string& word : list_words(o.by))
    ways.push_back(profile::parse_by(word));
  if (ways.empty()) ways = {profile::By::module, profile::By::function, profile::By::line};
  return ways;
}

void print(const Profile& p, const ProfileOptions& o, const std::vector<profile::By>& ways) {
  if (o.json) {
    fmt::print("{}", profile_json(p, ways));
    return;
  }
  std::FILE* const stream = stream_of(o);
  fmt::print(stream, "{}", profile_summary(p));
  const auto none = [](const SampledCount& count) { return count.samples == 0; };
  if (std::ranges::all_of(p.recording.report.events, none)) {
    fmt::print(stream, "no samples: nothing occurred, or not often enough for a single one\n");
    return;
  }
  for (const auto by : ways)
    fmt::print(stream, "\n{}", profile_text(p, by, static_cast<std::size_t>(o.top), stream));
  if (o.chains || o.frames > 0) fmt::print(stream, "\n{}", chains_table(p, static_cast<std::size_t>(o.top)));
  for (const auto& function : o.annotate)
    fmt::print(stream, "\n{}", annotated_text(p, function));
  std::fflush(stream);
}

/// Call by call, where functions are named.
int execute_functions(const ProfileOptions& o) {
  if (!o.output.empty() || !o.plot.empty() || !o.folded.empty())
    throw bad_input("--function", "counts calls, and --output, --plot and --folded show samples",
                    "take --json for a script");
  profile::FunctionSettings settings;
  settings.names = list_words(o.functions);
  for (const auto& asked : profile::parse_asked(
           o.events.empty() ? std::vector<std::string>{"page-faults,task-clock"} : o.events)) {
    if (asked.period != 0 || asked.frequency != 0)
      throw bad_input("-e " + asked.name, "needs no period: with --function it is read at each call",
                      "leave it out");
    settings.counters.push_back(asked.name);
  }
  settings.who = who_of(o);
  settings.returns = !o.calls;
  settings.debug_path = o.debug_path;
  const TableExport file(o.export_to);
  const auto recording = profile::record_functions(settings);
  if (o.json)
    fmt::print("{}", functions_json(recording, subject_of(o)));
  else
    fmt::print(stream_of(o), "{}", functions_text(recording, subject_of(o)));
  file.write("functions of " + subject_of(o), function_tables(recording));
  return recording.status;
}

int execute_profile(const ProfileOptions& o) {
  check(o);
  if (!o.functions.empty()) return execute_functions(o);
  const auto ways = ways_of(o);
  const auto settings = settings_of(o);
  FoldedFile file(o.folded);
  const TableExport exported(o.export_to);
  ProfileResults results(o.output, o.plot);
  Profile p{profile::record(settings), {}, subject_of(o)};
  const bool instructions = std::ranges::find(ways, profile::By::address) != ways.end();
  p.naming = profile::name_places(p.recording.places, p.recording.files, {o.debug_path, instructions});
  file.write(p);
  results.finish(p);
  print(p, o, ways);
  std::vector<Table> tables;
  for (const auto by : ways)
    tables.push_back(profile_table(p, by, static_cast<std::size_t>(o.top)));
  exported.write("profile of " + p.subject, tables);
  return p.recording.status;
}

} // namespace

Command profile_command() {
  Command command{"profile", "show where in a program events occur: functions, lines, instructions", {}};
  command.transparent = true;
  command.declare = [](Options& options) -> std::function<int()> {
    auto o = std::make_shared<ProfileOptions>();
    options
        .list("-e,--event", o->events, "LIST",
              "events, each with :period=N or :freq=F; default: cpu-clock, 1000 samples a second")
        .list("-p,--pid", o->pids, "LIST", "attach to these PIDs until they or COMMAND exit")
        .list("--function", o->functions, "LIST",
              "count the calls of functions, and the events (page-faults, task-clock) in each call")
        .flag("--calls", o->calls, "with --function: count calls alone, leaving returns as they are")
        .list("--by", o->by, "LIST", "tables by module, function, line, address; default: the first three")
        .number("--top", o->top, "N", "rows of each table (15)")
        .flag("--chains", o->chains, "gather call chains, by frame pointers, and show them")
        .number("--frames", o->frames, "N", "of each call chain at most")
        .text("--folded", o->folded, "FILE", "write the call chains for a flame graph")
        .text("-o,--output", o->output, "FILE", "write results to FILE; - is stdout")
        .text("--plot", o->plot, "FILE", "draw occurrences over addresses: .pdf, .svg, .png, ...")
        .list("--annotate", o->annotate, "NAME", "show the source text of functions of this name")
        .text("--debug-path", o->debug_path, "DIRS", "where debug files lie, besides /usr/lib/debug")
        .number("--cpu", o->cpu, "N", "run the command on this CPU only")
        .flag("--json", o->json, "print everything as one JSON object, on stdout")
        .text("--export", o->export_to, "FILE", export_help)
        .program(o->command, "the program to run and profile");
    return [o] { return execute_profile(*o); };
  };
  return command;
}

} // namespace recount::cli
