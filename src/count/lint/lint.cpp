#include "count/lint/lint.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "count/errata/errata.hpp"
#include "count/event/pfm.hpp"
#include "count/preset/catalogue.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace recount::lint {
namespace {

bool impossible_name(const std::string& cpu) {
  return cpu.find_first_of(" ()") != std::string::npos;
}

/// Whether a CPU that libpfm4 does not know has only rows that a known CPU has too: these are checked there,
/// where the encodings are known.
bool covered(const preset::CpuView& view, const std::set<int>& known_rows) {
  return !view.core && std::ranges::all_of(view.loaded.presets, [&](const Preset& preset) {
    return known_rows.contains(preset.place.line);
  });
}

/// Up to three names, those first that the CPU's name begins with: "amd64_fam16h" for "amd64_fam16h_jaguar".
std::string similar(const std::string& cpu, const std::set<std::string>& known) {
  auto near = base::nearest(cpu, {known.begin(), known.end()}, 3);
  std::ranges::stable_partition(near, [&](const std::string& name) { return cpu.starts_with(name); });
  return near.empty() ? std::string() : fmt::format("similar names: {}", fmt::join(near, ", "));
}

/// A CPU whose event names nothing here can check. `suggestion`: the nearest names that are known.
void add_unchecked(const preset::CpuView& view, const preset::Document& table, bool covered,
                   const std::string& suggestion, bool strict, Findings& findings) {
  const auto& rows = table.rows_for(view.cpu);
  if (rows.empty()) return;
  Finding& finding = findings.add(
      "unchecked-cpu", view.cpu, {table.lines[rows.front()].fields[1].place, {}, view.cpu},
      fmt::format("the event names of {} are not checked: neither libpfm4 {} nor a catalogue has it ({}{})",
                  view.cpu, event::pfm::library_version(),
                  base::format_count(view.loaded.presets.size(), "preset"),
                  covered ? ", all in rows that are checked on another CPU" : ""),
      suggestion);
  if (strict) finding.severity = Severity::error;
}

/// The CPUs to look at: those of the table, or one with those that it is compared with.
std::vector<std::string> cpus_to_view(const PresetTable& table, const LintOptions& options) {
  auto cpus = table.cpus();
  if (options.cpu.empty()) return cpus;
  const bool known =
      std::ranges::any_of(cpus, [&](const std::string& cpu) { return preset::same_word(cpu, options.cpu); });
  if (!known && !options.cpu_may_lack)
    throw bad_input(options.cpu, "no such CPU in " + table.name(), base::did_you_mean(options.cpu, cpus));
  std::set<std::string> wanted{base::lower_case(options.cpu)};
  for (const auto& family : families())
    if (std::ranges::find(family, base::lower_case(options.cpu)) != family.end())
      wanted.insert(family.begin(), family.end());
  std::erase_if(cpus,
                [&](const std::string& cpu) { return !known || !wanted.contains(base::lower_case(cpu)); });
  return cpus;
}

preset::NeededVersion version_for(const LintOptions& options, const PresetTable& table) {
  if (options.version) return {*options.version, {}, {}};
  return preset::needed_version(table.document());
}

bool requested(const LintOptions& options, const std::string& cpu) {
  return options.cpu.empty() || preset::same_word(cpu, options.cpu);
}

/// Reads the table for each requested CPU. Returns the views of the CPUs that these are compared with.
std::vector<preset::CpuView> read_views(const PresetTable& table, const LintOptions& options,
                                        LintResult& result) {
  std::vector<preset::CpuView> relatives;
  for (const std::string& cpu : cpus_to_view(table, options)) {
    const auto [core, catalogue] = find_source(cpu, options.catalogue);
    auto view = preset::view(table.document(), cpu, core, result.version.version, nullptr, catalogue);
    if (!requested(options, cpu)) {
      relatives.push_back(std::move(view));
      continue;
    }
    if (catalogue) result.listed.push_back(view.cpu);
    if (!core && impossible_name(cpu)) result.obsolete.push_back(view.cpu);
    if (core) {
      result.checked.push_back(view.cpu);
      result.presets += static_cast<int>(view.loaded.presets.size());
    }
    result.views.push_back(std::move(view));
  }
  return relatives;
}

/// The presets of components, of which PAPI 7.3 reads those that it defines itself. Adds a view for each
/// device.
void check_components(const preset::Document& document, LintResult& result, Findings& findings) {
  std::map<std::string, preset::Document> tables;
  std::set<std::string> devices;
  for (const preset::ComponentBlock& block : result.components) {
    const std::string& component = block.component;
    if (preset::standard_presets(component).empty()) {
      findings.add("never-loaded", component, {block.place, {}, {}, component},
                   "PAPI loads no presets of the component " + component, "remove its rows");
      continue;
    }
    const auto [at, fresh] = tables.try_emplace(component);
    if (fresh) at->second = preset::select_component(document, component);
    for (const std::string& device : block.devices) {
      if (!devices.insert(base::lower_case(component + ":" + device)).second) continue;
      const preset::CpuView& view =
          result.views.emplace_back(preset::view(at->second, component + ":" + device, nullptr,
                                                 result.version.version, nullptr, nullptr, component));
      check_reading(view, findings);
      check_formulas(view, document, findings);
      check_family(view, findings);
      check_meaning(view, findings);
    }
  }
}

} // namespace

