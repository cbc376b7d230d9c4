#include "commands/caches/view/caches_sections.hpp"

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "commands/caches/infer/findings.hpp"
#include "model/machine.hpp"
#include "run/result/curves.hpp"
#include "run/sweep_plan.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace recount::caches {
namespace {

constexpr const char* fix = "see EXTERNAL RESULTS in recount-report(1)";
/// Misses per access by which a cell must differ from the model to be called a contradiction.
constexpr double external_tolerance = 0.05;

/// Heads of the laboratory's form, and the column that they mean.
constexpr std::pair<std::string_view, const char*> form_heads[] = {
    {"t2 - t1", "seconds"}, {"t2-t1", "seconds"}, {"t2 - t1 (s)", "seconds"},      {"t2-t1 (s)", "seconds"},
    {"mean", "ns"},         {"mean (ns)", "ns"},  {"mean access time (ns)", "ns"}, {"size (bytes)", "size"}};

/// The columns of a table, checked.
std::vector<std::string> columns_of(const base::CsvTable& table) {
  static const std::vector<std::string> known{"kernel",   "size",      "stride",    "ns",       "seconds",
                                              "accesses", "l1_misses", "l2_misses", "l3_misses"};
  const auto& head = table.head;
  std::vector<std::string> columns;
  for (const auto field : head.fields) {
    const auto* const form =
        std::ranges::find(form_heads, field, &std::pair<std::string_view, const char*>::first);
    columns.push_back(form == std::end(form_heads) ? std::string(field) : form->second);
    if (std::ranges::find(known, columns.back()) == known.end())
      table.fail(head.number, fmt::format("unknown column \"{:.80}\"", field),
                 base::did_you_mean(std::string(field), known));
    if (std::ranges::count(columns, columns.back()) > 1)
      table.fail(head.number, fmt::format("there are two columns {}", columns.back()), fix);
  }
  const auto has = [&](std::string_view name) { return std::ranges::count(columns, name) > 0; };
  if (!has("size")) table.fail(head.number, "there is no column size", fix);
  if (has("seconds") != has("accesses"))
    table.fail(head.number, "of the columns seconds (or t2 - t1) and accesses, only one is there", fix);
  return columns;
}

/// What no machine has, one line each with its row.
void check_row(result::Results& results, const std::string& where, std::optional<double> ns,
               std::optional<double> from_times, const std::map<std::string, double>& misses) {
  constexpr double shortest = 0.05, longest = 1e5, agree = 0.02, rounding = 0.0005;
  const auto warn = [&](const std::string& text) { results.warnings.push_back(where + ": " + text); };
  if (ns && from_times && std::abs(*ns - *from_times) > agree * *from_times + rounding)
    warn(fmt::format("the mean is {:.4g} ns, but (t2 - t1) / accesses is {:.4g} ns", *ns, *from_times));
  if (const auto time = ns ? ns : from_times; time && *time < shortest)
    warn(fmt::format("{:.3g} ns per access is below a cycle of any CPU (0.16 ns), unless vectors access "
                     "several elements at once",
                     *time));
  else if (time && *time > longest)
    warn(fmt::format("{:.4g} ns per access is longer than any memory takes: check the unit", *time));
  for (const auto& [level, outer] : misses)
    if (const auto inner = misses.find(miss_metric(0)); inner != misses.end() && outer > inner->second)
      warn(fmt::format("{} {:.4g} per access exceeds {} {:.4g}: an access that hits L1 reaches no other "
                       "level, unless prefetches or page walks are counted",
                       level, outer, inner->first, inner->second));
}

std::int64_t parse_bytes(const base::CsvTable& table, int line, std::string_view field) {
  const std::int64_t size = sweep::parse_size(std::string(field), fmt::format("{}:{}", table.file, line));
  if (size <= 0 || size > std::int64_t{1} << 40)
    table.fail(line, fmt::format("\"{:.40}\" is not a size in bytes", field), fix);
  return size;
}

void add_row(result::Results& results, const base::CsvTable& table, const std::vector<std::string>& columns,
             const base::CsvTable::Line& row) {
  result::Observation o;
  o.run = results.runs[0].id;
  o.kernel = "stride";
  o.witness = Witness::published;
  o.accesses = 1;
  result::Params params;
  std::vector<std::pair<std::string, double>> values;
  std::optional<double> ns, seconds, accesses;
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const std::string_view name = columns[i], field = row.fields[i];
    if (field.empty()) continue;
    if (name == "kernel") {
      if (field != "stride" && field != "chase")
        table.fail(row.number, fmt::format("\"{:.40}\" is not a kernel", field), "stride or chase");
      o.kernel = field;
    } else if (name == "size" || name == "stride") {
      params[std::string(name)] = parse_bytes(table, row.number, field);
    } else if (name == "ns") {
      ns = table.number<double>(row.number, field, "time in ns", fix);
    } else if (name == "seconds") {
      seconds = table.number<double>(row.number, field, "time in seconds", fix);
    } else if (name == "accesses") {
      accesses = table.number<double>(row.number, field, "number of accesses", fix);
    } else {
      values.emplace_back(
          miss_metric(static_cast<std::size_t>(name[1] - '1')),
          table.number<double>(row.number, field, "number of misses per access", fix, true, 1));
    }
  }
  if (!params.contains("size")) table.fail(row.number, "the row has no size", fix);
  std::optional<double> from_times;
  if (seconds && accesses) from_times = 1e9 * *seconds / *accesses;
  check_row(results, fmt::format("{}:{}", table.file, row.number), ns, from_times,
            {values.begin(), values.end()});
  if (!ns) ns = from_times;
  if (ns) values.emplace_back("seconds", 1e-9 * *ns);
  for (const auto& [metric, value] : values) {
    o.params = params;
    o.metric = metric;
    o.value = value;
    results.observations.push_back(o);
  }
}

