#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/lint/lint.hpp"
#include "count/preset/standard.hpp"

#include <fmt/ranges.h>

#include <algorithm>

// Findings about grammar and names, from the diagnostics of the reader.
namespace recount::lint {
namespace {

using Kind = preset::DiagnosticKind;

std::string suggest_preset(const std::string& name, const std::string& component) {
  const auto names = base::mapped(preset::standard_presets(component),
                                  [](const preset::StandardPreset& one) { return std::string(one.name); });
  return fmt::format("{}", fmt::join(base::nearest(name, names, 2), " or "));
}

std::string visible(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '\r' ? "<CR>" : std::string(1, c);
  return out;
}

/// Why a term is not an event of the CPU.
struct TermProblem {
  std::string rule, message, suggestion;
};

TermProblem term_problem(const preset::CpuView& view, const std::string& term) {
  const std::string shown = visible(term);
  if (term.ends_with('\r'))
    return {"carriage-return", fmt::format("{} ends with a CR", shown), "end lines with LF"};
  if (!view.component.empty())
    return {"component-row", fmt::format("{} is not an event of {}", shown, view.component), {}};
  if (!view.natives) return {"unknown-event", shown + " is not an event", {}};
  const preset::Native& native = view.natives->of(term);
  const auto candidates = view.natives->suggest(term);
  const std::string suggestion =
      !candidates.empty() && base::lower_case(candidates.front()) == base::lower_case(native.part)
          ? candidates.front() + ": PAPI compares the case of letters, libpfm4 does not"
          : fmt::format("{}", fmt::join(candidates, " or "));
  switch (native.status) {
  case preset::Native::Status::unknown_mask:
    return {"unknown-mask", visible(fmt::format("{} has no mask {}", native.event, native.part)), suggestion};
  case preset::Native::Status::refused:
    return {"refused-event", fmt::format("libpfm4 rejects {}: {}", shown, native.failure), {}};
  case preset::Native::Status::elsewhere:
    return {"wrong-pmu", fmt::format("{} belongs to {}, which presets cannot use", shown, native.part), {}};
  default: return {"unknown-event", visible(native.event) + " is not an event of this CPU", suggestion};
  }
}

/// Findings whose message needs nothing but the preset (0), the text (1), the release of PAPI (2) and its
/// number of terms (3).
struct SimpleRule {
  Kind kind;
  const char *rule, *message, *suggestion;
};
constexpr const char* rejected = ""; // the rule depends on whether PAPI crashes
constexpr SimpleRule simple_rules[] = {
    {Kind::no_type, rejected, "{0}: the derived type is missing", ""},
    {Kind::unknown_type, rejected, "{0}: unknown derived type: {1}", ""},
    {Kind::no_formula, rejected, "{0}: the formula is missing", ""},
    {Kind::no_terms, "ignored-row", "{0} has no terms", ""},
    {Kind::no_room, "ignored-row", "PAPI's table of 128 presets is full", ""},
    {Kind::refused_twice, "refused-event", "PAPI accepts {1} here although libpfm4 rejects it", ""},
    {Kind::dropped_terms, "dropped-terms",
     "{0} is counted without {1} and the terms after it: PAPI {2} reads {3} terms", ""},
    {Kind::nested_unknown, "empty-nested", "{0} uses {1}, which is not defined above", "define it first"},
    {Kind::undefined, "overrun", "{0}: {1}", ""},
    {Kind::blank_field, "blank-field", "{0} ends before {1}", ""},
    {Kind::table_ended, "ends-table", "PAPI reads nothing after \"{1}\"", ""}};

void check_diagnostic(const preset::CpuView& view, const preset::Diagnostic& diagnostic, Findings& findings) {
  const auto& [kind, place, preset, text, other] = diagnostic;
  Occurrence where{place, preset, view.cpu, text};
  const auto add = [&](std::string_view rule, std::string message, std::string suggestion = {}) {
    findings.add_here(rule, where, std::move(message), std::move(suggestion));
  };
  if (const auto* const simple = std::ranges::find(simple_rules, kind, &SimpleRule::kind);
      simple != std::end(simple_rules)) {
    std::string_view rule = simple->rule;
    if (rule == rejected) {
      where.cause.clear();
      rule = view.loaded.crashes && preset::standard_preset(preset, view.component) ? "crash" : "ignored-row";
    }
    return add(rule,
               fmt::format(fmt::runtime(simple->message), preset, visible(text),
                           view.version == PapiVersion::v7_0 ? "7.0" : "7.3", max_terms(view.version)),
               simple->suggestion);
  }
  switch (kind) {
  case Kind::unknown_term: {
    // The same word missing on several CPUs, or in several rows, is one cause.
    const TermProblem t = term_problem(view, text);
    findings.add(t.rule, t.message, where, t.message, t.suggestion);
    return;
  }
  case Kind::half_read: {
    const TermProblem t = term_problem(view, text);
    return add("half-read",
               fmt::format("{} is counted without its term {}: {}", preset, visible(text), t.message),
               t.suggestion);
  }
  case Kind::new_name:
    return add("unknown-preset", visible(text) + " is not one of PAPI's presets",
               suggest_preset(text, view.component));
  case Kind::bad_infix:
    if (view.loaded.crashes) return add("crash", fmt::format("{}: unmatched ) in {}", preset, text));
    return add("overrun", preset + ": the formula exceeds PAPI's buffer of 2048 bytes");
  case Kind::lost_block:
    where.cause.clear();
    findings.add("ends-table", fmt::format("lost below {}", other.line), where,
                 fmt::format("PAPI 7.3 does not read the rows of these CPUs below line {}, where it stops at "
                             "\"{}\": they have rows above it",
                             other.line, visible(text)),
                 fmt::format("move the rows above line {}", other.line));
    return;
  case Kind::note_tail: // cut off by a comma, or a term that should be counted
    if (text.find(' ') == std::string::npos &&
        (preset::standard_preset(text) || (view.natives && view.natives->of(text).ok())))
      return add("swallowed-term",
                 fmt::format("{} is counted without {}, which follows a note", preset, text),
                 "move the terms before NOTE");
    if (std::ranges::any_of(view.diagnostics, [&](const preset::Diagnostic& one) {
          return one.kind == Kind::dropped_terms && one.place.line == place.line;
        }))
      return; // one cause
    return add("cut-note", fmt::format("the note of {} ends before \"{}\"", preset, visible(text)));
  default: return;
  }
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
  for (const preset::Diagnostic& diagnostic : view.diagnostics)
    check_diagnostic(view, diagnostic, findings);
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
  const auto ignore = [&](Place place, const char* why) { findings.add_here("ignored-line", {place}, why); };
  for (const preset::Line& line : table.lines) {
    const auto& f = line.fields;
    const Place place = f.empty() ? Place{line.number, 1} : f.front().place;
    const bool nameless = f.size() < 2 || f[1].text.empty();
    const bool other = line.kind == preset::Kind::other;
    const bool mistyped = other && f.size() > 1 && !preset::mistyped_keyword(f.front().text).empty();
    const bool unknown = other && !mistyped && !preset::standard_preset(f.front().text) &&
                         f.front().text != "\r"; // an empty line of DOS
    if (unknown && version == PapiVersion::v7_0) ignored.push_back(&line);
    if (!unknown && line.kind != preset::Kind::blank && line.kind != preset::Kind::comment) flush();
    if (line.continued && line.kind != preset::Kind::comment)
      findings.add_here("long-line", {place}, "the line is longer than 2047 bytes");
    if (line.kind == preset::Kind::cpu) {
      owned = true;
      if (nameless)
        ignore(place, "CPU without a name");
      else if (f[1].text.ends_with('\r'))
        findings.add("carriage-return", "CPU names", {f[1].place},
                     "names of CPUs end with a CR: PAPI finds none of their rows", "end lines with LF");
    } else if (line.kind == preset::Kind::preset) {
      if (!owned) ignore(place, "a preset before the first CPU row");
      if (nameless) ignore(place, "PRESET without a name");
    } else if (line.kind == preset::Kind::blank && f.size() > 1) {
      ignore(place, "the first field is blank, so the line is skipped");
    } else if (mistyped) {
      const auto keyword = preset::mistyped_keyword(f.front().text);
      findings.add_here("ignored-row", {place, keyword == "CPU" ? std::string() : f[1].text},
                        fmt::format("the row of {} begins with \"{}\" instead of {}", visible(f[1].text),
                                    visible(f.front().text), keyword),
                        fmt::format("{},{},...", keyword, visible(f[1].text)));
    } else if (other && preset::standard_preset(f.front().text)) {
      const std::string& preset = f.front().text;
      findings.add_here("ignored-row", {place, preset},
                        fmt::format("the row of {} does not begin with PRESET", preset),
                        "PRESET," + preset + ",...");
    }
  }
  flush();
}

// Findings between the rows of a table: redefined rows and rows without effect.

std::map<int, int> blocks(const preset::Document& table) {
  std::map<int, int> block;
  int number = 0;
  bool in_rows = true;
  for (const preset::Line& line : table.lines) {
    if (line.kind == preset::Kind::cpu) {
      number += in_rows ? 1 : 0;
      in_rows = false;
    }
    in_rows = in_rows || line.kind == preset::Kind::preset;
    block[line.number] = number;
  }
  return block;
}

void check_rows(const preset::Document& table, const std::vector<preset::CpuView>& views,
                Findings& findings) {
  const auto block = blocks(table);
  std::set<int> alive;
  for (const preset::CpuView& view : views)
    for (const Preset& preset : view.loaded.presets)
      alive.insert(preset.place.line);
  for (const preset::CpuView& view : views)
    for (const auto& [kind, place, preset, text, other] : view.diagnostics) {
      if (kind != Kind::redefined || alive.contains(other.line)) continue;
      const bool same = block.at(other.line) == block.at(place.line);
      findings.add(same ? "redefined" : "dead-row", std::to_string(other.line), {other, preset, view.cpu},
                   fmt::format("{} is redefined {} line {}, which takes effect", preset,
                               same ? "in the same table, at" : "by", place.line));
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