std::set<std::string> known_pmus(const preset::Catalogue* named) {
  std::set<std::string> names;
  const auto add = [&](const std::vector<event::pfm::Table>& pmus) {
    for (const auto& pmu : pmus)
      names.insert(pmu.name);
  };
  add(preset::core_pmus());
  add(preset::Catalogue::built_in().pmus());
  if (named) add(named->pmus());
  return names;
}

EventSource find_source(const std::string& cpu, const preset::Catalogue* named) {
  const auto* const architectural = preset::architectural_pmu();
  const auto* const own =
      architectural && preset::same_word(cpu, architectural->name) ? architectural : preset::core_pmu(cpu);
  if (own && event::pfm::library_chosen()) return {own, nullptr};
  if (const auto* const core = named ? named->find(cpu) : nullptr) return {core, named};
  if (own) return {own, nullptr};
  if (impossible_name(cpu)) return {};
  const preset::Catalogue& built_in = preset::Catalogue::built_in();
  if (const auto* const core = built_in.find(cpu)) return {core, &built_in};
  return {};
}

LintResult lint(const PresetTable& table, const LintOptions& options) {
  LintResult result;
  Findings findings;
  const preset::Document& document = table.document();
  result.version = version_for(options, table);
  const PapiVersion version = result.version.version;
  auto relatives = read_views(table, options, result);
  std::set<int> known_rows; // whose events are checked
  for (const auto* views : {&result.views, &relatives})
    for (const preset::CpuView& view : *views)
      if (view.core) {
        for (const Preset& preset : view.loaded.presets)
          known_rows.insert(preset.place.line);
        for (const auto& diagnostic : view.diagnostics) // a row that does not load is checked as well
          known_rows.insert(diagnostic.place.line);
      }
  check_text(document, version, findings);
  if (version != PapiVersion::v7_0) result.components = preset::component_blocks(document);
  constexpr std::size_t max_names = 1000; // that are compared with all known ones
  const auto known = known_pmus(options.catalogue);
  for (const preset::CpuView& view : result.views) {
    const bool elsewhere = covered(view, known_rows);
    if (!view.core && !impossible_name(view.cpu) && !view.cpu.ends_with('\r')) {
      result.unchecked.push_back(view.cpu);
      add_unchecked(view, document, elsewhere,
                    result.unchecked.size() > max_names ? "" : similar(view.cpu, known), options.strict,
                    findings);
    }
    if (const auto& rows = document.rows_for(view.cpu); never_loaded(view.cpu) && !rows.empty())
      findings.add("never-loaded", view.cpu, {document.lines[rows.front()].fields[1].place, {}, view.cpu},
                   "PAPI never loads the rows of " + view.cpu, "remove its CPU row");
    check_reading(view, findings);
    if (elsewhere) continue;
    check_formulas(view, document, findings);
    check_family(view, findings);
    check_counters(view, findings);
    check_meaning(view, findings);
    check_errata(view, findings);
    check_identities(view, options.identities ? *options.identities : preset::identities(), findings);
  }
  const std::size_t own = result.views.size();
  std::ranges::move(relatives, std::back_inserter(result.views));
  check_relatives(result.views, findings);
  result.views.erase(result.views.begin() + static_cast<std::ptrdiff_t>(own), result.views.end());
  for (const preset::CpuView& view : result.views)
    if (impossible_name(view.cpu) && !covered(view, known_rows))
      for (const std::size_t row : document.rows_for(view.cpu))
        findings.add("unknown-cpu", {}, {document.lines[row].fields[1].place, {}, view.cpu},
                     "rows only for CPU names with blanks or parentheses, which libpfm4 does not use");
  std::set<std::string> known_cpus{result.checked.begin(), result.checked.end()};
  if (options.cpu.empty()) {
    check_components(document, result, findings);
    for (const preset::CpuView& view : result.views)
      if (!view.component.empty()) known_cpus.insert(view.cpu);
    check_rows(document, result.views, findings);
  }
  check_blocks(document, impossible_name, findings);
  result.findings = std::move(findings).ranked(known_cpus);
  std::set<std::string> empty; // CPUs with rows of another: whatever is wrong there has this cause
  for (const Finding& finding : result.findings)
    if (finding.rule->id == "empty-block") empty.insert(finding.cpus.begin(), finding.cpus.end());
  remove_occurrences(result.findings, [&](const Finding& finding, const Occurrence& o) {
    const bool follows =
        empty.contains(o.cpu) && finding.rule->id != "empty-block" && finding.rule->id != "unchecked-cpu";
    return !o.cpu.empty() && (!requested(options, o.cpu) || follows);
  });
  apply_allowances(document, options.cpu.empty(), result);
  mark(document, result.findings);
  return result;
}

