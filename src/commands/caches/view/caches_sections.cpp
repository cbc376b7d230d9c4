#include "commands/caches/view/caches_sections.hpp"

#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "base/witness.hpp"
#include "commands/caches/infer/findings.hpp"
#include "commands/caches/infer/sampler.hpp"
#include "model/machine.hpp"
#include "run/result/curves.hpp"
#include "show/document/groups.hpp"
#include "show/plot/select.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

namespace recount::caches {

namespace {

/// Every property that was found with its bounds, and every stated one, for CSV.
void add_data(std::vector<show::Datum>& all, const std::string& level, const Property& p,
              const Witness& witness) {
  show::Datum datum{{{"level", level}, {"confidence", p.value ? to_string(p.confidence) : ""}}, p.name};
  datum.unit = p.unit;
  datum.witness = witness.name();
  datum.reason = p.value ? p.remark : p.unknown.text();
  if (!p.value)
    all.push_back(datum);
  else if (p.tolerance > 0)
    all.push_back(datum.with("found", p.value, *p.value * (1 - p.tolerance), *p.value * (1 + p.tolerance)));
  else
    all.push_back(datum.with("found", p.value));
  datum.keys.back().second.clear();
  datum.reason.clear();
  datum.witness = p.stated_by;
  if (p.stated) all.push_back(datum.with("stated", p.stated));
}

show::Cell match_cell(StatedMatch match) {
  if (match == StatedMatch::not_stated) return {};
  return {match == StatedMatch::agrees    ? show::Style::good
          : match == StatedMatch::differs ? show::Style::warning
                                          : show::Style::plain,
          to_string(match)};
}

} // namespace

show::Table findings_table(const CachesFindings& findings) {
  const Caches& found = findings.found;
  show::Table table({{"level"},
                     {"property"},
                     show::number("found"),
                     show::number("stated"),
                     {findings.stated.source},
                     {"confidence"}},
                    findings_caption(findings));
  for (const auto& [level, p] : all_properties(found)) {
    table.add({level, p->name, value_text(*p), stated_text(*p), match_cell(p->agreement),
               p->value ? to_string(p->confidence) : ""});
    add_data(table.data, level, *p, found.witness);
  }
  for (const auto& level : found.levels)
    if (!level.shared_use.empty())
      table.notes.push_back(fmt::format("{}: {}.", level_text(level), shared_use_text(level)));
  if (found.disturbed > 0) table.notes.push_back(plot::disturbed_text(found.disturbed, found.rounds) + ".");
  return table;
}

namespace {

/// The part of one run.
document::Part run_part(const document::Part& part, const result::Run& run) {
  const auto of_run = [&](const auto& o) { return o.run == run.id; };
  auto own = std::make_shared<result::Results>(*document::only(part, of_run).results);
  own->runs = {run};
  return {part.machine, part.published, own};
}

/// The decisive readings of a property, or why it is unknown.
std::string evidence_text(const Property& property) {
  if (!property.value) return property.unknown.text();
  std::vector<std::string> agree, differ; // other users of a cache make the largest working set smaller
  for (const auto& [name, value] : property.routes)
    (std::abs(value - *property.value) <= max_of_exact * *property.value ? agree : differ)
        .push_back(
            fmt::format("{}: {}", name,
                        property.unit == "bytes" ? base::format_bytes(value) : fmt::format("{:.4g}", value)));
  if (!agree.empty() && !differ.empty())
    return fmt::format("{}; not decisive: {}", fmt::join(agree, "; "), fmt::join(differ, "; "));
  return property.evidence.empty() && !property.words.empty() ? property.words.front() : property.evidence;
}

void add_findings(std::vector<document::Block>& blocks, const CachesFindings& found,
                  std::vector<document::Block> figures, bool full) {
  show::Table table = findings_table(found);
  if (!full) { // after the figures, each value with its evidence
    document::append(blocks, std::exchange(figures, {}));
    table.columns = {
        {"property"}, show::number("found"), show::number("stated"), {"confidence"}, {"evidence"}};
    table.rows.clear();
    for (const auto& [level, p] : all_properties(found.found))
      table.add({level + " " + p->name, value_text(*p), stated_text(*p),
                 p->value ? to_string(p->confidence) : "", evidence_text(*p)});
  }
  blocks.emplace_back(std::move(table));
  blocks.emplace_back(document::Paragraph{comparison_text(found)});
  if (!full) return;
  document::append(blocks, std::move(figures));
  for (const auto& argument : justification(found.found)) { // the grid has a section of its own
    blocks.emplace_back(document::Heading{argument.title, 2});
    blocks.emplace_back(document::Paragraph{argument.text});
  }
  if (found.found.method.empty()) return;
  blocks.emplace_back(document::Heading{"Method", 2});
  blocks.emplace_back(document::List{found.found.method});
}

std::vector<document::Block> write_caches(const document::Material& material) {
  if (!material.machine.empty()) static_cast<void>(model::machine(material.machine));
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    for (const auto& run : part.results->runs) {
      if (!result::is_inference(run)) continue;
      const document::Part own = run_part(part, run);
      std::vector<document::Block> figures;
      for (const char* figure : {"caches-latency", "caches-ways", "caches-line"})
        if (material.full || figures.empty()) material.gallery.add(figures, figure, own);
      add_findings(blocks, findings_on_record(*part.results, run, material.machine), std::move(figures),
                   material.full);
    }
  }
  return document::under("Caches", std::move(blocks));
}

std::vector<CachesFindings> all_findings(const document::Part& part) {
  std::vector<CachesFindings> all;
  for (const auto& run : part.results->runs)
    if (result::is_inference(run)) all.push_back(findings_on_record(*part.results, run));
  return all;
}

std::vector<std::string> findings_summary(const document::Part& part) {
  std::vector<std::string> lines;
  for (const CachesFindings& found : all_findings(part)) {
    if (const auto levels = summary_lines(found.found); !levels.empty())
      lines.push_back(fmt::format("Data caches, {}: {}.", base::format_witness(found.found.witness),
                                  fmt::join(levels, "; ")));
    lines.push_back(comparison_text(found));
  }
  return lines;
}

} // namespace

