#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "kernel/command_line.hpp"
#include "process/waiter.hpp"
#include "stat/modelled.hpp"
#include "stat/stat_compare.hpp"
#include "stat/stat_plan.hpp"
#include "stat/stat_run.hpp"
#include "stat/stat_table.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <tuple>

// recount stat: counts any program, in any language.
namespace recount::stat {
namespace {

struct StatOptions {
  std::vector<std::string> events, metrics, pids, cpus, witnesses, command;
  std::string output, domain, export_to, section, from, to;
  long repeat = 0, interval = 0, sample = 0; ///< repeat 0: not given
  bool json = false, list = false, no_verdicts = false, all_cpus = false, compare = false,
       ignore_failure = false;
};

bool whole_cpus(const StatOptions& o) {
  return o.all_cpus || !o.cpus.empty();
}

Request make_request(const StatOptions& o) {
  Request request;
  request.command = o.command;
  request.pids = parse_pids(o.pids);
  if (request.command.empty() && request.pids.empty() && !whole_cpus(o))
    throw bad_input("recount stat", "no command and no process to count",
                    "recount stat -- COMMAND, recount stat -p PID, or recount stat -a");
  if (!request.pids.empty() && whole_cpus(o))
    throw bad_input("--pid", "counts processes, while -a and -C count whatever runs on CPUs",
                    "omit one of them");
  if (o.repeat > 1 && request.command.empty())
    throw bad_input(fmt::format("--repeat {}", o.repeat), "needs a command to repeat");
  request.repeat = static_cast<int>(o.repeat > 0 ? o.repeat : 1);
  request.interval = std::chrono::milliseconds(o.interval);
  request.section = o.section;
  request.from = o.from;
  request.to = o.to;
  request.sample = o.sample;
  request.ignore_failure = o.ignore_failure;
  return request;
}

std::string describe_subject(const Request& request, const std::vector<int>& cpus) {
  if (!cpus.empty())
    return show_cpus(cpus) + (request.command.empty() ? "" : " during " + kernel::quoted(request.command));
  return request.pids.empty() ? kernel::quoted(request.command) : show_pids(request.pids);
}

int list_metrics(const StatOptions& o) {
  const auto metrics = metric::load(o.metrics);
  command::TableExport(o.export_to).write("recount stat --list", {metrics_list(metrics)});
  command::print("{}", o.json ? metrics_json(metrics) : metrics_table(metrics));
  return 0;
}

std::vector<Item> requested_items(const StatOptions& o, Counted what) {
  auto items = parse_items(o.events.empty() ? default_items(what) : o.events);
  if (items.empty()) throw bad_input("--event", "the list is empty");
  return items;
}

/// Repetitions of each command, where -r is not given.
constexpr int compared_repetitions = 10;

int execute_compare(const StatOptions& o) {
  if (!o.pids.empty() || whole_cpus(o) || o.interval > 0 || !o.output.empty())
    throw bad_input("--compare", "cannot be combined with -p, -a, -C, -I or -o",
                    "remove them; --json has all values");
  Request first, second;
  std::tie(first.command, second.command) = split_commands(o.command);
  first.ignore_failure = second.ignore_failure = o.ignore_failure;
  first.repeat = second.repeat = o.repeat > 0 ? static_cast<int>(o.repeat) : compared_repetitions;
  const Plan plan =
      make_plan(requested_items(o, Counted::command), metric::load(o.metrics), parse_domain(o.domain), {});
  const command::TableExport tables(o.export_to);
  const TwoResults both = run_in_turn(plan, first, second);
  const auto rows = compare_rows(plan, both);
  if (o.json)
    command::print("{}", comparison_json(rows, first, second, both));
  else
    command::print(
        stderr, "{}{}",
        comparison_text(rows, kernel::quoted(first.command), kernel::quoted(second.command), stderr),
        cut_short_text(both));
  tables.write("recount stat --compare", {comparison_table(rows)});
  const int status = status_of(both.first);
  return status != 0 ? status : status_of(both.second);
}

/// Processes and CPUs are not waited for when nothing of them can be counted.
void require_countable(const Plan& plan, const std::string& subject) {
  const auto refused = [](const PlanRow& row) { return !row.refused.empty(); };
  if (!std::ranges::all_of(plan.rows, refused)) return;
  Reason why = plan.rows.front().refused;
  why.cause = "no event can be counted: " + command::brief(why);
  throw Error(ErrorKind::unavailable, {subject, why});
}

/// A model simulates a command from its beginning to its end; some options are for models alone.
void check_witnesses(const StatOptions& o, const Witnesses& witnesses) {
  if (!witnesses.models.empty()) {
    if (!o.pids.empty() || whole_cpus(o) || o.interval > 0 || o.compare)
      throw bad_input("--witness model",
                      "simulates a command from its start: cannot be combined with -p, -a, -C, "
                      "-I or --compare",
                      "recount stat --witness model -- COMMAND");
    return;
  }
  const std::string sample = o.sample > 0 ? std::to_string(o.sample) : "";
  for (const auto& [option, value] :
       {std::pair("--sample-every ", sample), std::pair("--section ", o.section),
        std::pair("--from ", o.from), std::pair("--to ", o.to)})
    if (!value.empty())
      throw bad_input(option + value, "limits what a model simulates", "add --witness model");
}

int execute_stat(const StatOptions& o) {
  if (o.list) return list_metrics(o);
  const Witnesses witnesses = parse_witnesses(o.witnesses);
  check_witnesses(o, witnesses);
  if (o.compare) return execute_compare(o);
  const Request request = make_request(o);
  command::check_outputs({.results = o.output, .json = o.json});
  const std::vector<int> cpus = whole_cpus(o) ? parse_cpus(o.cpus) : std::vector<int>{};
  const auto what = !cpus.empty()          ? Counted::cpus
                    : request.pids.empty() ? Counted::command
                                           : Counted::processes;
  const auto items = requested_items(o, what);
  Plan plan;
  if (witnesses.perf) {
    plan = make_plan(items, metric::load(o.metrics), parse_domain(o.domain), cpus);
    plan.notes = notes_of(plan, o.domain);
  }
  const auto models =
      add_modelled(plan, o.events.empty() ? std::vector<Item>{} : items, witnesses.models, o.sample);
  const std::string subject = describe_subject(request, cpus);
  if (what != Counted::command) require_countable(plan, subject);
  mark_rows(plan, command::verdict_marks("stat", o.no_verdicts));
  const command::TableExport tables(o.export_to);
  CommandResults results(o.output, subject, {{"repeat", std::to_string(request.repeat)}}, row_marks(plan));
  std::FILE* const stream = request.command.empty() ? stdout : stderr; // stdout belongs to the command
  std::vector<Slice> intervals;
  const auto listen = [&](const Slice& slice) {
    results.write(slice);
    if (!slice.interval) return;
    if (o.json) return intervals.push_back(slice);
    command::print(stream, "{}", interval_lines(plan, slice, *slice.interval == 0));
    command::flush(stream);
  };
  const RunResult ended = models.empty() ? run(plan, request, listen)
                                         : run_modelled(plan, models, witnesses.perf, request, listen);
  if (o.json)
    command::print("{}", stat_json(plan, request, ended, intervals));
  else
    command::print(stream, "{}", stat_table(plan, ended, subject, stream));
  command::flush(stream);
  if (ended.error) std::rethrow_exception(ended.error); // the results file; nothing counted is lost with it
  tables.write(subject, {values_table(plan, ended)});
  return status_of(ended);
}

} // namespace

command::Command stat_command() {
  auto command = command::make_command<StatOptions>(
      "stat", "count events, presets and metrics of any program",
      [](command::Options& options, StatOptions& o) {
        options.list("-e,--event", o.events, "LIST", "events, presets, metrics; {a,b}: event group")
            .list("--metrics", o.metrics, "FILE", "read more metrics from FILE, see recount-metrics(5)")
            .number("-r,--repeat", o.repeat, "N", "number of runs (default 1; 10 with --compare)",
                    {1, 1'000'000})
            .flag("-i,--ignore-failure", o.ignore_failure,
                  "also count runs that fail (default: stop at the first)")
            .list("-p,--pid", o.pids, "LIST", "attach to these PIDs until they or COMMAND exit")
            .flag("-a,--all-cpus", o.all_cpus, "count all that runs on all CPUs, and what packages count")
            .list("-C,--cpus", o.cpus, "LIST", "the same on these CPUs: 0-3,8")
            .number("-I,--interval", o.interval, "MS", "print counts every MS milliseconds", interval_range)
            .list("--witness", o.witnesses, "LIST",
                  "perf, model, model:NAME: a model simulates COMMAND, each in a run of its own (default: "
                  "perf)")
            .text("--section", o.section, "NAME",
                  "simulate only the program's section NAME (recount/sections.h)")
            .text(
                "--from", o.from, "FUNCTION",
                "simulate from each entry of FUNCTION on, until it returns or --to (default: from the start)")
            .text("--to", o.to, "FUNCTION", "simulate until FUNCTION is entered (default: to the end)")
            .number("--sample-every", o.sample, "N",
                    "simulate one of N windows of accesses, and state the error (default: all)",
                    {2, 1'000'000})
            .text("--domain", o.domain, "DOMAIN",
                  "count in user mode, kernel or all (default: all, where permitted)")
            .text("-o,--output", o.output, "FILE", "write results to FILE; - is stdout")
            .flag("--json", o.json, "print the summary as one JSON object on stdout")
            .text("--export", o.export_to, "FILE", command::export_help)
            .flag("--no-verdicts", o.no_verdicts, command::no_verdicts_help)
            .flag("--compare", o.compare, "run COMMAND1 --- COMMAND2 in turn and compare their counts")
            .flag("--list", o.list, "list metrics and exit")
            .program(o.command, "program to run and count");
      },
      execute_stat);
  command.transparent = true;
  return command;
}

} // namespace recount::stat
