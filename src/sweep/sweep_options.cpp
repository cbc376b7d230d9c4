#include "sweep/sweep_options.hpp"

#include "base/text.hpp"
#include "base/witness.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/print.hpp"
#include "host/disturbance.hpp"
#include "host/pmu.hpp"
#include "kernel/kernel.hpp"
#include "model/machine.hpp"
#include "sweep/engine.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/sweep_plan.hpp"
#include "witness/backend.hpp"
#include "witness/counting.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::sweep {
namespace {

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto* kernel : kernel::all())
    names.push_back(kernel->name());
  return names;
}

const kernel::Kernel& kernel_of(const SweepOptions& o) {
  if (o.kernel.empty())
    throw bad_input("recount sweep", "no kernel given",
                    fmt::format("recount sweep stride --size 4K:64K:x2; the kernels are {}", //
                                fmt::join(kernel_names(), ", ")));
  if (o.kernel.size() > 1) throw bad_input(o.kernel[1], "one kernel at a time", "recount sweep --help");
  const auto& kernel = kernel::find(o.kernel[0]);
  result::Params texts; // may name the file that the kernel is in
  for (std::size_t i = 0; i + 1 < o.parameters.size(); i += 2)
    for (const auto& p : kernel.parameters())
      if (p.unit == kernel::Parameter::Unit::text && "--" + p.name == o.parameters[i])
        texts[p.name] = o.parameters[i + 1];
  return kernel.configured(texts);
}

/// What a kernel says of the file that it was read from belongs to the plan.
void add_texts_of_file(Plan& plan, const kernel::Kernel& kernel) {
  if (&kernel == &kernel::find(plan.kernel)) return;
  for (const auto& p : kernel.parameters()) {
    const auto given = [&](const Axis& axis) { return axis.name == p.name; };
    if (p.unit == kernel::Parameter::Unit::text && std::none_of(plan.axes.begin(), plan.axes.end(), given))
      plan.axes.push_back({p.name, {p.fallback}});
  }
}

/// Whether a witness is one of the default ones; the reason why not goes into `left_out`.
bool usable(const Plan& plan, const witness::Backend& witness, const kernel::Kernel& kernel,
            std::map<std::string, Reason>& left_out) {
  auto metrics = witness.default_metrics;
  if (!plan.metrics.empty()) {
    metrics.clear();
    std::copy_if(plan.metrics.begin(), plan.metrics.end(), std::back_inserter(metrics), witness.provides);
    if (metrics.empty()) return false; // no metric of its kind is requested
  }
  Reason why = witness.missing(metrics);
  if (why.empty() && witness.native) why = kernel.unprepared();
  if (!why.empty()) left_out[Witness(witness.kind).name()] = why;
  return why.empty();
}

/// Where the kernel cannot be executed here: an error unless another witness is requested.
void check_prepared(const Plan& plan, const kernel::Kernel& kernel, bool quiet) {
  const std::string why = kernel.unprepared();
  std::vector<Witness> native;
  for (const auto& name : plan.witnesses)
    if (witness::find(name).native) native.push_back(name);
  if (why.empty() || native.empty()) return;
  if (native.size() == plan.witnesses.size())
    throw unavailable("kernel " + kernel.name(), why, {}, "install what is missing, or use --witness model");
  if (!quiet)
    command::note("recount sweep: warning: {} cannot execute kernel {}: {}\n",
                  fmt::format("{}", fmt::join(native, ", ")), kernel.name(), why);
}

