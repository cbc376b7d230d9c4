// Published errata of the events behind presets.
#include "errata/errata.hpp"
#include "lint/lint.hpp"

namespace recount::lint {
namespace {

/// Of errata that concern each count; the others may do so under conditions that a table cannot show.
constexpr std::string_view always = "counted wrongly";

} // namespace

void check_errata(const preset::CpuView& view, Findings& findings) {
  if (view.core == nullptr) return;
  for (const Preset& preset : view.loaded.presets)
    for (const formula::Variable v : view.variables(preset)) {
      const auto at = static_cast<std::size_t>(v);
      if (v < 0 || at >= view.codes.size() || !view.codes[at].ok()) continue;
      for (const errata::Erratum* const one :
           errata::of_pmu(view.core->name, view.codes[at].type, view.codes[at].config))
        findings.add(one->what.ends_with(always) ? "miscounted-event" : "erratum",
                     one->number + view.names[at], {preset.place, preset.name, view.cpu, view.names[at]},
                     view.names[at] + ": " + one->sentence());
    }
}

} // namespace recount::lint
