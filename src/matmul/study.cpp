#include "matmul/study.hpp"

#include "base/names.hpp"
#include "base/random.hpp"
#include "host/machine.hpp"
#include "kernel/matmul/ceilings.hpp"
#include "matmul/java.hpp"
#include "matmul/preset_notes.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "process/child.hpp"
#include "process/write_all.hpp"
#include "sweep/model_modes.hpp"
#include "witness/witness.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>

namespace recount::matmul {
namespace {

const std::vector<std::string> counted_metrics{"PAPI_L1_DCM",  "PAPI_L2_DCM",  "PAPI_L2_DCA",
                                               "PAPI_L2_DCH",  "PAPI_LD_INS",  "PAPI_SR_INS",
                                               "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_DP_OPS"};
const std::vector<std::string> modelled_metrics{
    "PAPI_L1_DCM", "PAPI_L2_DCM",          "PAPI_L3_DCM",           "PAPI_L2_DCA",
    "PAPI_L2_DCH", "PAPI_LD_INS",          "PAPI_SR_INS",           "PAPI_TLB_DM",
    "PAPI_DP_OPS", "MODEL_L1_WALK_MISSES", "MODEL_L1_DEMAND_MISSES"};

/// In a forked child: a library that is opened stays open.
std::string dgemm_reason() {
  const auto asked = process::in_fork(
      [](int fd) {
        const std::string text = kernel::dgemm_missing();
        return process::write_all(fd, text) ? 0 : 1;
      },
      std::chrono::seconds(20));
  return asked.exit.ok() ? asked.out : "OpenBLAS could not be opened (" + describe(asked.exit) + ")";
}

class Planner {
public:
  Planner(const MatmulRequest& request, const std::string& java_missing)
      : request_(request), java_missing_(java_missing) {}

  MatmulPlan made() {
    choose_witnesses();
    choose_stops();
    schedule();
    write_settings();
    plan_.presets = preset_notes(counted_metrics);
    return std::move(plan_);
  }

private:
  void choose_witnesses() {
    plan_.witnesses = request_.witnesses;
    for (const auto& name : plan_.witnesses) {
      static_cast<void>(witness::find(name));
      if (is_modelled(name)) static_cast<void>(model::machine(witness::modelled_machine(name)));
    }
    const bool asked = !plan_.witnesses.empty();
    if (!asked) plan_.witnesses = {"clock", "perf", "papi", "model"};
    std::erase_if(plan_.witnesses, [&](const std::string& name) {
      const std::string why = witness::find(name).missing(matmul_metrics(name));
      if (!why.empty()) plan_.skipped[name] = why;
      return !why.empty();
    });
    if (asked && plan_.witnesses.empty())
      throw unavailable("--witness", plan_.skipped.begin()->second, {}, "recount doctor");
  }

  [[nodiscard]] bool native() const {
    return std::ranges::any_of(plan_.witnesses, [](const auto& name) { return witness::find(name).native; });
  }

  void choose_stops() {
    MatmulChoice choice = request_.choice;
    if (request_.published) choice.of_published = request_.published->points;
    if (request_.java && !choice.studies.empty()) {
      if (java_missing_.empty())
        choice.commands.insert(choice.commands.begin(), Java::command);
      else
        plan_.skipped["Java"] = java_missing_;
    }
    plan_.stops = matmul_points(choice);
    if (plan_.stops.empty())
      throw bad_input("recount matmul", "nothing to run", "--study lab, --study report or --published FILE");
    if (!native()) return;
    if (const std::string why = dgemm_reason(); !why.empty()) {
      if (std::erase_if(plan_.stops, [](const auto& stop) { return stop.kernel == "dgemm"; }) > 0)
        plan_.skipped["OpenBLAS"] = why;
    }
    const auto append = [&](const std::vector<MatmulStop>& more) {
      plan_.stops.insert(plan_.stops.end(), more.begin(), more.end());
    };
    append(command_points(choice));
    std::vector<std::int64_t> sizes;
    for (const auto& cache : host::this_machine().caches)
      if (cache.type != 'i') sizes.push_back(cache.size);
    if (!choice.studies.empty()) append(ceiling_points(sizes));
  }

