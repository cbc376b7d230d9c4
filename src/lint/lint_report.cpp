#include "lint/lint_report.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "event/pfm.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace recount::lint {
namespace {

/// A text broken into lines of at most `columns`, each after the first indented.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t columns) {
  std::string out(indent, ' ');
  std::size_t width = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (width > indent && width + 1 + length > columns) {
      out += "\n" + std::string(indent, ' ');
      width = indent;
    } else if (width > indent) {
      out += ' ';
      ++width;
    }
    out += text.substr(at, length);
    width += length;
    at = end + 1;
  }
  return out + "\n";
}

/// "skl, clx, icl and 4 more".
std::string listed(const std::vector<std::string>& words, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < words.size() && i < most; ++i)
    text += (i == 0 ? "" : ", ") + words[i];
  return words.size() > most ? text + fmt::format(" and {} more", words.size() - most) : text;
}

std::string lines_of(const Finding& finding, std::size_t most) {
  std::vector<std::string> lines;
  for (const Place& place : finding.places) {
    const std::string line = std::to_string(place.line);
    if (lines.empty() || lines.back() != line) lines.push_back(line);
  }
  return listed(lines, most);
}

std::string one(const Finding& finding, std::size_t columns) {
  std::string head = "line " + lines_of(finding, 6);
  if (!finding.cpus.empty()) head += fmt::format("  [{}]", listed(finding.cpus, 5));
  std::string text = wrapped(head, 2, columns);
  text += wrapped(
      finding.message +
          (finding.presets.size() > 1 && finding.message.find("PAPI_") == std::string::npos
               ? " (" + listed(finding.presets, 6) + ")"
           : finding.presets.size() == 1 && finding.message.find(finding.presets[0]) == std::string::npos
               ? " (" + finding.presets[0] + ")"
               : ""),
      6, columns);
  if (!finding.suggestion.empty()) text += wrapped("suggestion: " + finding.suggestion, 6, columns);
  return text;
}

/// What follows from a finding: the number, or with `all` each rule and message.
std::string following(const std::vector<const Finding*>& findings, bool all, std::size_t columns) {
  if (findings.empty()) return {};
  if (!all)
    return wrapped(
        fmt::format("also causes {} about relations", base::format_count(findings.size(), "finding")), 6,
        columns);
  std::string text;
  for (const Finding* const f : findings)
    text += wrapped(fmt::format("follows: {} {}: {}", name_of(f->rule->severity), f->rule->id, f->message), 6,
                    columns);
  return text;
}

struct Numbers {
  std::size_t errors = 0, warnings = 0, notes = 0;
};
Numbers count(const std::vector<Finding>& findings) {
  Numbers n;
  for (const Finding& f : findings)
    ++(f.rule->severity == Severity::error     ? n.errors
       : f.rule->severity == Severity::warning ? n.warnings
                                               : n.notes);
  return n;
}

std::string summary(const std::string& file, const LintResult& result, std::size_t columns) {
  const Numbers n = count(result.findings);
  const std::string head = fmt::format(
      "{}: {}, {}, {} for {} ({})", file, base::format_count(n.errors, "error"),
      base::format_count(n.warnings, "warning"), base::format_count(n.notes, "note"),
      base::format_count(result.checked.size(), "CPU"), base::format_count(result.presets, "preset"));
  std::string text = head.size() <= columns ? head + "\n" : wrapped(head, 0, columns);
  if (!result.version.construct.empty())
    text +=
        wrapped(fmt::format("read as PAPI 7.3 does: line {} begins {} (--papi-version 7.0 reads otherwise)",
                            result.version.place.line, result.version.construct),
                2, columns);
  if (!result.listed.empty())
    text += wrapped(fmt::format("events of {} were looked up in a catalogue, not in libpfm4 {}: {}",
                                base::format_count(result.listed.size(), "CPU"),
                                event::pfm::library_version(), listed(result.listed, 8)),
                    2, columns);
  if (!result.obsolete.empty())
    text +=
        wrapped(fmt::format("not checked: {} that libpfm4 does not use, such as \"{}\"",
                            base::format_count(result.obsolete.size(), "CPU name"), result.obsolete.front()),
                2, columns);
  return text;
}