document::Section caches_section() {
  return {"caches", write_caches, findings_summary};
}

namespace {

constexpr std::size_t max_columns = 12; ///< that a page is wide enough for

/// The points of one kernel, of sweeps and of the grid of recount caches.
document::Part points_of(const document::Part& part, const std::string& kernel) {
  std::set<std::string> inferences;
  for (const auto& run : part.results->runs)
    if (result::is_inference(run)) inferences.insert(run.id);
  return document::only(part, [&](const auto& o) {
    return o.kernel == kernel && !(inferences.contains(o.run) && result::is_reading(o));
  });
}

/// A quantity per access, in a table of its own.
struct Quantity {
  std::string title;  ///< "Mean access time in ns"
  std::string metric; ///< "seconds"
  double unit = 1;    ///< in which it is shown
};

std::string cell_text(const Quantity& quantity, double each) {
  const double shown = each / quantity.unit;
  return is_seconds(quantity.metric) ? fmt::format("{:.{}f}", shown,
                                                   shown < 10    ? 2
                                                   : shown < 100 ? 1
                                                                 : 0)
                                     : fmt::format("{:.3f}", shown);
}

/// Strides down, sizes across; turned where the sizes are too many. Nothing where both are, or where other
/// parameters vary as well: the appendix has these values.
std::optional<show::Table> grid_table(const std::vector<sweep::SweepGroup>& groups,
                                      const std::string& caption, const Quantity& quantity) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::string>
      cells; // by size and stride (0: of all strides)
  std::set<std::int64_t> sizes, strides;
  std::vector<show::Datum> data;
  bool disturbed = false;
  for (const auto& group : groups) {
    const auto size = result::integer(group.params, "size");
    const auto stride = result::integer(group.params, "stride").value_or(0);
    const auto each = group.per_access();
    if (!size || !each) continue;
    sizes.insert(*size);
    strides.insert(stride);
    const bool lost = group.flagged > 0 && group.flagged == group.values.size();
    disturbed = disturbed || lost;
    if (!cells.try_emplace({*size, stride}, cell_text(quantity, *each) + (lost ? "*" : "")).second) return {};
    for (auto& datum : sweep::sweep_data({group}))
      if (datum.quantity.ends_with(" per access")) data.push_back(std::move(datum));
  }
  const bool sizes_down = sizes.size() > max_columns;
  const auto &across = sizes_down ? strides : sizes, &down = sizes_down ? sizes : strides;
  if (cells.empty() || across.size() > max_columns) return {};
  show::Table table({show::number(sizes_down ? "size" : "stride")}, caption);
  table.data = std::move(data);
  for (const auto bytes : across)
    table.columns.push_back(show::number(stride_text(bytes)));
  for (const auto head : down) {
    auto& row = table.rows.emplace_back(1, stride_text(head));
    for (const auto bytes : across) {
      const auto cell = cells.find(sizes_down ? std::pair(head, bytes) : std::pair(bytes, head));
      row.push_back(cell == cells.end() ? "-" : cell->second);
    }
  }
  table.notes.push_back(sizes_down ? "Strides across, sizes down." : "Sizes across, strides down.");
  if (cells.size() < sizes.size() * strides.size())
    table.notes.back() +=
        " -: not measured (the stride exceeds half of the array, or the point was left out).";
  if (disturbed) table.notes.back() += " *: all repetitions were disturbed.";
  return table;
}

