// Outliers: a preset whose formula differs from that of related CPUs, whose events exist here too.
#include "lint/lint.hpp"

#include "base/text.hpp"
#include "relatives_data.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

using formula::Linear;

/// Least number of rows of relatives, beside that of the CPU, for a usual formula.
constexpr std::size_t least_rows = 3;

/// A row, as one family's CPUs that have it define a preset.
struct RelativeRow {
  const preset::CpuView* view = nullptr; ///< the first of them
  const Preset* preset = nullptr;
  std::vector<const preset::CpuView*> views;
  Linear form;
};

/// A formula over encodings: equal for equal counts, under whatever names.
using CodedSum =
    std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>, std::int64_t>;

/// No value when an event does not exist on `view`.
std::optional<CodedSum> coded(const RelativeRow& row, const preset::CpuView& view) {
  CodedSum sum;
  for (const auto& [v, weight] : row.form.of) {
    if (v < 0) return std::nullopt;
    const preset::Native& code = view.natives->of(row.view->names[static_cast<std::size_t>(v)]);
    const preset::Native& there = row.view->codes[static_cast<std::size_t>(v)];
    // A name without unit masks may be two events: only one of the CPUs may have masks, with a default.
    const bool masked = row.view->names[static_cast<std::size_t>(v)].find(':') != std::string::npos;
    if (!code.ok() || !there.ok() || (!masked && code.config != there.config)) return std::nullopt;
    sum[{code.type, code.config, code.config1, code.config2}] += weight;
  }
  return sum;
}

/// The number of added and of subtracted events. A total may also be the sum of its parts: formulas of
/// different shapes are not compared.
std::pair<std::size_t, std::size_t> shape(const Linear& form) {
  std::pair<std::size_t, std::size_t> count;
  for (const auto& [v, weight] : form.of)
    ++(weight > 0 ? count.first : count.second);
  return count;
}

std::vector<RelativeRow> rows_of(const std::string& preset,
                                 const std::vector<const preset::CpuView*>& members) {
  std::vector<RelativeRow> rows;
  for (const preset::CpuView* const view : members) {
    const Preset* const found = view->loaded.find(preset);
    const auto means = view->meanings.find(preset);
    if (!found || means == view->meanings.end()) continue;
    const auto form = formula::linear(means->second);
    if (!form || form->constant != 0) continue;
    const auto same = std::ranges::find_if(
        rows, [&](const RelativeRow& row) { return row.preset->place.line == found->place.line; });
    if (same != rows.end())
      same->views.push_back(view);
    else
      rows.push_back({view, found, {view}, *form});
  }
  return rows;
}

std::string names_of(const std::vector<const RelativeRow*>& rows) {
  std::string text;
  for (const RelativeRow* const row : rows)
    text += (text.empty() ? "" : ", ") + row->view->cpu;
  return text;
}

void compare_rows(const std::vector<RelativeRow>& rows, const RelativeRow& own, const preset::CpuView& view,
                  Findings& findings) {
  const auto mine = coded(own, view);
  if (!mine) return;
  std::map<CodedSum, std::vector<const RelativeRow*>> others;
  std::size_t comparable = 0;
  for (const RelativeRow& row : rows) {
    if (&row == &own) continue;
    const auto theirs = coded(row, view);
    if (!theirs) continue;
    if (*theirs == *mine) return;
    ++comparable;
    if (shape(row.form) == shape(own.form)) others[*theirs].push_back(&row);
  }
  const auto usual =
      std::ranges::max_element(others, {}, [](const auto& group) { return group.second.size(); });
  if (usual == others.end() || usual->second.size() < least_rows || 2 * usual->second.size() <= comparable)
    return;
  const RelativeRow& one = *usual->second.front();
  const std::string theirs = formula::to_text(one.form, one.view->names);
  const std::string ours = formula::to_text(own.form, own.view->names);
  const std::string& preset = own.preset->name;
  findings.add("outlier", preset + ours + theirs, {own.preset->place, preset, view.cpu, theirs},
               fmt::format("{} = {}, but {} on {}", preset, ours, theirs, names_of(usual->second)));
}

} // namespace

const std::vector<std::vector<std::string>>& families() {
  static const auto all = [] {
    std::vector<std::vector<std::string>> found;
    for (const std::string_view line : base::split(std::string_view(relatives_data), '\n')) {
      if (line.empty() || line.front() == '#') continue;
      auto& family = found.emplace_back();
      for (const std::string_view cpu : base::split(line, ' '))
        family.emplace_back(cpu);
    }
    return found;
  }();
  return all;
}

void check_relatives(const std::vector<preset::CpuView>& views, Findings& findings) {
  for (const auto& family : families()) {
    std::vector<const preset::CpuView*> members;
    std::set<std::string> presets;
    for (const std::string& cpu : family)
      for (const preset::CpuView& view : views) {
        if (!view.natives || !preset::same_word(view.cpu, cpu)) continue;
        members.push_back(&view);
        for (const auto& [name, meaning] : view.meanings)
          presets.insert(name);
      }
    for (const std::string& preset : presets) {
      const auto rows = rows_of(preset, members);
      if (rows.size() <= least_rows) continue;
      for (const RelativeRow& row : rows)
        for (const preset::CpuView* const view : row.views)
          compare_rows(rows, row, *view, findings);
    }
  }
}

} // namespace recount::lint
