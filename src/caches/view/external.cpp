#include "caches/view/external.hpp"

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "caches/infer/record.hpp"
#include "result/curves.hpp"
#include "sweep/groups.hpp"
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

/// The rows of the file as observations.
class ExternalReader {
public:
  ExternalReader(std::string_view text, const std::string& file)
      : table_(base::parse_csv(text, file, remedy)) {}

  result::Results read() {
    result::Run run;
    run.cpu = run.host = std::filesystem::path(table_.file).filename().string();
    run.id = "external-" + run.host;
    run.versions = {{"published", run.host}, {"source", table_.comments}};
    made_.runs = {run};
    check_head();
    for (const auto& row : table_.rows)
      take(row);
    if (made_.observations.empty()) table_.fail(table_.head.number, "has no values", remedy);
    return std::move(made_);
  }

private:
  void check_head() const {
    static const std::vector<std::string> known{"kernel",    "size",      "stride",   "ns",
                                                "l1_misses", "l2_misses", "l3_misses"};
    const auto& head = table_.head;
    for (const auto field : head.fields)
      if (std::ranges::find(known, field) == known.end())
        table_.fail(head.number, fmt::format("unknown column \"{:.80}\"", field),
                    base::did_you_mean(std::string(field), known));
    for (const char* needed : {"size", "stride"})
      if (std::ranges::find(head.fields, needed) == head.fields.end())
        table_.fail(head.number, fmt::format("there is no column {}", needed), remedy);
  }

  [[nodiscard]] std::int64_t bytes(int line, std::string_view field, const char* what) const {
    const std::int64_t size = sweep::parse_size(std::string(field), fmt::format("{}:{}", table_.file, line));
    if (size <= 0 || size > std::int64_t{1} << 40)
      table_.fail(line, fmt::format("\"{:.40}\" is not a {}", field, what), remedy);
    return size;
  }

  void take(const base::CsvTable::Line& row) {
    result::Observation o;
    o.run = made_.runs[0].id;
    o.kernel = "stride";
    o.witness = "published";
    o.accesses = 1;
    result::Params params;
    std::vector<std::pair<std::string, double>> values;
    for (std::size_t i = 0; i < row.fields.size(); ++i) {
      const std::string_view name = table_.head.fields[i], field = row.fields[i];
      if (field.empty()) continue;
      if (name == "kernel") {
        if (field != "stride" && field != "chase")
          table_.fail(row.number, fmt::format("\"{:.40}\" is not a kernel", field), "stride or chase");
        o.kernel = field;
      } else if (name == "size" || name == "stride") {
        params[std::string(name)] = bytes(row.number, field, "size in bytes");
      } else if (name == "ns") {
        values.emplace_back("seconds", 1e-9 * table_.number<double>(row.number, field, "time in ns", remedy));
      } else {
        const auto each = table_.number<double>(row.number, field, "number of misses", remedy, true);
        values.emplace_back(miss_metric(static_cast<std::size_t>(name[1] - '1')), each);
      }
    }
    if (params.size() < 2) table_.fail(row.number, "the row has no size or no stride", remedy);
    for (const auto& [metric, value] : values) {
      o.params = params;
      o.metric = metric;
      o.value = value;
      made_.observations.push_back(o);
    }
  }

  base::CsvTable table_;
  result::Results made_;
};

/// Why the model gives what it gives, from the geometry of the level.
std::string reason(const result::CacheNote& cache, std::int64_t size, std::int64_t stride) {
  if (size <= cache.size)
    return fmt::format("an array of {} fits {} of {}", base::format_bytes(size), cache.level,
                       base::format_bytes(cache.size));
  if (cache.line <= 0 || cache.ways <= 0) return {};
  if (stride < cache.line)
    return fmt::format("{} accesses share a line of {} B, and one of them misses", cache.line / stride,
                       cache.line);
  const std::int64_t lines = size / stride, way = cache.size / cache.ways;
  const std::int64_t sets = std::max<std::int64_t>(1, way / stride);
  const std::int64_t in_a_set = (lines + sets - 1) / sets;
  return in_a_set <= cache.ways
             ? fmt::format("{} in {}: at most {} for {}", base::format_count(lines, "line"),
                           base::format_count(sets, "set"), in_a_set, base::format_count(cache.ways, "way"))
             : fmt::format("every access needs another line, and {} for {}",
                           base::format_count(in_a_set, "line competes", "lines compete"),
                           base::format_count(cache.ways, "way"));
}

using Cell =
    std::tuple<std::string, std::int64_t, std::int64_t, std::string>; ///< kernel, size, stride, metric

/// The modelled misses per access, and the machine that was simulated.
struct Modelled {
  std::map<Cell, std::pair<double, const result::Run*>> at;
  explicit Modelled(const result::Results& all) {
    for (const auto& o : all.observations) {
      const auto size = result::integer(o.params, "size"), stride = result::integer(o.params, "stride");
      const auto each = result::per_access(o);
      if (is_modelled(o.witness) && size && stride && each)
        at.try_emplace({o.kernel, *size, *stride, o.metric}, *each, all.run(o.run));
    }
  }
};

std::string reason_for(const result::Run* run, std::size_t level, std::int64_t size, std::int64_t stride) {
  return run && level < run->caches.size() ? reason(run->caches[level], size, stride) : std::string();
}

} // namespace

result::Results parse_external(std::string_view text, const std::string& file) {
  return ExternalReader(text, file).read();
}

result::Results read_external(const std::string& file) {
  const auto text = base::read_file(file);
  if (!text) throw bad_input(file, std::filesystem::exists(file) ? "cannot be read" : "no such file");
  return parse_external(*text, file);
}

std::vector<document::Block> compare_external(const document::Part& external, const result::Results& all) {
  const Modelled modelled(all);
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
    if (!level || !stated) continue;
    const std::int64_t size = result::integer(o.params, "size").value_or(0);
    const std::int64_t stride = result::integer(o.params, "stride").value_or(0);
    const auto found = modelled.at.find({o.kernel, size, stride, o.metric});
    if (found == modelled.at.end()) continue;
    ++compared;
    const auto& [value, run] = found->second;
    if (std::abs(*stated - value) <= external_tolerance) continue;
    table.rows.push_back({o.kernel, base::format_bytes(size), base::format_bytes(stride),
                          *level == 0 ? "L1d" : fmt::format("L{}", *level + 1),
                          fmt::format("{:.3f}", *stated), fmt::format("{:.3f}", value),
                          reason_for(run, *level, size, stride)});
  }
  std::vector<document::Block> blocks;
  if (compared == 0)
    blocks.emplace_back(document::Paragraph{"No misses were modelled at these points, so nothing can be "
                                            "compared. Add the results of: recount sweep stride "
                                            "--size ... --stride ... --witness model -o FILE."});
  else if (table.rows.empty())
    blocks.emplace_back(document::Paragraph{fmt::format(
        "All {} cells agree with the model within {} misses per access.", compared, external_tolerance)});
  else {
    table.notes.push_back(fmt::format("{} of {} {} it. The model has LRU replacement and no prefetcher: "
                                      "a difference may be the processor's, or a slip.",
                                      table.rows.size(), base::format_count(compared, "cell"),
                                      table.rows.size() == 1 ? "contradicts" : "contradict"));
    blocks.emplace_back(std::move(table));
  }
  return blocks;
}

} // namespace recount::caches