/// Time, accesses and their quotient by size, all strides together: by one witness.
std::optional<show::Table> sums_table(const std::vector<sweep::SweepGroup>& groups,
                                      const std::string& caption) {
  struct Sum {
    double seconds = 0, accesses = 0;
    Witness witness = {};
  };
  std::map<std::int64_t, Sum> sums;
  std::set<std::int64_t> strides;
  for (const auto& group : groups) {
    const auto size = result::integer(group.params, "size"), stride = result::integer(group.params, "stride");
    if (!size || !stride || !group.per_access()) continue;
    strides.insert(*stride);
    sums[*size].seconds += group.summary->value;
    sums[*size].accesses += static_cast<double>(*group.accesses);
    sums[*size].witness = group.witness;
  }
  if (strides.size() < 2) return {};
  show::Table table({show::number("size"), show::number("t2 - t1 (s)"), show::number("accesses"),
                     show::number("mean access time (ns)")},
                    caption);
  for (const auto& [size, sum] : sums) {
    table.rows.push_back({base::format_bytes(size), base::format_number(sum.seconds),
                          fmt::format("{:.0f}", sum.accesses),
                          fmt::format("{:.3f}", 1e9 * sum.seconds / sum.accesses)});
    show::Datum datum{{{"size", std::to_string(size)}}, "seconds", "sum over strides", sum.seconds};
    datum.unit = "s";
    datum.witness = sum.witness.name();
    table.data.push_back(datum);
    datum.quantity = "seconds per access";
    datum.value = sum.seconds / sum.accesses;
    table.data.push_back(datum);
    datum.quantity = "accesses";
    datum.value = sum.accesses;
    datum.unit.clear();
    table.data.push_back(std::move(datum));
  }
  return table;
}

std::string grid_caption(const Quantity& quantity, const std::string& kernel, const Witness& witness,
                         statistics::Statistic statistic) {
  return fmt::format("{}: kernel {}, {}, {} of the repetitions", quantity.title, kernel,
                     base::format_witness(witness), statistics::name_of(statistic));
}

Quantity access_time() {
  return {"Mean access time in ns", "seconds", 1e-9};
}

Quantity misses_of(std::size_t level) {
  return {fmt::format("Misses per access ({}: data accesses that miss in {})", miss_metric(level),
                      level_name(level)),
          miss_metric(level)};
}

/// Tables of a quantity, one for each witness.
void add_tables(std::vector<document::Block>& blocks, const document::Part& sweep,
                const std::vector<sweep::SweepGroup>& all, const std::string& kernel,
                const Quantity& quantity, bool full = true) {
  std::map<Witness, std::vector<sweep::SweepGroup>> by_witness;
  for (const auto& group : all)
    if (group.metric == quantity.metric && group.summary) by_witness[group.witness].push_back(group);
  for (const auto& [witness, groups] : by_witness) {
    const std::string caption = grid_caption(quantity, kernel, witness, sweep.results->statistic);
    if (auto table = grid_table(groups, caption, quantity)) {
      if (!full) table->file = is_seconds(quantity.metric) ? "times" : "misses";
      blocks.emplace_back(std::move(*table));
    }
    if (is_seconds(quantity.metric) && !sweep.published)
      if (auto table = sums_table(groups, fmt::format("Sums over all strides: kernel {}, {}", kernel,
                                                      base::format_witness(witness))))
        blocks.emplace_back(std::move(*table));
  }
}

