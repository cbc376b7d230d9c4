#include "preset/formula_text.hpp"

#include "formula/rpn.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace recount::preset {

std::string formula_text(const Preset& preset) {
  std::vector<std::string> names;
  for (const PresetNative& term : preset.natives)
    names.push_back(term.name);
  if (names.empty()) return {};
  std::string joined;
  const char* const sign = preset.type == Derived::sub ? " - " : " + ";
  for (const auto& name : names)
    joined += (joined.empty() ? "" : sign) + name;
  switch (preset.type) {
  case Derived::postfix: return formula::to_infix(formula::parse_rpn(preset.postfix), names);
  case Derived::add:
  case Derived::sub: return joined;
  case Derived::ps: return names.size() > 1 ? fmt::format("{} * max_hz / {}", names[1], names[0]) : names[0];
  case Derived::add_ps:
    return fmt::format("({}) * max_hz / {}", joined.substr(std::min(names[0].size() + 3, joined.size())),
                       names[0]);
  default: return names.front();
  }
}

} // namespace recount::preset
