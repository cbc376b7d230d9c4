// Findings as JSON.
#include "base/json.hpp"
#include "lint/report.hpp"

namespace recount::lint {
namespace {

Json to_json(const std::vector<preset::ComponentBlock>& blocks) {
  Json json = Json::array();
  for (const preset::ComponentBlock& block : blocks)
    json.push_back({{"component", block.component},
                    {"devices", block.devices},
                    {"line", block.place.line},
                    {"presets", block.rows.size()}});
  return json;
}

Json to_json(const std::string& file, const Finding& f) {
  Json json{{"severity", name_of(f.rule->severity)}, {"rule", f.rule->id}, {"file", file}};
  json["line"] = f.places.front().line;
  json["column"] = f.places.front().column;
  json["lines"] = Json::array();
  for (const Place& place : f.places)
    json["lines"].push_back(place.line);
  json["cpu"] = f.cpus.empty() ? Json(nullptr) : Json(f.cpus.front());
  json["cpus"] = f.cpus;
  json["preset"] = f.presets.empty() ? Json(nullptr) : Json(f.presets.front());
  json["presets"] = f.presets;
  json["message"] = f.message;
  json["why"] = f.rule->why;
  json["suggestion"] = f.suggestion.empty() ? Json(nullptr) : Json(f.suggestion);
  json["fingerprint"] = fingerprint(f);
  return json;
}

Json to_json(const Comparison& since) {
  Json json{{"file", since.file},
            {"known_findings", since.known},
            {"inherited_findings", since.inherited},
            {"removed_cpus", since.removed}};
  json["added_cpus"] = Json::array();
  for (const AddedCpu& cpu : since.added)
    json["added_cpus"].push_back(
        {{"cpu", cpu.name}, {"presets", cpu.presets}, {"same_rows_as", cpu.same_rows}});
  json["formulas"] = Json::array();
  for (const FormulaChange& change : since.formulas)
    json["formulas"].push_back({{"preset", change.preset},
                                {"cpus", change.cpus},
                                {"before", change.before.empty() ? Json(nullptr) : Json(change.before)},
                                {"after", change.after.empty() ? Json(nullptr) : Json(change.after)}});
  json["gone"] = Json::array();
  for (const Finding& gone : since.gone)
    json["gone"].push_back(to_json(since.file, gone));
  return json;
}

} // namespace

std::string as_json(const std::vector<std::pair<std::string, LintResult>>& results, const Comparison* since) {
  Json json;
  json["findings"] = Json::array();
  json["tables"] = Json::array();
  for (const auto& [file, result] : results) {
    std::vector<std::string> names;
    for (const UncheckedCpu& cpu : result.unchecked)
      names.push_back(cpu.name);
    const auto roots = root_causes(result.findings);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Json one = to_json(file, result.findings[i]);
      one["follows_from"] = roots[i] ? Json(fingerprint(*roots[i])) : Json(nullptr);
      json["findings"].push_back(std::move(one));
    }
    json["tables"].push_back({{"file", file},
                              {"presets", result.presets},
                              {"papi", result.version.version == PapiVersion::v7_0 ? "7.0" : "7.3"},
                              {"components", to_json(result.components)},
                              {"checked", result.checked},
                              {"names_from_catalogue", result.listed},
                              {"names_not_checked", names},
                              {"obsolete", result.obsolete}});
  }
  if (since) json["since"] = to_json(*since);
  return json_text("lint", json);
}

} // namespace recount::lint
