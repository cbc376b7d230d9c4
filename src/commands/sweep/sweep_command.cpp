#include "base/format.hpp"
#include "base/host/disturbance.hpp"
#include "base/host/emulation.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/sweep/sweep_table.hpp"
#include "kernel/command_line.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"
#include "run/batch.hpp"
#include "run/program.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"
#include "run/worker.hpp"
#include "show/command/batch.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/command/removed.hpp"
#include "show/document/groups.hpp"

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

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto* kernel : kernel::all())
    names.push_back(kernel->name());
  return names;
}

const kernel::Kernel& find_kernel(const SweepOptions& o) {
  if (o.kernel.empty())
    throw bad_input("recount sweep", "no kernel given",
                    fmt::format("recount sweep stride --size 4K:64K:x2; the kernels are {}", //
                                fmt::join(kernel_names(), ", ")));
  if (o.kernel.size() > 1) throw bad_input(o.kernel[1], "one kernel at a time", "recount sweep --help");
  if (const auto* const removed = command::find_removed("sweep", o.kernel[0]))
    throw bad_input(o.kernel[0], std::string(removed->was), std::string(removed->fix));
  return kernel::find(o.kernel[0]);
}

/// Whether a witness is one of the default ones; the reason why not goes into `left_out`.
bool usable(const Plan& plan, const witness::Backend& witness, std::map<std::string, Reason>& left_out) {
  auto metrics = witness.default_metrics;
  if (!plan.metrics.empty()) {
    metrics.clear();
    std::copy_if(plan.metrics.begin(), plan.metrics.end(), std::back_inserter(metrics), witness.provides);
    if (metrics.empty()) return false; // no metric of its kind is requested
  }
  Reason why = witness.missing(metrics);
  if (!why.empty()) left_out[Witness(witness.kind).name()] = why;
  return why.empty();
}

void choose_witnesses(Plan& plan, const SweepOptions& o) {
  plan.witnesses = list_witnesses(o.witnesses);
  const auto requested = [&](Witness::Kind kind) {
    return std::ranges::find(plan.witnesses, Witness(kind)) != plan.witnesses.end();
  };
  if (requested(Witness::both) && (requested(Witness::perf) || requested(Witness::papi)))
    throw bad_input("--witness both", "already includes perf and papi", "remove perf and papi, or both");
  for (const auto& name : plan.witnesses) {
    const auto& witness = witness::find(name);
    if (const auto machine = name.described_machine()) static_cast<void>(model::machine(*machine));
    const auto metrics = list_metrics(plan, name);
    if (const Reason why = witness.missing(metrics); !why.empty() && !o.quiet && !name.modelled())
      command::note("recount sweep: warning: {} cannot count any of its metrics here: {}\n", name,
                    why.text());
  }
  if (!plan.witnesses.empty()) return;
  std::map<std::string, Reason> left_out;
  for (const auto& witness : witness::all())
    if (usable(plan, witness, left_out)) plan.witnesses.emplace_back(witness.kind);
  if (!left_out.empty() && !o.quiet)
    command::note("{}\n", "recount sweep: " + command::without_text(left_out));
  if (plan.witnesses.empty())
    throw unavailable("--metric " + fmt::format("{}", fmt::join(plan.metrics, ",")),
                      "no witness can measure these metrics here", {}, "recount doctor");
}

void check_memory(const std::vector<Job>& jobs, const std::string& limit) {
  const std::int64_t available = host::memory_available();
  if (limit.empty())
    return check_memory(jobs, available, fmt::format("available memory = {} bytes", available));
  const std::int64_t own = parse_size(limit, "--max-memory");
  if (own < 1 || own > available)
    throw bad_input("--max-memory " + limit,
                    fmt::format("must be between 1 and {}, the available memory in bytes", available));
  check_memory(jobs, own, "--max-memory " + limit);
}

