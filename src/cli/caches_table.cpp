#include "cli/caches.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

namespace recount::cli {
namespace {

using analysis::Property;
using analysis::Standing;

constexpr std::size_t text_columns = 100;

Style style_of(Standing agreement) {
  switch (agreement) {
  case Standing::agrees: return Style::good;
  case Standing::differs: return Style::warning;
  default: return Style::plain;
  }
}

void add_row(Table& table, const std::string& level, const Property& p) {
  const bool compared = p.agreement != Standing::not_stated;
  table.add({level, p.name, value_text(p), compared ? stated_text(p) : "-",
             compared ? paint(style_of(p.agreement), to_string(p.agreement)) : "",
             p.value ? to_string(p.confidence) : ""});
}

void add_rows(Table& table, const std::string& level, std::initializer_list<const Property*> properties) {
  std::string name = level;
  for (const Property* p : properties) {
    add_row(table, name, *p);
    name.clear();
  }
}

} // namespace

std::string caches_table(const ShownCaches& shown) {
  Table table({{"level"}, {"property"}, {"found"}, {"stated"}, {shown.stated_by}, {"confidence"}});
  for (const auto& level : shown.found.levels)
    add_rows(table, level.name + (level.effective ? " (effective)" : ""),
             {&level.capacity, &level.line, &level.ways, &level.latency, &level.penalty});
  for (const auto& tlb : shown.found.tlbs)
    add_rows(table, tlb.name, {&tlb.entries, &tlb.cost});
  if (shown.found.memory.value) add_rows(table, "memory", {&shown.found.memory});
  return table.text();
}

std::string caches_reasons(const ShownCaches& shown) {
  std::string text;
  for (const auto& paragraph : justification(shown.found))
    text += paint(Style::strong, paragraph.title) + "\n  " + wrap(paragraph.text, text_columns, 2) + "\n";
  text += paint(Style::strong, "How it was measured") + "\n";
  for (const auto& sentence : shown.found.method)
    text += "  " + wrap(sentence, text_columns, 2) + "\n";
  return text;
}

} // namespace recount::cli
