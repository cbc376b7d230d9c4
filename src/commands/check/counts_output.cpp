#include "base/format.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "commands/check/check_counts.hpp"
#include "count/preset/written.hpp"
#include "show/command/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

// What recount check --counts prints.
namespace recount::check {
namespace {

using Finding = std::pair<const Relation*, Tested>;

double share_off(const Tested& tested) {
  const double larger = std::max(std::abs(tested.left.median), std::abs(tested.right.median));
  return larger > 0 ? tested.difference.median / larger : 0;
}

/// The places of each relation, the one that is off most first.
std::map<const Relation*, std::vector<std::pair<const CountedPlace*, const Tested*>>>
by_relation(const CountsFindings& findings, std::vector<Finding> PlaceFindings::*which) {
  std::map<const Relation*, std::vector<std::pair<const CountedPlace*, const Tested*>>> all;
  for (const PlaceFindings& place : findings.places)
    for (const auto& [relation, tested] : place.*which)
      all[relation].emplace_back(place.place, &tested);
  for (auto& [relation, places] : all)
    std::ranges::stable_sort(places, std::greater(),
                             [](const auto& place) { return std::abs(share_off(*place.second)); });
  return all;
}

std::string place_name(const CountedPlace& place) {
  const auto& [kernel, point, witness, passes] = place.counted;
  return check::place_text(kernel, point) + (witness.empty() ? "" : fmt::format(" ({})", witness));
}

std::string cause_text(const Culprit& cause) {
  return cause.event.empty() ? *cause.metrics.begin()
                             : fmt::format("{} (in {})", cause.event, fmt::join(cause.metrics, ", "));
}

/// "A and B", one for each alternative.
std::vector<std::string> alternative_texts(const PlaceFindings& place) {
  return base::mapped(place.alternatives, [](const std::vector<Culprit>& causes) {
    return fmt::format("{}", fmt::join(base::mapped(causes, cause_text), " and "));
  });
}

/// What explains all places where something is broken, if there is such a thing; else one entry per answer.
std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>>
answers(const CountsFindings& findings) {
  std::map<std::vector<std::string>, std::vector<std::string>> places;
  std::optional<std::vector<std::string>> common;
  for (const PlaceFindings& place : findings.places) {
    if (place.broken.empty()) continue;
    const auto texts = alternative_texts(place);
    places[texts].push_back(place_name(*place.place));
    if (!common)
      common = texts;
    else
      std::erase_if(*common, [&](const auto& text) { return std::ranges::find(texts, text) == texts.end(); });
  }
  if (common && !common->empty()) return {{*common, {}}};
  return {places.begin(), places.end()};
}

std::string answer_text(const std::vector<std::string>& alternatives) {
  if (alternatives.empty()) return "More than three values are wrong.";
  if (alternatives.size() == 1) return fmt::format("Without {}, all relations hold.", alternatives.front());
  return fmt::format("Without {}, all relations hold: the counts do not decide which is wrong.",
                     fmt::join(alternatives, ", or without "));
}

show::Table relations_table(const CountsFindings& findings, std::vector<Finding> PlaceFindings::*which) {
  const bool broken = which == &PlaceFindings::broken;
  show::Table table({show::key_words("relation"),
                     show::number("left"),
                     show::number("right"),
                     show::number("off"),
                     {"counts of", show::Role::words, 1},
                     {broken ? "reason" : "holds only if", show::Role::words, 2}},
                    broken ? "Relations that do not hold" : "Not an error: the rows count something else");
  for (const auto& [relation, places] : by_relation(findings, which)) {
    const auto& [place, t] = places.front();
    const auto names = relation->identity.presets();
    const bool scaled =
        std::ranges::any_of(names, [&](const auto& name) { return place->scaled.contains(name); });
    table.add({relation->identity.text, count_text(t->left.median), count_text(t->right.median),
               fmt::format("{:+.2g} %{}", 100 * share_off(*t), scaled ? " (multiplexed)" : ""),
               place_name(*place) + (places.size() > 1 ? fmt::format(" (+{})", places.size() - 1) : ""),
               broken ? relation->identity.why : relation->condition});
  }
  return table;
}

/// The rows of the presets in relations that do not hold, and which of their events count prefetches.
std::vector<std::string> row_lines(const CountsFindings& findings) {
  std::set<std::string> names;
  for (const auto which : {&PlaceFindings::broken, &PlaceFindings::explained})
    for (const auto& [relation, places] : by_relation(findings, which))
      for (const std::string& name : relation->identity.presets())
        names.insert(name);
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    const Preset* const row = findings.view ? findings.view->loaded.find(name) : nullptr;
    if (!row) continue;
    std::string line = fmt::format("{} = {}", name, preset::formula_text(*row));
    for (const PresetNative& native : row->natives)
      if (findings.view->natives &&
          base::lower_case(findings.view->natives->of(native.name).prose).find("prefetch") != line.npos)
        line += fmt::format("; {}: {}", native.name, findings.view->natives->of(native.name).prose);
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> unrelated(const CountsFindings& findings) {
  std::set<std::string> left = findings.set.metrics;
  for (const Relation& relation : findings.relations.all)
    if (relation.ground != Ground::neither)
      for (const std::string& name : relation.identity.presets())
        left.erase(name);
  return {left.begin(), left.end()};
}

std::string section(const std::string& title, std::vector<std::string> lines, bool all, std::size_t most,
                    std::size_t columns) {
  if (lines.empty()) return "";
  const std::size_t rest = all || lines.size() <= most ? 0 : lines.size() - most;
  lines.resize(lines.size() - rest);
  if (rest > 0) lines.push_back(fmt::format("and {} more (-a)", rest));
  std::string text = "\n" + title + "\n";
  for (const std::string& line : lines)
    text += "  " + command::wrap(line, columns - 2, 4) + "\n";
  return text;
}

/// How much was tested, and on what grounds.
std::string tally(const CountsFindings& findings) {
  std::size_t held = 0, undecided = 0;
  for (const PlaceFindings& place : findings.places)
    held += place.held, undecided += place.undecided;
  std::string text = fmt::format("{} at {}: {} within noise, {} undecided.",
                                 base::format_count(findings.relations.all.size(), "relation"),
                                 base::format_count(findings.places.size(), "point"), held, undecided);
  if (findings.set.pmu.empty())
    text += " The CPU is not known, so only names of presets relate: --pmu NAME adds its rows.";
  else if (findings.table.empty())
    text += fmt::format(" No rows for {} are known: --table FILE.", findings.set.pmu);
  else
    text += fmt::format(" Rows: {}, {}.", findings.set.pmu,
                        std::filesystem::path(findings.table).filename().string());
  return text;
}

} // namespace

std::vector<show::Table> counts_tables(const CountsFindings& findings) {
  return {relations_table(findings, &PlaceFindings::broken),
          relations_table(findings, &PlaceFindings::explained)};
}

std::string counts_text(const CountsFindings& findings, bool all, std::size_t columns) {
  constexpr std::size_t most = 3, most_names = 6;
  auto tables = counts_tables(findings);
  std::string text;
  for (show::Table& table : tables) {
    if (table.rows.empty()) continue;
    const std::size_t rest = all || table.rows.size() <= most ? 0 : table.rows.size() - most;
    table.rows.resize(table.rows.size() - rest);
    text += fmt::format("{}{}\n{}", text.empty() ? "" : "\n", table.caption,
                        command::table_text(table, stdout, columns));
    if (rest > 0) text += fmt::format("  and {} more (-a)\n", rest);
    if (&table != &tables.front()) continue;
    for (const auto& [alternatives, places] : answers(findings))
      text += command::wrap((places.empty() ? "" : places.front() + ": ") + answer_text(alternatives),
                            columns, 2) +
              "\n";
  }
  if (tables.front().rows.empty())
    text = "All relations hold that must hold.\n" + (text.empty() ? "" : "\n" + text);
  text += section("Rows", row_lines(findings), all, most, columns);
  text += "\n" + command::wrap(tally(findings), columns, 0) + "\n";
  auto names = unrelated(findings);
  const std::size_t rest = all || names.size() <= most_names ? 0 : names.size() - most_names;
  names.resize(names.size() - rest);
  if (rest > 0) names.push_back(fmt::format("and {} more (-a)", rest));
  if (!names.empty())
    text +=
        command::wrap(fmt::format("In no relation that must hold: {}", fmt::join(names, ", ")), columns, 2) +
        "\n";
  return text;
}

Json counts_json(const CountsFindings& findings) {
  static constexpr const char* grounds[] = {"rows", "meaning", "neither"};
  const auto relations = [&](std::vector<Finding> PlaceFindings::*which) {
    Json all = Json::array();
    for (const PlaceFindings& place : findings.places)
      for (const auto& [relation, t] : place.*which) {
        const auto names = relation->identity.presets();
        all.push_back({{"relation", relation->identity.text},
                       {"why", relation->identity.why},
                       {"ground", grounds[static_cast<std::size_t>(relation->ground)]},
                       {"condition", or_null(relation->condition)},
                       {"place", place_name(*place.place)},
                       {"left", t.left.median},
                       {"right", t.right.median},
                       {"difference", {t.difference.median, t.difference.low, t.difference.high}},
                       {"allowed", t.margin},
                       {"repetitions", t.difference.n},
                       {"multiplexed", std::ranges::any_of(names, [&](const auto& name) {
                          return place.place->scaled.contains(name);
                        })}});
      }
    return all;
  };
  return {{"cpu", or_null(findings.set.cpu)},
          {"pmu", or_null(findings.set.pmu)},
          {"table", or_null(findings.table)},
          {"broken", relations(&PlaceFindings::broken)},
          {"wrong", make_array(answers(findings),
                               [](const auto& answer) {
                                 return Json{{"alternatives", answer.first}, {"places", answer.second}};
                               })},
          {"explained", relations(&PlaceFindings::explained)},
          {"rows", row_lines(findings)},
          {"in_no_relation", unrelated(findings)}};
}

} // namespace recount::check
