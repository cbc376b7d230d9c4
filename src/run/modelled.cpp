#include "run/modelled.hpp"

#include "base/nearest.hpp"
#include "base/process/waiter.hpp"
#include "base/witness.hpp"
#include "model/metrics.hpp"
#include "model/trace/session.hpp"
#include "model/trace/simulation.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/counting.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <range/v3/range/conversion.hpp>
#include <range/v3/view/remove_if.hpp>
#include <range/v3/view/transform.hpp>

namespace recount::stat {
namespace {

constexpr const char* instructions = "PAPI_TOT_INS";

std::vector<std::string> known_names(const model::MachineDescription& machine) {
  auto names = model::metric_names(machine, true);
  names.emplace_back(instructions);
  return names;
}

/// The default metrics: what describes the accesses of a program.
std::vector<std::string> default_names(const model::MachineDescription& machine) {
  const auto known = known_names(machine);
  std::vector<std::string> names{instructions,  "PAPI_LD_INS", "PAPI_SR_INS", "PAPI_L1_DCM",
                                 "PAPI_L2_DCM", "PAPI_L3_DCM", "PAPI_TLB_DM"};
  std::erase_if(names, [&](const std::string& name) { return std::ranges::count(known, name) == 0; });
  return names;
}

PlanRow make_row(const std::string& name, const Witness& witness, const model::MachineDescription& machine) {
  PlanRow row{.name = name, .kind = RowKind::modelled, .witness = witness};
  const auto known = known_names(machine);
  if (std::ranges::count(known, name) > 0) return row;
  witness::require_known(name, known);
  row.refused = {fmt::format("the model of {} has no such metric", machine.name),
                 {},
                 base::did_you_mean(name, known, "recount-machines(5) lists its metrics"),
                 ReasonCode::no_event};
  return row;
}

/// Of instruction fetches, alone or with data. Without one, fetches are not simulated.
bool needs_fetches(const std::string& name, const model::MachineDescription& machine) {
  const auto of_data = model::metric_names(machine);
  return name != instructions && (std::ranges::count(of_data, name) == 0 || name.find("_TC") != name.npos);
}

model::MachineDescription find_machine(const Witness& witness, long sample) {
  model::MachineDescription machine = model::machine(witness.machine());
  if (machine.placement && machine.placement->mixed) machine.instructions.reset(); // pages of one size
  if (sample > 0) machine.sampled = false;                                         // only its name says so
  if (machine.sampled || !machine.family.empty())
    throw bad_input("--witness " + witness.name(), "~sample and ~l1= are for kernels",
                    "omit them; --sample-every N samples a program");
  return machine;
}

/// Sampled values are labelled as those of kernels are: "model:i7-9700~sample".
Witness sampled(const Witness& witness, long sample) {
  return sample == 0 || witness.detail.ends_with("~sample") ? witness : witness.with("sample");
}

class ModelledRun {
public:
  ModelledRun(const ModelledRows& of, const Request& request) : of_(of), request_(request) {}

  process::Exit execute(const Execution& execution) {
    model::MachineDescription machine = of_.machine;
    if (machine.placement) machine.placement->draw = static_cast<std::uint64_t>(execution.repetition);
    trace::Simulation simulation(machine, request_.section, {request_.from, request_.to}, request_.sample);
    trace::Session session([&](std::uint32_t, std::uint32_t) { return simulation.begin(); },
                           trace::Simulation::end);
    const bool sections = !request_.section.empty(), functions = !simulation.functions().empty();
    const auto tool = trace::tool_command(
        request_.command, {.channel = session.channel(), .sections = sections, .exact = functions});
    const process::Fd sink = process::null_output();
    const process::Exit exit =
        stat::execute(tool.argv, execution.signals, execution.ended.signal, tool.environment,
                      trace::descriptors(sink, sections), request_.streams());
    session.finish();
    const trace::Totals& totals = simulation.totals();
    values_ = simulation.values();
    percent_ = totals.percent();
    missing_ = trace::unexecuted(totals.undecoded, exit);
    if (missing_.empty()) missing_ = session.missing(exit);
    if (sections && !totals.section_seen)
      missing_ = "the program never began the section " + request_.section;
    if (auto never = trace::never_entered(simulation.functions()); !never.empty())
      missing_ = std::move(never);
    if (totals.too_few_windows) unsampled_ = trace::too_few_windows;
    flag_ = session.doubts();
    if (flag_.empty() && totals.undecoded) flag_ = trace::handled_undecoded;
    return exit;
  }