/// The table that a reading was drawn from.
std::string caption_of(const ClassicReading& reading, const std::vector<GridRow>& rows,
                       statistics::Statistic statistic) {
  if (!reading.misses) return grid_caption(access_time(), reading.kernel, Witness::clock, statistic);
  const auto row = std::ranges::find_if(
      rows, [&](const GridRow& one) { return one.kernel == reading.kernel && !one.counted_by.empty(); });
  std::size_t level = 0;
  while (level + 1 < counted_levels && level_name(level) != reading.level)
    ++level;
  return row == rows.end() ? std::string()
                           : grid_caption(misses_of(level), reading.kernel, row->counted_by, statistic);
}

/// The readings of the grids of a part, without those that contradict a finding of recount caches.
std::vector<GridReading> grid_readings_in(const document::Part& sweep,
                                          const std::vector<CachesFindings>& found) {
  std::vector<GridReading> all;
  for (const auto& rows : grid_rows(*sweep.results, sweep.results->runs))
    for (auto& reading : classic_readings(rows)) {
      if (std::ranges::any_of(found,
                              [&](const CachesFindings& one) { return contradicts(reading, one.found); }))
        continue;
      std::string caption = caption_of(reading, rows, sweep.results->statistic);
      all.push_back({std::move(reading), std::move(caption)});
    }
  return all;
}

/// What the curves establish, a line per level and source.
document::List readings_list(const std::vector<GridReading>& readings) {
  document::List list;
  for (const auto& [reading, caption] : readings)
    list.items.push_back(
        fmt::format("{} by {}: {}{}.", reading.level,
                    !reading.misses    ? "times"
                    : reading.modelled ? "modelled misses"
                                       : "counted misses",
                    classic_values_text(reading),
                    reading.penalty ? fmt::format(", penalty {:.3g} ns", *reading.penalty) : ""));
  return list;
}

/// Points of one kernel whose other settings are one for each size and stride: else two experiments, whose
/// times are not added up. By these settings; empty: there is one.
std::map<std::string, document::Part> experiments(const document::Part& part, const std::string& kernel) {
  const document::Part points = points_of(part, kernel);
  const auto others = [](const result::Params& params) {
    result::Params rest = params;
    rest.erase("size");
    rest.erase("stride");
    return result::describe(rest);
  };
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::string>> settings;
  std::set<std::string> all;
  bool several = false;
  for (const auto& o : points.results->observations) {
    auto& here = settings[{result::integer(o.params, "size").value_or(0),
                           result::integer(o.params, "stride").value_or(0)}];
    here.insert(*all.insert(others(o.params)).first);
    several = several || here.size() > 1;
  }
  if (!several) return {{"", points}};
  std::map<std::string, document::Part> apart;
  for (const std::string& one : all)
    apart.emplace(one, document::only(points, [&](const auto& o) { return others(o.params) == one; }));
  return apart;
}

void add_readings(std::vector<document::Block>& blocks, const std::vector<GridReading>& readings,
                  bool misses) {
  for (const auto& [reading, caption] : readings)
    if (reading.misses == misses)
      blocks.emplace_back(document::Paragraph{
          fmt::format("{}: {}. {}", reading.level, classic_values_text(reading), classic_text(reading))});
}

/// Whether misses were counted and modelled, and why not counted.
struct CountedMisses {
  bool counted = false, modelled = false; ///< modelled: of this machine
  std::set<std::string> machines;         ///< others that were modelled
  std::string reason;
};

