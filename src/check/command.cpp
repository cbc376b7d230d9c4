// recount check: does a preset count what it says? perf, PAPI and the model over kernels with known counts.
#include "check/plot.hpp"
#include "check/table.hpp"
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "sweep/limits.hpp"
#include "sweep/progress.hpp"
#include "host/cpu.hpp"
#include "witness/header.hpp"
#include "command/print.hpp"
#include "preset/document.hpp"
#include "command/table_export.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <memory>
#include <recount/error.hpp>

namespace recount::cli {
namespace {

struct CheckArguments {
  std::vector<std::string> names;
  std::string table, tolerance, output, plot, cpu, seed, timeout, export_to;
  long repeat = 4;
  bool resume = false, all = false, json = false, quiet = false;
};

std::optional<double> tolerance_of(const std::string& text) {
  if (text.empty()) return {};
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !(percent >= 0 && percent <= 100))
    throw bad_input("--tolerance " + text, "is not a percentage from 0 to 100");
  return percent / 100;
}

study::CheckOptions options_of(const CheckArguments& a) {
  study::CheckOptions options;
  options.asked = a.names;
  options.repeat = static_cast<int>(a.repeat);
  options.tolerance = tolerance_of(a.tolerance);
  options.seed = parse_seed(a.seed);
  return options;
}

sweep::Ended conduct_check(const CheckArguments& a, const study::CheckPlan& plan, std::uint64_t seed) {
  sweep::Batch batch;
  batch.jobs = plan.jobs;
  batch.how.cpu = parse_cpu(a.cpu);
  sweep::limit_runs(batch.how, a.timeout, std::chrono::seconds(60));
  batch.how.parallel = static_cast<int>(std::max<std::size_t>(1, host::candidates().size()));
  batch.header = witness::machine_header(command_line(), RECOUNT_VERSION, batch.how.cpu);
  batch.header.seed = seed;
  batch.header.plan = plan.settings;
  batch.file = a.output;
  batch.resume = a.resume;
  if (!a.quiet)
    cli::print(stderr, "recount check: {} runs, {}\n", batch.jobs.size(),
               batch.how.cpu ? fmt::format("on CPU {}", *batch.how.cpu) : "not pinned");
  catch_stop_signals();
  ProgressLine line(a.quiet, "check");
  sweep::Listener listener;
  listener.stop = [] { return stop_signal() != 0; };
  listener.progress = [&](const sweep::Progress& progress) { line.show(progress); };
  bool measured = false;
  listener.observation = [&](const result::Observation&) { measured = true; };
  try {
    auto ended = sweep::conduct(batch, listener);
    line.clear();
    if (ended.outcome.stopped)
      tell_how_to_resume("check", batch.file, batch.header.command, !ended.results.observations.empty());
    return ended;
  } catch (const Error&) {
    line.clear();
    tell_how_to_resume("check", batch.file, batch.header.command, measured);
    throw;
  }
}

int status_of(const study::Checked& checked) {
  const auto& all = checked.verdicts;
  if (!std::ranges::all_of(all, [](const auto& v) { return sound(v.verdict); })) return 1;
  const bool any =
      std::ranges::any_of(all, [](const auto& v) { return v.verdict != analysis::Verdict::not_counted; });
  if (any) return 0;
  cli::print(stderr,
             "recount check: nothing could be checked; recount doctor tells what can be counted here\n");
  return 3;
}

int execute_check(const CheckArguments& a) {
  check_outputs(
      {.results = a.output, .plot = a.plot, .plot_on_terminal = true, .json = a.json, .resume = a.resume});
  const TableExport tables(a.export_to);
  const study::CheckOptions options = options_of(a);
  if (!a.table.empty()) {
    preset::demand_rows(PresetTable::read(a.table));
    ::setenv("PAPI_CSV_EVENT_FILE", a.table.c_str(), 1); // for the runs as well
  }
  const study::Ground ground = study::ground_here();
  const study::CheckPlan plan = study::plan_check(ground, options);
  sweep::Ended ended;
  if (!plan.jobs.empty()) ended = conduct_check(a, plan, options.seed);
  if (ended.outcome.stopped) {
    cli::print(stderr, "recount check: stopped\n");
    return 128 + stop_signal();
  }
  const study::Checked checked = study::conclude(plan, ground, options, ended.results);
  if (a.json)
    cli::print("{}", check_json(checked, ground, ended));
  else if (a.output != "-")
    cli::print("{}", check_table(checked, ground, {a.all, line_width(), a.names.empty()}));
  flush(stdout);
  tables.write("recount check", check_tables(checked));
  plot_check(a.plot, checked, ended.results);
  return status_of(checked);
}

} // namespace

Command check_command() {
  return {"check",
          "does a preset count what it says: perf, PAPI and the model over kernels with known counts",
          [](Options& options) -> std::function<int()> {
            const auto a = std::make_shared<CheckArguments>();
            options
                .words("PRESET", a->names,
                       "presets or events; NAME=METRIC holds NAME against what kernels state for METRIC "
                       "(default: all)")
                .text("--table", a->table, "FILE", "a preset table that is not installed yet")
                .number("-r,--repeat", a->repeat, "N", "processes for each kernel, four executions each (4)",
                        {1, 1000})
                .text("--tolerance", a->tolerance, "PERCENT",
                      "how far a sound count may differ; default: each kernel's own")
                .text("--cpu", a->cpu, "N", "measure on this CPU, or none for no pinning")
                .text("--seed", a->seed, "N", "of the order of the runs; default: a random one")
                .text("--timeout", a->timeout, "SECONDS",
                      "limit of a run: wall time (default 60), of the model CPU time (default none)")
                .text("-o,--output", a->output, "FILE", "append what was counted to FILE; - is stdout")
                .text("--plot", a->plot, "FILE", "draw what was counted by what is stated; - draws text")
                .flag("--resume", a->resume, "continue FILE, leaving out what is there")
                .flag("-a,--all", a->all, "name every preset that was not counted")
                .flag("--json", a->json, "print one JSON object")
                .text("--export", a->export_to, "FILE", export_help)
                .flag("-q,--quiet", a->quiet, "no progress");
            return [a] { return execute_check(*a); };
          }};
}

} // namespace recount::cli
