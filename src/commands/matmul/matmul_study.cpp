#include "commands/matmul/matmul_study.hpp"

#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/nearest.hpp"
#include "base/process/child.hpp"
#include "base/process/fd.hpp"
#include "base/random.hpp"
#include "base/witness.hpp"
#include "commands/matmul/java_data.hpp"
#include "kernel/command_line.hpp"
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "run/result/products.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

namespace recount::matmul {
namespace {

using result::Params;
using Stops = std::vector<MatmulStop>;

/// A row of a study: one kernel over sizes, and over blocks where there are any.
struct StudyRow {
  std::string study, kernel, variant, element;
  std::string sizes;    ///< ranges as recount sweep takes them
  std::string quick;    ///< the same for --quick; empty: not in it
  std::string emulated; ///< the same for --quick in an exact emulation
  std::string blocks;   ///< empty: no blocks; "line": as many elements as a line holds
  bool modelled;
};

constexpr const char* small_sizes = "600:3000:400";
constexpr const char* every_size = "600:3000:400,4096:10240:2048";
constexpr const char* large_sizes = "4096:10240:2048";
constexpr const char* quick_sizes = "600,1000";
constexpr const char* emulated_sizes = "120,240";

/// The grids of the laboratory and of the report (see SOURCES in recount-matmul(1)); 64 and 1024 in addition
/// to the report's blocks of 128, 256 and 512.
const std::vector<StudyRow>& study_rows() {
  static const std::vector<StudyRow> rows{
      {"lab", "matmul", "ijk-mem", "i16", "1024", "1024", "256", "", true},
      {"lab", "matmul", "ijk", "i16", "1024", "", "256", "", true}, // what the sum in memory costs
      {"lab", "matmul", "transposed", "i16", "1024", "1024", "256", "", true},
      {"lab", "matmul", "blocked", "i16", "1024", "1024", "256", "line", true},
      {"lab", "matmul-vectorised", "ijk-mem", "i16", "1024", "", "256", "", false},
      {"lab", "matmul-vectorised", "transposed", "i16", "1024", "", "256", "", false},
      {"lab", "matmul-vectorised", "blocked", "i16", "1024", "", "256", "line", false},
      {"report", "matmul", "ijk", "f64", small_sizes, quick_sizes, emulated_sizes, "", true},
      {"report", "matmul", "ikj", "f64", every_size, quick_sizes, emulated_sizes, "", true},
      {"report", "matmul", "blocked", "f64", large_sizes, "600", "240", "64,128,256,512,1024", true},
      {"report", "matmul-vectorised", "ikj", "f64", every_size, quick_sizes, emulated_sizes, "", false},
      {"report", "dgemm", "", "", every_size, quick_sizes, emulated_sizes, "", false}};
  return rows;
}
constexpr std::int64_t max_of_dgemm = 1 << 15; ///< sizes are 32-bit integers in BLAS

void add(Stops& stops, const std::string& kernel, const Params& given, bool modelled) {
  const Params point = kernel::complete(kernel::find(kernel), given);
  const auto same = [&](const MatmulStop& stop) { return stop.kernel == kernel && stop.point == point; };
  if (const auto at = std::ranges::find_if(stops, same); at != stops.end())
    at->modelled = at->modelled || modelled;
  else
    stops.push_back({kernel, point, modelled});
}

std::vector<std::int64_t> block_sizes(const StudyRow& row, const MatmulChoice& choice) {
  if (row.blocks.empty()) return {0};
  if (row.blocks == "line") return {choice.line / (row.element == "i16" ? 2 : 8)};
  return choice.blocks.empty() ? sweep::parse_range(row.blocks, "--block") : choice.blocks;
}

void add_row(Stops& stops, const StudyRow& row, const MatmulChoice& choice) {
  const std::string& stated = !choice.quick ? row.sizes : choice.emulated ? row.emulated : row.quick;
  if (stated.empty()) return;
  const auto sizes =
      row.study != "lab" && !choice.sizes.empty() ? choice.sizes : sweep::parse_range(stated, "--n");
  for (const std::int64_t n : sizes) {
    if (row.kernel == "dgemm" && n > max_of_dgemm) continue;
    Params given{{"n", n}};
    if (!row.variant.empty()) given["variant"] = row.variant;
    if (!row.element.empty()) given["element"] = row.element;
    for (const std::int64_t block : block_sizes(row, choice)) {
      // A block of the whole matrix is `line`; unless requested it is left out.
      if (block >= n && choice.blocks.empty()) continue;
      if (block > 0) given["block"] = block;
      add(stops, row.kernel, given, row.modelled);
      if (row.variant != "transposed") continue;
      given["transpose"] = std::string("excluded");
      add(stops, row.kernel, given, row.modelled);
    }
  }
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

} // namespace

Stops matmul_points(const MatmulChoice& choice) {
  const std::vector<std::string> names{"lab", "report"};
  for (const auto& study : choice.studies)
    if (!contains(names, study))
      throw bad_input("--study " + study, "no such study", base::did_you_mean(study, names, "lab or report"));
  Stops stops;
  for (const StudyRow& row : study_rows())
    if (contains(choice.studies, row.study)) add_row(stops, row, choice);
  for (const auto& point : choice.of_published)
    add(stops, "matmul", point, true);
  return stops;
}

Stops command_points(const MatmulChoice& choice) {
  Stops stops;
  if (!contains(choice.studies, "report") && choice.of_published.empty()) return stops;
  const std::int64_t most = sweep::parse_range(small_sizes, "--n").back();
  for (const std::string& command : choice.commands) {
    const std::size_t equals = command.find('=');
    const bool named = equals != std::string::npos && equals < command.find(' ');
    const std::string line = named ? command.substr(equals + 1) : command;
    const std::string language = named ? command.substr(0, equals)
                                       : kernel::guess_language(kernel::split_words(line, "--external")[0]);
    for (const MatmulStop& stop : matmul_points(choice)) {
      const std::string variant = result::word(stop.point, "variant");
      if (stop.kernel == "matmul" && (variant == "ijk" || variant == "ikj") &&
          result::word(stop.point, "element") == "f64" && result::integer(stop.point, "n") <= most)
        add(stops, "external",
            {{"command", line}, {"language", language}, {"variant", variant}, {"n", stop.point.at("n")}},
            false);
    }
  }
  return stops;
}

namespace {

/// peak and bandwidth, for the ceilings of the roofline. `caches`: sizes as the machine states them.
void add_ceilings(Stops& stops, const std::vector<std::int64_t>& caches) {
  constexpr std::int64_t in_memory = std::int64_t{256} << 20, read_each = std::int64_t{1} << 30;
  for (const char* width : {"vector", "scalar"})
    add(stops, "peak", {{"width", std::string(width)}}, true);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < caches.size() && i < 2; ++i)
    sizes.push_back(caches[i] / 2 / 1024 * 1024);
  // Arrays four times as large as L2 are what a last level holds of matrices; a half of it may be more than
  // this machine gets of it.
  if (caches.size() > 2 && caches[2] >= 8 * caches[1]) sizes.push_back(4 * caches[1]);
  sizes.push_back(in_memory);
  for (const std::int64_t size : sizes)
    if (size >= 1024)
      add(stops, "bandwidth", {{"size", size}, {"passes", std::max<std::int64_t>(1, read_each / size)}},
          false);
}

const std::vector<std::string> counted_metrics{"PAPI_L1_DCM",  "PAPI_L2_DCM",  "PAPI_L2_DCA",
                                               "PAPI_L2_DCH",  "PAPI_LD_INS",  "PAPI_SR_INS",
                                               "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_DP_OPS"};
const std::vector<std::string> modelled_metrics{
    "PAPI_L1_DCM", "PAPI_L2_DCM",          "PAPI_L3_DCM",           "PAPI_L2_DCA",
    "PAPI_L2_DCH", "PAPI_LD_INS",          "PAPI_SR_INS",           "PAPI_TLB_DM",
    "PAPI_DP_OPS", "MODEL_L1_WALK_MISSES", "MODEL_L1_DEMAND_MISSES"};

/// In a forked child: a library that is opened stays open.
std::string dgemm_reason() {
  const auto child =
      process::in_fork([](int fd) { return process::write_all(fd, kernel::dgemm_missing()) ? 0 : 1; },
                       std::chrono::seconds(20));
  return child.exit.ok() ? child.out : "OpenBLAS could not be opened (" + describe(child.exit) + ")";
}

class Planner {
public:
  Planner(const MatmulRequest& request, const JavaMissing& java_missing)
      : request_(request), java_missing_(java_missing) {}

