#include "lint/lint.hpp"

#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <algorithm>

namespace recount::lint {
namespace {

bool impossible_name(const std::string& cpu) {
  return cpu.find_first_of(" ()") != std::string::npos;
}

void choose(std::vector<std::string>& cpus, const PresetTable& table, const LintOptions& options) {
  const std::string& asked = options.cpu;
  if (asked.empty()) return;
  const auto all = cpus;
  std::erase_if(cpus, [&](const std::string& cpu) { return !preset::same_word(cpu, asked); });
  if (cpus.empty() && !options.cpu_may_lack)
    throw bad_input(asked, "no such CPU in " + table.name(), base::did_you_mean(asked, all));
}

/// Whether a CPU that libpfm4 does not know only has rows that a known one has too: those are checked there,
/// and better, with the encodings at hand.
bool covered(const preset::CpuView& view, const std::set<int>& known_rows) {
  return !view.core && std::ranges::all_of(view.loaded.presets, [&](const Preset& preset) {
    return known_rows.contains(preset.place.line);
  });
}

/// CPU names of PAPI before libpfm4, in rows without another name.
void check_obsolete(const preset::Document& table, const std::vector<preset::CpuView>& views,
                    const std::set<int>& known_rows, Findings& findings) {
  for (const preset::CpuView& view : views) {
    if (!impossible_name(view.cpu) || covered(view, known_rows)) continue;
    for (const preset::Line& line : table.lines)
      if (line.kind == preset::Kind::cpu && line.fields.size() > 1 &&
          preset::same_word(line.fields[1].text, view.cpu))
        findings.add("unknown-cpu", {}, {line.fields[1].place, {}, view.cpu},
                     "rows only for CPU names with blanks or parentheses, which libpfm4 does not use");
  }
}

int presets_in_force(const std::vector<preset::CpuView>& views) {
  std::size_t count = 0;
  for (const preset::CpuView& view : views)
    if (view.core) count += view.loaded.presets.size();
  return static_cast<int>(count);
}

} // namespace

LintResult lint(const PresetTable& table, const LintOptions& options) {
  LintResult result;
  Findings findings;
  const preset::Document& document = table.document();
  auto cpus = table.cpus();
  choose(cpus, table, options);
  std::vector<preset::CpuView> views;
  for (const std::string& cpu : cpus) {
    const event::pfm::Table* const core = preset::core_pmu(cpu);
    views.push_back(preset::view(document, cpu, core, options.version));
    (core                   ? result.checked
     : impossible_name(cpu) ? result.obsolete
                            : result.unchecked)
        .push_back(views.back().cpu);
  }
  check_text(document, options.version, findings);
  std::set<int> known_rows;
  std::set<std::string> known_cpus;
  for (const preset::CpuView& one : views) {
    if (!one.core) continue;
    known_cpus.insert(one.cpu);
    for (const Preset& preset : one.loaded.presets)
      known_rows.insert(preset.place.line);
  }
  for (const preset::CpuView& one : views) {
    check_reading(one, findings);
    if (covered(one, known_rows)) continue;
    check_formulas(one, document, findings);
    check_family(one, findings);
    check_identities(one, options.identities ? *options.identities : preset::identities(), findings);
  }
  check_obsolete(document, views, known_rows, findings);
  if (options.cpu.empty()) check_rows(document, views, findings);
  result.presets = presets_in_force(views);
  result.findings = std::move(findings).ranked(known_cpus);
  apply_allowances(document, options.cpu.empty(), result.findings);
  mark(document, result.findings);
  result.views = std::move(views);
  return result;
}

} // namespace recount::lint
