// Findings of the grammar and of names: what the reader met, in words.
#include "lint/lint.hpp"

#include "base/nearest.hpp"
#include "preset/standard.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace recount::preset {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words)
    text += (text.empty() ? "" : " or ") + word;
  return text;
}

std::string suggest_preset(const std::string& name) {
  std::vector<std::string> names;
  for (const Standard& standard : standard_presets())
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
struct Trouble {
  std::string rule, message, suggestion;
};

Trouble trouble(const CpuView& view, const std::string& term) {
  const std::string shown = visible(term);
  if (has_return(term))
    return {"carriage-return", fmt::format("{} ends with a CR", shown), "end lines with LF alone"};
  if (!view.natives) return {"unknown-event", shown + " is not an event", {}};
  const Native& native = view.natives->of(term);
  const std::string suggestion = joined(view.natives->suggest(term));
  switch (native.status) {
  case Native::Status::unknown_mask:
    return {"unknown-mask", fmt::format("{} has no mask {}", native.event, visible(native.part)), suggestion};
  case Native::Status::refused:
    return {"refused-event", fmt::format("libpfm4 refuses {}: {}", shown, native.failure), {}};
  case Native::Status::elsewhere:
    return {"wrong-pmu", fmt::format("{} belongs to {}, which presets cannot use", shown, native.part), {}};
  default:
    return {"unknown-event", fmt::format("{} is not an event of this CPU", visible(native.event)),
            suggestion};
  }
}

void unknown(const CpuView& view, const Met& met, Findings& findings) {
  const Trouble t = trouble(view, met.text);
  // The same word missing on several CPUs, or in several rows, is one cause.
  findings.add(t.rule, t.message, {met.place, met.preset, view.cpu}, t.message, t.suggestion);
}

void half(const CpuView& view, const Met& met, Findings& findings) {
  const Trouble t = trouble(view, met.text);
  findings.add_here(
      "half-read", {met.place, met.preset, view.cpu},
      fmt::format("{} counts without its term {}: {}", met.preset, visible(met.text), t.message),
      t.suggestion);
}

void spoiled(const CpuView& view, const Met& met, const char* what, Findings& findings) {
  const bool dies = view.loaded.crashes && standard_preset(met.preset);
  findings.add_here(dies ? "crash" : "ignored-row", {met.place, met.preset, view.cpu},
                    fmt::format("{}: {}", met.preset, what));
}

void one(const CpuView& view, const Met& met, Findings& findings) {
  const Findings::Where where{met.place, met.preset, view.cpu};
  switch (met.what) {
  case What::no_type: return spoiled(view, met, "no derived type follows the name", findings);
  case What::unknown_type:
    return spoiled(view, met, ("no such derived type: " + visible(met.text)).c_str(), findings);
  case What::no_formula: return spoiled(view, met, "no formula follows the derived type", findings);
  case What::no_terms: findings.add_here("ignored-row", where, met.preset + " has no terms"); return;
  case What::no_room: findings.add_here("ignored-row", where, "all 128 places for presets are taken"); return;
  case What::unknown_term: return unknown(view, met, findings);
  case What::half_read: return half(view, met, findings);
  case What::refused_twice:
    findings.add_here("refused-event", where,
                      fmt::format("PAPI accepts {} here although libpfm4 refuses it", visible(met.text)));
    return;
  case What::dropped_terms:
    findings.add_here("dropped-terms", where,
                      fmt::format("{} loses {} and what follows: PAPI {} takes {} terms", met.preset,
                                  visible(met.text), view.version == PapiVersion::v7_0 ? "7.0" : "7.3",
                                  most_terms(view.version)));
    return;
  case What::new_name:
    findings.add_here("unknown-preset", where,
                      fmt::format("{} is not one of PAPI's presets", visible(met.text)),
                      suggest_preset(met.text));
    return;
  case What::nested_unknown:
    findings.add_here("empty-nested", where,
                      fmt::format("{} uses {}, which has no definition above", met.preset, met.text),
                      "define it first");
    return;
  case What::bad_infix:
    findings.add_here(view.loaded.crashes ? "crash" : "overrun", where,
                      view.loaded.crashes
                          ? fmt::format("{}: a ) without its ( in {}", met.preset, met.text)
                          : met.preset + ": the formula outgrows PAPI's buffer of 2048 bytes");
    return;
  case What::undefined: findings.add_here("overrun", where, met.preset + ": " + met.text); return;
  case What::blank_field:
    findings.add_here("blank-field", where, fmt::format("{} ends before {}", met.preset, visible(met.text)));
    return;
  case What::table_ended:
    // "cuda,NAME" and its like begin the table of a component, which is read apart: nothing of the CPU's is
    // lost.
    if (met.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos) return;
    findings.add_here("ends-table", where, fmt::format("PAPI reads nothing after \"{}\"", visible(met.text)));
    return;
  default: return;
  }
}

/// What stands after a note: text that a comma cut off, or a term that was meant to count.
void tail(const CpuView& view, const Met& met, Findings& findings) {
  const bool term = met.text.find(' ') == std::string::npos &&
                    (standard_preset(met.text) || (view.natives && view.natives->of(met.text).ok()));
  const Findings::Where where{met.place, met.preset, view.cpu};
  if (term)
    findings.add_here("swallowed-term", where,
                      fmt::format("{} counts without {}, which stands after a note", met.preset, met.text),
                      "put the terms before NOTE");
  else
    findings.add_here("cut-note", where,
                      fmt::format("the note of {} ends before \"{}\"", met.preset, visible(met.text)));
}

} // namespace

void check_reading(const CpuView& view, Findings& findings) {
  for (const Met& met : view.met) {
    if (met.what == What::note_tail)
      tail(view, met, findings);
    else
      one(view, met, findings);
  }
}

void check_text(const Document& table, PapiVersion version, Findings& findings) {
  bool owned = false; // whether a CPU row came first
  if (table.ended_by_nul != 0)
    findings.add_here("nul-byte", {{table.ended_by_nul, 1}}, "the line starts with a NUL byte");
  for (const Line& line : table.lines) {
    const Place place = line.fields.empty() ? Place{line.number, 1} : line.fields.front().place;
    if (line.continued && line.kind != Kind::comment)
      findings.add_here("long-line", {place}, "the line is longer than 2047 bytes");
    if (line.kind == Kind::cpu) {
      owned = true;
      if (line.fields.size() < 2 || line.fields[1].text.empty())
        findings.add_here("ignored-line", {place}, "CPU without a name");
    } else if (line.kind == Kind::preset) {
      if (!owned) findings.add_here("ignored-line", {place}, "a preset before the first CPU row");
      if (line.fields.size() < 2 || line.fields[1].text.empty())
        findings.add_here("ignored-line", {place}, "PRESET without a name");
    } else if (line.kind == Kind::blank && line.fields.size() > 1) {
      findings.add_here("ignored-line", {place}, "a first field of blanks hides the line");
    } else if (line.kind == Kind::other && version == PapiVersion::v7_0) {
      const std::string& word = line.fields.front().text;
      findings.add("ignored-line", word, {place},
                   fmt::format("PAPI 7.0 does not know the word \"{}\"", visible(word)));
    }
  }
}

} // namespace recount::preset
