#include "commands/lint/lint_report.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "count/event/pfm.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/written.hpp"

#include <fmt/ranges.h>
#include <range/v3/view/chunk_by.hpp>
#include <range/v3/view/take.hpp>

#include <algorithm>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <recount/error.hpp>
#include <span>
#include <utility>

namespace recount::lint {
namespace {

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string format_message(const Finding& f) {
  return f.suggestion.empty() ? f.message : f.message + "; suggestion: " + f.suggestion;
}

/// "skl, clx, icl and 4 more".
std::string listed(const std::vector<std::string>& words, std::size_t most) {
  const auto first = std::span(words).first(std::min(most, words.size()));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return words.size() > most ? text + fmt::format(" and {} more", words.size() - most) : text;
}

/// Text in lines of limited width.
class Lines {
public:
  explicit Lines(int columns) : columns_(static_cast<std::size_t>(std::max(columns, 20))) {}

  /// A paragraph, each line of it indented. Unlike command::wrap(), keeps runs of blanks.
  template <class... Arguments>
  void add(std::size_t indent, fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
    const std::string blanks(indent, ' '), text = fmt::format(pattern, std::forward<Arguments>(arguments)...);
    text_ += blanks;
    std::size_t width = indent;
    for (const std::string_view word : base::split(text, ' ')) {
      if (width > indent && width + 1 + word.size() > columns_) {
        text_ += "\n" + blanks;
        width = indent;
      } else if (width > indent) {
        text_ += ' ';
        ++width;
      }
      text_ += word;
      width += word.size();
    }
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  [[nodiscard]] std::string text() && { return std::move(text_); }

private:
  std::size_t columns_;
  std::string text_;
};

std::vector<std::string> line_numbers(const Finding& finding) {
  std::vector<std::string> numbers;
  for (const Place& place : finding.places)
    if (const std::string line = std::to_string(place.line); numbers.empty() || numbers.back() != line)
      numbers.push_back(line);
  return numbers;
}

void add_finding(Lines& lines, const Finding& finding) {
  lines.add(2, "line {}{}", listed(line_numbers(finding), 6),
            finding.cpus.empty() ? "" : fmt::format("  [{}]", listed(finding.cpus, 5)));
  const bool several = finding.presets.size() > 1;
  const bool named = finding.presets.empty() ||
                     finding.message.find(several ? "PAPI_" : finding.presets[0]) != std::string::npos;
  lines.add(6, "{}{}", finding.message, named ? "" : " (" + listed(finding.presets, 6) + ")");
  if (!finding.suggestion.empty()) lines.add(6, "suggestion: {}", finding.suggestion);
}

/// What follows from a finding: the number, or with `all` each rule and message.
void add_consequences(Lines& lines, const std::vector<const Finding*>& findings, bool all) {
  if (!all && !findings.empty())
    lines.add(6, "also causes {} about relations", base::format_count(findings.size(), "finding"));
  for (const Finding* const f : findings)
    if (all) lines.add(6, "follows: {} {}: {}", name_of(f->rule->severity), f->rule->id, f->message);
}

void add_summary(Lines& lines, const std::string& file, const LintResult& result) {
  const auto count = [&](Severity severity) {
    const auto number =
        std::ranges::count(result.findings, severity, [](const Finding& f) { return f.severity; });
    return base::format_count(number, name_of(severity));
  };
  lines.add(0, "{}: {}, {}, {} for {} ({})", file, count(Severity::error), count(Severity::warning),
            count(Severity::note), base::format_count(result.checked.size(), "CPU"),
            base::format_count(result.presets, "preset"));
  lines.add(2, "events: libpfm4 {}, {} ({})", event::pfm::library_version(),
            base::format_count(preset::core_pmus().size(), "core PMU"), event::pfm::library_path());
  if (!result.version.construct.empty())
    lines.add(2, "read as PAPI 7.3 does: line {} begins {} (--papi-version 7.0 reads otherwise)",
              result.version.place.line, result.version.construct);
  if (!result.listed.empty())
    lines.add(2, "events of {} were looked up in a catalogue, not in libpfm4 {}: {}",
              base::format_count(result.listed.size(), "CPU"), event::pfm::library_version(),
              listed(result.listed, 8));
  if (!result.obsolete.empty())
    lines.add(2, "not checked: {} that libpfm4 does not use, such as \"{}\"",
              base::format_count(result.obsolete.size(), "CPU name"), result.obsolete.front());
}

/// Presets of components, whose events only the component itself knows.
void add_components(Lines& lines, const LintResult& result) {
  if (result.components.empty()) return;
  std::size_t rows = 0;
  for (const preset::ComponentBlock& block : result.components)
    rows += block.rows.size();
  lines.blank();
  lines.add(0, "not checkable beyond their structure: {} of components", base::format_count(rows, "preset"));
  for (const preset::ComponentBlock& block : result.components)
    lines.add(2, "line {}  [{}: {}]  {}", block.place.line, block.component, listed(block.devices, 5),
              base::format_count(block.rows.size(), "preset"));
}

/// What comments of the table suppress.
void add_allowed(Lines& lines, const LintResult& result) {
  if (result.allowed.empty()) return;
  lines.blank();
  lines.add(0, "allowed by comments of the table:");
  for (const Allowed& a : result.allowed)
    lines.add(2, "line {}  {}, {}: {}", a.line, a.rule, base::format_count(a.places, "place"), a.reason);
}

constexpr std::ptrdiff_t screen_lines = 24;

/// A line per rule: what is left of more findings than a screen holds.
std::string by_rule(const std::string& file, const LintResult& result,
                    const std::vector<const Finding*>& shown, const ReportOptions& options) {
  const bool narrow = options.columns < 80;
  const std::size_t max_rules = narrow ? 5 : 12;
  Lines lines(options.columns);
  add_summary(lines, file, result);
  lines.blank();
  std::size_t rules = 0, others = 0;
  for (const auto group :
       shown | ranges::views::chunk_by([](auto*a, auto*b) { return a->rule == b->rule; })) {
    const auto size = static_cast<std::size_t>(ranges::distance(group));
    const Finding& first = *group.front();
    if (first.rule->severity == Severity::note || ++rules > max_rules) {
      others += size;
      continue;
    }
    std::vector<std::string> numbers;
    for (const Finding* const finding : group)
      if (const auto places = line_numbers(*finding);
          !places.empty() && (numbers.empty() || numbers.back() != places.front()))
        numbers.push_back(places.front());
    lines.add(0, "{:<7} {:<22} {:>3}{}", name_of(first.severity), first.rule->id, size,
              narrow ? "" : "  line " + listed(numbers, 4));
  }
  if (others > 0) lines.add(0, "and {} of other rules", base::format_count(others, "finding"));
  if (!result.allowed.empty())
    lines.add(0, "findings were suppressed by {} of the table",
              base::format_count(result.allowed.size(), "comment"));
  if (!result.components.empty())
    lines.add(0, "not checkable beyond their structure: presets of {}",
              base::format_count(result.components.size(), "component"));
  lines.blank();
  lines.add(0, "recount lint --rule RULE prints what one rule found, --all everything.");
  return std::move(lines).text();
}

} // namespace

std::string as_text(const std::string& file, const LintResult& result, const ReportOptions& options) {
  Lines lines(options.columns);
  add_summary(lines, file, result);
  const auto roots = root_causes(result.findings);
  std::map<const Finding*, std::vector<const Finding*>> followers;
  std::vector<const Finding*> shown;
  for (std::size_t i = 0; i < roots.size(); ++i)
    (roots[i] ? followers[roots[i]] : shown).push_back(&result.findings[i]);
  std::size_t hidden = 0;
  bool headed = result.checked.empty();
  const auto same_rule = [](const Finding* a, const Finding* b) {
    return a->rule == b->rule && (a->known_cpus != 0) == (b->known_cpus != 0);
  };
  for (const auto group : shown | ranges::views::chunk_by(same_rule)) {
    const auto size = static_cast<std::size_t>(ranges::distance(group));
    const Finding& first = *group.front();
    const Rule& rule = *first.rule;
    if (rule.severity == Severity::note && !options.notes) {
      hidden += size;
      continue;
    }
    if (first.known_cpus == 0 && !std::exchange(headed, true)) {
      lines.blank();
      lines.add(0, "CPUs whose event names this libpfm4 does not know:");
    }
    lines.blank();
    lines.add(0, "{} {} ({}): {}", name_of(first.severity), rule.id, size, rule.why);
    const std::size_t most = options.most <= 0 ? size : static_cast<std::size_t>(options.most);
    for (const Finding* const finding : group | ranges::views::take(most)) {
      add_finding(lines, *finding);
      add_consequences(lines, followers[finding], options.notes);
    }
    if (most >= size) continue;
    lines.add(2, "… {} more", size - most);
    hidden += size - most;
  }
  add_components(lines, result);
  add_allowed(lines, result);
  std::string text = std::move(lines).text();
  if (hidden == 0) return text;
  if (std::ranges::count(text, '\n') > screen_lines) return by_rule(file, result, shown, options);
  return text + fmt::format("\n{} not shown: list all\nwith --all, or one rule with --rule RULE\n",
                            base::format_count(hidden, "finding"));
}

std::string as_annotations(const std::string& file, const LintResult& result) {
  std::string text;
  for (const Finding& f : result.findings) {
    const std::string cpus = f.cpus.empty() ? "" : " (" + listed(f.cpus, 4) + ")";
    int last = 0;
    for (const Place& place : f.places)
      if (std::exchange(last, place.line) != place.line)
        text += fmt::format("{}:{}: {}: {}{} [{}]\n", file, place.line, name_of(f.severity),
                            format_message(f), cpus, f.rule->id);
  }
  return text;
}

std::string as_text(const Comparison& since, int width) {
  Lines lines(width);
  lines.add(0,
            "compared with {}: {} added, {} removed, {} changed; {} gone, {} known, {} in rows that an added "
            "CPU shares, {} in unchanged rows of relatives",
            since.file, base::format_count(since.added.size(), "CPU"), since.removed.size(),
            base::format_count(since.formulas.size(), "formula"),
            base::format_count(since.gone.size(), "finding"), since.known, since.inherited, since.unchanged);
  for (const AddedCpu& cpu : since.added)
    lines.add(2, "{}: added with {}{}", cpu.name, base::format_count(cpu.presets, "preset"),
              cpu.same_rows.empty() ? "" : ", the rows of " + listed(cpu.same_rows, 4));
  if (!since.removed.empty()) lines.add(2, "{}: removed", listed(since.removed, 8));
  for (const FormulaChange& change : since.formulas) {
    lines.add(2, "{}  [{}]", change.preset, listed(change.cpus, 5));
    lines.add(6, "before: {}", change.before.empty() ? "not available" : change.before);
    lines.add(6, "after:  {}", change.after.empty() ? "not available" : change.after);
  }
  for (const Finding& gone : since.gone)
    lines.add(2, "gone: {} {}: {}{}", name_of(gone.severity), gone.rule->id, gone.message,
              gone.cpus.empty() ? "" : "  [" + listed(gone.cpus, 5) + "]");
  return std::move(lines).text();
}

Coverage coverage(const LintResult& result) {
  Coverage found;
  for (const preset::CpuView& view : result.views) {
    if (!view.core) continue;
    CpuCoverage one{view.cpu, {}, {}};
    for (const Preset& preset : view.loaded.presets)
      one.presets.insert(preset.name);
    for (const auto& family : families())
      for (const preset::CpuView& other : result.views)
        if (holds(family, view.cpu) && holds(family, other.cpu) && other.core)
          for (const Preset& preset : other.loaded.presets)
            if (!one.presets.contains(preset.name) &&
                std::ranges::all_of(preset.natives, [&](const PresetNative& native) {
                  return view.natives->of(native.name).ok();
                }))
              one.could_have.emplace(preset.name, other.cpu);
    found.cpus.push_back(std::move(one));
  }
  std::ranges::stable_sort(found.cpus, std::greater{},
                           [](const CpuCoverage& one) { return one.could_have.size(); });
  for (const auto& pmu : preset::core_pmus())
    if (&pmu != preset::architectural_pmu() && !never_loaded(pmu.name) &&
        !std::ranges::count(found.cpus, pmu.name, &CpuCoverage::cpu))
      found.pmus_without_rows.push_back(pmu.name);
  return found;
}

std::string as_text(const std::string& file, const Coverage& coverage, int columns, bool all) {
  Lines lines(columns);
  lines.add(0, "{}: rows for {}; {} of libpfm4 {} have none{}{}", file,
            base::format_count(coverage.cpus.size(), "CPU"),
            base::format_count(coverage.pmus_without_rows.size(), "core PMU"), event::pfm::library_version(),
            coverage.pmus_without_rows.empty() ? "" : ": ", listed(coverage.pmus_without_rows, 16));
  lines.blank();
  lines.add(0, "presets that a CPU lacks although the row of a relative resolves there:");
  std::size_t shown = 0;
  const std::size_t most = all ? coverage.cpus.size() : columns < 80 ? 4 : 16;
  for (const CpuCoverage& one : coverage.cpus) {
    if (!all && (one.could_have.empty() || shown == most)) break;
    ++shown;
    std::vector<std::string> names;
    for (const auto& [preset, from] : one.could_have)
      names.push_back(all ? fmt::format("{} ({})", preset.substr(preset_prefix.size()), from)
                          : preset.substr(preset_prefix.size()));
    lines.add(0, "{:<24} {:>3} of {:>3}  {}", one.cpu, one.could_have.size(),
              one.could_have.size() + one.presets.size(), listed(names, all ? names.size() : 3));
  }
  if (shown < coverage.cpus.size())
    lines.add(0, "{} more: --all; CPU by preset: --export FILE.csv", coverage.cpus.size() - shown);
  return std::move(lines).text();
}

// Findings as JSON.
namespace {

Json front_of(const std::vector<std::string>& list) {
  return list.empty() ? Json() : Json(list.front());
}

Json to_json(const preset::ComponentBlock& block) {
  return {{"component", block.component},
          {"devices", block.devices},
          {"line", block.place.line},
          {"presets", block.rows.size()}};
}

Json to_json(const std::string& file, const Finding& f) {
  return {{"severity", name_of(f.severity)},
          {"rule", f.rule->id},
          {"file", file},
          {"line", f.places.front().line},
          {"column", f.places.front().column},
          {"lines", make_array(f.places, [](const Place& place) { return place.line; })},
          {"cpu", front_of(f.cpus)},
          {"cpus", f.cpus},
          {"preset", front_of(f.presets)},
          {"presets", f.presets},
          {"message", f.message},
          {"why", f.rule->why},
          {"suggestion", or_null(f.suggestion)},
          {"fingerprint", fingerprint(f)}};
}

Json to_json(const Comparison& since) {
  const auto added = [](const AddedCpu& cpu) {
    return Json{{"cpu", cpu.name}, {"presets", cpu.presets}, {"same_rows_as", cpu.same_rows}};
  };
  const auto change = [](const FormulaChange& one) {
    return Json{{"preset", one.preset},
                {"cpus", one.cpus},
                {"before", or_null(one.before)},
                {"after", or_null(one.after)}};
  };
  return {{"file", since.file},
          {"known_findings", since.known},
          {"inherited_findings", since.inherited},
          {"findings_in_unchanged_rows", since.unchanged},
          {"removed_cpus", since.removed},
          {"added_cpus", make_array(since.added, added)},
          {"formulas", make_array(since.formulas, change)},
          {"gone", make_array(since.gone, [&](const Finding& gone) { return to_json(since.file, gone); })}};
}

} // namespace

std::string as_json(const std::vector<std::pair<std::string, LintResult>>& results, const Comparison* since) {
  Json json{{"findings", Json::array()}, {"tables", Json::array()}};
  for (const auto& [file, result] : results) {
    const auto roots = root_causes(result.findings);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Json one = to_json(file, result.findings[i]);
      one["follows_from"] = roots[i] ? Json(fingerprint(*roots[i])) : Json(nullptr);
      json["findings"].push_back(std::move(one));
    }
    json["tables"].push_back(
        {{"file", file},
         {"presets", result.presets},
         {"papi", result.version.version == PapiVersion::v7_0 ? "7.0" : "7.3"},
         {"components", make_array(result.components, [](const auto& block) { return to_json(block); })},
         {"checked", result.checked},
         {"names_from_catalogue", result.listed},
         {"names_not_checked", result.unchecked},
         {"obsolete", result.obsolete}});
  }
  if (since) json["since"] = to_json(*since);
  return json_text("lint", json);
}

// Findings as SARIF 2.1.0 (OASIS standard, 2020), which code-scanning services read.
namespace {

/// A path as a relative URI reference or a file URI (RFC 3986).
std::string make_uri(const std::string& path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location(const std::string& file, const Place& place) {
  return {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", make_uri(file)}}},
        {"region", {{"startLine", std::max(place.line, 1)}, {"startColumn", std::max(place.column, 1)}}}}}};
}

Json rule_json(const Rule& rule) {
  std::string why(rule.why);
  if (!why.empty() && why[0] >= 'a' && why[0] <= 'z') why[0] = static_cast<char>(why[0] - 'a' + 'A');
  return {{"id", rule.id},
          {"shortDescription", {{"text", why + "."}}},
          {"help", {{"text", fmt::format("See {} in recount-lint(1).", rule.id)}}},
          {"defaultConfiguration", {{"level", name_of(rule.severity)}}}};
}

/// `used`: the rules that the log describes. Readers show the text alone, so it names presets and CPUs.
Json result_json(const std::string& file, const Finding& finding, std::vector<const Rule*>& used,
                 bool compared) {
  const auto index = std::ranges::find(used, finding.rule) - used.begin();
  if (index == std::ssize(used)) used.push_back(finding.rule);
  const std::string presets = fmt::format("{}", fmt::join(finding.presets, ", "));
  const std::string cpus = fmt::format("{}", fmt::join(finding.cpus, ", "));
  Json json{{"ruleId", finding.rule->id},
            {"ruleIndex", index},
            {"level", name_of(finding.severity)},
            {"message",
             {{"text", fmt::format("{}{}{}{}", presets, presets.empty() ? "" : ": ", format_message(finding),
                                   cpus.empty() ? "" : " (" + cpus + ")")}}},
            {"locations", Json::array({location(file, finding.places.front())})}};
  if (finding.places.size() > 1)
    json["relatedLocations"] = make_array(std::span(finding.places).subspan(1),
                                          [&](const Place& place) { return location(file, place); });
  json["partialFingerprints"] = {{"recountLint/v1", fingerprint(finding)}};
  if (compared) json["baselineState"] = "new";
  json["properties"] = {{"cpus", finding.cpus}, {"presets", finding.presets}};
  return json;
}

} // namespace

