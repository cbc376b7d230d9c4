#include "lint/since.hpp"

#include "base/text.hpp"
#include "preset/written.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

using formula::Polynomial;
using formula::Quotient;
using formula::Variable;

constexpr std::string_view baseline_head = "# recount lint baseline 1";

const preset::CpuView* view_of(const LintResult& result, const std::string& cpu) {
  const auto at = std::ranges::find_if(
      result.views, [&](const preset::CpuView& v) { return preset::same_word(v.cpu, cpu); });
  return at == result.views.end() ? nullptr : &*at;
}

/// The variable of `to` that stands for the same event; one beyond all of them for an event that `to` lacks.
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

class Changes {
public:
  void of(const preset::CpuView& before, const preset::CpuView& now) {
    const auto names = same_events(before, now);
    for (const Preset& b : now.loaded.presets) {
      const Preset* const a = before.loaded.find(b.name);
      if (a && same_meaning(before, now, names, *a, b)) continue;
      add(now.cpu, b.name, a ? formula_in(before, *a) : "", formula_in(now, b));
    }
    for (const Preset& a : before.loaded.presets)
      if (!now.loaded.find(a.name)) add(now.cpu, a.name, formula_in(before, a), {});
  }
  [[nodiscard]] std::vector<FormulaChange> take() && { return std::move(changes_); }

private:
  void add(const std::string& cpu, const std::string& preset, std::string before, std::string after) {
    const auto same = std::ranges::find_if(changes_, [&](const FormulaChange& c) {
      return c.preset == preset && c.before == before && c.after == after;
    });
    if (same != changes_.end()) return same->cpus.push_back(cpu);
    changes_.push_back({preset, std::move(before), std::move(after), {cpu}});
  }
  std::vector<FormulaChange> changes_;
};

std::vector<int> rows(const preset::CpuView& view) {
  std::vector<int> lines;
  for (const Preset& preset : view.loaded.presets)
    lines.push_back(preset.place.line);
  std::ranges::sort(lines);
  return lines;
}

std::set<std::string> prints(const LintResult& result, std::string Occurrence::*which) {
  std::set<std::string> found;
  for (const Finding& finding : result.findings)
    for (const Occurrence& o : finding.occurrences)
      found.insert(o.*which);
  return found;
}

/// Removes occurrences that `known` accepts and findings without any; returns how many findings had one.
template <class Known>
std::size_t remove_if_known(std::vector<Finding>& findings, const Known& known) {
  std::size_t removed = 0;
  for (Finding& finding : findings) {
    std::vector<Occurrence> fresh;
    for (const Occurrence& o : finding.occurrences)
      if (!known(finding, o)) fresh.push_back(o);
    if (fresh.size() == finding.occurrences.size()) continue;
    ++removed;
    finding.keep(std::move(fresh));
  }
  std::erase_if(findings, [](const Finding& finding) { return finding.occurrences.empty(); });
  return removed;
}

} // namespace

Comparison compare(const std::string& file, const LintResult& before, LintResult& now) {
  Comparison out;
  out.file = file;
  Changes changes;
  for (const preset::CpuView& view : now.views) {
    if (const preset::CpuView* const old_view = view_of(before, view.cpu)) {
      changes.of(*old_view, view);
      continue;
    }
    AddedCpu added{view.cpu, static_cast<int>(view.loaded.presets.size()), {}};
    for (const preset::CpuView& other : now.views)
      if (&other != &view && view_of(before, other.cpu) && rows(other) == rows(view))
        added.same_rows.push_back(other.cpu);
    out.added.push_back(std::move(added));
  }
  std::erase_if(now.unchecked, [&](const UncheckedCpu& cpu) { return view_of(before, cpu.name) != nullptr; });
  for (const preset::CpuView& view : before.views)
    if (!view_of(now, view.cpu)) out.removed.push_back(view.cpu);
  out.formulas = std::move(changes).take();

  const auto now_known = prints(now, &Occurrence::print);
  for (Finding gone : before.findings) {
    std::vector<Occurrence> missing;
    for (const Occurrence& o : gone.occurrences)
      if (!now_known.contains(o.print)) missing.push_back(o);
    if (missing.empty()) continue;
    gone.keep(std::move(missing));
    out.gone.push_back(std::move(gone));
  }
  const auto old_prints = prints(before, &Occurrence::print);
  // The same row has the finding on a CPU that both tables have: a copied row in a new block is not known.
  out.inherited = remove_if_known(now.findings, [&](const Finding& finding, const Occurrence& o) {
    return !o.cpu.empty() && !view_of(before, o.cpu) &&
           std::ranges::any_of(finding.occurrences, [&](const Occurrence& other) {
             return other.place == o.place && old_prints.contains(other.print);
           });
  });
  out.known = remove_if_known(
      now.findings, [&](const Finding&, const Occurrence& o) { return old_prints.contains(o.print); });
  return out;
}

Baseline Baseline::read(const std::string& path) {
  const std::string text = preset::read_file(path, "create it: recount lint TABLE --write-baseline " + path);
  Baseline baseline;
  bool first = true;
  for (const std::string_view line : base::split(text, '\n')) {
    if (first && line != baseline_head)
      throw bad_input("--baseline " + path,
                      "not a baseline: its first line is not '" + std::string(baseline_head) + "'",
                      "recount lint TABLE --write-baseline " + path);
    first = false;
    if (line.empty() || line.front() == '#') continue;
    baseline.prints_.emplace(line.substr(0, line.find('\t')), false);
  }
  return baseline;
}

std::string Baseline::text(const std::vector<const LintResult*>& results) {
  std::set<std::string> lines; // sorted by rule, so that a change of one rule is one hunk of a diff
  for (const LintResult* const result : results)
    for (const Finding& finding : result->findings)
      for (const Occurrence& o : finding.occurrences)
        lines.insert(fmt::format("{}\t{}\t{}\n{}", finding.rule->id, o.cpu, o.preset, o.print));
  std::string text = std::string(baseline_head) + "\n";
  for (const std::string& line : lines) {
    const std::size_t end = line.rfind('\n');
    text += line.substr(end + 1) + "\t" + line.substr(0, end) + "\n";
  }
  return text;
}

std::size_t Baseline::remove_known(std::vector<Finding>& findings) {
  return remove_if_known(findings, [&](const Finding&, const Occurrence& o) {
    const auto at = prints_.find(o.print);
    return at != prints_.end() && (at->second = true);
  });
}

std::size_t Baseline::stale() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(prints_, [](const auto& entry) { return !entry.second; }));
}

} // namespace recount::lint
