#include "count/lint/rules.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "count/lint/rules_data.hpp" // made from data/rules.txt by the build

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace recount::lint {
namespace {

constexpr std::string_view severity_names[] = {"error", "warning", "note"};

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

} // namespace

std::string_view name_of(Severity severity) noexcept {
  return severity_names[static_cast<std::size_t>(severity)];
}

std::span<const Rule> rules() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> found;
    for (const auto& [where, cells] : base::data_rows(rules_data, "rules.txt")) {
      const auto severity = std::ranges::find(severity_names, cells.at(1)) - std::begin(severity_names);
      found.push_back(
          {cells[0], static_cast<Severity>(severity), base::parse<int>(cells.at(2)).value(), cells.at(3)});
    }
    return found;
  }();
  return all;
}

const Rule* rule_named(std::string_view id) {
  const auto all = rules();
  const auto at = std::ranges::find(all, id, &Rule::id);
  return at == all.end() ? nullptr : &*at;
}

void Finding::keep(std::vector<Occurrence> wanted) {
  occurrences = std::move(wanted);
  places.clear();
  presets.clear();
  cpus.clear();
  for (const Occurrence& o : occurrences) {
    places.push_back(o.place);
    add_once(presets, o.preset);
    if (o.known) add_once(cpus, o.cpu);
  }
  const std::size_t known = cpus.size();
  for (const Occurrence& o : occurrences)
    add_once(cpus, o.cpu);
  if (!cpus.empty()) known_cpus = known;
  std::ranges::sort(places, {}, [](Place place) { return std::pair(place.line, place.column); });
  places.erase(std::ranges::unique(places).begin(), places.end());
}

Finding& Findings::add(std::string_view rule, const std::string& key, Occurrence where, std::string message,
                       std::string suggestion) {
  const auto [at, fresh] = index_.try_emplace({std::string(rule), key}, found_.size());
  if (fresh) {
    const Rule* const known = rule_named(rule);
    if (!known) throw std::logic_error("no such rule: " + std::string(rule));
    Finding& finding = found_.emplace_back();
    finding.rule = known;
    finding.severity = known->severity;
    finding.message = std::move(message);
    finding.suggestion = std::move(suggestion);
  }
  Finding& finding = found_[at->second];
  finding.occurrences.push_back(std::move(where));
  return finding;
}

Finding& Findings::add_here(std::string_view rule, Occurrence where, std::string message,
                            std::string suggestion) {
  const std::string key =
      std::to_string(where.place.line) + ":" + std::to_string(where.place.column) + " " + message;
  return add(rule, key, std::move(where), std::move(message), std::move(suggestion));
}

std::vector<Finding> Findings::ranked(const std::set<std::string>& known_cpus) && {
  for (Finding& finding : found_) {
    for (Occurrence& o : finding.occurrences)
      o.known = known_cpus.contains(o.cpu);
    finding.known_cpus = known_cpus.size();
    finding.keep(std::move(finding.occurrences));
  }
  std::ranges::stable_sort(found_, {}, [](const Finding& f) {
    return std::tuple(f.known_cpus == 0, f.severity, f.rule->rank, -static_cast<std::ptrdiff_t>(f.known_cpus),
                      f.places.front().line);
  });
  return std::move(found_);
}

} // namespace recount::lint
