#include "base/format.hpp"
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "kernel/kernel.hpp"
#include "sweep/engine.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/serve.hpp"
#include "sweep/session.hpp"
#include "sweep/sweep_options.hpp"
#include "sweep/sweep_plan.hpp"
#include "sweep/sweep_table.hpp"
#include "witness/witness.hpp"

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

void announce(const sweep::Session& session) {
  const auto& plan = session.plan;
  std::string who;
  for (const auto& name : plan.witnesses)
    who += fmt::format("{}{}", who.empty() ? "" : ", ",
                       witness::find(name).native ? fmt::format("{} x {}", name, plan.repeat) : name);
  const auto jobs = schedule(plan, session.grid);
  std::string model_time;
  if (std::any_of(jobs.begin(), jobs.end(),
                  [](const auto& job) { return !witness::find(job.witness).native; }))
    model_time =
        "; the simulation takes about " + format_seconds(sweep::model_seconds(jobs, session.how.parallel));
  command::print(
      stderr, "{}\n",
      command::fit(
          fmt::format("recount sweep: {}: {} by {}; {}, {}, seed {}{}", plan.kernel,
                      base::format_count(session.grid.points.size(), "point"), who,
                      base::format_count(jobs.size(), "run"),
                      session.how.cpu ? fmt::format("timed ones on CPU {}", *session.how.cpu) : "not pinned",
                      plan.seed, model_time),
          command::line_width(stderr), 2));
}

bool kept_in_file(const sweep::Session& session) {
  return !session.file.empty() && session.file != "-";
}

Selection selection_of(const sweep::Session& session, const SweepOptions& o) {
  return {static_cast<std::size_t>(o.least), session.grid.points.front()};
}

void report(const sweep::Session& session, const sweep::Ended& ended, const SweepOptions& o) {
  if (!o.quiet) {
    command::print(stderr, "recount sweep: {} in {}", base::format_count(ended.outcome.runs, "run"),
                   show_time(ended.outcome.elapsed));
    if (ended.there > 0)
      command::print(stderr, ", {} {} in the file already", ended.there, ended.there == 1 ? "was" : "were");
    if (kept_in_file(session)) command::print(stderr, "; {}", session.file);
    command::print(stderr, "\n");
  }
  command::note("{}{}", failures_text(ended.results.failures), unfinished_text(ended.outcome.unfinished));
  if (o.json)
    command::print("{}", sweep_json(session, ended));
  else if (o.output.empty())
    command::print("{}", sweep_table(ended, selection_of(session, o)));
  command::flush(stdout);
}

int status_of(const sweep::Ended& ended) {
  if (ended.outcome.stopped) return 128 + command::stop_signal();
  const auto& all = ended.results.observations;
  const bool any = std::any_of(all.begin(), all.end(), [](const auto& o) { return o.value.index() != 0; });
  if (!any && !ended.results.failures.empty()) return 3; // failures_text() has printed the reasons
  if (!any) {
    command::note("recount sweep: nothing was counted: see recount doctor\n");
    return 3;
  }
  return ended.results.failures.empty() ? 0 : 1;
}

sweep::Ended conduct(const sweep::Session& session, const SweepOptions& o, SweepPlot& plot) {
  ProgressLine line(o.quiet);
  result::Results so_far; // for the live figure
  so_far.runs.push_back(session.header);
  sweep::Listener listener;
  listener.stop = [] { return command::stop_signal() != 0; };
  listener.progress = [&](const sweep::Progress& progress) {
    plot.refresh(so_far);
    line.show(progress);
  };
  bool measured = false;
  listener.observation = [&](const result::Observation& observation) {
    measured = true;
    if (plot.live()) so_far.observations.push_back(observation);
  };
  try {
    auto ended = sweep::conduct(session, listener);
    line.clear();
    return ended;
  } catch (const Error&) {
    line.clear();
    command::print_resume_command("sweep", session.file, session.header.command, measured);
    throw;
  }
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
  SweepPlot plot(o.plot, o.figure, figures);
  const auto statistic = command::parse_statistic(o.statistic);
  const command::TableExport tables(o.dry_run ? std::string() : o.export_to);
  const sweep::Session session = sweep_session(o);
  check_names(session.kernel, command::declared(sweep_command(figures)));
  if (session.grid.points.empty()) return 0; // of a shard
  if (!o.quiet) {
    command::note("{}", skipped_text(session.grid));
    announce(session);
  }
  if (o.dry_run) return 0;
  command::catch_stop_signals();
  sweep::Ended ended = conduct(session, o, plot);
  ended.results.statistic = statistic;
  report(session, ended, o);
  tables.write("recount sweep " + session.plan.kernel, {sweep_summary(ended, selection_of(session, o))});
  if (ended.outcome.stopped)
    command::print_resume_command("sweep", session.file, session.header.command,
                                  !ended.results.observations.empty());
  if (!ended.results.observations.empty()) plot.finish(ended.results);
  return status_of(ended);
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
                .list("--metric", o->metrics, "LIST",
                      "presets, events, seconds, tsc_cycles (default: per witness)")
                .list("--where", o->conditions, "COND",
                      "keep only points that satisfy COND, e.g. 'stride<=size/2'")
                .number("-r,--repeat", o->repeat, "N", "repetitions per point (default 5)", {1, 1'000'000})
                .text("--sample", o->sample, "WHEN", sample_help)
                .number("--draws", o->draws, "N", draws_help, {1, 1000})
                .text("--seed", o->seed, "N", "seed of the order of the runs (default: random, printed)")
                .text("--cpu", o->cpu, "N",
                      "measure on this CPU, or none for no pinning (default: the least disturbed)")
                .text("--timeout", o->timeout, "SECONDS",
                      "time-out per run: wall time (default 120), for the model CPU time (default none)")
                .text("--max-memory", o->memory, "SIZE",
                      "reject points that need more memory (default: the available memory)")
                .text("-o,--output", o->output, "FILE", "append each result to FILE; - is stdout")
                .text("--shard", o->shard, "K/N", shard_help)
                .number("-j,--jobs", o->parallel, "N", parallel_help, {1, 10'000})
                .flag("--resume", o->resume, "resume FILE: run only what is missing")
                .flag("--no-verdicts", o->no_verdicts, command::no_verdicts_help)
                .flag("--json", o->json, "print the summary as one JSON object")
                .number("--least", o->least, "N", "show the N points of least value of each metric only",
                        {1, 1'000'000})
                .text("--statistic", o->statistic, "NAME", command::statistic_help)
                .text("--export", o->export_to, "FILE", command::export_help)
                .text("--plot", o->plot, "FILE",
                      "plot the curves at the end; - plots on the terminal and updates")
                .text("--figure", o->figure, "NAME",
                      "draw this figure, see recount plot --list (default: the first that suits)")
                .flag("-q,--quiet", o->quiet, "print no progress and no notes")
                .flag("-n,--dry-run", o->dry_run, "print the plan and exit")
                .rest(o->parameters)
                .help_topic(kernel_help)
                .footer(kernels_help);
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
