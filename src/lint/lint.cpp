#include "lint/lint.hpp"

#include "base/nearest.hpp"
#include "base/random.hpp"
#include "errata/errata.hpp"
#include "preset/catalogue.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace recount::lint {
namespace {

bool impossible_name(const std::string& cpu) {
  return cpu.find_first_of(" ()") != std::string::npos;
}

void choose(std::vector<std::string>& cpus, const PresetTable& table, const LintOptions& options) {
  const std::string& requested = options.cpu;
  if (requested.empty()) return;
  const auto all = cpus;
  std::erase_if(cpus, [&](const std::string& cpu) { return !preset::same_word(cpu, requested); });
  if (cpus.empty() && !options.cpu_may_lack)
    throw bad_input(requested, "no such CPU in " + table.name(), base::did_you_mean(requested, all));
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

// "# recount: allow RULE reason" above a row suppresses the rule there; above a CPU row, for its whole block.
namespace {

struct Allowance {
  std::string rule, reason;
  int line = 0;
  int from = 0, to = 0;   ///< the lines it covers
  std::size_t places = 0; ///< that it suppressed
};

std::string word(std::string_view& text) {
  text = preset::trim_blanks(text);
  const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
  std::string found(text.substr(0, end));
  text.remove_prefix(end);
  return found;
}

/// The last line of the block whose CPU row is lines[at].
int block_end(const preset::Document& table, std::size_t at) {
  bool rows = false;
  int last = table.lines[at].number;
  for (; at < table.lines.size(); ++at) {
    if (table.lines[at].kind == preset::Kind::cpu && rows) return last;
    rows = rows || table.lines[at].kind == preset::Kind::preset;
    last = table.lines[at].number;
  }
  return last;
}

std::vector<Allowance> allowances(const preset::Document& table) {
  std::vector<Allowance> found;
  for (std::size_t i = 0; i < table.lines.size(); ++i) {
    if (table.lines[i].kind != preset::Kind::comment) continue;
    std::string_view text = table.lines[i].comment;
    if (word(text) != "recount:" || word(text) != "allow") continue;
    Allowance allowance{word(text), {}, table.lines[i].number};
    allowance.reason = preset::trim_blanks(text);
    std::size_t next = i + 1;
    while (next < table.lines.size() &&
           (table.lines[next].kind == preset::Kind::comment || table.lines[next].kind == preset::Kind::blank))
      ++next;
    if (next < table.lines.size()) {
      allowance.from = table.lines[next].number;
      allowance.to = table.lines[next].kind == preset::Kind::cpu ? block_end(table, next) : allowance.from;
    }
    found.push_back(std::move(allowance));
  }
  return found;
}

} // namespace

void apply_allowances(const preset::Document& table, bool all_cpus, LintResult& result) {
  std::vector<Finding>& findings = result.findings;
  auto allowed = allowances(table);
  for (Finding& finding : findings) {
    std::vector<Occurrence> loud;
    for (const Occurrence& occurrence : finding.occurrences) {
      bool silent = false;
      for (Allowance& a : allowed)
        if (a.rule == finding.rule->id && occurrence.place.line >= a.from && occurrence.place.line <= a.to &&
            !a.reason.empty())
          silent = ++a.places > 0;
      if (!silent) loud.push_back(occurrence);
    }
    if (loud.size() < finding.occurrences.size()) finding.keep(std::move(loud));
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.places.empty(); });
  for (const Allowance& a : allowed) {
    if (a.places > 0) result.allowed.push_back({a.line, a.rule, a.reason, a.places});
    if (a.places > 0 || (!all_cpus && rule_named(a.rule) && !a.reason.empty())) continue;
    std::string message = fmt::format("the allowance of {} suppresses no finding", a.rule);
    if (!rule_named(a.rule))
      message = fmt::format("the allowance names an unknown rule: '{}'", a.rule);
    else if (a.reason.empty())
      message = fmt::format("the allowance of {} has no reason", a.rule);
    findings.push_back({rule_named("unused-allowance"),
                        std::move(message),
                        {},
                        {{a.line, 1}},
                        {},
                        {},
                        {},
                        0,
                        {{{a.line, 1}, {}, {}, a.rule, {}, {}}}});
  }
}

// Published errata of the events behind presets.
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

// Fingerprints of findings, which stay the same while lines move and messages are reworded.
namespace {

/// Over the parts with a separator that no line contains.
std::string fnv(std::initializer_list<std::string_view> parts) {
  std::uint64_t hash = base::fnv({});
  for (const std::string_view part : parts)
    hash = base::fnv("\n", base::fnv(part, hash));
  return fmt::format("{:016x}", hash);
}

std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// What a row computes: its type, formula and terms; of other rows all fields.
std::string terms(const preset::Line& line) {
  std::string text;
  for (std::size_t i = line.kind == preset::Kind::preset ? 2 : 0; i < line.fields.size(); ++i) {
    const std::string& field = line.fields[i].text;
    if (line.kind == preset::Kind::preset && preset::is_description(field)) break;
    text += (text.empty() ? "" : ",") + field;
  }
  return text;
}

} // namespace

void mark(const preset::Document& table, std::vector<Finding>& findings) {
  std::map<int, std::string> rows;
  for (const preset::Line& line : table.lines)
    rows[line.number] += terms(line);
  for (Finding& finding : findings)
    for (Occurrence& o : finding.occurrences) {
      const auto print = [&](const std::string& cpu) {
        return fnv({finding.rule->id, small_letters(cpu), o.preset, rows[o.place.line], o.cause});
      };
      o.print = print(o.cpu);
      o.row_print = print({});
    }
}

std::string fingerprint(const Finding& finding) {
  std::string least;
  for (const Occurrence& o : finding.occurrences)
    if (least.empty() || o.row_print < least) least = o.row_print;
  return least;
}

// Findings in a table of user events (PAPI_USER_EVENTS_FILE), which PAPI reads after a table of presets.

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