  MatmulPlan build() {
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
      if (name.modelled()) static_cast<void>(model::machine(name.machine()));
    }
    const bool requested = !plan_.witnesses.empty();
    if (!requested) plan_.witnesses = {Witness::clock, Witness::perf, Witness::papi, Witness::model};
    std::erase_if(plan_.witnesses, [&](const Witness& name) {
      const Reason why = witness::find(name).missing(matmul_metrics(name));
      if (!why.empty()) plan_.skipped[name.name()] = why;
      return !why.empty();
    });
    if (requested && plan_.witnesses.empty())
      throw Error(ErrorKind::unavailable, {"--witness", plan_.skipped.begin()->second});
  }

  void choose_stops() {
    MatmulChoice choice = request_.choice;
    for (const Published& table : request_.published)
      for (const auto& point : table.points)
        if (std::ranges::find(choice.of_published, point) == choice.of_published.end())
          choice.of_published.push_back(point);
    plan_.stops = matmul_points(choice);
    if (plan_.stops.empty())
      throw bad_input("recount matmul", "nothing to run", "--study lab, --study report or --published FILE");
    if (std::ranges::none_of(plan_.witnesses, [](const auto& name) { return witness::find(name).native; }))
      return;
    if (const std::string why = dgemm_reason(); !why.empty())
      if (std::erase_if(plan_.stops, [](const auto& stop) { return stop.kernel == "dgemm"; }) > 0)
        plan_.skipped["OpenBLAS"] = why;
    if (request_.java && !choice.studies.empty()) {
      if (const std::string why = java_missing_(); !why.empty())
        plan_.skipped["Java"] = why;
      else
        choice.commands.insert(choice.commands.begin(), Java::command);
    }
    std::ranges::move(command_points(choice), std::back_inserter(plan_.stops));
    std::vector<std::int64_t> sizes;
    for (const auto& cache : host::this_machine().caches)
      if (cache.type != 'i') sizes.push_back(cache.size);
    if (!choice.studies.empty()) add_ceilings(plan_.stops, sizes);
    const auto vectorised = [](const MatmulStop& stop) {
      return stop.kernel == "matmul-vectorised" || stop.kernel == "bandwidth" ||
             result::word(stop.point, "width") == "vector";
    };
    if (const std::string why = kernel::vectors_missing(); !why.empty())
      if (std::erase_if(plan_.stops, vectorised) > 0) plan_.skipped["vectorised loops"] = why;
  }

