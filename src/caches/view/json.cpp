#include "base/json.hpp"
#include "caches/view/output.hpp"

#include <fmt/format.h>

namespace recount::caches {
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

} // namespace recount::caches
