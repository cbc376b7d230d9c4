#include "caches/view/caches_output.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "command/output.hpp"
#include "host/machine.hpp"
#include "host/pmu.hpp"
#include "plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::caches {
namespace {

command::Style style_of(StatedMatch agreement) {
  switch (agreement) {
  case StatedMatch::agrees: return command::Style::good;
  case StatedMatch::differs: return command::Style::warning;
  default: return command::Style::plain;
  }
}

void add_row(command::Table& table, const std::string& level, const Property& p) {
  const bool compared = p.agreement != StatedMatch::not_stated;
  table.add({level, p.name, value_text(p), compared ? stated_text(p) : "-",
             compared ? command::paint(style_of(p.agreement), to_string(p.agreement)) : "",
             p.value ? to_string(p.confidence) : ""});
}

void add_rows(command::Table& table, const std::string& level,
              std::initializer_list<const Property*> properties) {
  std::string name = level;
  for (const Property* p : properties) {
    add_row(table, name, *p);
    name.clear();
  }
}

/// `text` in one line of at most `columns`.
std::string shortened(std::string text, std::size_t columns) {
  if (text.size() > columns) text = text.substr(0, columns - 3) + "...";
  return text;
}

} // namespace

command::Table caches_table(const ShownCaches& shown) {
  command::Table table(
      {{"level"}, {"property"}, {"found"}, {"stated"}, {shown.all.stated.source}, {"confidence"}}, "Caches");
  for (const auto& level : shown.all.found.levels)
    add_rows(table, level_text(level),
             {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty});
  for (const auto& tlb : shown.all.found.tlbs)
    add_rows(table, tlb.name, {&tlb.entries, &tlb.cost});
  if (shown.all.found.memory.value) add_rows(table, "memory", {&shown.all.found.memory});
  return table;
}

command::Table caches_summary(const ShownCaches& shown) {
  command::Table table(
      {{"level"}, {"capacity"}, {"line"}, {"ways"}, {"hit"}, {"miss"}, {shown.all.stated.source}});
  const auto cell = [](const Property& p) { return p.value ? value_text(p) : std::string("-"); };
  for (const auto& level : shown.all.found.levels) {
    std::vector<std::string> differences;
    bool agrees = false;
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      agrees = agrees || p->agreement == StatedMatch::agrees;
      if (p->agreement == StatedMatch::near)
        differences.push_back(fmt::format("{} near {}", p->name, stated_text(*p)));
      if (p->agreement == StatedMatch::differs || p->agreement == StatedMatch::not_found)
        differences.push_back(fmt::format("{} {}", p->name, stated_text(*p)));
    }
    const std::string stated =
        differences.empty()
            ? (agrees ? command::paint(command::Style::good, "agrees") : "")
            : command::paint(command::Style::warning, fmt::format("{}", fmt::join(differences, ", ")));
    table.add({level.shared_use.empty() ? level.name : level_text(level), cell(level.capacity),
               cell(level.line), cell(level.ways), cell(level.latency),
               level.penalty.value ? "+ " + value_text(level.penalty) : "-", stated});
  }
  for (const auto& tlb : shown.all.found.tlbs)
    table.add({tlb.name, cell(tlb.entries) + " pages", "", "", "",
               tlb.cost.value ? "+ " + value_text(tlb.cost) : "-", ""});
  if (shown.all.found.memory.value) table.add({"memory", "", "", "", cell(shown.all.found.memory), "", ""});
  return table;
}

std::string caches_evidence(const ShownCaches& shown) {
  std::string text;
  const auto add = [&](const std::string& subject, const std::string& evidence) {
    text += shortened(fmt::format("{}: {}", subject, evidence), command::line_width()) + "\n";
  };
  const auto found = [&](const std::string& level, const Property& p) {
    if (p.value && !p.evidence.empty())
      add(fmt::format("{} {} ({})", level, p.name, to_string(p.confidence)), p.evidence);
  };
  for (const auto& level : shown.all.found.levels) {
    if (!level.shared_use.empty())
      add(fmt::format("{} effective, shared with others", level.name), shared_use_text(level));
    std::vector<std::pair<std::string, std::string>> unknown; // reason, properties
    for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
      found(level.name, *p);
      if (p->value) continue;
      const auto same = std::ranges::find(unknown, p->unknown, [](const auto& u) { return u.first; });
      if (same == unknown.end())
        unknown.emplace_back(p->unknown, p->name);
      else
        same->second += ", " + p->name;
    }
    for (const auto& [reason, names] : unknown)
      add(fmt::format("{} {} (unknown)", level.name, names), reason);
  }
  for (const auto& tlb : shown.all.found.tlbs)
    found(tlb.name, tlb.entries);
  if (const auto& all = shown.all.found; all.disturbed > 0)
    text += plot::disturbed_text(all.disturbed, all.rounds) + "\n";
  return text;
}

