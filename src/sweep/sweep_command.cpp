#include "base/format.hpp"
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "kernel/kernel.hpp"
#include "sweep/batch.hpp"
#include "sweep/engine.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/serve.hpp"
#include "sweep/sweep_options.hpp"
#include "sweep/sweep_plan.hpp"
#include "sweep/sweep_table.hpp"
#include "witness/backend.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

// recount sweep: a grid of points x repetitions x witnesses, each run in a process of its own.
namespace recount::sweep {

command::Command sweep_command(const std::vector<plot::Figure>& figures);

namespace {

void announce(const SweepRun& run) {
  const auto& plan = run.plan;
  std::vector<std::string> who;
  for (const auto& name : plan.witnesses)
    who.push_back(witness::find(name).native ? fmt::format("{} x {}", name, plan.repeat) : name.name());
  std::string model_time;
  if (std::ranges::any_of(run.batch.jobs, [](const auto& job) { return !witness::find(job.witness).native; }))
    model_time = "; the simulation takes about " +
                 format_seconds(model_seconds(run.batch.jobs, run.batch.how.parallel));
  const auto& cpu = run.batch.how.cpu;
  command::print(
      stderr, "{}\n",
      command::fit(fmt::format("recount sweep: {}: {} by {}; {}, {}, seed {}{}", plan.kernel,
                               base::format_count(run.grid.points.size(), "point"), fmt::join(who, ", "),
                               base::format_count(run.batch.jobs.size(), "run"),
                               cpu ? fmt::format("timed ones on CPU {}", *cpu) : "not pinned", plan.seed,
                               model_time),
                   command::line_width(stderr), 2));
}

void report(const SweepRun& run, const Ended& ended, const SweepOptions& o,
            const command::TableExport& tables) {
  if (!o.quiet) {
    command::print(stderr, "recount sweep: {} in {}", base::format_count(ended.outcome.runs, "run"),
                   show_time(ended.outcome.elapsed));
    if (ended.there > 0)
      command::print(stderr, ", {} {} in the file already", ended.there, ended.there == 1 ? "was" : "were");
    if (!o.output.empty() && o.output != "-") command::print(stderr, "; {}", o.output);
    command::print(stderr, "\n");
  }
  command::note("{}{}", failures_text(ended.results.failures), unfinished_text(ended.outcome.unfinished));
  const Selection selection{static_cast<std::size_t>(o.least), run.grid.points.front()};
  if (o.json)
    command::print("{}", sweep_json(run, ended));
  else if (o.output.empty())
    command::print("{}", sweep_table(ended, selection));
  command::flush(stdout);
  tables.write("recount sweep " + run.plan.kernel, {sweep_summary(ended, selection)});
}

/// A parameter that the author of a file named must not be an option of the command.
void check_names(const kernel::Kernel& kernel, const command::Declared& command) {
  if (!kernel.compiles()) return;
  for (const auto& p : kernel.parameters())
    for (const auto& option : command.options)
      if (std::find(option.names.begin(), option.names.end(), "--" + p.name) != option.names.end())
        throw bad_input("kernel " + kernel.name(),
                        fmt::format("its parameter \"{}\" is an option of recount sweep", p.name),
                        "use another name in the file");
}

int execute_sweep(const SweepOptions& o, const std::vector<plot::Figure>& figures) {
  command::check_outputs(
      {.results = o.output, .plot = o.plot, .plot_on_terminal = true, .json = o.json, .resume = o.resume});
  check_figure(o.plot, o.figure, figures);
  const auto statistic = command::parse_statistic(o.statistic);
  const command::TableExport tables(o.dry_run ? std::string() : o.export_to);
  const SweepRun run = make_sweep(o);
  check_names(run.kernel, command::declared(sweep_command(figures)));
  if (run.grid.points.empty()) return 0; // of a shard
  if (!o.quiet) {
    command::note("{}", skipped_text(run.grid));
    announce(run);
  }
  if (o.dry_run) return 0;
  Ended ended = run_batch(run.batch);
  ended.results.statistic = statistic;
  report(run, ended, o, tables);
  if (!ended.results.observations.empty()) draw_sweep(o.plot, o.figure, figures, ended.results);
  return exit_status(run.batch, ended);
}

} // namespace

command::Command sweep_command(const std::vector<plot::Figure>& figures) {
  return {"sweep", "run a kernel over a grid of parameters and record counts and times",
          [&figures](command::Options& options) -> std::function<int()> {
            auto o = std::make_shared<SweepOptions>();
            options
                .words("KERNEL", o->kernel,
                       "kernel to measure; --help KERNEL lists its parameters, which are options")
                .list("--witness", o->witnesses, "LIST",
                      "clock, perf, papi, model, model:NAME (default: all that work here)")
                .event_files()
                .list("--metric", o->metrics, "LIST",
                      "presets, events, seconds, tsc_cycles (default: per witness)")
                .list("--where", o->conditions, "COND",
                      "keep only points that satisfy COND, e.g. 'stride<=size/2'")
                .number("-r,--repeat", o->repeat, "N", "repetitions per point (default 5)", {1, 1'000'000})
                .text("--sample", o->sample, "WHEN", sample_help)
                .number("--draws", o->draws, "N", draws_help, {1, 1000})
                .text("--max-memory", o->memory, "SIZE",
                      "reject points that need more memory (default: the available memory)")
                .text("-o,--output", o->output, "FILE", "append each result to FILE; - is stdout")
                .flag("--no-verdicts", o->no_verdicts, command::no_verdicts_help)
                .flag("--json", o->json, "print the summary as one JSON object")
                .number("--least", o->least, "N", "show the N points of least value of each metric only",
                        {1, 1'000'000})
                .text("--statistic", o->statistic, "NAME", command::statistic_help)
                .text("--export", o->export_to, "FILE", command::export_help)
                .text("--plot", o->plot, "FILE", "plot the curves; - plots on the terminal")
                .text("--figure", o->figure, "NAME",
                      "draw this figure, see recount plot --list (default: the first that suits)")
                .flag("-n,--dry-run", o->dry_run, "print the plan and exit")
                .rest(o->parameters)
                .help_topic(kernel_help)
                .footer(kernels_help);
            declare_sharded_runs(options, *o, 120);
            return [o, &figures] { return execute_sweep(*o, figures); };
          }};
}

command::Command run_point_command() {
  return {"run-point", "serve one run of a sweep",
          [](command::Options&) -> std::function<int()> {
            return [] { return sweep::serve(STDIN_FILENO, STDOUT_FILENO, kernel::find); };
          },
          true};
}

} // namespace recount::sweep