/// The CPUs whose event names are not checked: in full those with rows of their own, or that were added.
std::string unchecked_section(const LintResult& result, bool strict, std::size_t columns) {
  if (result.unchecked.empty()) return {};
  std::vector<std::string> covered;
  std::string text =
      "\n" + wrapped(fmt::format("{} unchecked-cpu ({}): neither libpfm4 {} nor a catalogue has {}, so "
                                 "{} event names are not checked",
                                 strict ? "error" : "warning", result.unchecked.size(),
                                 event::pfm::library_version(),
                                 result.unchecked.size() == 1 ? "this CPU" : "these CPUs",
                                 result.unchecked.size() == 1 ? "its" : "their"),
                     0, columns);
  for (const UncheckedCpu& cpu : result.unchecked) {
    if (cpu.covered && result.unchecked.size() > 8) {
      covered.push_back(cpu.name);
      continue;
    }
    text += wrapped(fmt::format("line {}  [{}]  {}{}", cpu.place.line, cpu.name,
                                base::format_count(static_cast<std::size_t>(cpu.presets), "preset"),
                                cpu.covered ? ", all in rows that are checked on another CPU" : ""),
                    2, columns);
    if (!cpu.near.empty()) text += wrapped("similar names: " + listed(cpu.near, 3), 6, columns);
  }
  if (!covered.empty())
    text += wrapped(fmt::format("{} in rows that are checked on another CPU: {}",
                                base::format_count(covered.size(), "name"), listed(covered, 10)),
                    2, columns);
  return text;
}

/// What comments of the table suppress.
std::string allowed_section(const LintResult& result, std::size_t columns) {
  if (result.allowed.empty()) return {};
  std::string text = "\nallowed by comments of the table:\n";
  for (const Allowed& a : result.allowed)
    text += wrapped(
        fmt::format("line {}  {}, {}: {}", a.line, a.rule, base::format_count(a.places, "place"), a.reason),
        2, columns);
  return text;
}

/// Presets of components, whose events only the component itself knows.
std::string components_section(const LintResult& result, std::size_t columns) {
  if (result.components.empty()) return {};
  std::size_t rows = 0;
  for (const preset::ComponentBlock& block : result.components)
    rows += block.rows.size();
  std::string text = "\n" + wrapped(fmt::format("not checkable beyond their structure: {} of components",
                                                base::format_count(rows, "preset")),
                                    0, columns);
  for (const preset::ComponentBlock& block : result.components)
    text += wrapped(fmt::format("line {}  [{}: {}]  {}", block.place.line, block.component,
                                listed(block.devices, 5), base::format_count(block.rows.size(), "preset")),
                    2, columns);
  return text;
}

} // namespace

std::string as_text(const std::string& file, const LintResult& result, const ReportOptions& options) {
  const auto columns = static_cast<std::size_t>(std::max(options.columns, 20));
  std::string text = summary(file, result, columns);
  const auto roots = root_causes(result.findings);
  std::map<const Finding*, std::vector<const Finding*>> followers;
  std::vector<const Finding*> shown;
  for (std::size_t i = 0; i < result.findings.size(); ++i)
    if (roots[i])
      followers[roots[i]].push_back(&result.findings[i]);
    else
      shown.push_back(&result.findings[i]);
  std::size_t hidden = 0;
  bool reported = result.checked.empty();
  for (auto at = shown.begin(); at != shown.end();) {
    const Rule* const rule = (*at)->rule;
    const bool known = (*at)->known_cpus != 0;
    const auto end = std::find_if(
        at, shown.end(), [&](const Finding* f) { return f->rule != rule || (f->known_cpus != 0) != known; });
    const auto size = static_cast<std::size_t>(end - at);
    if (rule->severity == Severity::note && !options.notes) {
      hidden += size;
      at = end;
      continue;
    }
    if (!known && !reported) {
      text += "\nCPUs whose event names this libpfm4 does not know:\n";
      reported = true;
    }
    text += "\n" + wrapped(fmt::format("{} {} ({}): {}", name_of(rule->severity), rule->id, size, rule->why),
                           0, columns);
    const std::size_t most =
        options.most <= 0 ? size : std::min(size, static_cast<std::size_t>(options.most));
    for (std::size_t i = 0; i < most; ++i, ++at)
      text += one(**at, columns) + following(followers[*at], options.notes, columns);
    if (most < size) text += fmt::format("  … {} more\n", size - most);
    hidden += size - most;
    at = end;
  }
  text += unchecked_section(result, options.strict, columns);
  text += components_section(result, columns);
  text += allowed_section(result, columns);
  if (hidden > 0)
    text += fmt::format("\n{} not shown: list all\nwith --all, or one rule with --rule RULE\n",
                        base::format_count(hidden, "finding"));
  return text;
}

