#include "caches/view/output.hpp"
#include "command/json_text.hpp"

#include <fmt/format.h>

namespace recount::cli {
namespace {

using CachesJson = nlohmann::ordered_json;
using analysis::Property;
using analysis::StatedMatch;

CachesJson number_json(double value) {
  // Bytes, ways and entries are whole numbers.
  return value == static_cast<double>(static_cast<std::int64_t>(value))
             ? CachesJson(static_cast<std::int64_t>(value))
             : CachesJson(value);
}

CachesJson property_json(const Property& p) {
  CachesJson object = CachesJson::object();
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
  object["routes"] = object["points"] = CachesJson::array();
  for (const auto& route : p.routes)
    object["routes"].push_back({{"name", route.name}, {"value", number_json(route.value)}});
  for (const auto& point : p.points)
    object["points"].push_back({{"at", point.at}, {"value", point.value}});
  CachesJson evidence{{"quantity", p.quantity},
                      {"points", object["points"]},
                      {"threshold", p.threshold},
                      {"contradicted_by", p.against},
                      {"words", p.words}};
  object.erase("points");
  object["evidence"] = std::move(evidence);
  return object;
}

CachesJson classic_value(const analysis::ClassicValue& value) {
  if (!value.value) return {{"unknown", value.unknown}};
  CachesJson object{{"value", *value.value}};
  if (value.below > 0) object["below"] = value.below;
  return object;
}

CachesJson classic_json(const analysis::ClassicReading& reading) {
  CachesJson object{{"level", reading.level},
                    {"curves", reading.curves},
                    {"capacity", classic_value(reading.capacity)},
                    {"line", classic_value(reading.line)},
                    {"ways", classic_value(reading.ways)}};
  if (reading.penalty) object["penalty_ns"] = *reading.penalty;
  object["words"] = reading.words;
  return object;
}

CachesJson row_json(const analysis::GridRow& row) {
  CachesJson object{{"kernel", row.kernel}, {"size", row.size}, {"stride", row.stride}};
  if (!row.misses.empty()) object["counted_by"] = row.counted_by;
  for (std::size_t level = 0; level < row.misses.size(); ++level)
    object[fmt::format("l{}_misses", level + 1)] =
        row.misses[level] ? CachesJson(*row.misses[level]) : CachesJson();
  if (row.cycles) object["cycles"] = *row.cycles;
  if (row.ns) object["ns"] = *row.ns;
  return object;
}

CachesJson run_json(const ShownCaches& shown) {
  const auto& found = shown.all.found;
  CachesJson object{
      {"witness", found.witness}, {"modelled", found.modelled}, {"machine", shown.all.cpu_model}};
  object["cpu"] = shown.all.cpu ? CachesJson(*shown.all.cpu) : CachesJson();
  object["stated_by"] = shown.all.stated.source;
  if (!shown.all.stated.otherwise.empty()) object["stated_otherwise"] = shown.all.stated.otherwise;
  object["levels"] = object["tlb"] = object["justification"] = CachesJson::array();
  for (const auto& level : found.levels)
    object["levels"].push_back({{"level", level.name},
                                {"effective", level.effective},
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
  object["seconds"] = shown.seconds;
  return object;
}

} // namespace

std::string caches_json(const std::vector<ShownCaches>& all) {
  CachesJson object;
  if (all.size() == 1) {
    object = run_json(all.front());
  } else {
    object["cores"] = CachesJson::array();
    for (const auto& shown : all)
      object["cores"].push_back(run_json(shown));
  }
  return json_text("caches", object);
}

} // namespace recount::cli