std::string as_sarif(const std::vector<std::pair<std::string, LintResult>>& results, bool compared) {
  Json found = Json::array();
  std::vector<const Rule*> used;
  for (const auto& [file, result] : results) {
    for (const Finding& finding : result.findings)
      found.push_back(result_json(file, finding, used, compared));
  }
  const Json driver{{"name", "recount lint"},
                    {"version", RECOUNT_VERSION},
                    {"rules", make_array(used, [](const Rule* rule) { return rule_json(*rule); })}};
  const Json invocation{{"executionSuccessful", true}};
  const Json run{{"tool", {{"driver", driver}}},
                 {"columnKind", "unicodeCodePoints"},
                 {"results", found},
                 {"invocations", Json::array({invocation})}};
  return dumped({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                 {"version", "2.1.0"},
                 {"runs", Json::array({run})}},
                2) +
         '\n';
}

// Findings that follow from others: a relation between presets fails because one of them is wrong itself.
namespace {

/// Rules about relations between presets.
constexpr std::string_view relations[] = {"identity", "other-sources", "identity-note", "same-formula"};
/// Warnings about one preset; all errors but "impossible", which is a relation, are root causes too.
constexpr std::string_view causes[] = {
    "scalar-as-vector",       "stores-as-loads",      "loads-as-stores",
    "instructions-as-data",   "data-as-instructions", "cycles-as-instructions",
    "instructions-as-cycles", "not-mispredicted",     "other-level",
    "prefetches-as-demand",   "accesses-as-hits",     "hits-as-accesses",
    "misses-as-accesses",     "loads-as-total",       "unconditional-as-conditional",
    "hits-as-misses",         "accesses-as-misses",   "misses-as-hits",
    "part-as-whole",          "mixed-units"};

bool is_cause(const Finding& finding) {
  return finding.severity == Severity::error ? finding.rule->id != "impossible"
                                             : holds(causes, finding.rule->id);
}

/// Whether the cause concerns a preset of the relation on each of its CPUs.
bool explains(const Finding& cause, const Finding& relation) {
  return !relation.cpus.empty() &&
         std::ranges::all_of(relation.cpus, [&](const std::string& cpu) { return holds(cause.cpus, cpu); }) &&
         std::ranges::any_of(relation.presets,
                             [&](const std::string& preset) { return holds(cause.presets, preset); });
}

} // namespace

