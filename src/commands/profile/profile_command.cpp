#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/nearest.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "commands/profile/function_recording.hpp"
#include "commands/profile/profile_report.hpp"
#include "commands/profile/recording.hpp"
#include "kernel/command_line.hpp"
#include "model/trace/session.hpp"
#include "run/stat_plan.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>
#include <recount/event.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>

// recount profile: samples by function, line and instruction.
namespace recount::profile {
namespace {

struct ProfileOptions {
  RecordSettings record; ///< as far as options state it
  std::vector<std::string> events, by, annotate, functions, pids, command;
  std::string folded, output, plot, export_to, call_graph;
  long cpu = -1, top = 0, frames = 0;
  bool chains = false, json = false, calls = false, uretprobe = false, kinds = false, verbose = false;
};

void check(const ProfileOptions& o) {
  if ((o.calls || o.uretprobe) && o.functions.empty())
    throw bad_input(o.calls ? "--calls" : "--uretprobe", "needs --function", "add --function NAME");
  if (o.calls && o.uretprobe)
    throw bad_input("--uretprobe", "cannot be combined with --calls", "use one of them");
  if (o.command.empty() && o.pids.empty())
    throw bad_input("recount profile", "no command and no process to profile",
                    "recount profile -- COMMAND, or recount profile -p PID");
  command::check_outputs(
      {.results = o.output, .plot = o.plot, .json = o.json, .files = {{"--folded", o.folded}}});
  if (o.cpu >= 0 && o.command.empty())
    throw bad_input(fmt::format("--cpu {}", o.cpu), "needs a command to run on this CPU");
}

TargetOptions target_options(const ProfileOptions& o) {
  return {.command = o.command,
          .pids = stat::parse_pids(o.pids),
          .cpu = o.cpu >= 0 ? std::optional(static_cast<int>(o.cpu)) : std::nullopt};
}

std::string subject_text(const ProfileOptions& o) {
  return o.pids.empty() ? kernel::quoted(o.command) : stat::show_pids(stat::parse_pids(o.pids));
}

/// Standard output belongs to the command, if there is one.
std::FILE* output_stream(const ProfileOptions& o) {
  return o.command.empty() ? stdout : stderr;
}

/// Throws Error (bad_input) for options that only modelled events support.
void require_modelled(const ProfileOptions& o, const std::vector<By>& ways) {
  if (o.kinds)
    throw bad_input("--kinds", "needs one modelled event",
                    "recount profile --kinds -e model:PAPI_L1_DCM -- COMMAND");
  if (const auto way = std::ranges::find_if(ways, by_object); way != ways.end())
    throw bad_input("--by " + name_of(*way), "needs a modelled event: a sample names no data",
                    "recount profile -e model:PAPI_L1_DCM --by object -- COMMAND");
  for (const auto& [option, value] :
       {std::pair("--section ", o.record.section), std::pair("--from ", o.record.from),
        std::pair("--to ", o.record.to),
        std::pair("--sample-every ", o.record.sample_every > 0 ? std::to_string(o.record.sample_every) : "")})
    if (!value.empty())
      throw bad_input(option + value, "limits what a model simulates", "add -e model:PAPI_L1_DCM");
}

bool with_chains(const ProfileOptions& o) {
  return o.chains || o.frames > 0 || !(o.folded + o.call_graph).empty();
}

/// "fp", "dwarf", "dwarf,BYTES" or "lbr".
void set_call_graph(RecordSettings& settings, const std::string& mode, bool modelled) {
  if (mode.empty()) return;
  if (modelled)
    throw bad_input("--call-graph " + mode, "modelled events have no call chains", "leave it out");
  const auto comma = std::min(mode.find(','), mode.size());
  const std::string name = mode.substr(0, comma);
  if (name != "fp" && name != "dwarf" && name != "lbr")
    throw bad_input("--call-graph " + mode, "is not a way to find call chains",
                    base::did_you_mean(name, {"fp", "dwarf", "lbr"}, "use fp, dwarf or lbr"));
  settings.call_graph = name == "dwarf" ? CallGraph::dwarf : name == "lbr" ? CallGraph::lbr : CallGraph::fp;
  if (comma == mode.size()) return;
  constexpr std::uint32_t least = 512, most = 65528 - 8; // a record has 16 bits of size
  const auto bytes = base::parse<std::uint32_t>(mode.substr(comma + 1));
  if (name != "dwarf" || !bytes || *bytes < least || *bytes > most - 4096)
    throw bad_input(
        "--call-graph " + mode,
        fmt::format("takes the bytes of the stack after dwarf, from {} to {}", least, most - 4096),
        "--call-graph dwarf,16384");
  settings.stack_bytes = *bytes / 8 * 8;
}

RecordSettings record_settings(const ProfileOptions& o, const std::vector<By>& ways) {
  RecordSettings settings = o.record;
  settings.events = parse_event_requests(o.events.empty() ? std::vector<std::string>{"cpu-clock"} : o.events);
  if (host::this_emulation().exact)
    for (const EventRequest& requested : settings.events)
      if (requested.name.starts_with("cpu-clock") || requested.name.starts_with("task-clock"))
        throw unavailable(requested.name, "samples the time of Linux, in which Valgrind executes", {},
                          "recount profile -e instructions");
  const bool modelled = are_modelled(settings.events);
  if (!modelled || (o.kinds && settings.events.size() > 1)) require_modelled(o, ways);
  if (o.kinds) settings.events = with_kinds(settings.events.front());
  settings.who = target_options(o);
  settings.objects = modelled && (std::ranges::any_of(ways, by_object) || !o.annotate.empty() || o.kinds);
  settings.chains = with_chains(o);
  set_call_graph(settings, o.call_graph, modelled);
  settings.frames = static_cast<unsigned>(o.frames);
  return settings;
}

std::vector<By> parse_ways(const ProfileOptions& o) {
  std::vector<By> ways;
  for (const std::string& word : base::list_words(o.by))
    ways.push_back(parse_by(word));
  if (ways.empty()) ways = {By::module, By::symbol, By::line};
  return ways;
}

std::size_t rows(const ProfileOptions& o) {
  return o.top > 0 ? static_cast<std::size_t>(o.top) : default_rows;
}

void print(const Profile& p, const ProfileOptions& o, const std::vector<By>& ways) {
  if (o.json) {
    command::print("{}", profile_json(p, ways));
    return;
  }
  std::FILE* const stream = output_stream(o);
  std::string requested;
  if (o.chains || o.frames > 0 || !o.call_graph.empty()) requested += "\n" + chains_text(p, rows(o));
  for (const auto& function : o.annotate)
    requested += "\n" + annotated_text(p, function);
  View view{ways, static_cast<std::size_t>(o.top), o.verbose};
  // Modules are few, and symbols name them.
  if (o.by.empty() && !o.verbose && o.top == 0)
    std::rotate(view.by.begin(), view.by.begin() + 1, view.by.end());
  command::print(stream, "{}", profile_text(p, view, requested, stream));
  command::flush(stream);
}

/// --function: counts per call.
int profile_functions(const ProfileOptions& o) {
  if (!o.output.empty() || !o.plot.empty() || !o.folded.empty())
    throw bad_input("--function", "cannot be combined with --output, --plot and --folded, which need samples",
                    "use --json for machine-readable output");
  if (trace::under_valgrind())
    throw unavailable("--function", "Valgrind executes copies of the code, in which no probe is met", {},
                      "sample: recount profile -e EVENT; or start it without recount emulate");
  FunctionSettings settings;
  settings.names = base::list_words(o.functions);
  for (const auto& requested : parse_event_requests(
           o.events.empty() ? std::vector<std::string>{"page-faults,task-clock"} : o.events)) {
    if (requested.period != 0 || requested.frequency != 0)
      throw bad_input("-e " + requested.name, "takes no period with --function: it is read at each call",
                      "remove the period");
    settings.counters.push_back(requested.name);
  }
  settings.who = target_options(o);
  settings.returns = !o.calls;
  settings.uretprobe = o.uretprobe;
  settings.debug_path = o.record.debug_path;
  const command::TableExport file(o.export_to);
  auto recording = record_functions(settings);
  const std::string subject = subject_text(o);
  if (o.json)
    command::print("{}", functions_json(recording, subject));
  else
    command::print(output_stream(o), "{}", functions_text(recording, subject));
  file.write("functions of " + subject, function_tables(recording));
  return process::shell_status(recording.exit);
}

/// Names the places and data of a recording.
void add_names(Profile& p, const ProfileOptions& o, const std::vector<By>& ways, bool objects) {
  const bool instructions = std::ranges::find(ways, By::address) != ways.end();
  p.naming = name_places(p.recording.places, p.recording.files, o.record.debug_path, instructions);
  if (objects) p.naming.objects = name_objects(p.recording.objects, p.recording.places, p.naming);
}

void write_text(const std::string& path, const std::string& text) {
  if (!base::write_file(path, text)) throw base::cannot_write(path, errno);
}

void write_files(const Profile& p, const ProfileOptions& o, const std::vector<By>& ways,
                 ProfileResults& results, const command::TableExport& exported) {
  if (!o.folded.empty()) write_text(o.folded, folded(p.recording.places, p.naming, 0));
  results.finish(p);
  std::vector<show::Table> tables;
  for (const auto by : ways)
    tables.push_back(profile_table(p, by, rows(o)));
  exported.write("profile of " + p.subject, tables);
}

int execute_profile(const ProfileOptions& o) {
  check(o);
  if (!o.functions.empty()) return profile_functions(o);
  const auto ways = parse_ways(o);
  const auto settings = record_settings(o, ways);
  const command::TableExport exported(o.export_to);
  ProfileResults results(o.output, o.plot, figure_by(ways));
  Profile p{
      are_modelled(settings.events) ? record_modelled(settings) : record(settings), {}, subject_text(o)};
  add_names(p, o, ways, settings.objects);
  print(p, o, ways); // first: a file that cannot be written must not lose the profile
  write_files(p, o, ways, results, exported);
  return process::shell_status(p.recording.exit);
}

} // namespace

command::Command profile_command() {
  command::Command command{
      "profile", "sample events and attribute them to functions, lines, instructions", {}};
  command.transparent = true;
  command.declare = [](command::Options& options) -> std::function<int()> {
    auto o = std::make_shared<ProfileOptions>();
    options
        .list("-e,--event", o->events, "LIST",
              "events, each with :period=N or :freq=F (default cpu-clock, 1000 samples per second)")
        .event_files()
        .list("-p,--pid", o->pids, "LIST", "attach to these PIDs until they or COMMAND exit")
        .text("--section", o->record.section, "NAME",
              "simulate only the program's section NAME (recount/sections.h)")
        .text("--from", o->record.from, "FUNCTION",
              "simulate from each entry of FUNCTION on, until it returns or --to (default: from the start)")
        .text("--to", o->record.to, "FUNCTION", "simulate until FUNCTION is entered (default: to the end)")
        .number("--sample-every", o->record.sample_every, "N",
                "simulate one of N windows of accesses, and state the error (default: all)", {2, 1'000'000})
        .flag("--kinds", o->kinds,
              "with one modelled event: also compulsory, capacity and conflict misses, and what would help")
        .list("--function", o->functions, "LIST",
              "count calls of functions, and the events (page-faults, task-clock) per call")
        .flag("--calls", o->calls, "with --function: count calls only, without returns")
        .flag("--uretprobe", o->uretprobe, "with --function: trace returns by uretprobes, at half the cost")
        .list("--by", o->by, "LIST",
              "attribute to module, symbol, function (inlined ones separate), line, address; with modelled "
              "events also object, line+object; default: module,symbol,line")
        .number("--top", o->top, "N", "rows per table (default: those that fit a screen; 15 with -v)",
                {1, 1'000'000})
        .flag("-v,--verbose", o->verbose, "print all tables, with intervals, and the overhead")
        .flag("--chains", o->chains, "record and show call chains (by frame pointers)")
        .text(
            "--call-graph", o->call_graph, "MODE",
            "find call chains by fp (frame pointers, default), dwarf[,BYTES] (call frame information) or lbr")
        .number("--frames", o->frames, "N", "maximum frames per call chain", {1, 1024})
        .text("--folded", o->folded, "FILE", "write folded call chains for a flame graph")
        .text("-o,--output", o->output, "FILE", "write results to FILE; - is stdout")
        .text("--plot", o->plot, "FILE", "draw samples by address: .pdf, .svg, .png, ...")
        .list("--annotate", o->annotate, "NAME", "show the annotated source of the function NAME")
        .text("--debug-path", o->record.debug_path, "DIRS",
              "search DIRS for debug files, besides /usr/lib/debug")
        .number("--cpu", o->cpu, "N", "run the command on this CPU only", {0, 65535})
        .flag("--json", o->json, "print the profile as one JSON object on stdout")
        .text("--export", o->export_to, "FILE", command::export_help)
        .program(o->command, "program to run and profile");
    return [o] { return execute_profile(*o); };
  };
  return command;
}

} // namespace recount::profile