void choose_witnesses(Plan& plan, const kernel::Kernel& kernel, const SweepOptions& o) {
  plan.witnesses = command::list_witnesses(o.witnesses);
  const auto requested = [&](Witness::Kind kind) {
    return std::ranges::find(plan.witnesses, Witness(kind)) != plan.witnesses.end();
  };
  if (requested(Witness::both) && (requested(Witness::perf) || requested(Witness::papi)))
    throw bad_input("--witness both", "already includes perf and papi", "remove perf and papi, or both");
  for (const auto& name : plan.witnesses) {
    const auto& witness = witness::find(name);
    if (const auto machine = name.described_machine()) static_cast<void>(model::machine(*machine));
    const auto metrics = metrics_of(plan, name);
    if (const Reason why = witness.missing(metrics); !why.empty() && !o.quiet && !name.modelled())
      command::note("recount sweep: warning: {} cannot count any of its metrics here: {}\n", name,
                    why.text());
  }
  if (!plan.witnesses.empty()) return check_prepared(plan, kernel, o.quiet);
  std::map<std::string, Reason> left_out;
  for (const auto& witness : witness::all())
    if (usable(plan, witness, kernel, left_out)) plan.witnesses.emplace_back(witness.kind);
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
  add_texts_of_file(plan, kernel);
  for (const auto& text : o.conditions)
    plan.conditions.push_back(parse_condition(kernel, text));
  plan.repeat = static_cast<int>(o.repeat);
  plan.seed = command::parse_seed(o.seed);
  plan.modes = parse_modes(o.sample, o.draws);
  plan.metrics = command::list_words(o.metrics);
  for (const auto& metric : plan.metrics)
    witness::require_known(metric);
  return plan;
}

} // namespace

SweepRun make_sweep(const SweepOptions& o) {
  const auto& kernel = kernel_of(o);
  Plan plan = make_plan(kernel, o);
  Grid grid = expand(plan, kernel);
  choose_witnesses(plan, kernel, o);
  Batch batch = make_batch("sweep", o, std::chrono::seconds(120), plan.seed, settings(plan));
  const std::size_t points = grid.points.size();
  keep_shard(grid.points, batch.shard);
  if (grid.points.empty())
    command::note("{}", empty_shard_text("sweep", batch.shard, points));
  else
    batch.jobs = schedule(plan, grid);
  batch.how.temporary = kernel.compiles();
  check_memory(batch.jobs, o.memory);
  batch.header.verdicts = command::verdict_marks("sweep", o.no_verdicts).by_name();
  return {kernel, std::move(plan), std::move(grid), std::move(batch)};
}

namespace {

using kernel::Parameter;

constexpr std::size_t most_choices = 24; ///< in a column

std::string show(const Parameter& p, std::int64_t value) {
  return p.unit == Parameter::Unit::bytes && value >= 1024 && value % 1024 == 0 ? base::format_bytes(value)
                                                                                : std::to_string(value);
}

std::string fallback(const Parameter& p) {
  if (const auto* whole = std::get_if<std::int64_t>(&p.fallback)) return show(p, *whole);
  return std::get<std::string>(p.fallback);
}

std::string bounds(const Parameter& p) {
  if (p.unit == Parameter::Unit::choice && p.choices.size() > most_choices)
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

} // namespace

std::string kernel_help(const std::string& name) {
  // A pointer: g++ 14 takes a reference from these calls for one to their temporary arguments.
  const kernel::Kernel* const kernel =
      name.ends_with(".nest") ? &kernel::find_configured("nest", {{"file", name}}) : &kernel::find(name);
  command::Table table({{"parameter"}, {"default"}, {"values"}, {""}});
  for (const auto& p : kernel->parameters())
    table.add({"--" + p.name + value_word(p), fallback(p), bounds(p), p.prose});
  return fmt::format(
      "{}: {}\n\n{}\nRANGE is FIRST:LAST:xFACTOR, FIRST:LAST:STEP or A,B,C; numbers take K, M, G "
      "(powers of 1024).\nWORDS is a list separated by commas, or all. The loop and its expected counts: "
      "recount-kernels(7).\n",
      kernel->name(), kernel->prose(), table.text());
}

std::string kernels_help() {
  command::Table table({{"kernel"}, {""}});
  for (const auto* kernel : kernel::all())
    table.add({kernel->name(), kernel->prose()});
  return "\n" + table.text();
}

} // namespace recount::sweep
