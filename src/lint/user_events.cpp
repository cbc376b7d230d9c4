// Findings in a table of user events (PAPI_USER_EVENTS_FILE), which PAPI reads after a table of presets.
#include "lint/lint.hpp"

#include <algorithm>

namespace recount::lint {

LintResult lint_user_events(const PresetTable& table, const PresetTable& user, const LintOptions& options) {
  LintResult result;
  result.version = options.version ? preset::NeededVersion{*options.version, {}, {}}
                                   : preset::needed_version(table.document());
  const PapiVersion version = result.version.version;
  Findings reading;
  Findings events;
  std::set<std::string> known_cpus;
  std::set<std::string> names;
  check_text(user.document(), version, reading);
  for (const std::string& cpu : user.cpus()) {
    if (!options.cpu.empty() && !preset::same_word(cpu, options.cpu)) continue;
    const auto [core, catalogue] = source_of(cpu, options.catalogue);
    const auto base = preset::view(table.document(), cpu, core, version, nullptr, catalogue);
    auto view = preset::view(table.document(), cpu, core, version, &user.document(), catalogue);
    if (core) known_cpus.insert(view.cpu);
    if (core) result.checked.push_back(view.cpu);
    if (!core) result.unchecked.push_back({view.cpu, {1, 1}, 0, false, {}});
    // PAPI reads the presets first: their diagnostics and definitions precede those of the user's rows.
    view.diagnostics.erase(view.diagnostics.begin(),
                           view.diagnostics.begin() + static_cast<std::ptrdiff_t>(base.diagnostics.size()));
    for (std::size_t i = base.loaded.presets.size(); i < view.loaded.presets.size(); ++i)
      names.insert(view.loaded.presets[i].name);
    result.presets += static_cast<int>(view.loaded.presets.size() - base.loaded.presets.size());
    check_reading(view, reading);
    check_formulas(view, user.document(), events);
    check_errata(view, events);
  }
  result.findings = std::move(reading).ranked(known_cpus);
  for (Finding& finding : std::move(events).ranked(known_cpus)) {
    // Rows of presets are checked with their own table.
    std::vector<Occurrence> own = finding.occurrences;
    std::erase_if(own, [&](const Occurrence& o) { return !names.contains(o.preset); });
    if (own.empty()) continue;
    finding.keep(std::move(own));
    result.findings.push_back(std::move(finding));
  }
  apply_allowances(user.document(), options.cpu.empty(), result);
  mark(user.document(), result.findings);
  return result;
}

} // namespace recount::lint