std::vector<const Finding*> root_causes(const std::vector<Finding>& findings) {
  std::vector<const Finding*> roots(findings.size(), nullptr);
  std::vector<const Finding*> found;
  for (const Finding& finding : findings)
    if (is_cause(finding)) found.push_back(&finding);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!holds(relations, findings[i].rule->id)) continue;
    const auto cause =
        std::ranges::find_if(found, [&](const Finding* one) { return explains(*one, findings[i]); });
    if (cause != found.end()) roots[i] = *cause;
  }
  return roots;
}

namespace {

using formula::Polynomial;
using formula::Quotient;
using formula::Variable;

constexpr std::string_view baseline_head = "# recount lint baseline 1";

/// The view of a CPU, whose name may be in any case of letters.
const preset::CpuView* find_view(const LintResult& result, const std::string& cpu) {
  const auto same = [&](const preset::CpuView& view) { return preset::same_word(view.cpu, cpu); };
  const auto at = std::ranges::find_if(result.views, same);
  return at == result.views.end() ? nullptr : &*at;
}

/// For each variable of `from`, that of the same event in `to`; one beyond all for an event that `to` lacks.
std::vector<Variable> same_events(const preset::CpuView& from, const preset::CpuView& to) {
  std::vector<Variable> out;
  for (std::size_t v = 0; v < from.names.size(); ++v) {
    std::size_t at = 0;
    while (at < to.names.size() &&
           !(from.codes[v].ok() && to.codes[at].ok() ? from.codes[v].same_as(to.codes[at])
                                                     : from.names[v] == to.names[at]))
      ++at;
    out.push_back(static_cast<Variable>(at < to.names.size() ? at : to.names.size() + v));
  }
  return out;
}

Polynomial renamed(const Polynomial& polynomial, const std::vector<Variable>& names) {
  Polynomial out;
  for (const auto& [powers, factor] : polynomial) {
    formula::Monomial monomial;
    for (const auto& [v, power] : powers)
      monomial.emplace_back(v < 0 ? v : names[static_cast<std::size_t>(v)], power);
    std::ranges::sort(monomial);
    out[monomial] += factor;
  }
  return out;
}

std::string formula_in(const preset::CpuView& view, const Preset& preset) {
  const auto at = view.meanings.find(preset.name);
  if (at != view.meanings.end())
    if (const auto form = formula::linear(at->second)) return formula::to_text(*form, view.names);
  return preset::formula_text(preset);
}

bool same_meaning(const preset::CpuView& before, const preset::CpuView& now,
                  const std::vector<Variable>& names, const Preset& a, const Preset& b) {
  const auto old_at = before.meanings.find(a.name);
  const auto new_at = now.meanings.find(b.name);
  if (old_at == before.meanings.end() || new_at == now.meanings.end())
    return preset::formula_text(a) == preset::formula_text(b);
  const Quotient q{renamed(old_at->second.numerator, names), renamed(old_at->second.denominator, names)};
  return formula::equal(q, new_at->second).value_or(false);
}

void add_changes(const preset::CpuView& before, const preset::CpuView& now,
                 std::vector<FormulaChange>& changes) {
  const auto add = [&](const std::string& preset, std::string old_formula, std::string new_formula) {
    const auto same = std::ranges::find_if(changes, [&](const FormulaChange& c) {
      return c.preset == preset && c.before == old_formula && c.after == new_formula;
    });
    if (same != changes.end()) return same->cpus.push_back(now.cpu);
    changes.push_back({preset, std::move(old_formula), std::move(new_formula), {now.cpu}});
  };
  const auto names = same_events(before, now);
  for (const Preset& b : now.loaded.presets) {
    const Preset* const a = before.loaded.find(b.name);
    if (a && same_meaning(before, now, names, *a, b)) continue;
    add(b.name, a ? formula_in(before, *a) : "", formula_in(now, b));
  }
  for (const Preset& a : before.loaded.presets)
    if (!now.loaded.find(a.name)) add(a.name, formula_in(before, a), {});
}

std::vector<int> rows(const preset::CpuView& view) {
  auto lines = base::mapped(view.loaded.presets, [](const Preset& preset) { return preset.place.line; });
  std::ranges::sort(lines);
  return lines;
}

std::set<std::string> prints(const LintResult& result) {
  std::set<std::string> found;
  for (const Finding& finding : result.findings)
    for (const Occurrence& o : finding.occurrences)
      found.insert(o.print);
  return found;
}

} // namespace