  void schedule() {
    std::mt19937_64 random(request_.seed);
    for (int repetition = 0; repetition < request_.repeat; ++repetition) {
      const std::size_t first = plan_.jobs.size();
      for (const MatmulStop& stop : plan_.stops)
        for (const auto& name : plan_.witnesses) {
          const bool ceiling = stop.kernel == "peak" || stop.kernel == "bandwidth";
          if (witness::find(name).native && (!ceiling || name == Witness::clock))
            plan_.jobs.push_back({stop.kernel, stop.point, repetition, name, matmul_metrics(name)});
        }
      base::shuffle(std::span(plan_.jobs).subspan(first), random);
    }
    for (const MatmulStop& stop : plan_.stops)
      if (stop.modelled)
        for (const auto& name : plan_.witnesses)
          if (name.modelled() && concerns(stop, name)) add_model_jobs(stop, name);
  }

  /// Whether a point is of a study or of a table of this machine. One that was named concerns every point.
  [[nodiscard]] bool concerns(const MatmulStop& stop, const Witness& name) const {
    if (!request_.published_witnesses || name.detail.empty() || !request_.choice.studies.empty()) return true;
    return std::ranges::any_of(request_.published, [&](const Published& table) {
      const auto machine = table.run.versions.find("machine");
      return machine != table.run.versions.end() && machine->second == name.detail &&
             std::ranges::find(table.points, stop.point) != table.points.end();
    });
  }