command::Table caches_rows(const ShownCaches& shown) {
  const auto& rows = shown.all.rows;
  std::size_t levels = 0;
  bool times = false, cycles = false;
  for (const auto& row : rows) {
    levels = std::max(levels, row.misses.size());
    times = times || row.ns;
    cycles = cycles || row.cycles;
  }
  using enum command::Table::Align;
  std::vector<command::Table::Column> heads{{"kernel"}, {"size", right}, {"stride", right}};
  for (std::size_t level = 0; level < levels; ++level)
    heads.push_back({fmt::format("L{} misses", level + 1), right});
  if (cycles) heads.push_back({"cycles", right});
  if (times) heads.push_back({"ns", right});
  command::Table table(heads, "Averages per access");
  const auto shown_as = [](const std::optional<double>& value, const char* none) {
    return value ? fmt::format("{:.4f}", *value) : std::string(none);
  };
  for (const auto& row : rows) {
    std::vector<std::string> cells{row.kernel, base::format_bytes(row.size), base::format_bytes(row.stride)};
    for (std::size_t level = 0; level < levels; ++level)
      cells.push_back(shown_as(level < row.misses.size() ? row.misses[level] : std::nullopt, "not counted"));
    if (cycles) cells.push_back(shown_as(row.cycles, "not counted"));
    if (times) cells.push_back(shown_as(row.ns, "not timed") + (row.disturbed ? " (disturbed)" : ""));
    table.add(std::move(cells));
  }
  return table;
}

std::string caches_reasons(const ShownCaches& shown) {
  std::string text;
  for (const auto& paragraph : justification(shown.all))
    text += command::paint(command::Style::strong, paragraph.title) + "\n  " +
            command::wrap(paragraph.text, command::line_width(), 2) + "\n";
  text += command::paint(command::Style::strong, "Method") + "\n";
  for (const auto& sentence : shown.all.found.method)
    text += "  " + command::wrap(sentence, command::line_width(), 2) + "\n";
  if (const auto& all = shown.all.found; all.disturbed > 0)
    text += "  " + command::wrap(plot::disturbed_text(all.disturbed, all.rounds), command::line_width(), 2) +
            "\n";
  return text;
}