Comparison compare(const std::string& file, const LintResult& before, LintResult& now) {
  Comparison out;
  out.file = file;
  std::map<std::vector<int>, std::vector<std::string>> same_rows; // of the CPUs that both tables have
  for (const preset::CpuView& view : now.views)
    if (find_view(before, view.cpu)) same_rows[rows(view)].push_back(view.cpu);
  for (const preset::CpuView& view : now.views) {
    if (const preset::CpuView* const old_view = find_view(before, view.cpu)) {
      add_changes(*old_view, view, out.formulas);
      continue;
    }
    AddedCpu added{view.cpu, static_cast<int>(view.loaded.presets.size()), {}};
    if (const auto same = same_rows.find(rows(view)); same != same_rows.end()) added.same_rows = same->second;
    out.added.push_back(std::move(added));
  }
  for (const preset::CpuView& view : before.views)
    if (!find_view(now, view.cpu)) out.removed.push_back(view.cpu);
  out.gone = before.findings;
  const auto new_prints = prints(now);
  remove_occurrences(out.gone,
                     [&](const Finding&, const Occurrence& o) { return new_prints.contains(o.print); });
  const auto old_prints = prints(before);
  // The same row has the finding on a CPU that both tables have: a copied row in a new block is not known.
  out.inherited = remove_occurrences(now.findings, [&](const Finding& finding, const Occurrence& o) {
    return !o.cpu.empty() && !find_view(before, o.cpu) &&
           std::ranges::any_of(finding.occurrences, [&](const Occurrence& other) {
             return other.place == o.place && old_prints.contains(other.print);
           });
  });
  out.known = remove_occurrences(
      now.findings, [&](const Finding&, const Occurrence& o) { return old_prints.contains(o.print); });
  // An unchanged row becomes an outlier where rows of relatives change.
  out.unchanged = remove_occurrences(now.findings, [&](const Finding& finding, const Occurrence& o) {
    if (finding.rule->id != "outlier" && o.cause != "relatives") return false;
    const preset::CpuView *const old_view = find_view(before, o.cpu), *const view = find_view(now, o.cpu);
    if (!old_view || !view) return false;
    const Preset *const a = old_view->loaded.find(o.preset), *const b = view->loaded.find(o.preset);
    return a && b && same_meaning(*old_view, *view, same_events(*old_view, *view), *a, *b);
  });
  return out;
}