Plan make_plan(const kernel::Kernel& kernel, const SweepOptions& o) {
  Plan plan;
  plan.kernel = kernel.name();
  for (std::size_t i = 0; i + 1 < o.parameters.size(); i += 2) {
    const std::string name = o.parameters[i].substr(2);
    if (std::ranges::count(plan.axes, name, &Axis::name) > 0)
      throw bad_input("--" + name, "is given twice", "use a list: --" + name + " 4K,1M:4M:x2");
    plan.axes.push_back(parse_axis(kernel, name, o.parameters[i + 1]));
  }
  for (const auto& text : o.conditions)
    plan.conditions.push_back(parse_condition(kernel, text));
  plan.repeat = host::repetitions(o.repeat, usual_repetitions);
  plan.seed = command::parse_seed(o.seed);
  plan.modes = parse_modes(o.sample, o.draws);
  plan.metrics = base::list_words(o.metrics);
  for (const auto& metric : plan.metrics)
    witness::require_known(metric);
  return plan;
}

/// Everything checked and filled in; no points where the shard has none. Throws recount::Error.
SweepRun make_sweep(const SweepOptions& o) {
  refuse_program_options(o);
  const auto& kernel = find_kernel(o);
  Plan plan = make_plan(kernel, o);
  Grid grid = expand(plan, kernel);
  choose_witnesses(plan, o);
  Batch batch = make_batch("sweep", o, std::chrono::seconds(120), plan.seed, settings(plan));
  keep_shard(grid.points, batch.shard);
  if (!grid.points.empty()) batch.jobs = schedule(plan, grid);
  check_memory(batch.jobs, o.memory);
  return {std::move(plan), std::move(grid), std::move(batch)};
}

using kernel::Parameter;

constexpr std::size_t max_choices = 24; ///< in a column

std::string show(const Parameter& p, std::int64_t value) {
  return p.unit == Parameter::Unit::bytes && value >= 1024 && value % 1024 == 0 ? base::format_bytes(value)
                                                                                : std::to_string(value);
}

std::string fallback(const Parameter& p) {
  if (const auto* whole = std::get_if<std::int64_t>(&p.fallback)) return show(p, *whole);
  return std::get<std::string>(p.fallback);
}

std::string bounds(const Parameter& p) {
  if (p.unit == Parameter::Unit::choice && p.choices.size() > max_choices)
    return fmt::format("{}, {}, ... ({})", p.choices[0], p.choices[1], p.choices.size());
  if (p.unit == Parameter::Unit::choice) return fmt::format("{}", fmt::join(p.choices, ", "));
  if (p.unit == Parameter::Unit::text) return "any";
  if (p.most == 0) return "at least " + show(p, p.least);
  return show(p, p.least) + " to " + show(p, p.most);
}

const char* value_word(const Parameter& p) {
  if (p.unit == Parameter::Unit::text) return " TEXT";
  return p.unit == Parameter::Unit::choice ? " WORDS" : " RANGE";
}

/// The page of a kernel's parameters, for `recount sweep --help KERNEL`.
std::string kernel_help(const std::string& name) {
  // A pointer: g++ 14 takes a reference from these calls for one to their temporary arguments.
  const kernel::Kernel* const kernel = &kernel::find(name);
  show::Table table({{"parameter"}, {"default"}, {"values"}, {""}});
  for (const auto& p : kernel->parameters())
    table.add({"--" + p.name + value_word(p), fallback(p), bounds(p), p.prose});
  return fmt::format(
      "{}: {}\n\n{}\nRANGE is FIRST:LAST:xFACTOR, FIRST:LAST:STEP or A,B,C; numbers take K, M, G "
      "(powers of 1024).\nWORDS is a list separated by commas, or all. The loop and its expected counts: "
      "recount-kernels(7).\n",
      kernel->name(), kernel->prose(), command::table_text(table));
}

/// All kernels, a line each.
std::string kernels_help() {
  show::Table table({{"kernel"}, {""}});
  for (const auto* kernel : kernel::all())
    table.add({kernel->name(), kernel->prose()});
  return "\n" + command::table_text(table);
}