  /// The machine as it is, and without its TLB, to explain jumps of the cost.
  void add_model_jobs(const MatmulStop& stop, const Witness& name) {
    const auto add = [&](const Witness& witness, const std::vector<std::string>& metrics) {
      std::ranges::move(sweep::modelled_jobs({stop.kernel, stop.point, 0, witness, metrics}, request_.modes),
                        std::back_inserter(plan_.jobs));
    };
    if (stop.kernel == "peak") return add(name, {"PAPI_DP_OPS"});
    auto metrics = matmul_metrics(name);
    // Small matrices have no jump at a third level, and without it the others are simulated much faster.
    if (request_.choice.quick) std::erase(metrics, "PAPI_L3_DCM");
    add(name, metrics);
    const std::string machine = name.machine();
    const std::string base = model::without_modes(machine);
    Witness bare = Witness(Witness::model, base).with("no-tlb");
    bare.detail += machine.substr(base.size());
    if (base.find('~') == std::string::npos && model::machine(machine).tlb &&
        std::ranges::find(plan_.witnesses, bare) == plan_.witnesses.end())
      add(bare, {"PAPI_L1_DCM", "PAPI_L2_DCM"});
  }

  void write_settings() {
    const MatmulChoice& choice = request_.choice;
    const auto joined = [](const auto& list, const char* separator = ",") {
      return fmt::format("{}", fmt::join(list, separator));
    };
    plan_.settings = {{"kernel", "matmul"},
                      {"study", joined(choice.studies) + (choice.quick ? " (quick)" : "")},
                      {"--n", joined(choice.sizes)},
                      {"--block", joined(choice.blocks)},
                      {"--external", joined(choice.commands, "; ")},
                      {"--published", request_.published.empty() ? "" : request_.published.front().run.id},
                      {"--no-java", request_.java ? "" : "yes"}};
    std::erase_if(plan_.settings,
                  [](const auto& one) { return one.first.starts_with("--") && one.second.empty(); });
    plan_.settings["witness"] = joined(request_.witnesses);
    plan_.settings["repeat"] = std::to_string(request_.repeat);
    sweep::add_modes(plan_.settings, request_.modes);
  }

  const MatmulRequest& request_;
  const JavaMissing& java_missing_;
  MatmulPlan plan_;
};

} // namespace

std::vector<std::string> matmul_metrics(const Witness& witness) {
  if (witness == Witness::clock) return {"seconds", "tsc_cycles"};
  if (!witness.modelled()) return counted_metrics;
  const auto machine = model::machine(witness.machine());
  const auto known = model::metric_names(machine);
  std::vector<std::string> metrics;
  const auto add = [&](const std::string& name) {
    if (!contains(metrics, name)) metrics.push_back(name);
  };
  for (const auto& name : modelled_metrics) {
    if (name == "PAPI_DP_OPS" || contains(known, name)) add(name);
    if (const auto described = machine.presets.find(name); described != machine.presets.end())
      for (const auto& [part, factor] : described->second)
        add(part);
  }
  return metrics;
}

