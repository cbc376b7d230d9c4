#include "base/format.hpp"
#include "base/host/emulation.hpp"
#include "base/names.hpp"
#include "base/process/signals.hpp"
#include "commands/check/check_counts.hpp"
#include "commands/check/check_output.hpp"
#include "commands/check/check_program.hpp"
#include "count/preset/preset_table.hpp"
#include "model/trace/request.hpp"
#include "run/batch.hpp"
#include "run/modelled.hpp"
#include "run/resume.hpp"
#include "run/stat_plan.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/metric_events.hpp"
#include "show/command/batch.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <tuple>
#include <vector>

// recount check: validates presets; compares perf, PAPI and expected counts of kernels.
namespace recount::check {
namespace {

struct CheckArguments : sweep::BatchOptions {
  std::vector<std::string> names, events, witnesses;
  std::string table, tolerance, bundle, plot, export_to, input, counts, pmu;
  long repeat = 0; ///< 0: not given
  bool program = false, all = false, json = false;
};

constexpr int usual_repetitions = 4;

std::optional<double> parse_tolerance(const std::string& text) {
  if (text.empty()) return {};
  const auto percent = base::parse<double>(text);
  if (!percent || !(*percent >= 0 && *percent <= 100))
    throw bad_input("--tolerance " + text, "is not a percentage from 0 to 100");
  return *percent / 100;
}

bool is_part(const CheckArguments& a) {
  return !sweep::parse_shard(a.shard, host::this_job()).whole();
}

sweep::BatchResult run_check(const CheckArguments& a, const CheckPlan& plan, std::uint64_t seed) {
  sweep::Batch batch = sweep::make_batch("check", a, std::chrono::seconds(60), seed, plan.settings);
  batch.jobs = plan.jobs;
  sweep::keep_shard(batch.jobs, batch.shard);
  if (!a.quiet && !batch.shard.whole())
    command::note("recount check: shard {}: {} of {}; join the files of all shards with cat, and conclude "
                  "with --resume without --shard\n",
                  batch.shard.text(), batch.jobs.size(), base::format_count(plan.jobs.size(), "run"));
  if (!a.quiet)
    command::note("recount check: {}, {}{}\n", base::format_count(batch.jobs.size(), "run"),
                  batch.execution.cpu ? fmt::format("on CPU {}", *batch.execution.cpu) : "not pinned",
                  host::single_execution_text(a.repeat));
  return command::run_batch(batch);
}

/// Of an interrupted check: presets with a kernel that has not counted them once have no verdict.
void refuse_unfinished(CheckPlan& plan, const std::vector<sweep::Job>& remaining) {
  std::map<std::tuple<std::string, result::Params, Witness, std::string>, int> done;
  const auto add = [&](const std::vector<sweep::Job>& jobs, int sign) {
    for (const sweep::Job& job : jobs)
      for (const std::string& metric : job.metrics)
        done[{job.kernel, job.point, job.witness, metric}] += sign;
  };
  add(plan.jobs, 1);
  add(remaining, -1);
  for (const auto& [place, runs] : done)
    for (Subject& subject : plan.subjects)
      if (const std::string& metric = std::get<3>(place);
          runs == 0 && subject.reason.empty() && (metric == subject.name || metric == subject.reference))
        subject.reason = "interrupted before every kernel had counted it";
}

int exit_status(const Checked& checked) {
  const auto& all = checked.verdicts;
  if (!std::ranges::all_of(all, [](const auto& v) { return sound(v.verdict); })) return 1;
  if (std::ranges::any_of(all, counted_by_papi)) return 0;
  const bool by_perf =
      std::ranges::any_of(all, [](const auto& v) { return v.verdict != Verdict::not_counted; });
  command::note("recount check: {}: see recount doctor\n",
                by_perf ? "PAPI counted nothing, only perf was checked" : "nothing could be checked");
  return 3;
}

void print_result(const CheckArguments& a, const Checked& checked, const CheckContext& context,
                  const sweep::BatchResult& ended, const command::TableExport& tables) {
  const trace::Pause pause;
  if (a.json)
    command::print("{}", check_json(checked, context, ended));
  else if (a.output != "-")
    command::print(
        "{}", check_table(checked, context, {a.all, command::line_width(), !a.program && a.names.empty()}));
  command::flush(stdout);
  tables.write(a.program ? "recount check --program" : "recount check", check_tables(checked));
}

void use_table(const CheckArguments& a) {
  if (a.table.empty()) return;
  preset::require_rows(PresetTable::read(a.table));
  ::setenv("PAPI_CSV_EVENT_FILE", a.table.c_str(), 1); // for the runs as well
}

ProgramRequest program_request(const CheckArguments& a) {
  if (!a.output.empty() || !a.bundle.empty() || !a.plot.empty() || !a.shard.empty() || !a.cpu.empty() ||
      a.resume)
    throw bad_input("--program", "cannot be combined with -o, --resume, --bundle, --plot, --shard or --cpu",
                    "remove them; --json and --export have all values");
  if (a.names.empty()) throw bad_input("--program", "no command", "recount check --program -- COMMAND");
  ProgramRequest request;
  request.command = a.names;
  request.input = process::Input(a.input);
  request.repeat = host::repetitions(a.repeat, usual_repetitions);
  request.tolerance = parse_tolerance(a.tolerance);
  const auto [perf, papi, models] = stat::parse_witnesses(a.witnesses);
  if (!a.witnesses.empty() && (perf || papi || models.size() != 1))
    throw bad_input(fmt::format("--witness {}", fmt::join(a.witnesses, ",")),
                    "is not one model; perf and PAPI count the program in any case", "--witness model:NAME");
  for (const Witness& model : models)
    request.machine = model.machine();
  if (!a.timeout.empty()) {
    sweep::Execution how;
    sweep::limit_runs(how, a.timeout, std::chrono::seconds(60));
    request.limit = how.limit;
  }
  return request;
}

int execute_program(const CheckArguments& a) {
  const ProgramRequest request = program_request(a);
  const command::TableExport tables(a.export_to);
  command::require_repeatable("check", request.input, request.command);
  require_program_check(request);
  use_table(a);
  CheckContext context = check::check_context();
  const ExpectedProgram expected = trace_program(request);
  CheckOptions options;
  for (const auto& item : stat::parse_items(a.events))
    if (!item.repeated) options.requested.push_back(item.name);
  if (options.requested.empty())
    for (const Subject& preset : context.presets)
      if (expected.presets.contains(preset.name)) options.requested.push_back(preset.name);
  const CheckPlan plan = check::plan_check(context, options);
  const Checked checked = check_program(request, plan, expected);
  context.notes = expected.notes;
  context.notes.emplace_back("Expected counts are modelled. Not modelled: prefetches that the machine does "
                             "not describe, speculation, and what the kernel does to the caches in system "
                             "calls and interrupts.");
  print_result(a, checked, context, {}, tables);
  return exit_status(checked);
}

int execute_counts(const CheckArguments& a) {
  if (a.program || !a.names.empty() || !a.events.empty() || !a.witnesses.empty() || !a.input.empty() ||
      !a.output.empty() || a.resume || !a.bundle.empty() || !a.plot.empty() || !a.shard.empty() ||
      !a.cpu.empty() || !a.tolerance.empty() || !a.timeout.empty() || !a.seed.empty() || a.repeat > 0)
    throw bad_input("--counts " + a.counts,
                    "counts nothing, and takes --pmu, --table, -a, --json and --export only",
                    "recount check --counts " + a.counts);
  const command::TableExport tables(a.export_to);
  std::vector<std::string> left_out;
  std::vector<CountsSet> sets = read_counts(a.counts, left_out);
  std::vector<CountsFindings> all;
  all.reserve(sets.size()); // findings point to their relations and places
  for (CountsSet& set : sets)
    all.push_back(test_counts(std::move(set), a.table, a.pmu));
  if (!left_out.empty() && !a.quiet)
    command::note("recount check: {}: columns without relations left out: {}\n", a.counts,
                  fmt::join(left_out, ", "));
  std::vector<show::Table> exported;
  bool broken = false;
  for (const CountsFindings& findings : all) {
    if (!a.json) {
      if (all.size() > 1) command::print("{}{}\n", &findings == &all.front() ? "" : "\n", findings.set.cpu);
      command::print("{}", counts_text(findings, a.all, command::line_width()));
    }
    for (show::Table& table : counts_tables(findings))
      exported.push_back(std::move(table));
    broken = broken || std::ranges::any_of(findings.places, [](const auto& p) { return !p.broken.empty(); });
  }
  if (a.json)
    command::print(
        "{}", json_text("check-counts", {{"sets", make_array(all, counts_json)}, {"left_out", left_out}}));
  command::flush(stdout);
  tables.write("recount check --counts", exported);
  return broken ? 1 : 0;
}

int execute_check(const CheckArguments& given) {
  if (!given.counts.empty()) return execute_counts(given);
  if (!given.pmu.empty())
    throw bad_input("--pmu " + given.pmu, "names the CPU of counts in a file", "add --counts FILE");
  if (given.program) return execute_program(given);
  if (!given.witnesses.empty())
    throw bad_input("--witness", "chooses the modelled machine of a program", "add --program -- COMMAND");
  if (!given.input.empty())
    throw bad_input("--input " + given.input, "needs a program that reads it", "add --program -- COMMAND");
  CheckArguments a = given;
  for (const auto& item : stat::parse_items(a.events))
    if (!item.repeated) a.names.push_back(item.name);
  command::check_outputs(
      {.results = a.output, .plot = a.plot, .plot_on_terminal = true, .json = a.json, .resume = a.resume});
  const command::TableExport tables(a.export_to);
  const CheckOptions options{a.names, host::repetitions(a.repeat, usual_repetitions),
                             parse_tolerance(a.tolerance), command::parse_seed(a.seed)};
  if (!a.bundle.empty()) make_bundle_folder(a.bundle);
  use_table(a);
  CheckContext context = check::check_context();
  CheckPlan plan = check::plan_check(context, options);
  sweep::BatchResult ended;
  if (!plan.jobs.empty()) ended = run_check(a, plan, options.seed);
  const bool interrupted = ended.outcome.stopped;
  if (interrupted) {
    const auto remaining = sweep::remaining(plan.jobs, ended.results);
    context.notes.push_back(fmt::format("Interrupted: {} of {} completed.",
                                        plan.jobs.size() - remaining.size(),
                                        base::format_count(plan.jobs.size(), "run")));
    refuse_unfinished(plan, remaining);
  }
  const Checked checked = check::conclude(plan, context, options, ended.results);
  print_result(a, checked, context, ended, tables);
  if (interrupted) return 128 + process::stop_signal;
  if (!a.bundle.empty()) write_bundle(a.bundle, checked, context, ended);
  plot_check(a.plot, checked, ended.results);
  // Its own points may verify nothing; the conclusion is that of all shards.
  if (is_part(a)) return ended.results.failures.empty() ? 0 : 1;
  return exit_status(checked);
}

} // namespace

command::Command check_command() {
  return command::make_command<CheckArguments>(
      "check", "validate presets: compare perf, PAPI and expected counts",
      [](command::Options& options, CheckArguments& a) {
        options
            .words("PRESET", a.names,
                   "presets or events; NAME=METRIC compares NAME with the counts expected for METRIC "
                   "(default: all)")
            .flag("--program", a.program,
                  "compare what PRESET... count of the command after -- with what it must do (default: all "
                  "presets that its execution states)")
            .text("--counts", a.counts, "FILE",
                  "test relations between the counts of a results file or a table of presets by run")
            .text("--pmu", a.pmu, "NAME", "with --counts: PMU of the CPU (default: as FILE states)")
            .list("-e,--event", a.events, "LIST",
                  "presets and events, as PRESET; with --program the only way")
            .event_files()
            .list("--witness", a.witnesses, "LIST",
                  "with --program: model:NAME, the machine whose misses are expected (default: model, "
                  "this machine)")
            .text("--input", a.input, "FILE", command::input_help)
            .text("--table", a.table, "FILE", "use this preset table (default: PAPI's)")
            .number("-r,--repeat", a.repeat, "N",
                    "processes per kernel, with four executions each (default 4)", {1, 1000})
            .text("--tolerance", a.tolerance, "PERCENT",
                  "accept counts within PERCENT of the expected one (default: per kernel)")
            .text("-o,--output", a.output, "FILE", "append the counts to FILE; - is stdout")
            .text("--bundle", a.bundle, "DIR",
                  "write verdicts, counts, machine, table rows and the figure to DIR, which must be new "
                  "or empty")
            .text("--plot", a.plot, "FILE", "plot counted per expected counts; - plots text on the terminal")
            .flag("-a,--all", a.all,
                  "list every preset that was not counted, and all mistakes that would not have been found")
            .flag("--json", a.json, "print one JSON object")
            .text("--export", a.export_to, "FILE", command::export_help);
        command::declare_sharded_runs(options, a, 60);
      },
      execute_check);
}

} // namespace recount::check
