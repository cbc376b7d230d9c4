#include "lint/lint.hpp"

#include "base/nearest.hpp"
#include "preset/catalogue.hpp"

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

UncheckedCpu unchecked(const preset::CpuView& view, const preset::Document& table,
                       const preset::Catalogue* named, bool covered) {
  UncheckedCpu out{view.cpu, {}, static_cast<int>(view.loaded.presets.size()), covered, {}};
  for (const preset::Line& line : table.lines)
    if (line.kind == preset::Kind::cpu && line.fields.size() > 1 &&
        preset::same_word(line.fields[1].text, view.cpu)) {
      out.place = line.fields[1].place;
      break;
    }
  std::set<std::string> names;
  for (const auto& pmu : preset::core_pmus())
    names.insert(pmu.name);
  for (const preset::Catalogue* const catalogue : {named, &preset::Catalogue::built_in()})
    if (catalogue)
      for (const auto& pmu : catalogue->pmus())
        names.insert(pmu.name);
  out.near = base::nearest(view.cpu, {names.begin(), names.end()}, 3);
  // "amd64_fam16h_jaguar" for "amd64_fam16h"
  std::ranges::stable_partition(out.near,
                                [&](const std::string& name) { return view.cpu.starts_with(name); });
  return out;
}

int presets_in_force(const std::vector<preset::CpuView>& views) {
  std::size_t count = 0;
  for (const preset::CpuView& view : views)
    if (view.core) count += view.loaded.presets.size();
  return static_cast<int>(count);
}

} // namespace

EventSource source_of(const std::string& cpu, const preset::Catalogue* named) {
  if (const auto* const core = named ? named->find(cpu) : nullptr) return {core, named};
  if (const auto* const core = preset::core_pmu(cpu)) return {core, nullptr};
  if (impossible_name(cpu)) return {};
  const preset::Catalogue& built_in = preset::Catalogue::built_in();
  if (const auto* const core = built_in.find(cpu)) return {core, &built_in};
  return {};
}

LintResult lint(const PresetTable& table, const LintOptions& options) {
  LintResult result;
  Findings findings;
  const preset::Document& document = table.document();
  result.version =
      options.version ? preset::NeededVersion{*options.version, {}, {}} : preset::needed_version(document);
  const PapiVersion version = result.version.version;
  auto cpus = table.cpus();
  choose(cpus, table, options);
  std::vector<preset::CpuView> views;
  for (const std::string& cpu : cpus) {
    const auto [core, catalogue] = source_of(cpu, options.catalogue);
    views.push_back(preset::view(document, cpu, core, version, nullptr, catalogue));
    if (core) result.checked.push_back(views.back().cpu);
    if (catalogue) result.listed.push_back(views.back().cpu);
    if (!core && impossible_name(cpu)) result.obsolete.push_back(views.back().cpu);
  }
  check_text(document, version, findings);
  if (version != PapiVersion::v7_0) result.components = preset::component_blocks(document);
  check_components(result.components, findings);
  std::set<int> known_rows;
  std::set<std::string> known_cpus;
  for (const preset::CpuView& one : views) {
    if (!one.core) continue;
    known_cpus.insert(one.cpu);
    for (const Preset& preset : one.loaded.presets)
      known_rows.insert(preset.place.line);
  }
  for (const preset::CpuView& one : views)
    if (!one.core && !impossible_name(one.cpu))
      result.unchecked.push_back(unchecked(one, document, options.catalogue, covered(one, known_rows)));
  for (const preset::CpuView& one : views) {
    check_reading(one, findings);
    if (covered(one, known_rows)) continue;
    check_formulas(one, document, findings);
    check_family(one, findings);
    check_meaning(one, findings);
    check_errata(one, findings);
    check_identities(one, options.identities ? *options.identities : preset::identities(), findings);
  }
  check_relatives(views, findings);
  check_obsolete(document, views, known_rows, findings);
  if (options.cpu.empty()) check_rows(document, views, findings);
  check_blocks(document, impossible_name, findings);
  result.presets = presets_in_force(views);
  result.findings = std::move(findings).ranked(known_cpus);
  apply_allowances(document, options.cpu.empty(), result);
  mark(document, result.findings);
  result.views = std::move(views);
  return result;
}

} // namespace recount::lint