std::string as_annotations(const std::string& file, const LintResult& result, bool strict) {
  std::string text;
  for (const UncheckedCpu& cpu : result.unchecked)
    if (strict || !cpu.covered || result.unchecked.size() <= 8)
      text +=
          fmt::format("{}:{}: {}: the event names of {} are not checked: no libpfm4 or catalogue has it{} "
                      "[unchecked-cpu]\n",
                      file, cpu.place.line, strict ? "error" : "warning", cpu.name,
                      cpu.near.empty() ? "" : "; similar names: " + listed(cpu.near, 3));
  for (const Finding& f : result.findings) {
    std::string words = f.message;
    if (!f.suggestion.empty()) words += "; suggestion: " + f.suggestion;
    if (!f.cpus.empty()) words += " (" + listed(f.cpus, 4) + ")";
    int last = 0;
    for (const Place& place : f.places)
      if (place.line != last) {
        text += fmt::format("{}:{}: {}: {} [{}]\n", file, place.line, name_of(f.rule->severity), words,
                            f.rule->id);
        last = place.line;
      }
  }
  return text;
}

std::string as_text(const Comparison& since, int width) {
  const auto columns = static_cast<std::size_t>(std::max(width, 20));
  std::string text = wrapped(
      fmt::format(
          "compared with {}: {} added, {} removed, {} changed; {} gone, {} known, {} in rows that an added "
          "CPU shares",
          since.file, base::format_count(since.added.size(), "CPU"), since.removed.size(),
          base::format_count(since.formulas.size(), "formula"),
          base::format_count(since.gone.size(), "finding"), since.known, since.inherited),
      0, columns);
  for (const AddedCpu& cpu : since.added)
    text += wrapped(fmt::format("{}: added with {}{}", cpu.name,
                                base::format_count(static_cast<std::size_t>(cpu.presets), "preset"),
                                cpu.same_rows.empty() ? "" : ", the rows of " + listed(cpu.same_rows, 4)),
                    2, columns);
  if (!since.removed.empty())
    text += wrapped(fmt::format("{}: removed", listed(since.removed, 8)), 2, columns);
  for (const FormulaChange& change : since.formulas) {
    text += wrapped(fmt::format("{}  [{}]", change.preset, listed(change.cpus, 5)), 2, columns);
    text += wrapped("before: " + (change.before.empty() ? "not available" : change.before), 6, columns);
    text += wrapped("after:  " + (change.after.empty() ? "not available" : change.after), 6, columns);
  }
  for (const Finding& gone : since.gone)
    text += wrapped(fmt::format("gone: {} {}: {}{}", name_of(gone.rule->severity), gone.rule->id,
                                gone.message, gone.cpus.empty() ? "" : "  [" + listed(gone.cpus, 5) + "]"),
                    2, columns);
  return text;
}

// Findings as JSON.
namespace {

Json to_json(const std::vector<preset::ComponentBlock>& blocks) {
  Json json = Json::array();
  for (const preset::ComponentBlock& block : blocks)
    json.push_back({{"component", block.component},
                    {"devices", block.devices},
                    {"line", block.place.line},
                    {"presets", block.rows.size()}});
  return json;
}

Json to_json(const std::string& file, const Finding& f) {
  Json json{{"severity", name_of(f.rule->severity)}, {"rule", f.rule->id}, {"file", file}};
  json["line"] = f.places.front().line;
  json["column"] = f.places.front().column;
  json["lines"] = Json::array();
  for (const Place& place : f.places)
    json["lines"].push_back(place.line);
  json["cpu"] = f.cpus.empty() ? Json(nullptr) : Json(f.cpus.front());
  json["cpus"] = f.cpus;
  json["preset"] = f.presets.empty() ? Json(nullptr) : Json(f.presets.front());
  json["presets"] = f.presets;
  json["message"] = f.message;
  json["why"] = f.rule->why;
  json["suggestion"] = f.suggestion.empty() ? Json(nullptr) : Json(f.suggestion);
  json["fingerprint"] = fingerprint(f);
  return json;
}

Json to_json(const Comparison& since) {
  Json json{{"file", since.file},
            {"known_findings", since.known},
            {"inherited_findings", since.inherited},
            {"removed_cpus", since.removed}};
  json["added_cpus"] = Json::array();
  for (const AddedCpu& cpu : since.added)
    json["added_cpus"].push_back(
        {{"cpu", cpu.name}, {"presets", cpu.presets}, {"same_rows_as", cpu.same_rows}});
  json["formulas"] = Json::array();
  for (const FormulaChange& change : since.formulas)
    json["formulas"].push_back({{"preset", change.preset},
                                {"cpus", change.cpus},
                                {"before", change.before.empty() ? Json(nullptr) : Json(change.before)},
                                {"after", change.after.empty() ? Json(nullptr) : Json(change.after)}});
  json["gone"] = Json::array();
  for (const Finding& gone : since.gone)
    json["gone"].push_back(to_json(since.file, gone));
  return json;
}

} // namespace

