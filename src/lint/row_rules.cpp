#include "base/format.hpp"
#include "base/nearest.hpp"
#include "lint/lint.hpp"
#include "preset/standard.hpp"

#include <fmt/core.h>

#include <algorithm>

// Findings about grammar and names, from the diagnostics of the reader.
namespace recount::lint {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : " or ") + word;
  return text;
}

std::string suggest_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const preset::Standard& standard : preset::standard_presets())
    names.emplace_back(standard.name);
  return joined(base::nearest(name, names, 2));
}

bool has_return(const std::string& text) {
  return text.find('\r') != std::string::npos;
}

std::string visible(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\r' ? "<CR>" : std::string(1, c);
  return out;
}

/// Why a term is not an event of the CPU: the rule, and the sentence.
struct TermProblem {
  std::string rule, message, suggestion;
};

TermProblem term_problem(const preset::CpuView& view, const std::string& term) {
  const std::string shown = visible(term);
  if (has_return(term))
    return {"carriage-return", fmt::format("{} ends with a CR", shown), "end lines with LF"};
  if (!view.natives) return {"unknown-event", shown + " is not an event", {}};
  const preset::Native& native = view.natives->of(term);
  const std::string suggestion = joined(view.natives->suggest(term));
  switch (native.status) {
  case preset::Native::Status::unknown_mask:
    return {"unknown-mask", fmt::format("{} has no mask {}", native.event, visible(native.part)), suggestion};
  case preset::Native::Status::refused:
    return {"refused-event", fmt::format("libpfm4 rejects {}: {}", shown, native.failure), {}};
  case preset::Native::Status::elsewhere:
    return {"wrong-pmu", fmt::format("{} belongs to {}, which presets cannot use", shown, native.part), {}};
  default:
    return {"unknown-event", fmt::format("{} is not an event of this CPU", visible(native.event)),
            suggestion};
  }
}

void unknown(const preset::CpuView& view, const preset::Diagnostic& diagnostic, Findings& findings) {
  const TermProblem t = term_problem(view, diagnostic.text);
  // The same word missing on several CPUs, or in several rows, is one cause.
  findings.add(t.rule, t.message, {diagnostic.place, diagnostic.preset, view.cpu, diagnostic.text}, t.message,
               t.suggestion);
}

void half(const preset::CpuView& view, const preset::Diagnostic& diagnostic, Findings& findings) {
  const TermProblem t = term_problem(view, diagnostic.text);
  findings.add_here("half-read", {diagnostic.place, diagnostic.preset, view.cpu, diagnostic.text},
                    fmt::format("{} is counted without its term {}: {}", diagnostic.preset,
                                visible(diagnostic.text), t.message),
                    t.suggestion);
}

void rejected_row(const preset::CpuView& view, const preset::Diagnostic& diagnostic, const char* what,
                  Findings& findings) {
  const bool dies = view.loaded.crashes && preset::standard_preset(diagnostic.preset);
  findings.add_here(dies ? "crash" : "ignored-row", {diagnostic.place, diagnostic.preset, view.cpu},
                    fmt::format("{}: {}", diagnostic.preset, what));
}

void one(const preset::CpuView& view, const preset::Diagnostic& diagnostic, Findings& findings) {
  const Findings::Where where{diagnostic.place, diagnostic.preset, view.cpu, diagnostic.text};
  switch (diagnostic.kind) {
  case preset::DiagnosticKind::no_type:
    return rejected_row(view, diagnostic, "the derived type is missing", findings);
  case preset::DiagnosticKind::unknown_type:
    return rejected_row(view, diagnostic, ("unknown derived type: " + visible(diagnostic.text)).c_str(),
                        findings);
  case preset::DiagnosticKind::no_formula:
    return rejected_row(view, diagnostic, "the formula is missing", findings);
  case preset::DiagnosticKind::no_terms:
    findings.add_here("ignored-row", where, diagnostic.preset + " has no terms");
    return;
  case preset::DiagnosticKind::no_room:
    findings.add_here("ignored-row", where, "PAPI's table of 128 presets is full");
    return;
  case preset::DiagnosticKind::unknown_term: return unknown(view, diagnostic, findings);
  case preset::DiagnosticKind::half_read: return half(view, diagnostic, findings);
  case preset::DiagnosticKind::refused_twice:
    findings.add_here(
        "refused-event", where,
        fmt::format("PAPI accepts {} here although libpfm4 rejects it", visible(diagnostic.text)));
    return;
  case preset::DiagnosticKind::dropped_terms:
    findings.add_here("dropped-terms", where,
                      fmt::format("{} is counted without {} and the terms after it: PAPI {} reads {}",
                                  diagnostic.preset, visible(diagnostic.text),
                                  view.version == PapiVersion::v7_0 ? "7.0" : "7.3",
                                  base::format_count(most_terms(view.version), "term")));
    return;
  case preset::DiagnosticKind::new_name:
    findings.add_here("unknown-preset", where,
                      fmt::format("{} is not one of PAPI's presets", visible(diagnostic.text)),
                      suggest_preset(diagnostic.text));
    return;
  case preset::DiagnosticKind::nested_unknown:
    findings.add_here(
        "empty-nested", where,
        fmt::format("{} uses {}, which is not defined above", diagnostic.preset, diagnostic.text),
        "define it first");
    return;
  case preset::DiagnosticKind::bad_infix:
    findings.add_here(view.loaded.crashes ? "crash" : "overrun", where,
                      view.loaded.crashes
                          ? fmt::format("{}: unmatched ) in {}", diagnostic.preset, diagnostic.text)
                          : diagnostic.preset + ": the formula exceeds PAPI's buffer of 2048 bytes");
    return;
  case preset::DiagnosticKind::undefined:
    findings.add_here("overrun", where, diagnostic.preset + ": " + diagnostic.text);
    return;
  case preset::DiagnosticKind::blank_field:
    findings.add_here("blank-field", where,
                      fmt::format("{} ends before {}", diagnostic.preset, visible(diagnostic.text)));
    return;
  case preset::DiagnosticKind::table_ended:
    // "cuda,NAME" and its like begin the table of a component, which is read apart: nothing of the CPU's is
    // lost.
    if (diagnostic.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos)
      return;
    findings.add_here("ends-table", where,
                      fmt::format("PAPI reads nothing after \"{}\"", visible(diagnostic.text)));
    return;
  default: return;
  }
}