// "# recount: allow RULE reason" above a row suppresses the rule there; above a CPU row, for its whole block.
namespace {

struct Allowance : Allowed {
  int from = 0, to = 0; ///< the lines it covers
};

std::vector<Allowance> allowances(const preset::Document& table) {
  std::vector<Allowance> found;
  const auto block = blocks(table);
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    if (table.lines[i].kind != preset::Kind::comment) continue;
    std::istringstream words(table.lines[i].comment);
    std::string tool, verb;
    Allowance allowance{{.line = table.lines[i].number}};
    words >> tool >> verb >> allowance.rule;
    if (tool != "recount:" || verb != "allow") continue;
    std::getline(words >> std::ws, allowance.reason);
    allowance.reason = std::string(preset::trim_blanks(allowance.reason));
    std::size_t next = i + 1;
    while (next < table.lines.size() &&
           (table.lines[next].kind == preset::Kind::comment || table.lines[next].kind == preset::Kind::blank))
      ++next;
    if (next < table.lines.size()) {
      allowance.from = allowance.to = table.lines[next].number;
      if (table.lines[next].kind == preset::Kind::cpu)
        for (auto at = block.find(allowance.from);
             at != block.end() && at->second == block.at(allowance.from); ++at)
          allowance.to = at->first;
    }
    found.push_back(std::move(allowance));
  }
  return found;
}

} // namespace

void apply_allowances(const preset::Document& table, bool all_cpus, LintResult& result) {
  std::vector<Finding>& findings = result.findings;
  auto allowed = allowances(table);
  remove_occurrences(findings, [&](const Finding& finding, const Occurrence& o) {
    bool silent = false;
    for (Allowance& a : allowed)
      if (a.rule == finding.rule->id && o.place.line >= a.from && o.place.line <= a.to && !a.reason.empty())
        silent = ++a.places > 0;
    return silent;
  });
  for (const Allowance& a : allowed) {
    if (a.places > 0) result.allowed.push_back(a);
    if (a.places > 0 || (!all_cpus && rule_named(a.rule) && !a.reason.empty())) continue;
    Finding& unused = findings.emplace_back();
    unused.rule = rule_named("unused-allowance");
    unused.severity = unused.rule->severity;
    unused.message = !rule_named(a.rule) ? fmt::format("the allowance names an unknown rule: '{}'", a.rule)
                     : a.reason.empty()  ? fmt::format("the allowance of {} has no reason", a.rule)
                                         : fmt::format("the allowance of {} suppresses no finding", a.rule);
    unused.keep({{{a.line, 1}, {}, {}, a.rule}});
  }
}

