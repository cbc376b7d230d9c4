// Every rule has a table that triggers it and a near miss that does not; and mistakes that shipped once.
#include "commands/lint/lint_report.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace recount;

namespace {

const std::filesystem::path data = PRESET_TEST_DATA;

std::string formula_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  BOOST_TEST_REQUIRE(file.good(), path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

lint::LintResult check(const std::filesystem::path& path) {
  const std::string text = formula_text(path);
  lint::LintOptions options;
  if (text.find("# papi: 7.3") != std::string::npos) options.version = PapiVersion::v7_3;
  return lint::lint(PresetTable::of(text, path.string()), options);
}

bool finds(const lint::LintResult& result, std::string_view rule) {
  return std::ranges::any_of(result.findings, [&](const lint::Finding& f) { return f.rule->id == rule; });
}

std::string all(const lint::LintResult& result) {
  return lint::as_annotations("table", result);
}

bool x86_tables() {
  if (preset::core_pmu("skl")) return true;
  test::skip("this build of libpfm4 has no x86 tables");
  return false;
}

const std::filesystem::path installed = "/usr/share/papi/7.0/papi_events.csv";
bool papi_table() {
  if (std::filesystem::exists(installed)) return true;
  test::skip("the table of PAPI 7.0 is not installed");
  return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_rule_has_its_table_and_its_near_miss) {
  if (!x86_tables()) return;
  for (const lint::Rule& rule : lint::rules()) {
    const std::string id(rule.id);
    BOOST_TEST_CONTEXT(id) {
      const lint::LintResult bad = check(data / (id + ".bad.csv"));
      BOOST_TEST(finds(bad, rule.id), all(bad));
      const lint::LintResult good = check(data / (id + ".good.csv"));
      BOOST_TEST(!finds(good, rule.id), all(good));
    }
  }
}

// Rows of many CPUs and vendors, each alone in a table.
BOOST_AUTO_TEST_CASE(wrong_rows_are_found_and_odd_ones_are_not_accused) {
  if (!x86_tables()) return;
  std::istringstream lines(formula_text(data / "rows.txt"));
  const auto hybrid = preset::Catalogue::of(formula_text(data / "hybrid.catalogue"));
  lint::LintOptions options;
  options.catalogue = &hybrid;
  std::map<std::string, int> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string expected, cpu, row;
    words >> expected >> cpu >> row;
    const lint::LintResult result =
        lint::lint(PresetTable::of("CPU," + cpu + "\nPRESET," + row + "\n"), options);
    const bool accused = std::ranges::any_of(
        result.findings, [](const lint::Finding& f) { return f.severity != lint::Severity::note; });
    const bool wrong = expected != "right" && expected != "gap";
    BOOST_TEST((wrong ? finds(result, expected) : !accused), line << "\n" << all(result));
    for (const char* rule : {"unknown-event", "unknown-mask", "half-read", "unchecked-cpu"})
      BOOST_TEST(!finds(result, rule), line);
    ++rows[wrong ? "found" : expected];
  }
  BOOST_TEST(rows["found"] >= 60);
  BOOST_TEST(rows["right"] >= 40);
  BOOST_TEST(10 * rows["gap"] <= rows["found"]);
}

// Findings are sorted by severity and rank: rules of one rank would be printed in turns.
BOOST_AUTO_TEST_CASE(each_rule_has_a_rank_of_its_own) {
  std::set<std::pair<lint::Severity, int>> ranks;
  for (const lint::Rule& rule : lint::rules())
    BOOST_TEST((ranks.emplace(rule.severity, rule.rank).second), rule.id);
}

BOOST_AUTO_TEST_CASE(mistakes_that_shipped_are_found) {
  if (!x86_tables()) return;
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (!entry.path().filename().string().starts_with("history-")) continue;
    const std::string text = formula_text(entry.path());
    const std::string expected = text.substr(10, text.find('\n') - 10);
    BOOST_TEST_CONTEXT(entry.path().filename().string()) {
      const lint::LintResult result = check(entry.path());
      BOOST_TEST(finds(result, expected), all(result));
    }
    ++tables;
  }
  BOOST_TEST(tables >= 9);
}

BOOST_AUTO_TEST_CASE(findings_have_places) {
  if (!x86_tables()) return;
  const auto table =
      PresetTable::of("CPU,skl\nCPU,skx\nPRESET,PAPI_LST_INS,DERIVED_ADD,MEM_INST_RETIRED:ALL_LOADS,NOPE\n");
  const lint::LintResult result = lint::lint(table, {});
  BOOST_TEST_REQUIRE(result.findings.size() == 1U);
  const lint::Finding& f = result.findings.front();
  BOOST_TEST(f.rule->id == "half-read");
  BOOST_TEST((f.places.front() == Place{3, 60}));
  BOOST_TEST(f.cpus.size() == 2U);
  BOOST_TEST(lint::as_annotations("t.csv", result)
                 .find("t.csv:3: error: PAPI_LST_INS is counted without its term NOPE") == 0U);
}

BOOST_AUTO_TEST_CASE(an_allowance_needs_a_rule_and_a_reason) {
  const auto table = PresetTable::of("CPU,x\n# recount: allow one-term\nPRESET,PAPI_LD_INS,DERIVED_ADD,A\n"
                                     "# recount: allow nonsense why\nPRESET,PAPI_SR_INS,NOT_DERIVED,B\n");
  const lint::LintResult result = lint::lint(table, {});
  BOOST_TEST(finds(result, "one-term"));
  BOOST_TEST(std::ranges::count_if(result.findings, [](const lint::Finding& f) {
               return f.rule->id == "unused-allowance";
             }) == 2);
}

