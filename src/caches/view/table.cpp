#include "caches/view/output.hpp"
#include "command/output.hpp"
#include "plot/select.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

} // namespace recount::caches