CountedMisses counted_misses(const document::Part& part) {
  CountedMisses misses;
  for (const auto& o : part.results->observations) {
    if (!level_of_misses(o.metric)) continue;
    const bool by_model = o.witness.modelled(), has_value = o.value.index() != 0;
    if (const auto machine = o.witness.described_machine();
        machine && machine->substr(0, machine->find('~')) != "host") {
      if (has_value) misses.machines.insert(*machine);
    } else
      (by_model ? misses.modelled : misses.counted) |= has_value;
    if (!by_model && !has_value && misses.reason.empty()) misses.reason = o.reason->text();
  }
  for (const auto& run : part.results->runs)
    if (const auto skipped = run.skipped.find("perf"); misses.reason.empty() && skipped != run.skipped.end())
      misses.reason = skipped->second;
  return misses;
}

/// What counted misses would answer, and why they were not counted.
std::string uncounted(const document::Part& part) {
  const CountedMisses misses = counted_misses(part);
  if (misses.counted) return {};
  std::string text =
      fmt::format("Misses were not counted here{}. Size, line and ways by counted misses need a core PMU.",
                  misses.reason.empty() ? "" : " (" + misses.reason + ")");
  if (misses.modelled)
    text +=
        " Misses modelled for the stated caches show what the counters should count, and cannot contradict "
        "the statement.";
  if (!misses.machines.empty())
    text += fmt::format(" Misses modelled for {} show what the counters of that machine should count, and "
                        "nothing of this one.",
                        fmt::join(misses.machines, ", "));
  return text;
}

/// Time and cycles per access, then misses; in the short form the grids are files. `settings`: of one
/// experiment among others.
std::vector<document::Block> write_kernel(const document::Material& material, const document::Part& sweep,
                                          const std::string& kernel, const std::string& settings,
                                          const std::vector<CachesFindings>& found) {
  std::set<std::int64_t> strides;
  for (const auto& o : sweep.results->observations)
    if (const auto stride = result::integer(o.params, "stride")) strides.insert(*stride);
  const bool by_size = strides.size() < 3;
  const auto readings = grid_readings_in(sweep, found);
  const auto groups = sweep::sweep_groups(*sweep.results);
  std::vector<document::Block> times, misses;
  add_tables(times, sweep, groups, kernel, access_time(), material.full);
  add_tables(times, sweep, groups, kernel, {"Cycles per access (PAPI_TOT_CYC)", "PAPI_TOT_CYC"},
             material.full);
  if (!sweep.published) material.gallery.add(times, by_size ? "working-set" : "access-time", sweep);
  if (material.full) add_readings(times, readings, false);
  for (std::size_t level = 0; level < counted_levels; ++level)
    add_tables(misses, sweep, groups, kernel, misses_of(level), material.full);
  if (!sweep.published) material.gallery.add(misses, by_size ? "working-set-misses" : "misses", sweep);
  if (material.full) add_readings(misses, readings, true);
  const std::string of = " of the kernel " + kernel + (settings.empty() ? "" : ", " + settings);
  std::vector<document::Block> all;
  if (!times.empty() && material.full) all.emplace_back(document::Heading{"Time" + of, 2});
  document::append(all, std::move(times));
  if (!misses.empty() && material.full) all.emplace_back(document::Heading{"Misses" + of, 2});
  document::append(all, std::move(misses));
  if (material.full || all.empty()) return all;
  std::ranges::stable_partition(
      all, [](const auto& block) { return std::holds_alternative<document::Picture>(block); });
  all.insert(all.begin(), document::Heading{"Curves" + of, 2});
  if (!readings.empty()) all.emplace_back(readings_list(readings));
  return all;
}

constexpr const char* kernels[] = {"stride", "chase"};

