#include "base/format.hpp"
#include "base/host/disturbance.hpp"
#include "base/host/emulation.hpp"
#include "base/host/machine.hpp"
#include "base/host/pmu.hpp"
#include "base/json.hpp"
#include "base/process/child.hpp"
#include "base/process/signals.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "commands/caches/measure/study.hpp"
#include "commands/caches/view/caches_sections.hpp"
#include "model/machine.hpp"
#include "run/result/results_file.hpp"
#include "run/sweep_plan.hpp"
#include "run/witness/backend.hpp"
#include "run/witness/results_header.hpp"
#include "show/command/command.hpp"
#include "show/command/measuring.hpp"
#include "show/command/output.hpp"
#include "show/command/print.hpp"
#include "show/command/removed.hpp"
#include "show/plot/select.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <recount/error.hpp>
#include <string>
#include <unistd.h>
#include <vector>

// recount caches: measures cache sizes, line sizes and associativity, with evidence.
namespace recount::caches {
namespace {

/// The findings of one run, and how long it took.
struct ShownCaches {
  CachesFindings all;
  double seconds = 0;       ///< of measuring; 0: from a record
  bool interrupted = false; ///< only some of the readings were taken
};

/// "agrees" or what differs: "capacity 12 MiB, ways near 16".
show::Cell agreement(const LevelFinding& level) {
  std::vector<std::string> differences;
  bool agrees = false;
  for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
    agrees = agrees || p->agreement == StatedMatch::agrees;
    if (p->agreement == StatedMatch::near)
      differences.push_back(fmt::format("{} near {}", p->name, stated_text(*p)));
    if (p->agreement == StatedMatch::differs || p->agreement == StatedMatch::not_found)
      differences.push_back(fmt::format("{} {}", p->name, stated_text(*p)));
  }
  if (!differences.empty()) return {show::Style::warning, fmt::format("{}", fmt::join(differences, ", "))};
  return {show::Style::good, agrees ? "agrees" : ""};
}

std::string cell(const Property& p, const char* before = "") {
  return p.value ? before + value_text(p) : "-";
}

/// One row per level, TLB and memory.
show::Table caches_summary(const CachesFindings& findings) {
  const Caches& found = findings.found;
  show::Table table(
      {{"level"}, {"capacity"}, {"line"}, {"ways"}, {"hit"}, {"miss"}, {findings.stated.source}});
  for (const auto& level : found.levels)
    table.add({level.shared_use.empty() ? level.name : level_text(level), cell(level.capacity),
               cell(level.line), cell(level.ways), cell(level.latency), cell(level.penalty, "+ "),
               agreement(level)});
  for (const auto& tlb : found.tlbs)
    table.add({tlb.name, cell(tlb.entries) + " pages", "", "", "", cell(tlb.cost, "+ "), ""});
  if (found.memory.value) table.add({"memory", "", "", "", cell(found.memory), "", ""});
  return table;
}

/// One line of 80 columns per determined property; properties of a level that are unknown for one reason
/// share a line. As many as a screen holds below the table.
std::string caches_evidence(const CachesFindings& findings) {
  constexpr std::size_t max_lines = 11;
  const Caches& found = findings.found;
  std::string text;
  std::size_t lines = 0;
  const auto wrap = [](const std::string& line) {
    return command::wrap(line, command::line_width(), 2) + "\n";
  };
  const auto add = [&](const std::string& line) {
    const std::size_t most = std::max<std::size_t>(80, command::line_width());
    if (++lines <= max_lines)
      text += wrap(line.size() > most ? line.substr(0, line.rfind(' ', most - 4)) + " ..." : line);
  };
  const auto add_found = [&](const std::string& level, const Property& p) {
    if (p.value && !p.evidence.empty())
      add(fmt::format("{} {} ({}): {}", level, p.name, to_string(p.confidence), p.evidence));
  };
  for (const auto& level : found.levels) {
    if (!level.shared_use.empty())
      add(fmt::format("{} effective, shared with others: {}", level.name, shared_use_text(level)));
    for (const Property* p : {&level.capacity, &level.line, &level.ways})
      add_found(level.name, *p);
    for (const auto& [reason, names] : unknown_properties(level))
      add(fmt::format("{} {} (unknown): {}", level.name, names, reason.text()));
  }
  for (const auto& tlb : found.tlbs)
    add_found(tlb.name, tlb.entries);
  std::ranges::for_each(found.counted_by, add);
  if (lines > max_lines)
    text += wrap(fmt::format("{} with -v", base::format_count(lines - max_lines, "more line")));
  for (const ClassicReading& reading : findings.classic)
    text +=
        wrap(fmt::format("{} from the grid ({} of the kernel {}): {}", reading.level,
                         reading.misses ? "misses" : "times", reading.kernel, classic_values_text(reading)));
  if (found.disturbed > 0) text += wrap(plot::disturbed_text(found.disturbed, found.rounds));
  return text;
}

/// An average per access in a row of the grid.
struct GridValue {
  std::string key, head; ///< in JSON and in the table: "l1_misses", "L1 misses"
  show::Datum datum;
};

std::vector<GridValue> grid_values(const GridRow& row) {
  std::vector<GridValue> all;
  const auto add = [&](const std::string& key, const std::string& head, const std::optional<double>& value) {
    show::Datum& datum = all.emplace_back(GridValue{key, head, {}}).datum;
    datum.keys = {
        {"kernel", row.kernel}, {"size", std::to_string(row.size)}, {"stride", std::to_string(row.stride)}};
    datum.quantity = head + " per access";
    datum.value = value;
    datum.witness = row.counted_by.name();
    if (!value) datum.reason = "not counted";
  };
  for (std::size_t level = 0; level < counted_levels; ++level)
    add(fmt::format("l{}_misses", level + 1), fmt::format("L{} misses", level + 1),
        level < row.misses.size() ? row.misses[level] : std::nullopt);
  add("cycles", "cycles", row.cycles);
  add("ns", "ns", row.ns);
  show::Datum& time = all.back().datum;
  time.quantity = "time per access";
  time.unit = "ns";
  time.witness = Witness(Witness::clock).name();
  if (row.ns) time.statistic = statistics::name_of(row.times);
  time.reason = !row.ns ? "not timed" : row.disturbed ? "every repetition was disturbed" : "";
  return all;
}

/// Every row of the grid: size, stride, average misses, average time. Empty without a grid.
show::Table caches_rows(const CachesFindings& findings) {
  show::Table table({{"kernel"}, show::number("size"), show::number("stride")}, "Averages per access");
  const auto rows = base::mapped(findings.rows, grid_values);
  for (const GridRow& row : findings.rows)
    table.add({row.kernel, base::format_bytes(row.size), base::format_bytes(row.stride)});
  for (std::size_t column = 0; !rows.empty() && column < rows.front().size(); ++column) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return row[column].datum.value.has_value(); }))
      continue;
    table.columns.push_back(show::number(rows.front()[column].head));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const show::Datum& datum = rows[i][column].datum;
      table.rows[i].emplace_back(!datum.value           ? datum.reason
                                 : datum.reason.empty() ? fmt::format("{:.4f}", *datum.value)
                                                        : fmt::format("{:.4f} (disturbed)", *datum.value));
      table.data.push_back(datum);
    }
  }
  return table;
}