BOOST_AUTO_TEST_CASE(a_cpu_that_libpfm4_does_not_know_is_named) {
  const lint::LintResult result =
      lint::lint(PresetTable::of("CPU,no_such_pmu\nPRESET,PAPI_LD_INS,NOT_DERIVED,A\n"), {});
  BOOST_TEST_REQUIRE(result.unchecked.size() == 1U);
  BOOST_TEST(result.unchecked.front() == "no_such_pmu");
  BOOST_TEST(lint::as_text("t", result, {}).find("unchecked-cpu") != std::string::npos);
}

// Every finding of the rules about meaning and outliers in the table of PAPI 7.0.0 was judged by hand,
// against the descriptions of the events, the definitions of PAPI and the vendors' manuals.
BOOST_AUTO_TEST_CASE(judged_findings_are_mostly_right) {
  std::istringstream lines(formula_text(data / "judged.txt"));
  std::map<std::string, bool> verdicts;
  std::set<std::string, std::less<>> judged_rules;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string print;
    std::string verdict;
    std::string rule;
    words >> print >> verdict >> rule;
    BOOST_TEST((verdict == "right" || verdict == "false"), line);
    BOOST_TEST(lint::rule_named(rule), line);
    verdicts.emplace(print, verdict == "right");
    judged_rules.insert(rule);
  }
  BOOST_TEST(verdicts.size() >= 60U);
  const auto wrong = std::ranges::count(verdicts, false, &std::pair<const std::string, bool>::second);
  BOOST_TEST(5 * wrong < static_cast<std::ptrdiff_t>(verdicts.size()));

  if (!x86_tables() || !papi_table()) return;
  std::set<std::string> found;
  for (const lint::Finding& finding : lint::lint(PresetTable::read(installed.string()), {}).findings)
    for (const lint::Occurrence& o : finding.occurrences) {
      if (!judged_rules.contains(finding.rule->id)) continue;
      found.insert(o.print);
      BOOST_TEST(verdicts.contains(o.print), "not judged: " << o.print << " " << finding.rule->id << " "
                                                            << o.cpu << " " << o.preset << " " << o.cause);
    }
  for (const auto& [print, right] : verdicts)
    BOOST_TEST(found.contains(print), "no longer found: " << print);
}

namespace {

/// What a finding accuses (rule, CPU, preset, line of the unedited table, relations of presets), and its
/// fingerprints.
using Prints = std::map<std::tuple<std::string_view, std::string, std::string, int, std::vector<std::string>>,
                        std::set<std::string>>;

/// Fingerprints of occurrences, and of findings with the same lines. `lines`: those of the unedited table by
/// those of the edited one; 0: edited, and without an entry.
std::pair<Prints, Prints> prints(const lint::LintResult& result, const std::vector<int>& lines) {
  std::pair<Prints, Prints> found;
  for (const lint::Finding& finding : result.findings) {
    auto relations = finding.relations;
    const auto line_of = [&](const lint::Occurrence& o) {
      return lines.at(static_cast<std::size_t>(o.place.line));
    };
    for (const lint::Occurrence& o : finding.occurrences)
      if (line_of(o) != 0)
        found.first[{finding.rule->id, o.cpu, o.preset, line_of(o), relations}].insert(o.print);
    for (const lint::Occurrence& o : finding.occurrences)
      relations.push_back(std::to_string(line_of(o)));
    if (std::ranges::find(relations, "0") == relations.end())
      found.second[{finding.rule->id, {}, {}, 0, relations}].insert(lint::fingerprint(finding));
  }
  return found;
}

/// Accusations that lose a fingerprint and get another one, and the number of those compared.
std::size_t require_same(const Prints& before, const Prints& after) {
  std::size_t compared = 0;
  for (const auto& [what, old] : before) {
    const auto at = after.find(what);
    if (at == after.end()) continue;
    ++compared;
    const auto& [rule, cpu, preset, line, relations] = what;
    BOOST_TEST((std::ranges::includes(old, at->second) || std::ranges::includes(at->second, old)),
               "line " << line << ": " << rule << " of " << cpu << " " << preset);
  }
  return compared;
}

} // namespace

// Each line of the table is changed, deleted, and preceded by another one, those of a class modulo `classes`
// at once: what accuses another line keeps its fingerprint, or is no longer found.
BOOST_AUTO_TEST_CASE(fingerprints_depend_on_the_accused_row_alone) {
  if (!x86_tables() || !papi_table()) return;
  std::vector<std::string> lines;
  std::istringstream text(formula_text(installed));
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  const lint::LintResult original = lint::lint(PresetTable::read(installed.string()), {});
  constexpr std::size_t classes = 4;
  std::size_t compared = 0;
  for (const std::string_view edit : {"change", "delete", "insert"})
    for (std::size_t chosen = 0; chosen < classes; ++chosen) {
      std::string edited;
      std::vector<int> before(lines.size() + 2), after(1);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool own = i % classes == chosen;
        if (own && edit == "insert") {
          edited += "PRESET,PAPI_MEM_SCY,NOT_DERIVED,INST_RETIRED\n";
          after.push_back(0);
        }
        if (!own || edit == "insert") before[i + 1] = static_cast<int>(i + 1);
        if (own && edit == "delete") continue;
        const bool cut = own && edit == "change";
        edited += (cut ? lines[i].substr(0, lines[i].rfind(',')) : lines[i]) + "\n";
        after.push_back(cut ? 0 : static_cast<int>(i + 1));
      }
      after.push_back(0);
      BOOST_TEST_CONTEXT(edit << " " << chosen) {
        const auto old = prints(original, before);
        const auto now = prints(lint::lint(PresetTable::of(edited), {}), after);
        compared += require_same(old.first, now.first) + require_same(old.second, now.second);
      }
    }
  BOOST_TEST(compared > 5000U);
}
