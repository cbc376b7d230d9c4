// Findings between the rows of a table: redefined rows and rows without effect.
#include "lint/lint.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::lint {
namespace {

/// The number of the block each line belongs to: a block is a run of CPU rows and the presets below it.
std::map<int, int> blocks(const preset::Document& table) {
  std::map<int, int> block;
  int number = 0;
  bool in_rows = true;
  for (const preset::Line& line : table.lines) {
    if (line.kind == preset::Kind::cpu && in_rows) {
      ++number;
      in_rows = false;
    }
    if (line.kind == preset::Kind::preset) in_rows = true;
    block[line.number] = number;
  }
  return block;
}

} // namespace

void check_rows(const preset::Document& table, const std::vector<preset::CpuView>& views,
                Findings& findings) {
  const auto block = blocks(table);
  std::set<int> alive;
  for (const preset::CpuView& view : views)
    for (const Preset& preset : view.loaded.presets)
      alive.insert(preset.place.line);
  for (const preset::CpuView& view : views)
    for (const preset::Diagnostic& diagnostic : view.diagnostics) {
      if (diagnostic.kind != preset::DiagnosticKind::redefined || alive.contains(diagnostic.other.line))
        continue;
      const bool same = block.at(diagnostic.other.line) == block.at(diagnostic.place.line);
      findings.add(same ? "redefined" : "dead-row", std::to_string(diagnostic.other.line),
                   {diagnostic.other, diagnostic.preset, view.cpu},
                   fmt::format("{} is redefined {} line {}, which takes effect", diagnostic.preset,
                               same ? "in the same table, at" : "by", diagnostic.place.line));
    }
}

} // namespace recount::lint