/// The full argument of each property and the method, wrapped.
std::string caches_reasons(const CachesFindings& findings) {
  std::string text;
  const auto add = [&](const std::string& sentences) {
    text += "  " + command::wrap(sentences, command::line_width(), 2) + "\n";
  };
  for (const auto& paragraph : justification(findings)) {
    text += command::paint(command::Style::strong, paragraph.title) + "\n";
    add(paragraph.text);
  }
  text += command::paint(command::Style::strong, "Method") + "\n";
  std::ranges::for_each(findings.found.counted_by, add);
  std::ranges::for_each(findings.found.method, add);
  if (findings.found.disturbed > 0)
    add(plot::disturbed_text(findings.found.disturbed, findings.found.rounds));
  return text;
}

/// Bytes, ways and entries are whole numbers.
Json number_json(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return value == static_cast<double>(whole) ? Json(whole) : Json(value);
}

Json property_json(const Property& p) {
  Json object = Json::object();
  if (p.value) {
    object["value"] = number_json(*p.value);
    object["unit"] = p.unit;
    object["tolerance"] = p.tolerance;
    object["confidence"] = to_string(p.confidence);
  } else {
    object["unknown"] = p.unknown.text();
  }
  if (p.stated) {
    object["stated"] = number_json(*p.stated);
    object["stated_by"] = p.stated_by;
    object["agreement"] = to_string(p.agreement);
    if (!p.remark.empty()) object["remark"] = p.remark;
  }
  object["routes"] = make_array(p.routes, [](const Route& route) {
    return Json{{"name", route.name}, {"value", number_json(route.value)}};
  });
  object["evidence"] = {{"quantity", p.quantity},
                        {"points", make_array(p.points,
                                              [](const EvidencePoint& point) {
                                                return Json{{"at", point.at}, {"value", point.value}};
                                              })},
                        {"threshold", p.threshold},
                        {"contradicted_by", p.against},
                        {"words", argument_words(p)}};
  return object;
}