namespace {

Json number_json(double value) {
  // Bytes, ways and entries are whole numbers.
  return value == static_cast<double>(static_cast<std::int64_t>(value))
             ? Json(static_cast<std::int64_t>(value))
             : Json(value);
}

Json property_json(const Property& p) {
  Json object = Json::object();
  if (p.value) {
    object["value"] = number_json(*p.value);
    object["unit"] = p.unit;
    object["tolerance"] = p.tolerance;
    object["confidence"] = to_string(p.confidence);
  } else {
    object["unknown"] = p.unknown;
  }
  if (p.stated) {
    object["stated"] = number_json(*p.stated);
    object["stated_by"] = p.stated_by;
    object["agreement"] = to_string(p.agreement);
    if (!p.remark.empty()) object["remark"] = p.remark;
  }
  object["routes"] = object["points"] = Json::array();
  for (const auto& route : p.routes)
    object["routes"].push_back({{"name", route.name}, {"value", number_json(route.value)}});
  for (const auto& point : p.points)
    object["points"].push_back({{"at", point.at}, {"value", point.value}});
  Json evidence{{"quantity", p.quantity},
                {"points", object["points"]},
                {"threshold", p.threshold},
                {"contradicted_by", p.against},
                {"words", p.words}};
  object.erase("points");
  object["evidence"] = std::move(evidence);
  return object;
}

Json classic_value(const ClassicValue& value) {
  if (!value.value) return {{"unknown", value.unknown}};
  Json object{{"value", *value.value}};
  if (value.below > 0) object["below"] = value.below;
  return object;
}

Json classic_json(const ClassicReading& reading) {
  Json object{{"level", reading.level},
              {"curves", reading.curves},
              {"capacity", classic_value(reading.capacity)},
              {"line", classic_value(reading.line)},
              {"ways", classic_value(reading.ways)}};
  if (reading.penalty) object["penalty_ns"] = *reading.penalty;
  object["words"] = reading.words;
  return object;
}

Json row_json(const GridRow& row) {
  Json object{{"kernel", row.kernel}, {"size", row.size}, {"stride", row.stride}};
  if (!row.misses.empty()) object["counted_by"] = row.counted_by;
  for (std::size_t level = 0; level < row.misses.size(); ++level)
    object[fmt::format("l{}_misses", level + 1)] = row.misses[level] ? Json(*row.misses[level]) : Json();
  if (row.cycles) object["cycles"] = *row.cycles;
  if (row.ns) object["ns"] = *row.ns;
  if (row.disturbed) object["disturbed"] = true;
  return object;
}

Json shared_use_json(const LevelFinding& level) {
  Json signs = Json::array();
  for (const SharedUse& use : level.shared_use)
    signs.push_back({{"sign", to_string(use.sign)},
                     {"bytes", use.bytes},
                     {"expected", use.expected},
                     {"measured", use.measured}});
  return signs;
}

Json run_json(const ShownCaches& shown) {
  const auto& found = shown.all.found;
  Json object{{"witness", found.witness}, {"modelled", found.modelled}, {"machine", shown.all.cpu_model}};
  object["cpu"] = shown.all.cpu ? Json(*shown.all.cpu) : Json();
  if (shown.interrupted) object["interrupted"] = true;
  object["stated_by"] = shown.all.stated.source;
  if (!shown.all.stated.otherwise.empty()) object["stated_otherwise"] = shown.all.stated.otherwise;
  object["levels"] = object["tlb"] = object["justification"] = Json::array();
  for (const auto& level : found.levels)
    object["levels"].push_back({{"level", level.name},
                                {"effective", level.effective},
                                {"shared_use", shared_use_json(level)},
                                {"measure", level.measure},
                                {"capacity", property_json(level.capacity)},
                                {"line", property_json(level.line)},
                                {"ways", property_json(level.ways)},
                                {"latency_ns", property_json(level.latency)},
                                {"penalty_ns", property_json(level.penalty)}});
  for (const auto& tlb : found.tlbs)
    object["tlb"].push_back(
        {{"level", tlb.name}, {"entries", property_json(tlb.entries)}, {"miss_ns", property_json(tlb.cost)}});
  object["memory_ns"] = property_json(found.memory);
  for (const auto& paragraph : justification(shown.all))
    object["justification"].push_back({{"title", paragraph.title}, {"text", paragraph.text}});
  for (const auto& reading : shown.all.classic)
    object["classic"].push_back(classic_json(reading));
  for (const auto& row : shown.all.rows)
    object["rows"].push_back(row_json(row));
  object["method"] = found.method;
  object["readings"] = found.readings;
  object["rounds"] = found.rounds;
  object["disturbed"] = found.disturbed;
  object["seconds"] = shown.seconds;
  return object;
}

} // namespace

std::string caches_json(const std::vector<ShownCaches>& all) {
  Json object;
  if (all.size() == 1) {
    object = run_json(all.front());
  } else {
    object["cores"] = Json::array();
    for (const auto& shown : all)
      object["cores"].push_back(run_json(shown));
  }
  return json_text("caches", object);
}

// Which CPUs recount caches looks at, and what is stated of their caches.
namespace {

/// What `source` states otherwise than the header does: "L2 1 MiB, 8 ways, lines of 64 B"; empty: nothing.
std::string differences(const std::vector<host::Cache>& source, const result::Run& run) {
  std::string text;
  for (const auto& note : run.caches) {
    const auto other = std::ranges::find(source, note.level, &host::Cache::name);
    if (other == source.end() ||
        (other->size == note.size && other->line == note.line && other->ways == note.ways))
      continue;
    text += fmt::format("{}{} {}, {}, lines of {} B", text.empty() ? "" : "; ", note.level,
                        base::format_bytes(other->size), base::format_count(other->ways, "way"), other->line);
  }
  return text;
}

} // namespace

StatedNotes source_of_stated_value(const result::Run& run, std::optional<int> cpu) {
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

std::vector<std::optional<int>> one_of_each_kind() {
  std::vector<std::pair<std::string, std::vector<host::Candidate>>> kinds;
  for (const auto& candidate : host::candidates()) {
    std::string kind = std::to_string(candidate.capacity);
    for (const auto& cache : host::caches_of(candidate.cpu))
      kind += fmt::format(" {} {} {}", cache.name(), cache.size, cache.ways);
    const auto known = std::ranges::find(kinds, kind, [](const auto& k) { return k.first; });
    if (known == kinds.end())
      kinds.push_back({kind, {candidate}});
    else
      known->second.push_back(candidate);
  }
  std::vector<std::optional<int>> cpus;
  for (const auto& [kind, candidates] : kinds)
    cpus.emplace_back(host::best_cpu(candidates));
  return cpus;
}

} // namespace recount::caches