  /// The witnesses of a point, except described machines.
  [[nodiscard]] std::vector<std::string> natives_for(const MatmulStop& stop) const {
    std::vector<std::string> names;
    if (!stop.timed) return names;
    for (const auto& name : plan_.witnesses) {
      if (!witness::find(name).native) continue;
      const bool ceiling = stop.kernel == "peak" || stop.kernel == "bandwidth";
      if (!ceiling || name == "clock") names.push_back(name);
    }
    return names;
  }

  void schedule() {
    std::mt19937_64 random(request_.seed);
    for (int repetition = 0; repetition < request_.repeat; ++repetition) {
      const std::size_t from = plan_.jobs.size();
      for (const MatmulStop& stop : plan_.stops)
        for (const auto& name : natives_for(stop))
          plan_.jobs.push_back({stop.kernel, stop.point, repetition, name, matmul_metrics(name)});
      base::shuffle(std::span(plan_.jobs).subspan(from), random);
    }
    for (const MatmulStop& stop : plan_.stops)
      if (stop.modelled)
        for (const auto& name : plan_.witnesses)
          if (is_modelled(name)) model_jobs(stop, name);
  }

  /// The machine as it is, and for the loops that cliffs are looked for in without its TLB and its conflicts.
  void model_jobs(const MatmulStop& stop, const std::string& name) {
    const auto add = [&](const std::string& witness, const std::vector<std::string>& metrics) {
      for (auto& job : sweep::modelled_jobs({stop.kernel, stop.point, 0, witness, metrics}, request_.modes))
        plan_.jobs.push_back(std::move(job));
    };
    if (stop.kernel == "peak") return add(name, {"PAPI_DP_OPS"});
    auto metrics = matmul_metrics(name);
    // Small matrices find no cliff at a third level, and without it the others are simulated much faster.
    if (request_.choice.quick) std::erase(metrics, "PAPI_L3_DCM");
    add(name, metrics);
    const std::string machine = witness::modelled_machine(name);
    const std::string base = model::without_modes(machine);
    if (base.find('~') != std::string::npos) return;
    const auto described = model::machine(machine);
    const std::string bare = "model:" + base + "~no-tlb" + machine.substr(base.size());
    if (described.tlb && std::ranges::find(plan_.witnesses, bare) == plan_.witnesses.end())
      add(bare, {"PAPI_L1_DCM", "PAPI_L2_DCM"});
  }

  void write_settings() {
    auto& all = plan_.settings;
    const MatmulChoice& choice = request_.choice;
    all["kernel"] = "matmul";
    all["study"] = fmt::format("{}{}", fmt::join(choice.studies, ","), choice.quick ? " (quick)" : "");
    if (!choice.sizes.empty()) all["--n"] = fmt::format("{}", fmt::join(choice.sizes, ","));
    if (!choice.blocks.empty()) all["--block"] = fmt::format("{}", fmt::join(choice.blocks, ","));
    if (!choice.commands.empty()) all["--external"] = fmt::format("{}", fmt::join(choice.commands, "; "));
    if (request_.published) all["--published"] = request_.published->run.id;
    if (!request_.java) all["--no-java"] = "yes";
    all["witness"] = fmt::format("{}", fmt::join(request_.witnesses, ","));
    all["repeat"] = std::to_string(request_.repeat);
    sweep::add_modes(all, request_.modes);
  }

  const MatmulRequest& request_;
  const std::string& java_missing_;
  MatmulPlan plan_;
};

} // namespace

std::vector<std::string> matmul_metrics(const std::string& witness) {
  if (witness == "clock") return {"seconds", "tsc_cycles"};
  if (!is_modelled(witness)) return counted_metrics;
  const auto machine = model::machine(witness::modelled_machine(witness));
  const auto known = model::metric_names(machine);
  std::vector<std::string> metrics;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(metrics, name) == metrics.end()) metrics.push_back(name);
  };
  for (const auto& name : modelled_metrics) {
    if (name == "PAPI_DP_OPS" || std::ranges::find(known, name) != known.end()) add(name);
    if (const auto described = machine.presets.find(name); described != machine.presets.end())
      for (const auto& [part, factor] : described->second)
        add(part);
  }
  return metrics;
}

MatmulPlan plan_matmul(const MatmulRequest& request, const std::string& java_missing) {
  return Planner(request, java_missing).made();
}

} // namespace recount::matmul
