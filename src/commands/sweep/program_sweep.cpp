#include "base/host/emulation.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "commands/sweep/sweep_table.hpp"
#include "kernel/command_line.hpp"
#include "run/modelled.hpp"
#include "run/program.hpp"
#include "run/witness/backend.hpp"
#include "show/command/measuring.hpp"
#include "show/command/print.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>

// recount sweep -P: the user's own program in place of a kernel.
namespace recount::sweep {
namespace {

constexpr std::chrono::seconds longest_run{3600};

Program make_program(const SweepOptions& o) {
  Program program{o.kernel, {}, o.environment, o.folder, o.input, o.warm_up, o.sample_every};
  if (!o.prepare.empty()) program.prepare = kernel::split_words(o.prepare, "--prepare");
  return program;
}

/// What is about kernels alone.
void refuse_kernel_options(const SweepOptions& o) {
  if (!o.parameters.empty())
    throw bad_input(o.parameters[0], "no option of recount sweep",
                    "write -- before the command, whose options follow it");
  for (const auto& [option, given] :
       {std::pair("--sample", !o.sample.empty()), std::pair("--draws", o.draws > 0),
        std::pair("--max-memory", !o.memory.empty())})
    if (given) throw bad_input(option, "is about kernels", "leave it out with -P");
}

/// Events and metrics that are requested: "seconds" is the clock's.
std::vector<std::string> list_counts(const SweepOptions& o) {
  std::vector<std::string> counts;
  auto lists = o.metrics;
  lists.insert(lists.end(), o.events.begin(), o.events.end());
  for (const stat::Item& item : stat::parse_items(lists)) {
    if (item.group)
      throw bad_input("-e {" + item.name + "}", "a sweep has no event groups", "leave out the braces");
    if (!is_seconds(item.name)) counts.push_back(item.name);
  }
  return counts;
}

/// Looked up here, so that a wrong name ends the sweep before it begins. The reason why none can be counted.
Reason check_events(const std::vector<std::string>& counts) {
  const stat::Plan plan =
      stat::make_plan(stat::parse_items(counts), metric::load({}), stat::parse_domain(""));
  for (const stat::PlanRow& row : plan.rows)
    if (row.kind == stat::RowKind::usage)
      throw bad_input("-e " + row.name, "is what the system accounts to a command, and not counted",
                      "recount stat -e " + row.name + " -- COMMAND");
  const auto counted = [](const auto& row) { return row.refused.empty(); };
  return plan.rows.empty() || std::ranges::any_of(plan.rows, counted) ? Reason() : plan.rows.front().refused;
}

/// The clock, and perf where events are requested; or those that are requested.
void choose_program_witnesses(Plan& plan, const SweepOptions& o) {
  auto counts = list_counts(o);
  plan.witnesses = list_witnesses(o.witnesses);
  if (plan.witnesses.empty()) {
    plan.witnesses = {Witness::clock};
    if (!counts.empty()) plan.witnesses.emplace_back(Witness::perf);
  }
  const auto counts_events = [](const Witness& name) { return name != Witness::clock; };
  const bool any = std::ranges::any_of(plan.witnesses, counts_events);
  for (const Witness& name : plan.witnesses)
    if (name == Witness::both)
      throw bad_input("--witness both", "is about kernels", "--witness perf,papi: by turns");
    else
      static_cast<void>(witness::find(name));
  if (any && counts.empty()) counts = witness::find(Witness::perf).default_metrics;
  if (!any && !counts.empty())
    throw bad_input("--witness clock", "counts no events", "add perf, papi or model, or leave out -e");
  const Reason none = check_events(counts);
  const bool native = std::ranges::any_of(
      plan.witnesses, [](const auto& name) { return name == Witness::perf || name == Witness::papi; });
  if (native && !none.empty() && !o.quiet)
    command::note("recount sweep: warning: no event can be counted here: {}\n", none.text());
  if (std::ranges::count(plan.witnesses, Witness(Witness::clock)) > 0) plan.metrics = {"seconds"};
  plan.metrics.insert(plan.metrics.end(), counts.begin(), counts.end());
  stat::Plan modelled;
  for (Witness& name : plan.witnesses) {
    if (!name.modelled()) continue;
    static_cast<void>(stat::add_modelled(modelled, {}, {name}, 0));
    if (o.sample_every > 0) name = name.with("sample");
  }
}

/// Of a path that is the same everywhere, or of a name in PATH.
void require_program(const Program& program, const Grid& grid) {
  if (!program.folder.empty()) return;
  for (const result::Params& point : grid.points)
    if (const std::string name = program.at(point).command.front(); !process::find_program(name))
      throw bad_input(name, fmt::format("program not found ({})", result::describe(point)),
                      name.find('/') == name.npos ? "is it in PATH? One in this folder is ./" + name
                                                  : "build it first");
}

} // namespace

void refuse_program_options(const SweepOptions& o) {
  for (const auto& [option, given] :
       {std::pair("-e", !o.events.empty()), std::pair("-E", !o.environment.empty()),
        std::pair("--chdir", !o.folder.empty()), std::pair("--prepare", !o.prepare.empty()),
        std::pair("--input", !o.input.empty()), std::pair("--baseline", !o.baseline.empty()),
        std::pair("--warm-up", o.warm_up > 0), std::pair("--sample-every", o.sample_every > 0)})
    if (given)
      throw bad_input(option, "is about a program",
                      "recount sweep -P n=1,2 ... -- COMMAND {n}; kernels have --metric");
}

SweepRun make_program_sweep(const SweepOptions& given) {
  refuse_kernel_options(given);
  SweepOptions o = given;
  if (o.cpu.empty()) o.cpu = "none"; // its threads may use all
  Plan plan;
  plan.kernel = program_kernel;
  plan.axes = parse_program_axes(o.axes);
  Program& program = this_command() = make_program(o);
  check_program(program, plan.axes);
  const auto kernel = make_program_kernel(plan.axes);
  for (const auto& text : o.conditions)
    plan.conditions.push_back(parse_condition(*kernel, text));
  choose_program_witnesses(plan, o);
  plan.repeat = host::repetitions(o.repeat, usual_repetitions);
  plan.seed = command::parse_seed(o.seed);
  Grid grid = expand(plan, *kernel);
  require_program(program, grid);
  auto stated = settings(plan);
  stated.merge(program.settings());
  if (!o.baseline.empty()) {
    const auto& [name, value] = parse_baseline(o.baseline, plan.axes);
    if (std::ranges::count(plan.witnesses, Witness(Witness::clock)) == 0)
      throw bad_input("--baseline " + o.baseline, "the speed-up needs times", "add the witness clock");
    stated["baseline"] = name + '=' + result::text(value);
  }
  Batch batch = make_batch("sweep", o, longest_run, plan.seed, std::move(stated));
  for (std::string& one : program.arguments())
    batch.execution.program.push_back(std::move(one));
  keep_shard(grid.points, batch.shard);
  if (!grid.points.empty()) batch.jobs = schedule(plan, grid);
  return {std::move(plan), std::move(grid), std::move(batch)};
}

} // namespace recount::sweep