void announce(const SweepRun& run, long repeat) {
  const auto& plan = run.plan;
  std::vector<std::string> who;
  for (const auto& name : plan.witnesses)
    who.push_back(witness::find(name).native ? fmt::format("{} x {}", name, plan.repeat) : name.name());
  std::string model_time;
  if (run.plan.kernel != program_kernel &&
      std::ranges::any_of(run.batch.jobs, [](const auto& job) { return !witness::find(job.witness).native; }))
    model_time =
        "; the simulation takes about " + base::format_duration(std::chrono::duration<double>(
                                              model_seconds(run.batch.jobs, run.batch.execution.parallel)));
  const auto& cpu = run.batch.execution.cpu;
  command::print(
      stderr, "{}\n",
      command::fit(
          fmt::format("recount sweep: {}: {} by {}; {}{}, {}, seed {}{}", plan.kernel,
                      base::format_count(run.grid.points.size(), "point"), fmt::join(who, ", "),
                      base::format_count(run.batch.jobs.size(), "run"), host::single_execution_text(repeat),
                      cpu ? fmt::format("timed ones on CPU {}", *cpu) : "not pinned", plan.seed, model_time),
          command::line_width(stderr), 2));
}

void report(const SweepRun& run, const BatchResult& ended, const SweepOptions& o,
            const command::TableExport& tables) {
  if (!o.quiet) {
    command::print(stderr, "recount sweep: {} in {}{}", base::format_count(ended.outcome.runs, "run"),
                   base::format_duration(ended.outcome.elapsed), host::emulated_text());
    if (ended.already_recorded > 0)
      command::print(stderr, ", {} {} in the file already", ended.already_recorded,
                     ended.already_recorded == 1 ? "was" : "were");
    if (!o.output.empty() && o.output != "-") command::print(stderr, "; {}", o.output);
    command::print(stderr, "\n");
  }
  command::note("{}{}", failures_text(ended.results.failures), unfinished_text(ended.outcome.unfinished));
  const Selection selection{static_cast<std::size_t>(o.least), run.grid.points.front(), o.all};
  if (o.json)
    command::print("{}", sweep_json(run, ended));
  else if (o.output.empty() || (run.plan.kernel == program_kernel && o.output != "-"))
    command::print("{}", sweep_table(ended, selection));
  command::flush(stdout);
  tables.write("recount sweep " + run.plan.kernel, {sweep_summary(ended, selection)});
}

/// Further repetitions by the clock of neighbouring points whose times are not distinguishable.
Further repeat_undecided(const Batch& batch, const result::Results& results,
                         statistics::Statistic statistic) {
  result::Results judged = results;
  judged.statistic = statistic;
  const auto points = undecided_points(sweep_groups(judged));
  Further round = repeat_again(batch.jobs, results, batch.header.seed, [&](const Job& job) {
    return job.witness == Witness::clock && std::ranges::find(points, job.point) != points.end();
  });
  round.undecided = points.size() / 2;
  return round;
}

