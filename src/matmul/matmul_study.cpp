#include "matmul/matmul_study.hpp"

#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/witness.hpp"
#include "host/machine.hpp"
#include "java_data.hpp"
#include "kernel/command_line.hpp"
#include "kernel/kernel.hpp"
#include "kernel/matmul/matmul.hpp"
#include "matmul/published.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "process/child.hpp"
#include "process/fd.hpp"
#include "process/spawn.hpp"
#include "sweep/model_modes.hpp"
#include "sweep/range.hpp"
#include "witness/backend.hpp"
#include "witness/stopwatch.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
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
  const auto requested = process::in_fork(
      [](int fd) {
        const std::string text = kernel::dgemm_missing();
        return process::write_all(fd, text) ? 0 : 1;
      },
      std::chrono::seconds(20));
  return requested.exit.ok() ? requested.out
                             : "OpenBLAS could not be opened (" + describe(requested.exit) + ")";
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
  [[nodiscard]] std::vector<Witness> natives_for(const MatmulStop& stop) const {
    std::vector<Witness> names;
    if (!stop.timed) return names;
    for (const auto& name : plan_.witnesses) {
      if (!witness::find(name).native) continue;
      const bool ceiling = stop.kernel == "peak" || stop.kernel == "bandwidth";
      if (!ceiling || name == Witness::clock) names.push_back(name);
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
          if (name.modelled()) model_jobs(stop, name);
  }

  /// The machine as it is, and for the loops that cliffs are looked for in without its TLB and its conflicts.
  void model_jobs(const MatmulStop& stop, const Witness& name) {
    const auto add = [&](const Witness& witness, const std::vector<std::string>& metrics) {
      for (auto& job : sweep::modelled_jobs({stop.kernel, stop.point, 0, witness, metrics}, request_.modes))
        plan_.jobs.push_back(std::move(job));
    };
    if (stop.kernel == "peak") return add(name, {"PAPI_DP_OPS"});
    auto metrics = matmul_metrics(name);
    // Small matrices find no cliff at a third level, and without it the others are simulated much faster.
    if (request_.choice.quick) std::erase(metrics, "PAPI_L3_DCM");
    add(name, metrics);
    const std::string machine = name.machine();
    const std::string base = model::without_modes(machine);
    if (base.find('~') != std::string::npos) return;
    const auto described = model::machine(machine);
    const Witness bare(Witness::model, base + "~no-tlb" + machine.substr(base.size()));
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

std::vector<std::string> matmul_metrics(const Witness& witness) {
  if (witness == Witness::clock) return {"seconds", "tsc_cycles"};
  if (!witness.modelled()) return counted_metrics;
  const auto machine = model::machine(witness.machine());
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

// How long a matrix study will take: small products are timed, large ones scaled; simulated ones are in a
// table.
namespace {

constexpr std::int64_t probe_size = 160; ///< its matrices fit every second-level cache
constexpr double start_of_a_run = 0.03;  ///< seconds: a process, memory, a corner multiplied
constexpr double library_step = 5e-11;   ///< seconds a step of dgemm
constexpr double command_start = 0.2;
constexpr double longest = 9e9; ///< seconds: more are not value apart, and hardly fit into nanoseconds

std::string word(const result::Params& point, const std::string& name) {
  const auto found = point.find(name);
  const auto* const text = found == point.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

double whole(const result::Params& point, const std::string& name) {
  return static_cast<double>(result::integer(point, name).value_or(0));
}

double steps(const result::Params& point) {
  const double n = whole(point, "n");
  return n * n * n;
}

/// Loops along a column slow down once it outgrows the caches and the TLB; those along rows hardly do.
double growth(const std::string& variant, double n) {
  if (variant == "ijk" || variant == "ijk-mem") return n > 1500 ? 6 : n > 500 ? 2.5 : 1;
  return n > 1500 ? 1.5 : 1;
}

std::string kernel_of(const sweep::Job& job) {
  return job.kernel == "external" ? "matmul" : job.kernel;
}

std::string loops(const sweep::Job& job) {
  return kernel_of(job) + " " + word(job.point, "variant") + " " + word(job.point, "element");
}

class Estimate {
public:
  explicit Estimate(const StepTime& step_time) : step_time_(step_time) {}

  /// Of a timed job.
  double seconds(const sweep::Job& job) {
    if (job.kernel == "bandwidth" || job.kernel == "peak") return 0.3;
    const bool command = job.kernel == "external";
    const double n = whole(job.point, "n");
    const double each =
        job.kernel == "dgemm" ? library_step : step(job) * growth(word(job.point, "variant"), n);
    return start_of_a_run + steps(job.point) * each * (command ? 1.5 : 1) + (command ? command_start : 0);
  }

private:
  /// Asked once for each kind of loops.
  double step(const sweep::Job& job) {
    const auto [place, fresh] = steps_.try_emplace(loops(job), 0.0);
    if (fresh) place->second = step_time_(job);
    return place->second;
  }

  const StepTime& step_time_;
  std::map<std::string, double> steps_;
};

} // namespace

double time_a_step(const sweep::Job& job) {
  try {
    const std::string element = word(job.point, "element");
    const auto instance = kernel::find(kernel_of(job))
                              .prepare({{"variant", word(job.point, "variant")},
                                        {"element", element.empty() ? "f64" : element},
                                        {"n", probe_size}});
    instance->warm();
    const auto lapse = witness::lapse(instance->region());
    return static_cast<double>(lapse.ns) / 1e9 / (static_cast<double>(probe_size) * probe_size * probe_size);
  } catch (const Error&) { // the run itself will report the error
    return 1e-9;
  }
}

std::chrono::nanoseconds estimate_matmul(const std::vector<sweep::Job>& jobs, int parallel,
                                         const StepTime& step_time) {
  Estimate estimate(step_time);
  double seconds = model_seconds(jobs, parallel);
  for (const auto& job : jobs)
    if (witness::find(job.witness).native) seconds += estimate.seconds(job);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * std::min(seconds, longest)));
}

namespace {

constexpr auto longest_compilation = std::chrono::seconds(60);
constexpr const char* package = " (Debian: default-jdk-headless)";

process::Captured javac(std::vector<std::string> arguments) {
  process::Spawn spawn;
  spawn.argv = {"javac"};
  spawn.argv.insert(spawn.argv.end(), arguments.begin(), arguments.end());
  return process::capture(std::move(spawn), {}, longest_compilation);
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

} // namespace

Java::Java() {
  for (const char* program : {"javac", "java"})
    if (!process::find_program(program)) {
      missing_ = std::string(program) + " not found in PATH" + package;
      return;
    }
  try {
    build();
  } catch (const Error& error) {
    missing_ = error.problem().subject + ": " + error.problem().cause;
  }
}

void Java::build() {
  const std::string& folder = folder_.emplace("recount-java").path();
  const std::string source = folder + "/MatMul.java";
  std::ofstream(source) << java_data;
  const auto version = javac({"-version"});
  version_ = first_line(version.out.empty() ? version.err : version.out);
  const auto built = javac({"-d", folder, source});
  if (!built.exit.ok()) missing_ = "javac failed: " + describe(built.exit) + "; " + first_line(built.err);
  if (missing_.empty()) ::setenv("CLASSPATH", folder.c_str(), 1);
}

namespace {

/// A row of a study: one kernel over sizes, and over blocks where there are any.
struct StudyRow {
  const char *study, *kernel, *variant, *element;
  const char* sizes;  ///< ranges as recount sweep takes them; empty: none
  const char* quick;  ///< the same for --quick
  const char* blocks; ///< empty: no blocks; "line": as many elements as a line holds
  bool both_ways;     ///< with and without the transposition
  bool modelled;
};

constexpr const char* small_sizes = "600:3000:400";
constexpr const char* every_size = "600:3000:400,4096:10240:2048";
constexpr const char* large_sizes = "4096:10240:2048";
constexpr const char* quick_sizes = "600,1000";

// The grids of the laboratory and of the report (see SOURCES in recount-matmul(1)); 64 and 1024 beside the
// report's blocks of 128, 256 and 512.
constexpr StudyRow study_rows[] = {
    {"lab", "matmul", "ijk-mem", "i16", "1024", "1024", "", false, true},
    {"lab", "matmul", "transposed", "i16", "1024", "1024", "", true, true},
    {"lab", "matmul", "blocked", "i16", "1024", "1024", "line", false, true},
    {"lab", "matmul-vectorised", "ijk-mem", "i16", "1024", "1024", "", false, false},
    {"lab", "matmul-vectorised", "transposed", "i16", "1024", "1024", "", true, false},
    {"lab", "matmul-vectorised", "blocked", "i16", "1024", "1024", "line", false, false},
    {"report", "matmul", "ijk", "f64", small_sizes, quick_sizes, "", false, true},
    {"report", "matmul", "ikj", "f64", every_size, quick_sizes, "", false, true},
    {"report", "matmul", "blocked", "f64", large_sizes, "600", "64,128,256,512,1024", false, true},
    {"report", "matmul-vectorised", "ikj", "f64", every_size, quick_sizes, "", false, false},
    {"report", "dgemm", "", "f64", every_size, quick_sizes, "", false, false},
};
constexpr std::int64_t most_of_dgemm = 1 << 15; ///< sizes are 32-bit integers in BLAS
constexpr const char* most_for_commands = "600:3000:400";

using result::Params;

/// The parameters that the kernel has, out of those given.
Params point_of(const std::string& kernel, const StudyRow& row, std::int64_t n) {
  Params given{{"n", n}};
  if (kernel == "dgemm") return given;
  given["variant"] = std::string(row.variant);
  given["element"] = std::string(row.element);
  return given;
}

void add(std::vector<MatmulStop>& stops, const std::string& kernel, const Params& given, bool timed,
         bool modelled) {
  const Params point = kernel::complete(kernel::find(kernel), given);
  for (auto& stop : stops)
    if (stop.kernel == kernel && stop.point == point) {
      stop.timed = stop.timed || timed;
      stop.modelled = stop.modelled || modelled;
      return;
    }
  stops.push_back({kernel, point, timed, modelled});
}

std::vector<std::int64_t> blocks_of(const StudyRow& row, const MatmulChoice& choice) {
  const std::string blocks = row.blocks;
  if (blocks.empty()) return {0};
  if (blocks == "line") return {choice.line / (std::string(row.element) == "i16" ? 2 : 8)};
  if (!choice.blocks.empty()) return choice.blocks;
  return sweep::parse_range(blocks, "--block");
}

void add_row(std::vector<MatmulStop>& stops, const StudyRow& row, const MatmulChoice& choice) {
  const bool lab = std::string(row.study) == "lab";
  const auto sizes = !lab && !choice.sizes.empty()
                         ? choice.sizes
                         : sweep::parse_range(choice.quick ? row.quick : row.sizes, "--n");
  for (const std::int64_t n : sizes) {
    if (std::string(row.kernel) == "dgemm" && n > most_of_dgemm) continue;
    Params given = point_of(row.kernel, row, n);
    for (const std::int64_t block : blocks_of(row, choice)) {
      // A block of the whole matrix is `line`; unless asked for it is left out.
      if (block >= n && choice.blocks.empty()) continue;
      if (block > 0) given["block"] = block;
      if (!row.both_ways) {
        add(stops, row.kernel, given, true, row.modelled);
        continue;
      }
      for (const char* transpose : {"included", "excluded"}) {
        given["transpose"] = std::string(transpose);
        add(stops, row.kernel, given, true, row.modelled);
      }
    }
  }
}

bool wanted(const MatmulChoice& choice, const std::string& study) {
  return std::ranges::find(choice.studies, study) != choice.studies.end();
}

} // namespace

const std::vector<MatmulStudyRow>& matmul_studies() {
  static const std::vector<MatmulStudyRow> rows{
      {"lab", "16-bit integers, n = 1024: straightforward, transposed, blocked to the line"},
      {"report", "doubles: simple and line from n = 600, blocks to n = 10240, dgemm, Java"}};
  return rows;
}

std::vector<MatmulStop> matmul_points(const MatmulChoice& choice) {
  std::vector<std::string> names;
  for (const auto& row : matmul_studies())
    names.emplace_back(row.name);
  for (const auto& study : choice.studies)
    if (std::ranges::find(names, study) == names.end())
      throw bad_input("--study " + study, "no such study", base::did_you_mean(study, names, "lab or report"));
  std::vector<MatmulStop> stops;
  for (const StudyRow& row : study_rows)
    if (wanted(choice, row.study)) add_row(stops, row, choice);
  for (const auto& point : choice.of_published)
    add(stops, "matmul", point, true, true);
  return stops;
}

std::vector<MatmulStop> command_points(const MatmulChoice& choice) {
  std::vector<MatmulStop> stops;
  if (!wanted(choice, "report") && choice.of_published.empty()) return stops;
  const std::int64_t most = sweep::parse_range(most_for_commands, "--n").back();
  for (const std::string& command : choice.commands) {
    const std::size_t equals = command.find('=');
    const bool named = equals != std::string::npos && equals < command.find(' ');
    const std::string line = named ? command.substr(equals + 1) : command;
    const std::string language =
        named ? command.substr(0, equals) : kernel::language_of(kernel::words_of(line, "--external")[0]);
    for (const MatmulStop& stop : matmul_points(choice)) {
      const auto& variant = stop.kernel == "matmul" ? std::get<std::string>(stop.point.at("variant")) : "";
      if ((variant != "ijk" && variant != "ikj") ||
          std::get<std::string>(stop.point.at("element")) != "f64" ||
          std::get<std::int64_t>(stop.point.at("n")) > most)
        continue;
      add(stops, "external",
          {{"command", line}, {"language", language}, {"variant", variant}, {"n", stop.point.at("n")}}, true,
          false);
    }
  }
  return stops;
}

std::vector<MatmulStop> ceiling_points(const std::vector<std::int64_t>& cache_sizes) {
  constexpr std::int64_t far_away = std::int64_t{256} << 20, read_each = std::int64_t{1} << 30;
  std::vector<MatmulStop> stops;
  for (const char* width : {"vector", "scalar"})
    add(stops, "peak", {{"width", std::string(width)}}, true, true);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < cache_sizes.size() && i < 2; ++i)
    sizes.push_back(cache_sizes[i] / 2 / 1024 * 1024);
  // Arrays four times as large as L2 are what a last level holds of matrices; a half of it may be more than
  // this machine gets of it.
  if (cache_sizes.size() > 2 && cache_sizes[2] >= 8 * cache_sizes[1]) sizes.push_back(4 * cache_sizes[1]);
  sizes.push_back(far_away);
  for (const std::int64_t size : sizes)
    if (size >= 1024)
      add(stops, "bandwidth", {{"size", size}, {"passes", std::max<std::int64_t>(1, read_each / size)}}, true,
          false);
  return stops;
}

} // namespace recount::matmul