std::vector<document::Block> write_sweeps(const document::Material& material) {
  std::vector<document::Block> blocks;
  for (const document::Part& part : material.parts) {
    std::vector<document::Block> of_part;
    const auto found = all_findings(part);
    for (const char* kernel : kernels)
      for (const auto& [settings, points] : experiments(part, kernel))
        document::append(of_part, write_kernel(material, points, kernel, settings, found));
    const auto swept = std::ranges::count_if(part.results->observations, [](const auto& o) {
      return std::ranges::find(kernels, o.kernel) != std::end(kernels);
    });
    if (of_part.empty() && part.published && swept > 0)
      of_part.emplace_back(document::Paragraph{fmt::format(
          "The {} of this file are not shown: there are more than {} sizes, or several values of one point.",
          base::format_count(swept, "value"), max_columns)});
    if (of_part.empty()) continue;
    if (part.published) {
      const auto source = part.results->runs.front().versions.find("source");
      blocks.emplace_back(document::Heading{"External results: " + part.results->runs.front().host, 2});
      if (source != part.results->runs.front().versions.end() && !source->second.empty())
        blocks.emplace_back(document::Paragraph{source->second});
      document::append(of_part, compare_external(part, material.results));
    } else if (const std::string why = uncounted(part); !why.empty())
      blocks.emplace_back(document::Paragraph{why});
    document::append(blocks, std::move(of_part));
  }
  if (blocks.empty()) return blocks;
  std::vector<document::Block> all;
  all.emplace_back(document::Paragraph{
      "When the working set exceeds the capacity of a level, the time per access rises. With the "
      "stride, misses rise up to the line size, from which each access touches its own line. "
      "They drop again once the remaining lines fit the ways of their sets. Prefetching "
      "hides part of this in a sequential walk, but not in a chain of dependent loads."});
  document::append(all, std::move(blocks));
  return document::under("Cache curves", std::move(all));
}

/// One line for all kernels. Left out are modelled readings, which repeat the stated sizes, and times of
/// levels that recount caches has found.
std::vector<std::string> readings_summary(const document::Part& part) {
  const auto found = all_findings(part);
  const auto is_found = [&](const std::string& name) {
    return std::ranges::any_of(found, [&](const CachesFindings& one) {
      return std::ranges::any_of(one.found.levels, [&](const LevelFinding& level) {
        return level.name == name && level.capacity.value;
      });
    });
  };
  std::vector<std::string> texts;
  for (const char* kernel : kernels)
    for (const auto& [reading, caption] : grid_readings_in(points_of(part, kernel), found))
      if ((reading.capacity.value || reading.line.value || reading.ways.value) &&
          (reading.misses ? !reading.modelled : !is_found(reading.level)))
        texts.push_back(fmt::format("{} from the {} of the kernel {}: {}", reading.level,
                                    reading.misses ? "misses" : "times", kernel,
                                    classic_values_text(reading)));
  if (texts.empty()) return {};
  return {fmt::format("{}.", fmt::join(texts, "; "))};
}

std::vector<document::Answer> cache_answers(const document::Part& part) {
  CacheEvidence evidence;
  for (const auto& run : part.results->runs)
    evidence.presets.insert(run.presets.begin(), run.presets.end());
  evidence.found = all_findings(part);
  bool any = !evidence.found.empty();
  for (const char* kernel : kernels) {
    const document::Part points = points_of(part, kernel);
    any = any || !points.results->observations.empty();
    for (auto& reading : grid_readings_in(points, evidence.found))
      evidence.readings.push_back(std::move(reading));
  }
  const CountedMisses misses = counted_misses(part);
  evidence.modelled = misses.modelled || !misses.machines.empty();
  if (!misses.counted)
    evidence.uncounted = "misses were not counted" + (misses.reason.empty() ? "" : ": " + misses.reason);
  return any ? answer_questions(evidence) : std::vector<document::Answer>();
}

} // namespace

document::Section sweeps_section() {
  return {"caches", write_sweeps, readings_summary, {}, false, cache_answers};
}

// The caches in the order of the laboratory.