Baseline Baseline::read(const std::string& path) {
  const std::string text = base::require_file(path, "create it: recount lint TABLE --write-baseline " + path);
  const auto lines = base::split(text, '\n');
  if (lines.front() != baseline_head)
    throw bad_input("--baseline " + path,
                    "not a baseline: its first line is not '" + std::string(baseline_head) + "'",
                    "recount lint TABLE --write-baseline " + path);
  Baseline baseline;
  for (const std::string_view line : lines)
    if (!line.empty() && line.front() != '#')
      baseline.prints_.emplace(line.substr(0, line.find('\t')), false);
  return baseline;
}

std::string Baseline::text(const std::vector<const LintResult*>& results) {
  std::set<std::pair<std::string, std::string>> lines; // by rule: a change of one rule is one hunk of a diff
  for (const LintResult* const result : results)
    for (const Finding& finding : result->findings)
      for (const Occurrence& o : finding.occurrences)
        lines.emplace(fmt::format("{}\t{}\t{}", finding.rule->id, o.cpu, o.preset), o.print);
  std::string text = std::string(baseline_head) + "\n";
  for (const auto& [what, print] : lines)
    text += print + "\t" + what + "\n";
  return text;
}

std::size_t Baseline::remove_known(std::vector<Finding>& findings) {
  return remove_occurrences(findings, [&](const Finding&, const Occurrence& o) {
    const auto at = prints_.find(o.print);
    return at != prints_.end() && (at->second = true);
  });
}

std::size_t Baseline::stale() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(prints_, [](const auto& entry) { return !entry.second; }));
}

} // namespace recount::lint