Json classic_json(const ClassicReading& reading) {
  const auto value_json = [](const ClassicValue& value) {
    if (!value.value) return Json{{"unknown", value.unknown}};
    Json object{{"value", *value.value}};
    if (value.below > 0) object["below"] = value.below;
    return object;
  };
  Json object{{"level", reading.level},
              {"curves", reading.curves},
              {"capacity", value_json(reading.capacity)},
              {"line", value_json(reading.line)},
              {"ways", value_json(reading.ways)}};
  if (reading.penalty) object["penalty_ns"] = *reading.penalty;
  object["words"] = reading.words;
  return object;
}

Json row_json(const GridRow& row) {
  Json object{{"kernel", row.kernel}, {"size", row.size}, {"stride", row.stride}};
  if (!row.misses.empty()) object["counted_by"] = row.counted_by;
  for (const GridValue& one : grid_values(row))
    if (one.datum.value) object[one.key] = *one.datum.value;
  if (row.disturbed) object["disturbed"] = true;
  return object;
}

Json level_json(const LevelFinding& level) {
  const auto sign_json = [](const SharedUse& use) {
    return Json{{"sign", to_string(use.sign)},
                {"bytes", use.bytes},
                {"expected", use.expected},
                {"measured", use.measured}};
  };
  return {{"level", level.name},
          {"effective", level.effective},
          {"shared_use", make_array(level.shared_use, sign_json)},
          {"measure", level.measure},
          {"capacity", property_json(level.capacity)},
          {"line", property_json(level.line)},
          {"ways", property_json(level.ways)},
          {"latency_ns", property_json(level.latency)},
          {"penalty_ns", property_json(level.penalty)}};
}

Json run_json(const ShownCaches& shown) {
  const auto& found = shown.all.found;
  Json object{{"witness", found.witness}, {"machine", shown.all.cpu_model}};
  object["cpu"] = or_null(shown.all.cpu);
  if (shown.interrupted) object["interrupted"] = true;
  object["stated_by"] = shown.all.stated.source;
  if (!shown.all.stated.otherwise.empty()) object["stated_otherwise"] = shown.all.stated.otherwise;
  object["levels"] = make_array(found.levels, level_json);
  object["tlb"] = make_array(found.tlbs, [](const TlbFinding& tlb) {
    return Json{
        {"level", tlb.name}, {"entries", property_json(tlb.entries)}, {"miss_ns", property_json(tlb.cost)}};
  });
  object["justification"] = make_array(justification(shown.all), [](const Paragraph& paragraph) {
    return Json{{"title", paragraph.title}, {"text", paragraph.text}};
  });
  object["memory_ns"] = property_json(found.memory);
  if (!shown.all.classic.empty()) object["classic"] = make_array(shown.all.classic, classic_json);
  if (!shown.all.rows.empty()) object["rows"] = make_array(shown.all.rows, row_json);
  object["counted_by"] = found.counted_by;
  object["method"] = found.method;
  object["readings"] = found.readings;
  object["rounds"] = found.rounds;
  object["disturbed"] = found.disturbed;
  object["seconds"] = shown.seconds;
  return object;
}

/// One object; several runs are its member "cores".
std::string caches_json(const std::vector<ShownCaches>& all) {
  return json_text("caches",
                   all.size() == 1 ? run_json(all.front()) : Json{{"cores", make_array(all, run_json)}});
}

struct CachesArguments {
  std::vector<std::string> from, witnesses;
  std::string machine, cpu, seed, output, most, export_to;
  bool patient = false, grid = false, rows = false, json = false, quiet = false, verbose = false;
};

