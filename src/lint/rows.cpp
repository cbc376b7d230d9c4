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

/// CPU rows with an empty comment or an empty line below them and no presets: the author ended the block,
/// PAPI does not.
void check_blocks(const preset::Document& table, bool (*obsolete)(const std::string& cpu),
                  Findings& findings) {
  std::vector<const preset::Line*> block;
  bool ended = false;
  for (const preset::Line& line : table.lines) {
    const bool empty = (line.kind == preset::Kind::comment && preset::trim_blanks(line.comment).empty()) ||
                       (line.kind == preset::Kind::blank && line.fields.empty());
    if (line.kind == preset::Kind::cpu && line.fields.size() > 1) {
      if (ended && !obsolete(line.fields[1].text))
        for (const preset::Line* const before : block)
          if (!obsolete(before->fields[1].text))
            findings.add_here("empty-block", {before->fields[1].place, {}, before->fields[1].text},
                              fmt::format("{} has no rows of its own and gets those of {}, line {}",
                                          before->fields[1].text, line.fields[1].text, line.number),
                              "remove the CPU row, or the empty line if the rows are meant");
      if (ended) block.clear();
      ended = false;
      block.push_back(&line);
    } else if (empty) {
      ended = !block.empty();
    } else if (line.kind != preset::Kind::comment) {
      block.clear();
      ended = false;
    }
  }
}

} // namespace recount::lint