namespace {

/// The points of a kernel with values of a metric.
document::Part points_with(const document::Part& part, const std::string& kernel, const std::string& metric) {
  return document::only(points_of(part, kernel), [&](const auto& o) { return o.metric == metric; });
}

/// The evidence of each property of a level.
void add_evidence(std::vector<document::Block>& blocks, const std::vector<CachesFindings>& found,
                  const std::string& name) {
  std::vector<std::string> lines;
  for (const CachesFindings& one : found)
    for (const LevelFinding& level : one.found.levels)
      for (const Property* p : {&level.capacity, &level.line, &level.ways})
        if (level.name == name && p->value)
          lines.push_back(fmt::format("{} {}, {}: {} ({}). {}", level_text(level), p->name,
                                      base::format_witness(one.found.witness), value_text(*p),
                                      to_string(p->confidence), p->evidence));
  if (!lines.empty()) blocks.emplace_back(document::List{std::move(lines)});
}

/// A figure of the misses of a level, what the grid shows, and what recount caches found.
std::vector<document::Block> write_level(const document::Material& material, const document::Part& part,
                                         std::size_t level, const std::vector<CachesFindings>& found) {
  const document::Part points = points_with(part, "stride", miss_metric(level));
  std::vector<document::Block> blocks;
  if (level == 0) {
    add_tables(blocks, points, sweep::sweep_groups(*points.results), "stride", misses_of(level));
    if (blocks.size() > 1) blocks.erase(blocks.begin() + 1, blocks.end()); // of one witness
  }
  material.gallery.add(blocks, "misses", points);
  add_readings(blocks, grid_readings_in(points, found), true);
  add_evidence(blocks, found, level_name(level));
  return blocks;
}

std::vector<document::Block> write_laboratory(const document::Material& material) {
  std::vector<document::Block> blocks;
  if (material.parts.empty()) return blocks;
  const document::Part& part = material.parts.front();
  const auto found = all_findings(part);
  const auto add = [&](const char* title, std::vector<document::Block> more) {
    document::append(blocks, document::under(title, std::move(more)));
  };
  std::vector<document::Block> times;
  for (const char* kernel : kernels) {
    const document::Part points = points_with(part, kernel, "seconds");
    if (kernel == kernels[0])
      if (auto table = sums_table(sweep::sweep_groups(*points.results), "Mean access times by array size"))
        times.emplace_back(std::move(*table));
    material.gallery.add(times, "access-time", points);
    add_readings(times, grid_readings_in(points, found), false);
  }
  add("Access times (3.1)", std::move(times));
  add("Misses of L1 (3.1.1)", write_level(material, part, 0, found));
  std::vector<document::Block> second = write_level(material, part, 1, found);
  if (!second.empty())
    second.insert(second.begin(), document::Paragraph{std::string("What changes for L2: ") + changes_for_l2});
  add("Misses of L2 (3.1.2)", std::move(second));
  std::vector<document::Block> comparison;
  for (const CachesFindings& one : found) {
    show::Table table = findings_table(one); // what the form asks for
    const auto rows = all_properties(one.found);
    std::size_t i = 0;
    std::erase_if(table.rows, [&](const auto&) {
      const std::string& name = rows[i++].second->name;
      return name != "capacity" && name != "line" && name != "ways";
    });
    comparison.emplace_back(std::move(table));
    comparison.emplace_back(document::Paragraph{comparison_text(one)});
  }
  add("Comparison with what the system states", std::move(comparison));
  return blocks;
}

/// Those of the report in fewer words, with the figures in place of the tables that are files of their own.
std::vector<document::Answer> laboratory_answers(const document::Part& part) {
  constexpr std::string_view questions =
      "3.1 size of L1, by times|3.1 line, by times|3.1 miss penalty of L1|3.1.1 events|3.1.1 size of "
      "L1|3.1.1 line|"
      "3.1.1 ways|3.1.2 changes for L2|3.1.2 size of L2|3.1.2 line|3.1.2 ways|against stated values";
  const auto names = base::split(questions, '|');
  auto answers = cache_answers(part);
  const auto found = all_findings(part);
  for (std::size_t i = 0; i < std::min(answers.size(), names.size()); ++i) {
    document::Answer& answer = answers[i];
    answer.question = names[i];
    if (answer.value == changes_for_l2) {
      answer.value = "sizes around that of L2; PAPI_L2_DCM";
      answer.confidence = "method";
    }
    if (i + 1 == names.size() && !found.empty()) answer.value = agreement_text(found.front());
    if (answer.proof.starts_with(access_time().title))
      answer.proof = answer.proof.find(kernels[1]) == answer.proof.npos ? "access-time" : "access-time-2";
    else if (answer.proof.starts_with(misses_of(1).title))
      answer.proof = "misses-2";
  }
  return answers;
}

} // namespace

document::Section laboratory_section() {
  return {"caches", write_laboratory, {}, {}, false, laboratory_answers};
}

} // namespace recount::caches