  void fill(const Plan& plan, std::vector<result::Observation>& rows) const {
    for (std::size_t r = of_.first; r < of_.first + of_.count; ++r) {
      result::Observation& row = rows[r];
      row.metric = plan.rows[r].name;
      row.witness = of_.witness;
      const auto value = values_.values.find(row.metric);
      const auto error = values_.errors.find(row.metric);
      row.reason = !plan.rows[r].refused.empty() ? plan.rows[r].refused : Reason(missing_);
      if (row.reason.empty() && error != values_.errors.end()) row.reason = unsampled_;
      if (!row.reason.empty() || value == values_.values.end()) continue;
      row.value = value->second;
      if (error != values_.errors.end()) row.flags.push_back(result::sampled_flag(percent_, error->second));
      if (!flag_.empty()) row.flags.emplace_back(Flag::Kind::note, flag_);
    }
  }

private:
  const ModelledRows& of_;
  const Request& request_;
  trace::Totals::Values values_;
  double percent_ = 100;
  std::string missing_, unsampled_, flag_;
};

} // namespace

Witnesses parse_witnesses(const std::vector<std::string>& lists) {
  Witnesses requested;
  const auto words = list_witnesses(lists);
  if (words.empty()) return requested;
  requested.perf = false;
  for (const Witness& witness : words) {
    static_cast<void>(witness::find(witness));
    if (witness == Witness::perf)
      requested.perf = true;
    else if (witness == Witness::papi)
      requested.papi = true;
    else if (witness.modelled())
      requested.models.push_back(witness);
    else
      throw bad_input("--witness " + witness.name(), "does not observe programs",
                      "perf and papi count them; model and model:NAME simulate them");
  }
  return requested;
}

std::vector<ModelledRows> add_modelled(Plan& plan, const std::vector<Item>& items,
                                       const std::vector<Witness>& models, long sample) {
  std::vector<ModelledRows> all;
  for (const Witness& witness : models) {
    ModelledRows& rows = all.emplace_back(
        ModelledRows{sampled(witness, sample), find_machine(witness, sample), plan.rows.size(), 0});
    const auto names = items.empty() ? default_names(rows.machine)
                                     : items | ranges::views::remove_if(&Item::repeated) |
                                           ranges::views::transform(&Item::name) | ranges::to<std::vector>();
    for (const std::string& name : names)
      plan.rows.push_back(make_row(name, rows.witness, rows.machine));
    rows.count = names.size();
    if (std::ranges::none_of(names, [&](const auto& name) { return needs_fetches(name, rows.machine); }))
      rows.machine.instructions.reset();
    rows.machine = model::enough_for(std::move(rows.machine), names);
  }
  const bool fetches =
      std::ranges::any_of(all, [](const auto& of) { return of.machine.instructions.has_value(); });
  if (!all.empty())
    plan.notes.push_back(fmt::format("modelled: simulated, not measured; user mode, data accesses{}; each "
                                     "process has the machine to itself, "
                                     "and its threads are distributed over the cores",
                                     fetches ? " and instruction fetches" : ""));
  return all;
}

std::vector<Pass> model_passes(const Plan& plan, const std::vector<ModelledRows>& models,
                               const Request& request) {
  if (models.empty()) return {};
  static_cast<void>(trace::tool_command(request.command, {})); // refused before anything is executed
  trace::demand_functions(request.command, {request.from, request.to});
  std::vector<Pass> passes;
  for (const ModelledRows& of : models)
    passes.emplace_back([&](const Execution& execution, Slice& slice) {
      ModelledRun modelled(of, request);
      const process::Exit ended = modelled.execute(execution);
      modelled.fill(plan, slice.rows);
      return ended;
    });
  return passes;
}

} // namespace recount::stat