MatmulPlan plan_matmul(const MatmulRequest& request, const JavaMissing& java_missing) {
  return Planner(request, java_missing).build();
}

namespace {

struct StepTime {
  const char* variant; ///< none: of dgemm
  double seconds;      ///< of a step of the innermost loop, on a core of 2020 to 2025
  double medium, far;  ///< factors from n = 500 and 1500 on, where a column exceeds the caches and the TLB
  double emulated;     ///< seconds in an emulation, at any n
};
constexpr std::array step_times{
    StepTime{"ijk", 1e-9, 2.5, 6, 8e-8},      StepTime{"ijk-mem", 1.5e-9, 2.5, 6, 7e-8},
    StepTime{"ikj", 5e-10, 1, 1.5, 4e-8},     StepTime{"transposed", 1.5e-9, 1, 1.5, 5e-8},
    StepTime{"blocked", 5e-10, 1, 1.5, 4e-8}, StepTime{"", 5e-11, 1, 1, 2e-8}};

/// Of a run in an emulation: PAPI counts each metric in one of its own, perf as many as there are counters.
double executions(const Witness& witness) {
  const auto metrics = static_cast<double>(counted_metrics.size());
  constexpr double counters = 4;
  return witness == Witness::papi ? metrics : witness == Witness::perf ? metrics / counters : 1;
}

double timed_seconds(const sweep::Job& job) {
  if (job.kernel == "bandwidth" || job.kernel == "peak") return 0.3;
  constexpr double start = 0.03, start_of_command = 0.2; // a process, memory, a corner multiplied
  const bool command = job.kernel == "external";
  const auto n = static_cast<double>(result::integer(job.point, "n").value_or(0));
  const std::string variant = result::word(job.point, "variant");
  const auto* const time =
      std::ranges::find_if(step_times, [&](const StepTime& row) { return row.variant == variant; });
  if (time == step_times.end()) return start;
  if (host::this_emulation().exact) return start + n * n * n * time->emulated * executions(job.witness);
  const double step = time->seconds * (n > 1500 ? time->far : n > 500 ? time->medium : 1);
  return start + n * n * n * step * (command ? 1.5 : 1) + (command ? start_of_command : 0);
}

} // namespace

std::chrono::nanoseconds estimate_matmul(const std::vector<sweep::Job>& jobs, int parallel) {
  constexpr double longest = 9e9; // seconds: longer ones hardly fit into nanoseconds
  double seconds = sweep::model_seconds(jobs, parallel);
  for (const auto& job : jobs)
    if (witness::find(job.witness).native) seconds += timed_seconds(job);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * std::min(seconds, longest)));
}

namespace {

process::Captured javac(const std::vector<std::string>& arguments) {
  process::Spawn spawn;
  spawn.argv = {"javac"};
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  return process::capture(std::move(spawn), {}, std::chrono::seconds(60));
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

} // namespace

Java::Java() {
  if (host::this_emulation().exact) {
    missing_ = "javac takes more than a minute in an emulation (--no-java)";
    return;
  }
  for (const char* program : {"javac", "java"})
    if (!process::find_program(program)) {
      missing_ = std::string(program) + " not found in PATH (Debian: default-jdk-headless)";
      return;
    }
  try {
    compile();
  } catch (const Error& error) {
    missing_ = error.problem().subject + ": " + error.problem().cause;
  }
}

void Java::compile() {
  const std::string& folder = folder_.emplace("recount-java").path();
  const std::string source = folder + "/MatMul.java";
  std::ofstream(source) << java_data;
  const auto version = javac({"-version"});
  version_ = first_line(version.out.empty() ? version.err : version.out);
  const auto compiled = javac({"-d", folder, source});
  if (!compiled.exit.ok())
    missing_ = "javac failed: " + describe(compiled.exit) + "; " + first_line(compiled.err);
  else
    ::setenv("CLASSPATH", folder.c_str(), 1);
}

} // namespace recount::matmul
