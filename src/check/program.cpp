#include "check/program.hpp"

#include "check/index.hpp"
#include "host/pmu.hpp"
#include "kernel/proofs.hpp"
#include "trace/tool.hpp"
#include "witness/metric_events.hpp"
#include "witness/program_witness.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <sstream>

namespace recount::check {
namespace {

/// The widest of the kernels that verify the preset: theirs are shorter, and nothing else runs in them.
double widest_tolerance(const std::string& preset) {
  double widest = 0;
  for (const auto& row : kernel::proof_rows()) {
    std::istringstream presets(row.presets);
    for (std::string name; presets >> name;)
      if (name == preset) widest = std::max(widest, row.tolerance);
  }
  return widest;
}

/// Valgrind states other features of the CPU than it has, by which libc selects its functions: it is made to
/// select the same ones when it is counted (glibc manual, "Hardware Capability Tunables").
std::vector<std::pair<std::string, std::string>> same_functions() {
#if defined(__x86_64__)
  constexpr const char* tunables = "GLIBC_TUNABLES";
  const char* const own = std::getenv(tunables);
  return {{tunables, std::string(own ? own : "") + (own ? ":" : "") +
                         "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-FSRM,-RTM"}};
#else
  return {};
#endif
}

Trial program_trial(const Subject& subject, const ProgramRequest& request, const ExpectedProgram& expected,
                    const Index& index) {
  Trial t;
  t.preset = subject.name;
  t.metric = subject.as;
  t.kernel = command_kernel;
  const auto& perf = index.of(command_kernel, {}, subject.name, "perf");
  const auto& papi = index.of(command_kernel, {}, subject.name, "papi");
  t.perf = measurement(perf, "not run");
  t.papi = measurement(papi, "not run");
  if (request.repeat > 1)
    t.differences = differences(perf, papi); // of one execution each they decide nothing
  t.apart = true;
  t.tolerance = request.tolerance.value_or(widest_tolerance(subject.as));
  t.stated = expected.presets.at(subject.as);
  return t;
}

} // namespace

void demand_program_check(const ProgramRequest& request) {
  const auto pmus = host::pmus();
  if (std::ranges::none_of(pmus, [](const host::Pmu& pmu) { return pmu.core(); }))
    throw unavailable("--program", "this machine has no core PMU: there are no counters to compare", {},
                      "recount stat --witness model -- COMMAND states what the program must do");
  static_cast<void>(trace::tool_command(request.command, {}));
}

Checked check_program(const ProgramRequest& request, const CheckPlan& plan, const ExpectedProgram& expected) {
  witness::ProgramTask task;
  task.command = request.command;
  task.environment = same_functions();
  task.repeat = request.repeat;
  task.limit = request.limit;
  for (const Subject& subject : plan.subjects)
    if (subject.reason.empty() && expected.presets.contains(subject.as)) task.metrics.push_back(subject.name);
  result::Results results;
  if (!task.metrics.empty()) results.observations = witness::count_program(task);
  const Index index(results);
  std::vector<Trial> trials;
  for (const Subject& subject : plan.subjects)
    if (subject.reason.empty() && expected.presets.contains(subject.as))
      trials.push_back(program_trial(subject, request, expected, index));
  const auto judged = verdicts(trials, {});
  Checked checked;
  for (const Subject& subject : plan.subjects) {
    const auto found = std::ranges::find(judged, subject.name, &PresetVerdict::preset);
    auto& verdict = checked.verdicts.emplace_back(found != judged.end() ? *found : PresetVerdict{});
    verdict.preset = subject.name;
    if (found == judged.end())
      verdict.why = subject.reason.empty() ? "a program's execution does not state it" : subject.reason;
    else
      add_errata(verdict, witness::resolve_metric(subject.name).events, host::this_machine().cpu);
  }
  return checked;
}

} // namespace recount::check