/// The text after a note: cut off by a comma, or a term that should be counted.
void tail(const preset::CpuView& view, const preset::Diagnostic& diagnostic, Findings& findings) {
  const bool term =
      diagnostic.text.find(' ') == std::string::npos &&
      (preset::standard_preset(diagnostic.text) || (view.natives && view.natives->of(diagnostic.text).ok()));
  const Findings::Where where{diagnostic.place, diagnostic.preset, view.cpu, diagnostic.text};
  if (term)
    findings.add_here(
        "swallowed-term", where,
        fmt::format("{} is counted without {}, which follows a note", diagnostic.preset, diagnostic.text),
        "move the terms before NOTE");
  else
    findings.add_here(
        "cut-note", where,
        fmt::format("the note of {} ends before \"{}\"", diagnostic.preset, visible(diagnostic.text)));
}

/// Lines that PAPI 7.0 skips: one finding per unknown word, or one for a block of several words, as of pasted
/// text.
void unknown_lines(const std::vector<const preset::Line*>& lines, Findings& findings) {
  std::set<std::string> words;
  for (const preset::Line* const line : lines)
    words.insert(line->fields.front().text);
  for (const preset::Line* const line : lines) {
    const preset::Field& word = line->fields.front();
    if (words.size() == 1)
      findings.add("ignored-line", word.text, {word.place},
                   fmt::format("PAPI 7.0 does not know the keyword \"{}\"", visible(word.text)));
    else
      findings.add("ignored-line", std::to_string(lines.front()->number),
                   {word.place, {}, {}, "block of lines"},
                   fmt::format("{} lines from line {} to {} are no rows of a table", lines.size(),
                               lines.front()->number, lines.back()->number));
  }
}

} // namespace

void check_reading(const preset::CpuView& view, Findings& findings) {
  for (const preset::Diagnostic& diagnostic : view.diagnostics) {
    if (diagnostic.kind == preset::DiagnosticKind::note_tail)
      tail(view, diagnostic, findings);
    else
      one(view, diagnostic, findings);
  }
}

void check_components(const std::vector<preset::ComponentBlock>& blocks, Findings& findings) {
  for (const preset::ComponentBlock& block : blocks)
    for (const preset::Line& row : block.rows) {
      const std::string problem = preset::structure_problem(block, row);
      if (problem.empty()) continue;
      const std::string preset = row.fields.size() > 1 ? row.fields[1].text : "PRESET";
      findings.add_here(
          "component-row", {row.fields.front().place, preset, {}, problem},
          fmt::format("{}, of the component {}: {}", preset, block.component, visible(problem)));
    }
}

void check_text(const preset::Document& table, PapiVersion version, Findings& findings) {
  std::vector<const preset::Line*> ignored; // consecutive lines with unknown first words
  const auto flush = [&] {
    unknown_lines(ignored, findings);
    ignored.clear();
  };
  bool owned = false; // whether a CPU row came first
  if (table.ended_by_nul != 0)
    findings.add_here("nul-byte", {{table.ended_by_nul, 1}}, "the line starts with a NUL byte");
  for (const preset::Line& line : table.lines) {
    const Place place = line.fields.empty() ? Place{line.number, 1} : line.fields.front().place;
    const bool unknown =
        line.kind == preset::Kind::other && !preset::standard_preset(line.fields.front().text);
    if (unknown && version == PapiVersion::v7_0) ignored.push_back(&line);
    if (!unknown && line.kind != preset::Kind::blank && line.kind != preset::Kind::comment) flush();
    if (line.continued && line.kind != preset::Kind::comment)
      findings.add_here("long-line", {place}, "the line is longer than 2047 bytes");
    if (line.kind == preset::Kind::cpu) {
      owned = true;
      if (line.fields.size() < 2 || line.fields[1].text.empty())
        findings.add_here("ignored-line", {place}, "CPU without a name");
    } else if (line.kind == preset::Kind::preset) {
      if (!owned) findings.add_here("ignored-line", {place}, "a preset before the first CPU row");
      if (line.fields.size() < 2 || line.fields[1].text.empty())
        findings.add_here("ignored-line", {place}, "PRESET without a name");
    } else if (line.kind == preset::Kind::blank && line.fields.size() > 1) {
      findings.add_here("ignored-line", {place}, "the first field is blank, so the line is skipped");
    } else if (line.kind == preset::Kind::other && preset::standard_preset(line.fields.front().text)) {
      const std::string& preset = line.fields.front().text;
      findings.add_here("ignored-row", {place, preset},
                        fmt::format("the row of {} does not begin with PRESET", preset),
                        "PRESET," + preset + ",...");
    }
  }
  flush();
}

// Findings between the rows of a table: redefined rows and rows without effect.
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
