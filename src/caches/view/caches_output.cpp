#include "caches/view/caches_output.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "plot/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace recount::caches {

command::Table caches_table(const CachesFindings& findings) {
  command::Table table(
      {{"level"}, {"property"}, {"found"}, {"stated"}, {findings.stated.source}, {"confidence"}}, "Caches");
  for (auto& row : property_rows(findings.found)) {
    std::string& agreement = row[4];
    if (agreement == to_string(StatedMatch::agrees))
      agreement = command::paint(command::Style::good, agreement);
    else if (agreement == to_string(StatedMatch::differs))
      agreement = command::paint(command::Style::warning, agreement);
    table.add(std::move(row));
  }
  return table;
}

namespace {

/// "agrees" or what differs: "capacity 12 MiB, ways near 16".
std::string agreement(const LevelFinding& level) {
  std::vector<std::string> differences;
  bool agrees = false;
  for (const Property* p : {&level.capacity, &level.line, &level.ways}) {
    agrees = agrees || p->agreement == StatedMatch::agrees;
    if (p->agreement == StatedMatch::near)
      differences.push_back(fmt::format("{} near {}", p->name, stated_text(*p)));
    if (p->agreement == StatedMatch::differs || p->agreement == StatedMatch::not_found)
      differences.push_back(fmt::format("{} {}", p->name, stated_text(*p)));
  }
  if (!differences.empty())
    return command::paint(command::Style::warning, fmt::format("{}", fmt::join(differences, ", ")));
  return agrees ? command::paint(command::Style::good, "agrees") : "";
}

std::string cell(const Property& p, const char* before = "") {
  return p.value ? before + value_text(p) : "-";
}

} // namespace

command::Table caches_summary(const CachesFindings& findings) {
  const Caches& found = findings.found;
  command::Table table(
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

std::string caches_evidence(const CachesFindings& findings) {
  const Caches& found = findings.found;
  std::string text;
  const auto add = [&](const std::string& line) {
    const std::size_t most = command::line_width();
    text += (line.size() > most ? line.substr(0, most - 3) + "..." : line) + "\n";
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
      add(fmt::format("{} {} (unknown): {}", level.name, names, reason));
  }
  for (const auto& tlb : found.tlbs)
    add_found(tlb.name, tlb.entries);
  if (found.disturbed > 0) text += plot::disturbed_text(found.disturbed, found.rounds) + "\n";
  return text;
}

command::Table caches_rows(const CachesFindings& findings) {
  std::size_t levels = 0;
  bool times = false, cycles = false;
  for (const auto& row : findings.rows) {
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
  const auto number = [](const std::optional<double>& value, const char* none) {
    return value ? fmt::format("{:.4f}", *value) : std::string(none);
  };
  for (const auto& row : findings.rows) {
    std::vector<std::string> cells{row.kernel, base::format_bytes(row.size), base::format_bytes(row.stride)};
    for (std::size_t level = 0; level < levels; ++level)
      cells.push_back(number(level < row.misses.size() ? row.misses[level] : std::nullopt, "not counted"));
    if (cycles) cells.push_back(number(row.cycles, "not counted"));
    if (times) cells.push_back(number(row.ns, "not timed") + (row.disturbed ? " (disturbed)" : ""));
    table.add(std::move(cells));
  }
  return table;
}

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
  std::ranges::for_each(findings.found.method, add);
  if (findings.found.disturbed > 0)
    add(plot::disturbed_text(findings.found.disturbed, findings.found.rounds));
  return text;
}

namespace {

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
    object["unknown"] = p.unknown;
  }
  if (p.stated) {
    object["stated"] = number_json(*p.stated);
    object["stated_by"] = p.stated_by;
    object["agreement"] = to_string(p.agreement);
    if (!p.remark.empty()) object["remark"] = p.remark;
  }
  object["routes"] = Json::array();
  for (const auto& route : p.routes)
    object["routes"].push_back({{"name", route.name}, {"value", number_json(route.value)}});
  Json points = Json::array();
  for (const auto& point : p.points)
    points.push_back({{"at", point.at}, {"value", point.value}});
  object["evidence"] = {{"quantity", p.quantity},
                        {"points", points},
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
  for (std::size_t level = 0; level < row.misses.size(); ++level)
    object[fmt::format("l{}_misses", level + 1)] = row.misses[level] ? Json(*row.misses[level]) : Json();
  if (row.cycles) object["cycles"] = *row.cycles;
  if (row.ns) object["ns"] = *row.ns;
  if (row.disturbed) object["disturbed"] = true;
  return object;
}

Json level_json(const LevelFinding& level) {
  Json signs = Json::array();
  for (const SharedUse& use : level.shared_use)
    signs.push_back({{"sign", to_string(use.sign)},
                     {"bytes", use.bytes},
                     {"expected", use.expected},
                     {"measured", use.measured}});
  return {{"level", level.name},
          {"effective", level.effective},
          {"shared_use", signs},
          {"measure", level.measure},
          {"capacity", property_json(level.capacity)},
          {"line", property_json(level.line)},
          {"ways", property_json(level.ways)},
          {"latency_ns", property_json(level.latency)},
          {"penalty_ns", property_json(level.penalty)}};
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
    object["levels"].push_back(level_json(level));
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
  if (all.size() == 1) return json_text("caches", run_json(all.front()));
  Json cores = Json::array();
  for (const auto& shown : all)
    cores.push_back(run_json(shown));
  return json_text("caches", Json{{"cores", cores}});
}

} // namespace recount::caches