// Published errata of the events behind presets.
void check_errata(const preset::CpuView& view, Findings& findings) {
  // Errata that affect every count say so; the others depend on conditions that a table does not show.
  constexpr std::string_view always = "counted wrongly";
  if (view.core == nullptr) return;
  for (const Preset& preset : view.loaded.presets)
    for (const formula::Variable v : view.variables(preset)) {
      const auto at = static_cast<std::size_t>(v);
      if (v < 0 || at >= view.codes.size() || !view.codes[at].ok()) continue;
      for (const errata::Erratum* const erratum :
           errata::of_pmu(view.core->name, view.codes[at].type, view.codes[at].config))
        findings.add(erratum->what.ends_with(always) ? "miscounted-event" : "erratum",
                     erratum->number + view.names[at],
                     {preset.place, preset.name, view.cpu, view.written(preset, v)},
                     view.names[at] + ": " + erratum->sentence());
    }
}

// Fingerprints of findings: they do not change when lines move or messages are reworded.
namespace {

/// Hash of the parts, separated by a character that no line contains.
std::string hash_parts(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = base::fnv({});
  for (const std::string_view part : parts)
    hash = base::fnv("\n", base::fnv(part, hash));
  return fmt::format("{:016x}", hash);
}

/// The type, formula and terms of a preset row, without descriptions; all fields of other rows. The order of
/// terms matters where the type says so.
std::string definition(const preset::Line& line) {
  const bool preset = line.kind == preset::Kind::preset;
  std::vector<std::string> fields;
  for (std::size_t i = preset ? 2 : 0; i < line.fields.size(); ++i) {
    if (preset && preset::is_description(line.fields[i].text)) break;
    fields.push_back(line.fields[i].text);
  }
  const auto type = preset && !fields.empty() ? derived_named(fields.front()) : std::nullopt;
  if (type == Derived::add) std::sort(fields.begin() + 1, fields.end());
  if (type == Derived::sub && fields.size() > 2) std::sort(fields.begin() + 2, fields.end());
  return fmt::format("{}", fmt::join(fields, ","));
}

} // namespace

void mark(const preset::Document& table, std::vector<Finding>& findings) {
  std::map<int, std::string> rows;
  for (const preset::Line& line : table.lines)
    rows[line.number] += definition(line);
  for (Finding& finding : findings)
    for (Occurrence& o : finding.occurrences) {
      const auto print = [&](const std::string& cpu) {
        return hash_parts({finding.rule->id, base::lower_case(cpu), o.preset, rows[o.place.line], o.cause});
      };
      o.print = print(o.cpu);
      o.row_print = print({});
    }
}

std::string fingerprint(const Finding& finding) {
  return std::ranges::min(finding.occurrences, {}, &Occurrence::row_print).row_print;
}

// Findings in a table of user events (PAPI_USER_EVENTS_FILE), which PAPI reads after a table of presets.

LintResult lint_user_events(const PresetTable& table, const PresetTable& user, const LintOptions& options) {
  LintResult result;
  result.version = version_for(options, table);
  const PapiVersion version = result.version.version;
  Findings reading, events;
  std::set<std::string> names;
  check_text(user.document(), version, reading);
  for (const std::string& cpu : user.cpus()) {
    if (!requested(options, cpu)) continue;
    const auto [core, catalogue] = find_source(cpu, options.catalogue);
    const auto base = preset::view(table.document(), cpu, core, version, nullptr, catalogue);
    auto view = preset::view(table.document(), cpu, core, version, &user.document(), catalogue);
    if (core)
      result.checked.push_back(view.cpu);
    else
      result.unchecked.push_back(view.cpu);
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
  const std::set<std::string> known_cpus(result.checked.begin(), result.checked.end());
  result.findings = std::move(reading).ranked(known_cpus);
  auto own = std::move(events).ranked(known_cpus);
  // Rows of presets are checked with their own table.
  remove_occurrences(own, [&](const Finding&, const Occurrence& o) { return !names.contains(o.preset); });
  std::ranges::move(own, std::back_inserter(result.findings));
  apply_allowances(user.document(), options.cpu.empty(), result);
  mark(user.document(), result.findings);
  return result;
}

} // namespace recount::lint
