#include "base/format.hpp"
#include "base/witness.hpp"
#include "caches/infer/record_sampler.hpp"
#include "caches/measure/study.hpp"
#include "caches/view/caches_output.hpp"
#include "command/command.hpp"
#include "command/measuring.hpp"
#include "command/output.hpp"
#include "command/outputs.hpp"
#include "command/print.hpp"
#include "host/disturbance.hpp"
#include "host/machine.hpp"
#include "host/pmu.hpp"
#include "model/machine.hpp"
#include "result/results_file.hpp"
#include "sweep/range.hpp"
#include "witness/backend.hpp"
#include "witness/results_header.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>

// recount caches: measures cache sizes, line sizes and associativity, with evidence.
namespace recount::caches {
namespace {

struct CachesArguments {
  std::vector<std::string> from, witnesses;
  std::string machine, cpu, seed, output, most, export_to;
  bool patient = false, grid = false, rows = false, json = false, quiet = false, verbose = false;
};

constexpr std::int64_t usual_most = std::int64_t{128} << 20, modelled_most = std::int64_t{64} << 20,
                       least_most = std::int64_t{8} << 20;

/// Counters that count misses here, else the clock.
Witness default_witness() {
  for (const Witness::Kind name : {Witness::perf, Witness::papi})
    if (!miss_metrics(name).empty()) return name;
  return Witness::clock;
}

std::int64_t most_bytes(const CachesArguments& a, bool modelled) {
  if (a.most.empty())
    return modelled ? modelled_most : std::clamp(host::memory_available() / 4, least_most, usual_most);
  const std::int64_t bytes = sweep::parse_size(a.most, "--max-size");
  if (bytes < least_most || bytes > std::int64_t{1} << 36)
    throw bad_input("--max-size " + a.most, "must be between 8M and 64G");
  if (!modelled && bytes > host::memory_available())
    throw bad_input("--max-size " + a.most,
                    fmt::format("is more than the available memory, {} bytes", host::memory_available()));
  return bytes;
}

/// One CPU of each kind of core: those of a hybrid CPU differ in capacity or in what caches they state.
std::vector<std::optional<int>> one_of_each_kind() {
  std::map<std::string, std::vector<host::Candidate>> kinds;
  for (const auto& candidate : host::candidates()) {
    std::string kind = std::to_string(candidate.capacity);
    for (const auto& cache : host::caches_of(candidate.cpu))
      kind += fmt::format(" {} {} {}", cache.name(), cache.size, cache.ways);
    kinds[kind].push_back(candidate);
  }
  if (kinds.size() < 2) return {command::parse_cpu("")};
  std::vector<std::optional<int>> cpus;
  for (const auto& [kind, candidates] : kinds)
    cpus.emplace_back(host::best_cpu(candidates));
  return cpus;
}

/// What `source` states otherwise than the header does: "L2 1 MiB, 8 ways, lines of 64 B"; empty: nothing.
std::string differences(const std::vector<host::Cache>& source, const result::Run& run) {
  std::vector<std::string> all;
  for (const auto& note : run.caches) {
    const auto other = std::ranges::find(source, note.level, &host::Cache::name);
    if (other != source.end() &&
        (other->size != note.size || other->line != note.line || other->ways != note.ways))
      all.push_back(fmt::format("{} {}, {}, lines of {} B", note.level, base::format_bytes(other->size),
                                base::format_count(other->ways, "way"), other->line));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

/// The sources that agree with the caches that the header states, which are those of hwloc, and the others.
StatedNotes sources_of_stated_values(const result::Run& run, std::optional<int> cpu) {
  const int requested = cpu.value_or(host::this_machine().allowed_cpus.front());
  StatedNotes notes{"hwloc", {}, {}};
  for (const auto& [name, caches] : {std::pair("sysfs", host::caches_in_sysfs(requested)),
                                     std::pair("CPUID", host::caches_by_cpuid(requested))}) {
    if (caches.empty()) continue;
    const std::string otherwise = differences(caches, run);
    if (otherwise.empty())
      notes.sources += fmt::format(", {}", name);
    else
      notes.otherwise += fmt::format("{}{}: {}", notes.otherwise.empty() ? "" : "; ", name, otherwise);
  }
  for (const auto& cache : host::caches_of(requested))
    if (cache.type != 'i') notes.shared_by.emplace_back(cache.name(), cache.shared_by);
  return notes;
}

/// One line on a terminal, written over itself.
class StageLine {
public:
  explicit StageLine(bool quiet) : shown_(!quiet) {}
  void show(const std::string& stage) const {
    if (!shown_) return;
    command::print(stderr, "{}recount caches: {:.1f} s: {}{}", terminal_ ? command::own_controls("\r") : "",
                   seconds(), stage, terminal_ ? command::own_controls("\033[K") : "\n");
  }
  void clear() const {
    if (shown_ && terminal_) command::print(stderr, "\r\033[K");
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

private:
  bool shown_, terminal_ = ::isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

CachesTask make_task(const CachesArguments& a, const Witness& name, std::optional<int> cpu,
                     std::uint64_t seed) {
  const bool modelled = name.modelled();
  CachesTask task{name, {}, most_bytes(a, modelled), seed, a.patient, a.grid || a.rows, cpu};
  if (modelled || name.kind == Witness::clock) return task;
  task.metrics = miss_metrics(name);
  if (task.metrics.empty())
    throw unavailable("--witness " + name.name(),
                      "it counts no misses here: " + witness::find(name).missing({miss_metric(0)}).text(), {},
                      "--witness clock needs no counters");
  return task;
}

/// Measures with one witness on one CPU; what was found so far when a signal ended it.
ShownCaches measure(const CachesArguments& a, const CachesTask& task, result::Writer* writer) {
  result::Results results;
  result::Run& header =
      results.runs.emplace_back(witness::machine_header(command::command_line(), RECOUNT_VERSION, task.cpu));
  header.seed = task.seed;
  header.plan = record_plan(caches_abilities(task));
  if (task.cpu) header.plan["cpu"] = std::to_string(*task.cpu);
  if (!task.witness.described_machine()) note_stated(header, sources_of_stated_values(header, task.cpu));
  if (writer != nullptr) writer->write(header);
  const StageLine line(a.quiet);
  CachesListener listener;
  listener.stage = [&](const std::string& stage) { line.show(stage); };
  listener.stop = [] { return command::stop_signal() != 0; };
  listener.observation = [&](const result::Observation& observation) {
    if (writer != nullptr) writer->write(observation);
    results.observations.push_back(observation);
  };
  ShownCaches shown;
  if (task.witness.modelled()) {
    Caches found = model_caches(task, header.id, listener);
    shown.all = make_findings(std::move(found), results, header, a.machine);
  } else {
    shown.interrupted = !take_readings(task, header.id, listener);
    shown.all = findings_on_record(results, header, a.machine);
  }
  line.clear();
  shown.seconds = line.seconds();
  return shown;
}

std::vector<ShownCaches> from_record(const CachesArguments& a) {
  const auto results = result::read(a.from);
  for (const auto& warning : results.warnings)
    command::note("recount caches: warning: {}\n", warning);
  std::vector<ShownCaches> all;
  for (const auto& run : results.runs)
    if (result::is_inference(run)) all.push_back({findings_on_record(results, run, a.machine)});
  if (all.empty())
    throw bad_input(a.from.front(), "has no readings of recount caches",
                    "record some: recount caches -o FILE");
  return all;
}

std::vector<ShownCaches> measure_all(const CachesArguments& a) {
  const std::uint64_t seed = command::parse_seed(a.seed);
  std::unique_ptr<result::Writer> writer;
  if (!a.output.empty()) writer = std::make_unique<result::Writer>(a.output, result::Writer::Mode::create);
  command::catch_stop_signals();
  auto witnesses = command::list_witnesses(a.witnesses);
  if (witnesses.empty()) witnesses.push_back(default_witness());
  std::vector<ShownCaches> all;
  for (const auto& witness : witnesses) {
    std::vector<std::optional<int>> cpus{std::nullopt};
    if (!witness.modelled())
      cpus = a.cpu.empty() ? one_of_each_kind() : std::vector{command::parse_cpu(a.cpu)};
    for (const auto cpu : cpus)
      if (command::stop_signal() == 0)
        all.push_back(measure(a, make_task(a, witness, cpu, seed), writer.get()));
  }
  return all;
}

void print(const CachesArguments& a, const std::vector<ShownCaches>& all) {
  if (a.json) {
    command::print("{}", caches_json(all));
    return;
  }
  for (const auto& shown : all) {
    const auto& found = shown.all.found;
    const std::string where = found.modelled  ? "simulated, not measured"
                              : shown.all.cpu ? fmt::format("on CPU {}", *shown.all.cpu)
                                              : "not pinned";
    const std::string how =
        shown.seconds > 0 ? fmt::format(", {} in {:.1f} s{}", base::format_count(found.readings, "reading"),
                                        shown.seconds, shown.interrupted ? ", interrupted" : "")
                          : "";
    command::print(
        "{}{}\n\n{}\n{}", &shown == &all.front() ? "" : "\n",
        command::fit(fmt::format("witness {}, {}{}", found.witness, where, how), command::line_width(), 2),
        a.verbose ? caches_table(shown.all).text() : caches_summary(shown.all).text(),
        a.verbose ? caches_reasons(shown.all) : caches_evidence(shown.all));
    if (!a.rows) continue;
    const command::Table rows = caches_rows(shown.all);
    if (rows.empty())
      command::print("\nthe results have no grid of sizes and strides\n");
    else
      command::print("\n{}:\n{}", rows.title(), rows.text());
  }
}

void check_arguments(const CachesArguments& a) {
  for (const auto& name : command::list_witnesses(a.witnesses)) {
    const auto& witness = witness::find(name);
    if (witness.kind == Witness::both)
      throw bad_input("--witness both", "each witness is measured on its own", "--witness perf,papi");
    if (const auto machine = name.described_machine()) static_cast<void>(model::machine(*machine));
  }
  if (!a.cpu.empty()) static_cast<void>(command::parse_cpu(a.cpu));
  if (!a.machine.empty()) static_cast<void>(model::machine(a.machine));
  command::check_outputs({.results = a.output, .json = a.json});
  if (!a.from.empty() &&
      (!a.output.empty() || !a.witnesses.empty() || !a.cpu.empty() || a.patient || a.grid || !a.most.empty()))
    throw bad_input("--from", "cannot be combined with options of a measurement",
                    "remove -o, --witness, --cpu, --patient, --grid and --max-size");
}

void export_tables(const command::TableExport& file, const std::vector<ShownCaches>& all) {
  std::vector<command::Table> tables;
  for (const auto& shown : all) {
    tables.push_back(caches_table(shown.all));
    tables.push_back(caches_rows(shown.all));
  }
  file.write("recount caches", tables);
}

int run(const CachesArguments& a) {
  check_arguments(a);
  const command::TableExport file(a.export_to);
  const auto all = a.from.empty() ? measure_all(a) : from_record(a);
  if (a.output != "-") print(a, all);
  export_tables(file, all);
  const bool any = std::ranges::any_of(all, [](const ShownCaches& shown) {
    return std::ranges::any_of(shown.all.found.levels, [](const auto& level) {
      return level.capacity.value || level.line.value || level.ways.value;
    });
  });
  if (!any) command::note("recount caches: no cache property could be determined\n");
  if (a.from.empty() && (all.empty() || all.back().interrupted)) return 128 + command::stop_signal();
  return any ? 0 : 3;
}

} // namespace

command::Command caches_command() {
  return {"caches", "measure cache sizes, line sizes and associativity, with evidence",
          [](command::Options& options) -> std::function<int()> {
            auto a = std::make_shared<CachesArguments>();
            options
                .list("--witness", a->witnesses, "LIST",
                      "clock, perf, papi, model, model:NAME (default: counters if they count misses here, "
                      "else clock)")
                .text("--machine", a->machine, "NAME",
                      "compare with this described machine (default: with what the system states)")
                .text("--cpu", a->cpu, "N",
                      "measure on CPU N (default: the least disturbed CPU of each kind of core)")
                .text("--max-size", a->most, "SIZE",
                      "largest working set (default 128M, at most a quarter of the available memory)")
                .flag("--patient", a->patient,
                      "measure until every property is decided, at most 2 minutes (default: about 10 s)")
                .text("--seed", a->seed, "N", "seed of the measurement order (default: random)")
                .flag("--grid", a->grid, "also measure a grid of power-of-two sizes and strides")
                .flag("--rows", a->rows, "measure the grid and print every row of it")
                .text("-o,--output", a->output, "FILE", "write every reading to FILE; - is stdout")
                .list("--from", a->from, "FILE", "analyse the readings in FILE, measure nothing")
                .flag("-v,--verbose", a->verbose,
                      "print every property with its full argument, and the method")
                .flag("--json", a->json, "print one JSON object")
                .text("--export", a->export_to, "FILE", command::export_help)
                .flag("-q,--quiet", a->quiet, "print no progress");
            return [a] { return run(*a); };
          }};
}

command::Command caches_worker_command() {
  return {"caches-worker", "measure for recount caches",
          [](command::Options&) -> std::function<int()> {
            return [] { return caches::serve_caches(STDIN_FILENO, STDOUT_FILENO); };
          },
          true};
}

} // namespace recount::caches