std::string as_json(const std::vector<std::pair<std::string, LintResult>>& results, const Comparison* since) {
  Json json;
  json["findings"] = Json::array();
  json["tables"] = Json::array();
  for (const auto& [file, result] : results) {
    std::vector<std::string> names;
    for (const UncheckedCpu& cpu : result.unchecked)
      names.push_back(cpu.name);
    const auto roots = root_causes(result.findings);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      Json one = to_json(file, result.findings[i]);
      one["follows_from"] = roots[i] ? Json(fingerprint(*roots[i])) : Json(nullptr);
      json["findings"].push_back(std::move(one));
    }
    json["tables"].push_back({{"file", file},
                              {"presets", result.presets},
                              {"papi", result.version.version == PapiVersion::v7_0 ? "7.0" : "7.3"},
                              {"components", to_json(result.components)},
                              {"checked", result.checked},
                              {"names_from_catalogue", result.listed},
                              {"names_not_checked", names},
                              {"obsolete", result.obsolete}});
  }
  if (since) json["since"] = to_json(*since);
  return json_text("lint", json);
}

// Findings as SARIF 2.1.0 (OASIS standard, 2020), which code-scanning services read.
namespace {

/// A path as a relative URI reference or a file URI (RFC 3986).
std::string uri_of(const std::string& path) {
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
       {{"artifactLocation", {{"uri", uri_of(file)}}},
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

Json result_json(const std::string& file, const Finding& finding, bool compared) {
  std::string text = finding.message;
  if (!finding.suggestion.empty()) text += "; suggestion: " + finding.suggestion;
  const auto index = static_cast<std::size_t>(finding.rule - rules().data());
  Json json{{"ruleId", finding.rule->id},
            {"ruleIndex", index},
            {"level", name_of(finding.rule->severity)},
            {"message", {{"text", text}}}};
  json["locations"] = Json::array({location(file, finding.places.front())});
  if (finding.places.size() > 1) {
    json["relatedLocations"] = Json::array();
    for (std::size_t i = 1; i < finding.places.size(); ++i)
      json["relatedLocations"].push_back(location(file, finding.places[i]));
  }
  json["partialFingerprints"] = {{"recountLint/v1", fingerprint(finding)}};
  if (compared) json["baselineState"] = "new";
  json["properties"] = {{"cpus", finding.cpus}, {"presets", finding.presets}};
  return json;
}

} // namespace

std::string as_sarif(const std::vector<std::pair<std::string, LintResult>>& results, bool compared,
                     bool strict) {
  Json driver{{"name", "recount lint"}, {"version", RECOUNT_VERSION}};
  driver["rules"] = Json::array();
  for (const Rule& rule : rules())
    driver["rules"].push_back(rule_json(rule));
  Json found = Json::array();
  for (const auto& [file, result] : results)
    for (const Finding& finding : result.findings)
      found.push_back(result_json(file, finding, compared));
  Json run{{"tool", {{"driver", std::move(driver)}}}, {"columnKind", "unicodeCodePoints"}};
  run["results"] = std::move(found);
  Json notices = Json::array(); // what the run could not check is no result (3.20.21)
  for (const auto& [file, result] : results)
    for (const UncheckedCpu& cpu : result.unchecked)
      notices.push_back({{"level", strict ? "error" : "warning"},
                         {"message", {{"text", "the event names of " + cpu.name + " are not checked"}}},
                         {"locations", Json::array({location(file, cpu.place)})}});
  Json invocation{{"executionSuccessful", true}};
  invocation["toolExecutionNotifications"] = std::move(notices);
  run["invocations"] = Json::array({std::move(invocation)});
  Json log{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}};
  log["runs"] = Json::array({std::move(run)});
  return dumped(log, 2) + '\n';
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
    "misses-as-accesses",     "loads-as-total",       "unconditional-as-conditional"};

template <class List>
bool holds(const List& list, std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

bool is_cause(const Finding& finding) {
  return finding.rule->severity == Severity::error ? finding.rule->id != "impossible"
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

} // namespace recount::lint
