#include "lint/since.hpp"

#include "base/text.hpp"
#include "preset/written.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <unordered_map>

namespace recount::lint {
namespace {

using formula::Polynomial;
using formula::Quotient;
using formula::Variable;

constexpr std::string_view baseline_head = "# recount lint baseline 1";

/// The views of a result by name, in any case of letters.
class ViewIndex {
public:
  explicit ViewIndex(const LintResult& result) {
    for (const preset::CpuView& view : result.views)
      views_.try_emplace(preset::lower_case(view.cpu), &view);
  }
  [[nodiscard]] const preset::CpuView* find(const std::string& cpu) const {
    const auto at = views_.find(preset::lower_case(cpu));
    return at == views_.end() ? nullptr : at->second;
  }

private:
  std::unordered_map<std::string, const preset::CpuView*> views_;
};

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
  const Quotient q{renamed(old_at->second.over, names), renamed(old_at->second.under, names)};
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
  std::vector<int> lines;
  for (const Preset& preset : view.loaded.presets)
    lines.push_back(preset.place.line);
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
  const ViewIndex old_views(before), new_views(now);
  std::map<std::vector<int>, std::vector<std::string>> same_rows; // of the CPUs that both tables have
  for (const preset::CpuView& view : now.views)
    if (old_views.find(view.cpu)) same_rows[rows(view)].push_back(view.cpu);
  for (const preset::CpuView& view : now.views) {
    if (const preset::CpuView* const old_view = old_views.find(view.cpu)) {
      add_changes(*old_view, view, out.formulas);
      continue;
    }
    AddedCpu added{view.cpu, static_cast<int>(view.loaded.presets.size()), {}};
    if (const auto same = same_rows.find(rows(view)); same != same_rows.end()) added.same_rows = same->second;
    out.added.push_back(std::move(added));
  }
  for (const preset::CpuView& view : before.views)
    if (!new_views.find(view.cpu)) out.removed.push_back(view.cpu);
  out.gone = before.findings;
  const auto new_prints = prints(now);
  remove_occurrences(out.gone,
                     [&](const Finding&, const Occurrence& o) { return new_prints.contains(o.print); });
  const auto old_prints = prints(before);
  // The same row has the finding on a CPU that both tables have: a copied row in a new block is not known.
  out.inherited = remove_occurrences(now.findings, [&](const Finding& finding, const Occurrence& o) {
    return !o.cpu.empty() && !old_views.find(o.cpu) &&
           std::ranges::any_of(finding.occurrences, [&](const Occurrence& other) {
             return other.place == o.place && old_prints.contains(other.print);
           });
  });
  out.known = remove_occurrences(
      now.findings, [&](const Finding&, const Occurrence& o) { return old_prints.contains(o.print); });
  return out;
}

Baseline Baseline::read(const std::string& path) {
  const std::string text = preset::read_file(path, "create it: recount lint TABLE --write-baseline " + path);
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
