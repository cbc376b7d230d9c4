#include "base/csv.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "commands/check/check_counts.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/written.hpp"
#include "run/result/results_file.hpp"

#include <recount/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

// Counts from files, and their test.
namespace recount::check {
namespace {

/// A multiplexed count is an estimate; its bursts are not known.
constexpr double scaled_error = 0.05;

/// Events of one domain are no parts of presets of another.
bool has_domain(const std::string& metric) {
  const auto colon = metric.rfind(':');
  return colon != metric.npos && metric.find_first_not_of("ukh", colon + 1) == metric.npos;
}

preset::CpuKind find_kind(const std::string& os) {
  const auto has = [&](auto... names) { return ((os.find(names) != os.npos) || ...); };
  return has("x86_64", "i686")                    ? preset::CpuKind::cisc
         : has("aarch64", "arm", "ppc64", "mips") ? preset::CpuKind::load_store
                                                  : preset::CpuKind::any;
}

void add_error(CountedPlace& place, const std::string& metric, double error) {
  double& own = place.errors[metric];
  own = std::max(own, error);
}

/// Runs that counted different metrics of a place are joined repetition by repetition; further counts of the
/// same metric are further repetitions.
class PassNumbers {
public:
  std::size_t number(const std::string& metric, const std::string& run, int repetition) {
    auto& [last, first, next] = metrics_[metric];
    if (last != run) std::tie(last, first) = std::pair(run, next);
    const std::size_t pass = first + static_cast<std::size_t>(repetition);
    next = std::max(next, pass + 1);
    return pass;
  }

private:
  std::map<std::string, std::tuple<std::string, std::size_t, std::size_t>> metrics_;
};

void set_value(CountsSet& set, CountedPlace& place, std::size_t pass, const std::string& metric,
               double value) {
  auto& passes = place.counted.passes;
  if (passes.size() <= pass) passes.resize(pass + 1, {{}});
  passes[pass].front()[metric] = value;
  set.metrics.insert(metric);
}

std::vector<CountsSet> from_results(const result::Results& results) {
  std::map<std::pair<std::string, std::string>, CountsSet> sets;
  std::map<std::tuple<const CountsSet*, std::string, result::Params, Witness>,
           std::pair<std::size_t, PassNumbers>>
      places;
  const auto runs = results.runs_by_id();
  for (const result::Observation& o : results.observations) {
    const auto value = result::as_double(o.value);
    if (!value || o.witness == Witness::model || is_time(o.metric) || has_domain(o.metric)) continue;
    const result::Run& run = *runs.at(o.run.get());
    const std::string& pmu = base::value_at(run.versions, "pmu");
    CountsSet& set = sets[{run.cpu, pmu}];
    std::tie(set.cpu, set.pmu, set.kind) = std::tuple(run.cpu, pmu, find_kind(run.os));
    auto [at, added] = places.try_emplace({&set, o.kernel, o.params.get(), o.witness});
    auto& [index, numbers] = at->second;
    if (added) {
      index = set.places.size();
      set.places.push_back({{o.kernel, o.params.get(), o.witness, {}}});
    }
    CountedPlace& place = set.places[index];
    set_value(set, place, numbers.number(o.metric, run.id, o.repetition), o.metric, *value);
    if (o.enabled_ns && o.running_ns && *o.running_ns < *o.enabled_ns) {
      place.scaled.insert(o.metric);
      add_error(place, o.metric, scaled_error * *value);
    }
  }
  return base::mapped(sets, [](const auto& one) { return one.second; });
}

/// Half a unit of the last digit that is not 0, of numbers with up to four digits: more are counts. 0: no
/// error.
double rounding(double value) {
  double unit = 1;
  while (value != 0 && std::fmod(value, unit * 10) == 0)
    unit *= 10;
  return unit > 1 && value < 1e4 * unit ? unit / 2 : 0;
}

/// Adds the rounding of the metrics all of whose values are rounded.
void add_rounding(CountsSet& set) {
  for (const std::string& metric : set.metrics) {
    std::vector<std::pair<CountedPlace*, double>> all;
    for (CountedPlace& place : set.places)
      for (const auto& process : place.counted.passes)
        if (const auto at = process.front().find(metric); at != process.front().end())
          all.emplace_back(&place, at->second);
    if (std::ranges::all_of(all, [](const auto& one) { return one.second == 0 || rounding(one.second) > 0; }))
      for (const auto& [place, value] : all)
        add_error(*place, metric, rounding(value));
  }
}

bool is_missing(std::string_view field) {
  return field.empty() || field == "-" || field.starts_with("<not") || field == "NA";
}

/// A name of a preset with its prefix, or a native event; empty: neither.
std::string metric_in_head(const base::CsvTable& table, std::string_view head) {
  std::string name(head);
  const bool prefixed = is_preset(name);
  const std::string full = prefixed ? name : std::string(preset_prefix) + name;
  if (preset::standard_preset(full)) return full;
  if (prefixed)
    table.fail(table.head.number, fmt::format("\"{:.40}\" is no preset of PAPI", name),
               base::did_you_mean(name,
                                  base::mapped(preset::standard_presets(), &preset::StandardPreset::name),
                                  "recount presets lists them"));
  const bool event =
      name.find(':') != name.npos ||
      (name.find('_') != name.npos && name.find_first_of(" abcdefghijklmnopqrstuvwxyz") == name.npos);
  return event && !has_domain(name) ? name : std::string();
}

constexpr const char* number_fix = "write a count as 1234567, and what was not counted as -";

void read_wide(const base::CsvTable& table, CountsSet& set, std::vector<std::string>& left_out) {
  const auto& heads = table.head.fields;
  std::vector<std::string> metrics{""};
  for (std::size_t i = 1; i < heads.size(); ++i) {
    metrics.push_back(metric_in_head(table, heads[i]));
    if (metrics.back().empty()) left_out.emplace_back(heads[i]);
  }
  std::map<std::string, std::size_t> places;
  for (const auto& row : table.rows) {
    const std::string run(row.fields[0]);
    const auto [at, added] = places.try_emplace(run, set.places.size());
    if (added) set.places.push_back({{run, {}, {}, {}}});
    CountedPlace& place = set.places[at->second];
    const std::size_t pass = place.counted.passes.size();
    for (std::size_t i = 1; i < metrics.size(); ++i) {
      if (metrics[i].empty() || is_missing(row.fields[i])) continue;
      const auto value = table.number<double>(row.number, row.fields[i], "count", number_fix, true);
      set_value(set, place, pass, metrics[i], value);
    }
  }
}

std::vector<CountsSet> from_table(const std::string& text, const std::string& file,
                                  std::vector<std::string>& left_out) {
  constexpr const char* fix =
      "the first column names the run, the others are presets: run,PAPI_L1_DCM,PAPI_L1_TCM";
  const auto table = base::parse_csv(text, file, fix);
  CountsSet set;
  read_wide(table, set, left_out);
  add_rounding(set);
  if (set.metrics.empty()) table.fail(table.head.number, "no column is a preset or a native event", fix);
  return {set};
}

/// The rows of the CPU. `given`: by the user, not by the file.
void read_rows(CountsFindings& found, std::string file, bool given) {
  try {
    if (file.empty()) file = preset::papi_table();
  } catch (const Error&) { // not installed: native events have relations without a table
  }
  const PresetTable table = file.empty() ? PresetTable::of({}) : PresetTable::read(file);
  if (!file.empty()) preset::require_rows(table);
  const std::string& pmu = found.set.pmu;
  const auto [core, catalogue] = lint::find_source(pmu, nullptr);
  const bool has_rows = preset::has_rows(table, pmu);
  if (!core && !has_rows && given)
    throw bad_input("--pmu " + pmu, "no PMU of that name",
                    base::did_you_mean(pmu, lint::known_pmus(nullptr)));
  if (!core && !has_rows) return;
  found.view = preset::view(table.document(), pmu, core, preset::needed_version(table.document()).version,
                            nullptr, catalogue);
  found.set.kind = found.view->kind;
  if (has_rows) found.table = file;
}

} // namespace

std::vector<CountsSet> read_counts(const std::string& file, std::vector<std::string>& left_out) {
  const std::string text =
      base::require_file(file, "name a results file (-o), or a table of presets by run (.csv)");
  const auto sets = base::trim(text).starts_with('{') ? from_results(result::read_text(text, file))
                                                      : from_table(text, file, left_out);
  if (sets.empty())
    throw bad_input(file, "no counts: every value is a time, modelled, or missing",
                    "count presets: recount stat -e PAPI_L1_DCM,PAPI_L1_TCM,PAPI_L1_ICM -o FILE -- COMMAND");
  return sets;
}

CountsFindings test_counts(CountsSet set, const std::string& table, const std::string& pmu) {
  CountsFindings found{std::move(set), {}, {}, {}, {}};
  if (!pmu.empty()) found.set.pmu = pmu;
  if (!found.set.pmu.empty()) read_rows(found, table, !pmu.empty());
  found.relations = find_relations(found.set.metrics, found.view ? &*found.view : nullptr, found.set.kind);
  for (const CountedPlace& place : found.set.places)
    found.places.push_back(test_place(place, found.relations));
  return found;
}

} // namespace recount::check