int execute_sweep(const SweepOptions& o, const std::vector<plot::Figure>& figures) {
  command::check_outputs(
      {.results = o.output, .plot = o.plot, .plot_on_terminal = true, .json = o.json, .resume = o.resume});
  check_figure(o.plot, o.figure, figures);
  const auto statistic = command::parse_statistic(o.statistic);
  const command::TableExport tables(o.dry_run ? std::string() : o.export_to);
  SweepRun run = o.axes.empty() ? make_sweep(o) : make_program_sweep(o);
  if (run.grid.points.empty()) { // of a shard
    command::note("{}", empty_shard_text("sweep", run.batch.shard, run.grid.whole));
    return 0;
  }
  if (!o.quiet) {
    command::note("{}", skipped_text(run.grid));
    announce(run, o.repeat);
  }
  if (o.dry_run) return 0;
  if (o.repeat == 0 && run.batch.shard.whole() && !host::this_emulation().exact)
    run.batch.until_decided.next = [&](const auto& results) {
      return repeat_undecided(run.batch, results, statistic);
    };
  BatchResult ended = command::run_batch(run.batch);
  ended.results.statistic = statistic;
  const result::Results measured = ended.results;
  ended.results = with_speed_up(std::move(ended.results));
  report(run, ended, o, tables);
  if (!ended.results.observations.empty()) draw_sweep(o.plot, o.figure, figures, measured);
  return command::exit_status(run.batch, ended);
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
                .list("-e,--event", o->events, "LIST",
                      "of a program: presets, events and metrics (default: the time)")
                .list("-P,--parameter", o->axes, "NAME=VALUES",
                      "sweep a program instead: replace {NAME} in -- COMMAND")
                .list("-E,--environment", o->environment, "NAME=TEXT", "set this variable for the program")
                .text("--chdir", o->folder, "DIR", "execute the program in this folder")
                .text("--prepare", o->prepare, "COMMAND", "execute this before each run, without a shell")
                .text("--input", o->input, "FILE", "standard input of the program (default: /dev/null)")
                .number("-w,--warm-up", o->warm_up, "N",
                        "runs of the program before the first of a point that are not counted (default 0)",
                        {0, 1'000'000})
                .text("--baseline", o->baseline, "NAME=VALUE",
                      "show the speed-up of the program over this value of a parameter")
                .list("--where", o->conditions, "COND",
                      "keep only points that satisfy COND, e.g. 'stride<=size/2'")
                .number("-r,--repeat", o->repeat, "N",
                        "repetitions per point (default: 5, of times more until neighbours differ)",
                        {1, 1'000'000})
                .text("--sample", o->sample, "WHEN", sample_help)
                .number("--sample-every", o->sample_every, "N",
                        "of a program: simulate one of N windows of accesses, and state the error",
                        {2, 1'000'000})
                .number("--draws", o->draws, "N", draws_help, {1, 1000})
                .text("--max-memory", o->memory, "SIZE",
                      "reject points that need more memory (default: the available memory)")
                .text("-o,--output", o->output, "FILE", "append each result to FILE; - is stdout")
                .flag("--json", o->json, "print the summary as one JSON object")
                .number("--least", o->least, "N", "show the N points of least value of each metric only",
                        {1, 1'000'000})
                .text("--statistic", o->statistic, "NAME", command::statistic_help)
                .text("--export", o->export_to, "FILE", command::export_help)
                .text("--plot", o->plot, "FILE", "plot the curves; - plots on the terminal")
                .text("--figure", o->figure, "NAME",
                      "draw this figure, see recount plot --list (default: the first that suits)")
                .flag("-v,--verbose", o->all, "print every value of a long sweep, not a line per point")
                .flag("-n,--dry-run", o->dry_run, "print the plan and exit")
                .rest(o->parameters)
                .help_topic(kernel_help)
                .footer(kernels_help);
            command::declare_sharded_runs(options, *o, 120);
            return [o, &figures] { return execute_sweep(*o, figures); };
          }};
}

command::Command run_point_command() {
  return {"run-point", "serve one run of a sweep",
          [](command::Options& options) -> std::function<int()> {
            auto program = std::make_shared<Program>();
            auto prepare = std::make_shared<std::string>();
            options.event_files()
                .list("--environment", program->environment, "NAME=TEXT", "")
                .text("--chdir", program->folder, "DIR", "")
                .text("--prepare", *prepare, "COMMAND", "")
                .text("--input", program->input, "FILE", "")
                .number("--warm-up", program->warm_up, "N", "", {0, 1'000'000})
                .number("--sample-every", program->sample, "N", "", {0, 1'000'000})
                .program(program->command, "");
            return [program, prepare] {
              if (!prepare->empty()) program->prepare = kernel::split_words(*prepare, "--prepare");
              this_command() = *program;
              return sweep::serve(STDIN_FILENO, STDOUT_FILENO, kernel::find);
            };
          },
          true};
}

} // namespace recount::sweep