constexpr std::int64_t usual_most = std::int64_t{128} << 20, min_limit = std::int64_t{8} << 20;

/// Counters that count misses here, else the clock.
Witness default_witness() {
  for (const Witness::Kind name : {Witness::perf, Witness::papi}) {
    CachesTask task;
    task.witness = name;
    choose_metrics(task);
    if (!task.metrics.empty()) return name;
  }
  return Witness::clock;
}

std::int64_t max_bytes(const CachesArguments& a) {
  if (a.most.empty()) return std::clamp(host::memory_available() / 4, min_limit, usual_most);
  const std::int64_t bytes = sweep::parse_size(a.most, "--max-size");
  if (bytes < min_limit || bytes > std::int64_t{1} << 36)
    throw bad_input("--max-size " + a.most, "must be between 8M and 64G");
  if (bytes > host::memory_available())
    throw bad_input("--max-size " + a.most,
                    fmt::format("is more than the available memory, {} bytes", host::memory_available()));
  return bytes;
}

/// One CPU of each kind of core: those of a hybrid CPU differ in capacity or in what caches they state.
std::vector<std::optional<int>> one_of_each_kind() {
  std::map<std::string, std::vector<host::Candidate>> kinds;
  for (const auto& candidate : host::candidates()) {
    std::string kind = std::to_string(candidate.capacity);
    for (const auto& cache : host::read_caches(candidate.cpu))
      kind += fmt::format(" {} {} {}", cache.name(), cache.size, cache.ways);
    kinds[kind].push_back(candidate);
  }
  if (kinds.size() < 2) return {host::parse_cpu("")};
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

/// Whether CPUID agrees with the caches that the header states, which are those of hwloc, and thus of sysfs.
StatedCaches sources_of_stated_values(const result::Run& run, std::optional<int> cpu) {
  const int requested = cpu.value_or(host::this_machine().allowed_cpus.front());
  StatedCaches notes{"hwloc"};
  const auto by_cpuid = host::caches_by_cpuid(requested);
  if (const std::string otherwise = differences(by_cpuid, run); !otherwise.empty())
    notes.otherwise = "CPUID: " + otherwise;
  else if (!by_cpuid.empty())
    notes.source += ", CPUID";
  for (const auto& cache : host::read_caches(requested))
    if (cache.type != 'i') notes.shared_by.emplace(cache.name(), cache.shared_by);
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
  CachesTask task{name, {}, max_bytes(a), seed, a.patient, a.grid || a.rows, cpu};
  if (name.kind == Witness::clock) return task;
  choose_metrics(task);
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
      results.runs.emplace_back(witness::machine_header(process::command_line(), RECOUNT_VERSION, task.cpu));
  header.seed = task.seed;
  header.plan = record_plan(caches_abilities(task));
  if (task.cpu) header.plan["cpu"] = std::to_string(*task.cpu);
  note_stated(header, sources_of_stated_values(header, task.cpu));
  if (writer != nullptr) writer->write(header);
  const StageLine line(a.quiet);
  ShownCaches shown;
  const auto show_stage = [&](const std::string& stage) { line.show(stage); };
  shown.interrupted = !take_readings(task, show_stage, [&](result::Observation observation) {
    observation.run = header.id;
    if (writer != nullptr) writer->write(observation);
    results.observations.push_back(std::move(observation));
  });
  shown.all = findings_on_record(results, header, a.machine);
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
  process::catch_stop_signals();
  auto witnesses = list_witnesses(a.witnesses);
  if (witnesses.empty()) witnesses.push_back(default_witness());
  std::vector<ShownCaches> all;
  const auto cpus = a.cpu.empty() ? one_of_each_kind() : std::vector{host::parse_cpu(a.cpu)};
  for (const auto& witness : witnesses)
    for (const auto cpu : cpus)
      if (process::stop_signal == 0)
        all.push_back(measure(a, make_task(a, witness, cpu, seed), writer.get()));
  return all;
}

void print(const CachesArguments& a, const std::vector<ShownCaches>& all) {
  if (a.json) {
    command::print("{}", caches_json(all));
    return;
  }
  for (const auto& shown : all) {
    const auto& found = shown.all.found;
    const std::string where = shown.all.cpu ? fmt::format("on CPU {}", *shown.all.cpu) : "not pinned";
    const char* const emulated = host::is_emulated(shown.all.cpu_model) ? ", emulated" : "";
    const std::string how =
        shown.seconds > 0 ? fmt::format(", {} in {:.1f} s{}", base::format_count(found.readings, "reading"),
                                        shown.seconds, shown.interrupted ? ", interrupted" : "")
                          : "";
    command::print("{}{}\n\n{}\n{}", &shown == &all.front() ? "" : "\n",
                   command::fit(fmt::format("witness {}, {}{}{}", found.witness, where, emulated, how),
                                command::line_width(), 2),
                   command::table_text(a.verbose ? findings_table(shown.all) : caches_summary(shown.all)),
                   a.verbose ? caches_reasons(shown.all) : caches_evidence(shown.all));
    if (!a.rows) continue;
    const show::Table rows = caches_rows(shown.all);
    if (rows.empty())
      command::print("\nthe results have no grid of sizes and strides\n");
    else
      command::print("\n{}:\n{}", rows.caption, command::table_text(rows));
  }
}

void check_arguments(const CachesArguments& a) {
  for (const auto& name : list_witnesses(a.witnesses)) {
    const auto& witness = witness::find(name);
    if (witness.kind == Witness::both)
      throw bad_input("--witness both", "each witness is measured on its own", "--witness perf,papi");
    if (name.modelled()) {
      const auto& removed = *command::find_removed("caches", "--witness model");
      throw bad_input(std::string(removed.word), std::string(removed.was), std::string(removed.fix));
    }
  }
  if (!a.cpu.empty()) static_cast<void>(host::parse_cpu(a.cpu));
  if (!a.machine.empty()) static_cast<void>(model::machine(a.machine));
  command::check_outputs({.results = a.output, .json = a.json});
  if (!a.from.empty() && (!a.output.empty() || !a.witnesses.empty() || !a.cpu.empty() || !a.seed.empty() ||
                          a.patient || a.grid || !a.most.empty()))
    throw bad_input("--from", "cannot be combined with options of a measurement",
                    "remove -o, --witness, --cpu, --seed, --patient, --grid and --max-size");
}

void export_tables(const command::TableExport& file, const std::vector<ShownCaches>& all) {
  std::vector<show::Table> tables;
  for (const auto& shown : all) {
    tables.push_back(findings_table(shown.all));
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
  if (a.from.empty() && (all.empty() || all.back().interrupted)) return 128 + process::stop_signal;
  return any ? 0 : 3;
}

} // namespace

command::Command caches_command() {
  return command::make_command<CachesArguments>(
      "caches", "measure cache sizes, line sizes and associativity, with evidence",
      [](command::Options& options, CachesArguments& a) {
        options
            .list("--witness", a.witnesses, "LIST",
                  "clock, perf, papi (default: counters if they count misses here, else clock)")
            .text("--machine", a.machine, "NAME",
                  "compare with this described machine (default: with what the system states)")
            .text("--cpu", a.cpu, "N",
                  "measure on CPU N (default: the least disturbed CPU of each kind of core)")
            .text("--max-size", a.most, "SIZE",
                  "largest working set (default 128M, at most a quarter of the available memory)")
            .flag("--patient", a.patient,
                  "measure until every property is decided, at most 2 minutes (default: about 10 s)")
            .text("--seed", a.seed, "N", "seed of the measurement order (default: random)")
            .flag("--grid", a.grid, "also measure a grid of power-of-two sizes and strides")
            .flag("--rows", a.rows, "measure the grid and print every row of it")
            .text("-o,--output", a.output, "FILE", "write every reading to FILE; - is stdout")
            .list("--from", a.from, "FILE", "analyse the readings in FILE, measure nothing")
            .flag("-v,--verbose", a.verbose, "print every property with its full argument, and the method")
            .flag("--json", a.json, "print one JSON object")
            .text("--export", a.export_to, "FILE", command::export_help)
            .flag("-q,--quiet", a.quiet, "print no progress");
      },
      run);
}

command::Command caches_worker_command() {
  return {"caches-worker", "measure for recount caches",
          [](command::Options&) -> std::function<int()> {
            return [] { return caches::serve_caches(STDIN_FILENO, STDOUT_FILENO); };
          },
          true};
}

} // namespace recount::caches
