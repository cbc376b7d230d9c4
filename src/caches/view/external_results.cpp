#include "caches/view/external_results.hpp"

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "caches/infer/findings.hpp"
#include "caches/infer/record_sampler.hpp"
#include "result/curves.hpp"
#include "sweep/range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

namespace recount::caches {

namespace {

constexpr const char* remedy = "see EXTERNAL RESULTS in recount-report(1)";
/// Misses per access by which a cell must differ from the model to be called a contradiction.
constexpr double external_tolerance = 0.05;

void check_head(const base::CsvTable& table) {
  static const std::vector<std::string> known{"kernel",    "size",      "stride",   "ns",
                                              "l1_misses", "l2_misses", "l3_misses"};
  const auto& head = table.head;
  for (const auto field : head.fields)
    if (std::ranges::find(known, field) == known.end())
      table.fail(head.number, fmt::format("unknown column \"{:.80}\"", field),
                 base::did_you_mean(std::string(field), known));
  for (const char* needed : {"size", "stride"})
    if (std::ranges::find(head.fields, needed) == head.fields.end())
      table.fail(head.number, fmt::format("there is no column {}", needed), remedy);
}

std::int64_t parse_bytes(const base::CsvTable& table, int line, std::string_view field) {
  const std::int64_t size = sweep::parse_size(std::string(field), fmt::format("{}:{}", table.file, line));
  if (size <= 0 || size > std::int64_t{1} << 40)
    table.fail(line, fmt::format("\"{:.40}\" is not a size in bytes", field), remedy);
  return size;
}

void add_row(result::Results& results, const base::CsvTable& table, const base::CsvTable::Line& row) {
  result::Observation o;
  o.run = results.runs[0].id;
  o.kernel = "stride";
  o.witness = Witness::published;
  o.accesses = 1;
  result::Params params;
  std::vector<std::pair<std::string, double>> values;
  for (std::size_t i = 0; i < row.fields.size(); ++i) {
    const std::string_view name = table.head.fields[i], field = row.fields[i];
    if (field.empty()) continue;
    if (name == "kernel") {
      if (field != "stride" && field != "chase")
        table.fail(row.number, fmt::format("\"{:.40}\" is not a kernel", field), "stride or chase");
      o.kernel = field;
    } else if (name == "size" || name == "stride") {
      params[std::string(name)] = parse_bytes(table, row.number, field);
    } else if (name == "ns") {
      values.emplace_back("seconds", 1e-9 * table.number<double>(row.number, field, "time in ns", remedy));
    } else {
      values.emplace_back(miss_metric(static_cast<std::size_t>(name[1] - '1')),
                          table.number<double>(row.number, field, "number of misses", remedy, true));
    }
  }
  if (params.size() < 2) table.fail(row.number, "the row has no size or no stride", remedy);
  for (const auto& [metric, value] : values) {
    o.params = params;
    o.metric = metric;
    o.value = value;
    results.observations.push_back(o);
  }
}

/// Why the model gives what it gives, from the geometry of the level.
std::string reason(const result::CacheNote& cache, std::int64_t size, std::int64_t stride) {
  if (size <= cache.size)
    return fmt::format("an array of {} fits {} of {}", base::format_bytes(size), cache.level,
                       base::format_bytes(cache.size));
  if (cache.line <= 0 || cache.ways <= 0) return {};
  if (stride < cache.line)
    return fmt::format("{} accesses share a line of {} B, and one of them misses", cache.line / stride,
                       cache.line);
  const std::int64_t sets = std::max<std::int64_t>(1, cache.size / cache.ways / stride);
  const std::int64_t in_a_set = (size / stride + sets - 1) / sets;
  return fmt::format("{}{} per set of {}", in_a_set <= cache.ways ? "at most " : "",
                     base::format_count(in_a_set, "line"), base::format_count(cache.ways, "way"));
}

/// Kernel, size, stride, metric.
using Cell = std::tuple<std::string, std::int64_t, std::int64_t, std::string>;

Cell make_cell(const result::Observation& o) {
  const auto number = [&](const char* name) { return result::integer(o.params, name).value_or(0); };
  return {o.kernel, number("size"), number("stride"), o.metric};
}

} // namespace

result::Results parse_external(std::string_view text, const std::string& file) {
  const base::CsvTable table = base::parse_csv(text, file, remedy);
  result::Results results;
  result::Run& run = results.runs.emplace_back();
  run.cpu = run.host = std::filesystem::path(file).filename().string();
  run.id = "external-" + run.host;
  run.versions = {{"published", run.host}, {"source", table.comments}};
  check_head(table);
  for (const auto& row : table.rows)
    add_row(results, table, row);
  if (results.observations.empty()) table.fail(table.head.number, "has no values", remedy);
  return results;
}

result::Results read_external(const std::string& file) {
  const auto text = base::read_file(file);
  if (!text) throw bad_input(file, std::filesystem::exists(file) ? "cannot be read" : "no such file");
  return parse_external(*text, file);
}

std::vector<document::Block> compare_external(const document::Part& external, const result::Results& all) {
  std::map<Cell, std::pair<double, const result::Run*>> modelled; // misses per access, the simulated machine
  for (const auto& o : all.observations)
    if (const auto each = result::per_access(o); each && o.witness.modelled())
      modelled.try_emplace(make_cell(o), *each, all.run(o.run));
  document::Table table{
      fmt::format("Cells that contradict the model by more than {} misses per access", external_tolerance),
      {{"kernel", false},
       {"size"},
       {"stride"},
       {"level", false},
       {"stated"},
       {"modelled"},
       {"reason for the modelled value", false}},
      {}};
  std::size_t compared = 0;
  for (const auto& o : external.results->observations) {
    const auto level = level_of_misses(o.metric);
    const auto stated = result::per_access(o);
    const Cell cell = make_cell(o);
    const auto found = modelled.find(cell);
    if (!level || !stated || found == modelled.end()) continue;
    ++compared;
    const auto& [value, run] = found->second;
    if (std::abs(*stated - value) <= external_tolerance) continue;
    const auto& [kernel, size, stride, metric] = cell;
    table.rows.push_back(
        {kernel, base::format_bytes(size), base::format_bytes(stride), level_name(*level),
         fmt::format("{:.3f}", *stated), fmt::format("{:.3f}", value),
         run && *level < run->caches.size() ? reason(run->caches[*level], size, stride) : ""});
  }
  if (compared == 0)
    return {
        document::Paragraph{"No misses were modelled at these points, so nothing can be compared. Add the "
                            "results of: recount sweep stride --size ... --stride ... --witness model -o "
                            "FILE."}};
  if (table.rows.empty())
    return {document::Paragraph{fmt::format("All {} cells agree with the model within {} misses per access.",
                                            compared, external_tolerance)}};
  table.notes.push_back(fmt::format("{} of {} {} it. The model has LRU replacement and no prefetcher: a "
                                    "difference may be the processor's, or a slip.",
                                    table.rows.size(), base::format_count(compared, "cell"),
                                    table.rows.size() == 1 ? "contradicts" : "contradict"));
  return {std::move(table)};
}

} // namespace recount::caches
