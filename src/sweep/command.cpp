// recount sweep: a grid of points x repetitions x witnesses, each run in a process of its own.
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "sweep/options.hpp"
#include "sweep/plot.hpp"
#include "command/progress.hpp"
#include "sweep/table.hpp"
#include "command/table_export.hpp"
#include "kernel/kernel.hpp"
#include "sweep/serve.hpp"
#include "witness/witness.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <recount/error.hpp>
#include <unistd.h>

namespace recount::cli {
namespace {

void check_outputs(const SweepOptions& o) {
  if (o.resume && (o.output.empty() || o.output == "-"))
    throw bad_input("--resume", "there is no file to continue",
                    "add -o FILE, the file that the sweep was begun with");
  const int takers = (o.json ? 1 : 0) + (o.plot == "-" ? 1 : 0) + (o.output == "-" ? 1 : 0);
  if (takers > 1)
    throw bad_input("standard output", "is wanted by more than one of --json, --plot - and -o -",
                    "give all but one of them a file");
}

void announce(const sweep::Session& session) {
  const auto& plan = session.plan;
  std::string who;
  for (const auto& name : plan.witnesses)
    who += fmt::format("{}{}", who.empty() ? "" : ", ",
                       witness::find(name).native ? fmt::format("{} x {}", name, plan.repeat) : name);
  fmt::print(
      stderr, "{}\n",
      fit(fmt::format("recount sweep: {}: {} points by {}; {} runs, {}, seed {}", plan.kernel,
                      session.grid.points.size(), who, schedule(plan, session.grid).size(),
                      session.how.cpu ? fmt::format("timed ones on CPU {}", *session.how.cpu) : "not pinned",
                      plan.seed),
          line_width(stderr), 2));
}

/// The command line that continues this sweep.
std::string resume_command(const sweep::Session& session) {
  auto words = session.header.command;
  if (std::find(words.begin(), words.end(), "--resume") == words.end()) words.push_back("--resume");
  return quoted(words);
}

bool kept_in_file(const sweep::Session& session) {
  return !session.file.empty() && session.file != "-";
}

void tell_how_to_resume(const sweep::Session& session) {
  if (kept_in_file(session))
    fmt::print(stderr, "recount sweep: what was measured is in {}; continue with\n  {}\n", session.file,
               resume_command(session));
}

void report(const sweep::Session& session, const sweep::Ended& ended, const SweepOptions& o) {
  if (!o.quiet) {
    fmt::print(stderr, "recount sweep: {} runs in {}", ended.outcome.runs, show_time(ended.outcome.elapsed));
    if (ended.there > 0) fmt::print(stderr, ", {} were there already", ended.there);
    if (kept_in_file(session)) fmt::print(stderr, "; {}", session.file);
    fmt::print(stderr, "\n");
  }
  fmt::print(stderr, "{}", failures_text(ended.results.failures));
  if (o.json)
    fmt::print("{}", sweep_json(session, ended));
  else if (o.output.empty())
    fmt::print("{}", sweep_table(ended));
  std::fflush(stdout);
}

int status_of(const sweep::Ended& ended) {
  if (ended.outcome.stopped) return 128 + stop_signal();
  const auto& all = ended.results.observations;
  const bool any = std::any_of(all.begin(), all.end(), [](const auto& o) { return o.value.index() != 0; });
  if (!any) {
    fmt::print(stderr, "recount sweep: nothing was counted at all; recount doctor tells what can be\n");
    return 3;
  }
  return ended.results.failures.empty() ? 0 : 1;
}

sweep::Ended conduct(const sweep::Session& session, const SweepOptions& o, SweepPlot& plot) {
  ProgressLine line(o.quiet);
  result::Results so_far; // for the figure that follows along
  so_far.runs.push_back(session.header);
  sweep::Listener listener;
  listener.stop = [] { return stop_signal() != 0; };
  listener.progress = [&](const sweep::Progress& progress) {
    plot.refresh(so_far);
    line.show(progress);
  };
  if (plot.live())
    listener.observation = [&](const result::Observation& observation) {
      so_far.observations.push_back(observation);
    };
  try {
    auto ended = sweep::conduct(session, listener);
    line.clear();
    return ended;
  } catch (const Error& error) {
    line.clear();
    if (error.kind() == ErrorKind::unavailable) tell_how_to_resume(session);
    throw;
  }
}

int execute_sweep(const SweepOptions& o) {
  check_outputs(o);
  SweepPlot plot(o.plot, o.figure);
  const TableExport tables(o.dry_run ? std::string() : o.export_to);
  const sweep::Session session = sweep_session(o);
  if (!o.quiet) {
    fmt::print(stderr, "{}", skipped_text(session.grid));
    announce(session);
  }
  if (o.dry_run) return 0;
  catch_stop_signals();
  const sweep::Ended ended = conduct(session, o, plot);
  report(session, ended, o);
  tables.write("recount sweep " + session.plan.kernel, {sweep_summary(ended)});
  if (ended.outcome.stopped) tell_how_to_resume(session);
  if (!ended.results.observations.empty()) plot.finish(ended.results);
  return status_of(ended);
}

} // namespace

Command sweep_command() {
  return {
      "sweep", "run a kernel over a grid of points and collect what the witnesses say",
      [](Options& options) -> std::function<int()> {
        auto o = std::make_shared<SweepOptions>();
        options
            .words("KERNEL", o->kernel,
                   "the measured code; --help KERNEL lists its parameters, each of them an option")
            .list("--witness", o->witnesses, "LIST",
                  "clock, perf, papi, model, model:NAME; default: all that work")
            .list("--metric", o->metrics, "LIST", "presets, events, seconds, tsc_cycles")
            .list("--where", o->conditions, "COND", "leave points out that break it: 'stride<=size/2'")
            .number("-r,--repeat", o->repeat, "N", "repetitions of every point (5)")
            .text("--seed", o->seed, "N", "of the shuffled order; default: a random one, printed")
            .text("--cpu", o->cpu, "N", "measure on this CPU, or none for no pinning; default: the quietest")
            .text("--timeout", o->timeout, "SECONDS", "a run that takes longer has failed (120)")
            .text("--max-memory", o->memory, "SIZE",
                  "refuse points that need more; default: what is available")
            .text("-o,--output", o->output, "FILE", "append results to FILE as they are made; - is stdout")
            .flag("--resume", o->resume, "continue FILE, leaving out what is there")
            .flag("--json", o->json, "print the summary as one JSON object")
            .text("--export", o->export_to, "FILE", export_help)
            .text("--plot", o->plot, "FILE",
                  "draw the curves when done; - draws on the terminal as they grow")
            .text("--figure", o->figure, "NAME", "which figure, see recount plot --list")
            .flag("-q,--quiet", o->quiet, "no progress and no notes")
            .flag("-n,--dry-run", o->dry_run, "say what would be run, and stop")
            .rest(o->parameters)
            .help_topic(kernel_help)
            .footer(kernels_help);
        return [o] { return execute_sweep(*o); };
      }};
}

Command run_point_command() {
  return {"run-point", "serve one run of a sweep",
          [](Options&) -> std::function<int()> {
            return [] { return sweep::serve(STDIN_FILENO, STDOUT_FILENO, kernel::find); };
          },
          true};
}

} // namespace recount::cli
