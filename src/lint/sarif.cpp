// Findings as SARIF 2.1.0 (OASIS standard, 2020), which code-scanning services read.
#include "base/json.hpp"
#include "lint/report.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

/// A path as a relative URI reference or a file URI (RFC 3986).
std::string uri_of(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location(const std::string& file, const Place& place) {
  return {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", uri_of(file)}}},
        {"region", {{"startLine", std::max(place.line, 1)}, {"startColumn", std::max(place.column, 1)}}}}}};
}

Json rule_json(const Rule& rule) {
  std::string why(rule.why);
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z') why[0] = static_cast<char>(why[0] - 'a' + 'A');
  return {{"id", rule.id},
          {"shortDescription", {{"text", why + "."}}},
          {"help", {{"text", fmt::format("See {} in recount-lint(1).", rule.id)}}},
          {"defaultConfiguration", {{"level", name_of(rule.severity)}}}};
}

Json result_json(const std::string& file, const Finding& finding, bool compared) {
  std::string text = finding.message;
  if (!finding.suggestion.empty()) text += "; suggestion: " + finding.suggestion;
  const auto index = static_cast<std::size_t>(finding.rule - rules().data());
  Json json{{"ruleId", finding.rule->id},
            {"ruleIndex", index},
            {"level", name_of(finding.rule->severity)},
            {"message", {{"text", text}}}};
  json["locations"] = Json::array({location(file, finding.places.front())});
  if (finding.places.size() > 1) {
    json["relatedLocations"] = Json::array();
    for (std::size_t i = 1; i < finding.places.size(); ++i)
      json["relatedLocations"].push_back(location(file, finding.places[i]));
  }
  json["partialFingerprints"] = {{"recountLint/v1", fingerprint(finding)}};
  if (compared) json["baselineState"] = "new";
  json["properties"] = {{"cpus", finding.cpus}, {"presets", finding.presets}};
  return json;
}

} // namespace

std::string as_sarif(const std::vector<std::pair<std::string, LintResult>>& results, bool compared,
                     bool strict) {
  Json driver{{"name", "recount lint"}, {"version", RECOUNT_VERSION}};
  driver["rules"] = Json::array();
  for (const Rule& rule : rules())
    driver["rules"].push_back(rule_json(rule));
  Json found = Json::array();
  for (const auto& [file, result] : results)
    for (const Finding& finding : result.findings)
      found.push_back(result_json(file, finding, compared));
  Json run{{"tool", {{"driver", std::move(driver)}}}, {"columnKind", "unicodeCodePoints"}};
  run["results"] = std::move(found);
  Json notices = Json::array(); // what the run could not check is no result (3.20.21)
  for (const auto& [file, result] : results)
    for (const UncheckedCpu& cpu : result.unchecked)
      notices.push_back({{"level", strict ? "error" : "warning"},
                         {"message", {{"text", "the event names of " + cpu.name + " are not checked"}}},
                         {"locations", Json::array({location(file, cpu.place)})}});
  Json invocation{{"executionSuccessful", true}};
  invocation["toolExecutionNotifications"] = std::move(notices);
  run["invocations"] = Json::array({std::move(invocation)});
  Json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  log["runs"] = Json::array({std::move(run)});
  return dumped(log, 2) + '\n';
}

} // namespace recount::lint