/// Why the model has this value, from the geometry of the level. `stride`: 0 where none is stated.
std::string reason(const result::CacheNote& cache, std::int64_t size, std::int64_t stride) {
  if (size <= cache.size)
    return fmt::format("an array of {} fits {} of {}", base::format_bytes(size), cache.level,
                       base::format_bytes(cache.size));
  if (cache.line <= 0 || cache.ways <= 0 || stride <= 0) return {};
  if (stride < cache.line)
    return fmt::format("{} accesses share a line of {} B, and one of them misses", cache.line / stride,
                       cache.line);
  const std::int64_t sets = std::max<std::int64_t>(1, cache.size / cache.ways / stride);
  const std::int64_t per_set = (size / stride + sets - 1) / sets;
  return fmt::format("{}{} per set of {}", per_set <= cache.ways ? "at most " : "",
                     base::format_count(per_set, "line"), base::format_count(cache.ways, "way"));
}

/// Kernel, size, stride, metric.
using Cell = std::tuple<std::string, std::int64_t, std::int64_t, std::string>;

Cell make_cell(const result::Observation& o) {
  const auto number = [&](const char* name) { return result::integer(o.params, name).value_or(0); };
  return {o.kernel, number("size"), number("stride"), o.metric};
}

/// Misses per access; their observation, and its run if that is known.
struct Modelled {
  double misses = 0;
  const result::Observation* observation = nullptr;
  const result::Run* run = nullptr;

  /// The simulated level, where its geometry is known.
  [[nodiscard]] std::optional<result::CacheNote> simulated(std::size_t level) const {
    if (const auto name = observation->witness.described_machine()) {
      const auto machine = model::shipped_machine(*name);
      if (!machine || level >= machine->levels.size()) return {};
      const auto& described = machine->levels[level];
      return result::CacheNote{described.name, described.size, described.line, described.ways};
    }
    if (!run || level >= run->caches.size()) return {};
    return run->caches[level];
  }
};

