#include "preset/components.hpp"

#include <fmt/core.h>

namespace recount::preset {

bool names_component(const Line& line) noexcept {
  return line.kind == Kind::other && line.fields.size() == 2 && !line.fields[1].text.empty() &&
         line.fields[0].text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

std::vector<ComponentBlock> component_blocks(const Document& document) {
  std::vector<ComponentBlock> blocks;
  bool open = false;
  for (const Line& line : document.lines) {
    if (names_component(line)) {
      if (!open || !blocks.back().rows.empty() || blocks.back().component != line.fields[0].text)
        blocks.push_back({line.fields[0].text, {}, line.fields[0].place, {}});
      blocks.back().devices.push_back(line.fields[1].text);
      open = true;
    } else if (line.kind == Kind::preset) {
      if (open) blocks.back().rows.push_back(line);
    } else if (line.kind != Kind::comment && line.kind != Kind::blank) {
      open = false;
    }
  }
  return blocks;
}

std::string structure_problem(const ComponentBlock& block, const Line& row) {
  const auto& f = row.fields;
  if (f.size() < 2) return "the name is missing";
  if (f.size() < 3) return "the derived type is missing";
  const auto type = derived_named(f[2].text);
  if (!type) return "unknown derived type: " + f[2].text;
  const std::size_t first = *type == Derived::postfix || *type == Derived::infix ? 4 : 3;
  std::size_t terms = 0;
  for (std::size_t i = first; i < f.size() && !is_description(f[i].text); ++i, ++terms)
    if (!f[i].text.starts_with(block.component + "::") && !f[i].text.starts_with("PAPI_"))
      return fmt::format("{} is not an event of {}", f[i].text, block.component);
  return terms == 0 ? "it has no terms" : std::string{};
}

NeededVersion needed_version(const Document& document) {
  for (const Line& line : document.lines)
    if (names_component(line))
      return {PapiVersion::v7_3, line.fields[0].place,
              fmt::format("presets of the component {}", line.fields[0].text)};
  return {};
}

} // namespace recount::preset