std::map<Cell, Modelled> modelled_misses(const result::Results& all) {
  std::map<Cell, Modelled> modelled;
  const auto runs = all.runs_by_id();
  for (const auto& o : all.observations)
    if (const auto each = result::per_access(o); each && o.witness.modelled()) {
      const auto run = runs.find(o.run);
      modelled.try_emplace(make_cell(o), *each, &o, run == runs.end() ? nullptr : run->second);
    }
  return modelled;
}

void add_contradiction(show::Table& table, const Cell& cell, std::size_t level, double stated,
                       const Modelled& modelled) {
  const auto& [kernel, size, stride, metric] = cell;
  show::Datum datum{{{"kernel", kernel}, {"size", std::to_string(size)}, {"stride", std::to_string(stride)}},
                    metric + " per access",
                    "value",
                    stated};
  datum.witness = Witness(Witness::published).name();
  table.data.push_back(datum);
  datum.value = modelled.misses;
  datum.witness = Witness(Witness::model).name();
  table.data.push_back(std::move(datum));
  const auto simulated = modelled.simulated(level);
  table.rows.push_back({kernel, base::format_bytes(size), stride_text(stride), level_name(level),
                        fmt::format("{:.3f}", stated), fmt::format("{:.3f}", modelled.misses),
                        simulated ? reason(*simulated, size, stride) : ""});
}

} // namespace

result::Results parse_external(std::string_view text, const std::string& file) {
  const base::CsvTable table = base::parse_csv(text, file, fix);
  result::Results results;
  result::Run& run = results.runs.emplace_back();
  run.cpu = run.host = std::filesystem::path(file).filename().string();
  run.id = "external-" + run.host;
  run.versions = {{"published", run.host}, {"source", table.comments}};
  const auto columns = columns_of(table);
  for (const auto& row : table.rows)
    add_row(results, table, columns, row);
  if (results.observations.empty()) table.fail(table.head.number, "has no values", fix);
  return results;
}

result::Results read_external(const std::string& file) {
  return parse_external(base::require_file(file), file);
}

std::string stride_text(std::int64_t bytes) {
  return bytes == 0 ? "not stated" : base::format_bytes(bytes);
}

std::vector<document::Block> compare_external(const document::Part& external, const result::Results& all) {
  const auto modelled = modelled_misses(all);
  show::Table table(
      {{"kernel"},
       show::number("size"),
       show::number("stride"),
       {"level"},
       show::number("stated"),
       show::number("modelled"),
       {"reason for the modelled value"}},
      fmt::format("Cells that contradict the model by more than {} misses per access", external_tolerance));
  std::size_t compared = 0, misses = 0;
  for (const auto& o : external.results->observations) {
    const auto level = level_of_misses(o.metric);
    if (level) ++misses;
    const auto stated = result::per_access(o);
    const auto found = modelled.find(make_cell(o));
    if (!level || !stated || found == modelled.end()) continue;
    ++compared;
    if (std::abs(*stated - found->second.misses) > external_tolerance)
      add_contradiction(table, found->first, *level, *stated, found->second);
  }
  if (misses == 0) return {};
  if (compared == 0)
    return {
        document::Paragraph{"No misses were modelled at these points, so nothing can be compared. Add the "
                            "results of: recount sweep stride --size ... --stride ... --witness model -o "
                            "FILE."}};
  if (table.rows.empty())
    return {document::Paragraph{fmt::format("All {} cells agree with the model within {} misses per access.",
                                            compared, external_tolerance)}};
  table.notes.push_back(
      fmt::format("{} of {} {} it. Unless its machine describes others, the model has LRU "
                  "replacement and no prefetcher: a difference may be the processor's, or a slip.",
                  table.rows.size(), base::format_count(compared, "cell"),
                  table.rows.size() == 1 ? "contradicts" : "contradict"));
  return {std::move(table)};
}

} // namespace recount::caches
