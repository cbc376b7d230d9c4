#include "count/preset/preset_table.hpp"

#include "base/formula/expression.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/preset/standard.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <recount/preset.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace recount::preset {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Fields as strtok(",") gives them: runs of commas are one.
std::vector<Field> split(std::string_view text, int line, std::size_t offset) {
  std::vector<Field> fields;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && text[at] == ',')
      ++at;
    if (at == text.size()) return fields;
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    const std::string_view word = trim_blanks(whole);
    const auto column = offset + at + static_cast<std::size_t>(word.data() - whole.data()) + 1;
    fields.push_back({std::string(word), {line, static_cast<int>(column)}});
    at = end;
  }
}

Line parse_line(std::string_view text, int number, std::size_t offset) {
  Line line;
  line.number = number;
  line.continued = offset > 0;
  line.fields = split(text.substr(0, text.find('\0')), number, offset);
  if (line.fields.empty() || line.fields.front().text.empty()) return line;
  const std::string& word = line.fields.front().text;
  if (word.front() == '#') {
    line.kind = Kind::comment;
    line.comment = std::string(text.substr(text.find('#') + 1));
    line.fields.clear();
  } else if (same_word(word, "CPU")) {
    line.kind = Kind::cpu;
  } else if (same_word(word, "PRESET") || same_word(word, "EVENT")) {
    line.kind = Kind::preset;
  } else {
    line.kind = Kind::other;
  }
  return line;
}

} // namespace

bool same_word(std::string_view a, std::string_view b) noexcept {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim_blanks(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::string trim_note(std::string_view text) {
  text = trim_blanks(text);
  constexpr std::string_view marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", pairs = "()<>{}[]";
  if (text.empty() || marks.find(text.front()) == marks.npos) return std::string(text);
  const char ends[] = {text.front(), text.back()};
  // Each pair begins at an even position.
  const bool pair = ends[0] == ends[1] || pairs.find(std::string_view(ends, 2)) % 2 == 0;
  if (!pair) return std::string(text);
  return text.size() < 2 ? std::string{} : std::string(text.substr(1, text.size() - 2));
}

bool is_description(std::string_view word) noexcept {
  return same_word(word, "NOTE") || same_word(word, "LDESC") || same_word(word, "SDESC");
}

std::vector<std::string> row_terms(const Line& line, Derived type) {
  std::vector<std::string> terms;
  const bool has_formula = type == Derived::postfix || type == Derived::infix;
  for (std::size_t i = has_formula ? 4 : 3; i < line.fields.size(); ++i) {
    const std::string& term = line.fields[i].text;
    if (term.empty() || is_description(term)) break;
    terms.push_back(term);
  }
  return terms;
}

const Line* line_at(const Document& document, Place place) noexcept {
  const auto at = std::ranges::lower_bound(document.lines, place.line, {}, &Line::number);
  for (auto line = at; line != document.lines.end() && line->number == place.line; ++line)
    if (!line->fields.empty() && line->fields.front().place == place) return &*line;
  return nullptr;
}

const std::vector<std::size_t>& Document::rows_for(std::string_view cpu) const {
  return base::value_at(cpu_rows, base::lower_case(cpu));
}

namespace {

void add_line(Document& document, Line line) {
  if (line.kind == Kind::preset) document.presets.push_back(document.lines.size());
  if (line.kind == Kind::other) document.others.push_back(document.lines.size());
  if (line.kind == Kind::cpu && line.fields.size() > 1 && !line.fields[1].text.empty())
    document.cpu_rows[base::lower_case(line.fields[1].text)].push_back(document.lines.size());
  document.lines.push_back(std::move(line));
}

} // namespace

Document parse(std::string_view text) {
  Document document;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const bool newline = end < text.size();
    // A line that fills the buffer exactly leaves its newline for the next read, which then sees an empty
    // line.
    for (std::size_t at = 0; at == 0 || at < whole.size(); at += longest_line) {
      const std::string_view piece = whole.substr(at, longest_line);
      if (!piece.empty() && piece.front() == '\0') {
        document.ended_by_nul = number;
        return document;
      }
      add_line(document, parse_line(piece, number, at));
    }
    text.remove_prefix(end + (newline ? 1 : 0));
  }
  return document;
}

std::string_view mistyped_keyword(std::string_view word) {
  constexpr std::pair<std::string_view, std::size_t> keywords[] = {{"PRESET", 2}, {"EVENT", 2}, {"CPU", 1}};
  constexpr std::size_t longest = 8; // of a word with two edits
  if (word.size() > longest) return {};
  for (const auto& [keyword, edits] : keywords)
    if (base::edit_distance(word, keyword) <= edits) return keyword;
  return {};
}

bool names_component(const Line& line) {
  return line.kind == Kind::other && line.fields.size() == 2 && !line.fields[1].text.empty() &&
         mistyped_keyword(line.fields[0].text).empty() &&
         line.fields[0].text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

std::vector<ComponentBlock> component_blocks(const Document& document) {
  std::vector<ComponentBlock> blocks;
  bool open = false;
  for (const Line& line : document.lines) {
    if (names_component(line)) {
      if (!open || !blocks.back().rows.empty() || blocks.back().component != line.fields[0].text)
        blocks.push_back({line.fields[0].text, {}, line.fields[0].place, {}});
      blocks.back().devices.push_back(line.fields[1].text);
      open = true;
    } else if (line.kind == Kind::preset) {
      if (open) blocks.back().rows.push_back(line);
    } else if (line.kind != Kind::comment && line.kind != Kind::blank) {
      open = false;
    }
  }
  return blocks;
}

Document select_component(const Document& document, const std::string& component) {
  Document selected;
  for (Line line : document.lines) {
    if (line.kind == Kind::cpu) line.kind = Kind::other;
    if (names_component(line) && line.fields[0].text == component) {
      line.kind = Kind::cpu;
      line.fields[1].text = component + ":" + line.fields[1].text;
    }
    add_line(selected, std::move(line));
  }
  return selected;
}

std::optional<PapiVersion> parse_papi_version(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "7.0") return PapiVersion::v7_0;
  if (text == "7.3") return PapiVersion::v7_3;
  throw bad_input("--papi-version " + text, "unknown PAPI version",
                  "--papi-version 7.0 (also 7.1 and 7.2; 8 terms) or 7.3 (12 terms)");
}

NeededVersion needed_version(const Document& document) {
  for (const Line& line : document.lines)
    if (names_component(line))
      return {PapiVersion::v7_3, line.fields[0].place,
              fmt::format("presets of the component {}", line.fields[0].text)};
  return {};
}

namespace {

using Reported = DiagnosticKind;
constexpr std::size_t max_presets = 128, max_user_events = 50;
constexpr std::size_t code_room = 12; ///< PAPI_MAX_INFO_TERMS: size of the arrays, in 7.0 and after

/// An entry of PAPI's array of presets while a table is read, with what earlier rows left in it.
struct Slot {
  std::optional<std::string> symbol;  ///< none: the entry is free
  bool fixed = false;                 ///< a static name of PAPI: freeing it crashes the process
  Preset preset;                      ///< without name, formula and natives
  std::optional<std::string> postfix; ///< kept when the preset is redefined
  std::array<int, code_room + 1> code{};
  std::size_t count = 0;
};

/// Adds the native events of the preset `from` to `into` and rewrites its formula, as PAPI does for a term
/// that names a preset. `index` is the number of that term. PAPI's errors in this are reproduced; `undefined`
/// says where PAPI would write beyond its buffers.
void add_nested(Slot& into, const Slot& from, std::size_t index, PapiVersion version);

/// The state of PAPI between two rows.
class Reader {
public:
  explicit Reader(const Reading& reading)
      : r_(reading), most_(static_cast<std::size_t>(max_terms(reading.version))) {
    const auto standard_names = standard_presets(r_.component);
    const std::size_t known = r_.version == PapiVersion::v7_0 ? 108 : 110;
    for (const auto& standard : standard_names.first(std::min(known, standard_names.size()))) {
      Slot& slot = presets_.emplace_back();
      slot.symbol = std::string(standard.name);
      slot.fixed = true;
    }
    presets_.resize(max_presets);
    user_.resize(max_user_events);
  }

  void read(const Document& document, bool user);
  LoadedTable result() &&;

private:
  void read_block(const Document& document, std::size_t at, bool user, std::size_t& next);
  bool ended(const Document& document, std::size_t from, std::size_t to);
  void cpu_row(const Line& line);
  void preset_row(const Line& line, bool user);
  bool formula(const Line& line, Slot& slot);
  bool terms(const Line& line, std::size_t at, Slot& slot, bool user);
  bool term(const Field& field, Slot& slot, std::size_t index);
  bool native(const Field& field, Slot& slot);
  void describe(const Line& line, std::size_t at, Slot& slot);
  Slot* find_or_add(std::vector<Slot>& slots, const std::string& name);
  Slot* nested(const std::string& name);
  void reject(Slot& slot, Reported kind, const Field& field, const Line& line);
  void report(Reported kind, const Field& field, std::string preset, Place other = {}) {
    if (r_.on_diagnostic) r_.on_diagnostic({kind, field.place, std::move(preset), field.text, other});
  }

  Reading r_;
  std::size_t most_;
  std::vector<Slot> presets_, user_;
  std::size_t user_count_ = 0;
  std::map<std::string, int> codes_;   ///< of native events, from 1
  std::vector<std::string> spellings_; ///< the first one of each code
  std::set<std::string> refused_;      ///< libpfm4 rejected the name, but PAPI kept it in its table
  bool getting_ = false; ///< the rows that follow are of this CPU (get_presets in papi_preset.c)
  bool found_ = false;   ///< one of them was read: the next CPU row ends the block (found_presets)
  bool matched_ = false; ///< a CPU row named this CPU
  bool stopped_ = false; ///< PAPI has crashed, or reads no further
  LoadedTable out_;
};

bool has_field(const Line& line, std::size_t index) {
  return index < line.fields.size() && !line.fields[index].text.empty();
}

void Reader::read(const Document& document, bool user) {
  getting_ = found_ = matched_ = false;
  stopped_ = out_.crashes;
  std::size_t next = 0; // the lines before it are read
  for (const std::size_t row : document.rows_for(r_.cpu)) {
    if (row < next) continue;
    if (stopped_ || ended(document, next, row)) return;
    read_block(document, row, user, next);
  }
  if (!stopped_) (void)ended(document, next, document.lines.size());
}

/// The first line behind `at` that matters to a CPU without presets so far: not the CPU rows of others.
std::size_t next_row(const Document& document, std::string_view cpu, std::size_t at) {
  std::size_t next = document.lines.size();
  for (const auto* const lines : {&document.presets, &document.others, &document.rows_for(cpu)})
    if (const auto found = std::ranges::upper_bound(*lines, at); found != lines->end())
      next = std::min(next, *found);
  return next;
}

/// Reads the rows from a CPU row of this CPU up to the next CPU row that is not its own.
void Reader::read_block(const Document& document, std::size_t at, bool user, std::size_t& next) {
  for (; at < document.lines.size() && !stopped_; ++at) {
    const Line& line = document.lines[at];
    if (line.kind == Kind::cpu)
      cpu_row(line);
    else if (line.kind == Kind::preset && getting_)
      preset_row(line, user);
    else if (ended(document, at, at + 1))
      stopped_ = true;
    if (!getting_) break;
    if (line.kind == Kind::cpu && !found_) at = next_row(document, r_.cpu, at) - 1;
  }
  next = at + 1;
}

/// Whether a line from `from` on and before `to` ends the table for this CPU.
bool Reader::ended(const Document& document, std::size_t from, std::size_t to) {
  if (r_.version == PapiVersion::v7_0 || !matched_) return false;
  const auto at = std::ranges::lower_bound(document.others, from);
  if (at == document.others.end() || *at >= to) return false;
  const Line& line = document.lines[*at];
  const Field& word = line.fields.front();
  if (!names_component(line) && !same_word(word.text, "CPU")) report(Reported::table_ended, word, {});
  const auto& rows = document.rows_for(r_.cpu);
  for (auto row = std::ranges::upper_bound(rows, *at); row != rows.end(); ++row)
    report(Reported::lost_block, {word.text, document.lines[*row].fields.front().place}, {}, word.place);
  return true;
}

void Reader::cpu_row(const Line& line) {
  if (getting_ && found_) getting_ = found_ = false;
  if (!has_field(line, 1) || !same_word(line.fields[1].text, r_.cpu)) return;
  matched_ = true;
  if (!has_field(line, 2)) {
    getting_ = true;
    return;
  }
  int type = 0; // as PAPI reads it: what follows the number is ignored
  const std::string_view text = line.fields[2].text;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  if (std::from_chars(begin, text.data() + text.size(), type).ec == std::errc{} && type == r_.type)
    getting_ = true;
  else
    report(Reported::wrong_type, line.fields[2], {});
}

/// The slot of a name, or the first free one; null if all are taken.
Slot* Reader::find_or_add(std::vector<Slot>& slots, const std::string& name) {
  for (Slot& slot : slots) {
    if (!slot.symbol) slot.symbol = name;
    if (same_word(*slot.symbol, name)) return &slot;
  }
  return nullptr;
}

/// PAPI frees the name of a rejected row, which crashes the process for PAPI's own, static names.
void Reader::reject(Slot& slot, Reported kind, const Field& field, const Line& line) {
  report(kind, field, *slot.symbol);
  if (slot.fixed) {
    stopped_ = out_.crashes = true;
    out_.crash = "PAPI frees the name " + *slot.symbol + ", which it did not allocate";
    out_.crash_place = {line.number, line.fields.front().place.column};
  } else {
    slot.symbol.reset();
  }
}

void Reader::preset_row(const Line& line, bool user) {
  found_ = true;
  if (!has_field(line, 1)) return;
  const auto& f = line.fields;
  Slot* const found = find_or_add(user ? user_ : presets_, f[1].text);
  if (!found) return report(Reported::no_room, f[1], f[1].text);
  Slot& slot = *found;
  if (!slot.fixed && slot.count == 0 && !user) report(Reported::new_name, f[1], f[1].text);
  if (!has_field(line, 2)) return reject(slot, Reported::no_type, f[1], line);
  const auto type = derived_named(f[2].text);
  if (!type) return reject(slot, Reported::unknown_type, f[2], line);
  if (slot.count > 0) report(Reported::redefined, f[1], f[1].text, slot.preset.place);
  slot.preset.type = *type;
  slot.preset.place = f[0].place;
  slot.preset.half_read = false;
  slot.preset.undefined.clear();
  slot.preset.written.clear();
  const bool has_formula = *type == Derived::postfix || *type == Derived::infix;
  if (has_formula && !has_field(line, 3)) return reject(slot, Reported::no_formula, f[2], line);
  if (has_formula && !formula(line, slot)) return;
  if (terms(line, has_formula ? 4 : 3, slot, user) && user) ++user_count_;
}

/// Reads the formula of a row. False if PAPI crashes on it or overruns its buffer.
bool Reader::formula(const Line& line, Slot& slot) {
  const Field& field = line.fields[3];
  slot.preset.written = field.text;
  slot.postfix = field.text;
  if (slot.preset.type != Derived::infix) return true;
  auto conversion = formula::infix_to_postfix(field.text);
  slot.preset.type = Derived::postfix;
  slot.postfix = std::move(conversion.postfix);
  if (!conversion.crashes && !conversion.too_long) return true;
  report(Reported::bad_infix, field, line.fields[1].text);
  stopped_ = true;
  out_.crashes = conversion.crashes;
  out_.crash = "an unmatched ) makes PAPI underflow its stack";
  if (conversion.too_long) out_.undefined = "the formula exceeds PAPI's buffer of 2048 bytes";
  out_.crash_place = field.place;
  return false;
}

/// Reads the terms of a row. False if PAPI then drops the row.
bool Reader::terms(const Line& line, std::size_t at, Slot& slot, bool user) {
  slot.count = 0;
  std::size_t index = 0;
  bool ended = false;
  const auto& f = line.fields;
  const std::string name = *slot.symbol;
  const auto fail = [&](Reported kind, const Field& field) {
    report(kind, field, name);
    if (user) slot.symbol.reset();
    return false;
  };
  do {
    ended = !has_field(line, at) || is_description(f[at].text);
    if (ended) break;
    if (!term(f[at], slot, index)) {
      slot.preset.half_read = slot.count > 0;
      if (index < most_) slot.code[slot.count] = -1;
      return fail(slot.preset.half_read ? Reported::half_read : Reported::unknown_term, f[at]);
    }
    ++index;
    ++at;
  } while (slot.count < most_);
  if (index < most_) slot.code[slot.count] = -1;
  if (index == 0) return fail(Reported::no_terms, f.back());
  std::string& undefined = slot.preset.undefined;
  if (index >= most_ && slot.count < most_ && slot.code[slot.count] != -1)
    undefined = "the list of native events has no end mark";
  if (slot.count > most_) undefined = "more native events than PAPI can store";
  if (!undefined.empty()) report(Reported::undefined, {undefined, f[1].place}, name);
  // After the maximum number of terms, PAPI reads the next field as the name of a description, whatever it
  // is; after the maximum number of native events (of nested presets), it reads the last term as that.
  if (!ended && has_field(line, at) && !is_description(f[at].text))
    report(Reported::dropped_terms, f[at], name);
  describe(line, !ended && index != most_ ? at - 1 : at, slot);
  return true;
}

bool Reader::term(const Field& field, Slot& slot, std::size_t index) {
  Slot* const from = nested(field.text);
  if (!from) return native(field, slot);
  report(from->count > 0 ? Reported::nested : Reported::nested_unknown, field, *slot.symbol,
         from->preset.place);
  const std::size_t before = slot.count;
  std::string& undefined = slot.preset.undefined;
  add_nested(slot, *from, index, r_.version);
  if (!undefined.empty() && out_.undefined.empty()) out_.undefined = undefined;
  if (r_.version == PapiVersion::v7_0) return true;
  if (slot.count >= code_room) {
    out_.undefined = undefined = "PAPI writes beyond its list of native events";
    return true;
  }
  if (slot.code[before] <= 0) undefined = "a term without a native event";
  ++slot.count;
  return true;
}

Slot* Reader::nested(const std::string& name) {
  if (!r_.component.empty()) return nullptr; // PAPI searches those of CPUs, for a name with qualifiers
  const auto search = [&](std::span<Slot> slots) -> Slot* {
    for (Slot& slot : slots) {
      if (!slot.symbol) return nullptr;
      if (same_word(*slot.symbol, name)) return &slot;
    }
    return nullptr;
  };
  Slot* const found = search(presets_);
  return found ? found : search(std::span(user_).first(user_count_));
}

bool Reader::native(const Field& field, Slot& slot) {
  const std::size_t prefix = field.text.find(":::");
  const std::string bare = prefix == std::string::npos ? field.text : field.text.substr(prefix + 3);
  if (!refused_.contains(bare)) {
    const Known known = (*r_.known)(field.text);
    if (known == Known::refused) refused_.insert(bare);
    if (known != Known::yes) return false;
  } else {
    report(Reported::refused_twice, field, *slot.symbol);
  }
  const auto [at, fresh] = codes_.try_emplace(bare, static_cast<int>(spellings_.size()) + 1);
  if (fresh) spellings_.push_back(field.text);
  slot.code[slot.count++] = at->second;
  return true;
}

void Reader::describe(const Line& line, std::size_t at, Slot& slot) {
  const auto& f = line.fields;
  if (at + 1 < f.size() && f[at].text.empty())
    return report(Reported::blank_field, {f[at + 1].text, f[at].place}, *slot.symbol);
  for (; at + 1 < f.size(); at += 2) {
    const std::string value = trim_note(f[at + 1].text);
    if (value.empty()) return;
    if (same_word(f[at].text, "SDESC"))
      slot.preset.brief = value;
    else if (same_word(f[at].text, "LDESC"))
      slot.preset.text = value;
    else if (same_word(f[at].text, "NOTE"))
      slot.preset.note = value;
    if (at + 2 < f.size() && f[at + 2].text.empty()) return;
    if (at + 2 < f.size() && !is_description(f[at + 2].text))
      report(Reported::note_tail, f[at + 2], *slot.symbol);
  }
}

LoadedTable Reader::result() && {
  for (const auto* slots : {&presets_, &user_})
    for (const Slot& slot : *slots) {
      if (!slot.symbol || slot.count == 0) continue;
      Preset& preset = out_.presets.emplace_back(slot.preset);
      preset.name = *slot.symbol;
      preset.postfix = slot.postfix.value_or("");
      for (const int code : std::span(slot.code).first(std::min(slot.count, most_)))
        preset.natives.push_back({code > 0 ? spellings_[static_cast<std::size_t>(code) - 1] : "", code});
    }
  return std::move(out_);
}

} // namespace

LoadedTable load(const Document& table, const Reading& reading) {
  Reader reader(reading);
  reader.read(table, false);
  if (reading.user) reader.read(*reading.user, true);
  return std::move(reader).result();
}

// A preset as the term of a preset, with the rewriting of formulas in PAPI (papi_preset.c), including its
// errors: renumbering moves indices it has just set, a third term is lost, operands beyond the second are
// dropped.
namespace {

constexpr std::size_t append_buffer = 64; // PAPI_MIN_STR_LEN, terminator included

/// The index i of a token N<i>, ignoring what follows the digits; nothing for other tokens.
std::optional<long> native_index(std::string_view token) {
  if (token.size() < 2 || token[0] != 'N' || token[1] < '0' || token[1] > '9') return {};
  return static_cast<int>(std::strtol(std::string(token.substr(1)).c_str(), nullptr, 10));
}

std::string native_token(auto index) {
  return fmt::format("N{}|", index);
}

/// Replaces each token of a formula by replace(token, native_index(token)).
template <class Replace>
std::string rewritten(const std::string& formula, const Replace& replace) {
  std::string out;
  for (const auto token : base::split(formula, '|'))
    if (!token.empty()) out += replace(std::string(token) + "|", native_index(token));
  return out;
}

void report_overrun(Slot& into, const char* activity) {
  if (into.preset.undefined.empty())
    into.preset.undefined = std::string("PAPI writes beyond its buffer while it ") + activity;
}

/// Renames N<from> to N<to>, and closes the gap: every higher index moves down by one.
std::string renumber(const std::string& formula, std::size_t from, std::size_t to) {
  const auto first = static_cast<long>(from);
  return rewritten(formula, [&](const std::string& token, std::optional<long> index) {
    if (!index || *index < first) return token;
    return *index == first ? native_token(to) : native_token(*index - 1);
  });
}

/// For DERIVED_ADD and DERIVED_SUB: appends the formula of the nested preset.
void append(Slot& into, const Slot& from, char op) {
  const bool second = into.postfix.has_value();
  std::string formula = into.postfix.value_or("").substr(0, append_buffer - 1);
  switch (from.preset.type) {
  case Derived::postfix: {
    if (!from.postfix) return;
    std::string inner = *from.postfix;
    if (second)
      for (std::size_t i = from.count; i-- > 0;)
        inner = renumber(inner, i, into.count + i);
    formula += inner.substr(0, append_buffer - 1);
    break;
  }
  case Derived::add:
  case Derived::sub:
    formula += native_token(into.count) + native_token(into.count + 1) +
               (from.preset.type == Derived::add ? "+|" : "-|");
    break;
  case Derived::none: formula += native_token(into.count); break;
  default: return; // PAPI returns without an error
  }
  if (second) {
    formula += std::string(1, op) + "|";
    into.preset.type = Derived::postfix;
  }
  if (formula.size() >= append_buffer) return report_overrun(into, "appends a formula (64 bytes)");
  into.postfix = std::move(formula);
}

/// For DERIVED_POSTFIX: puts the formula of the nested preset in the place of N<replaces>.
void merge(Slot& into, const Slot& from, std::size_t replaces) {
  if (!into.postfix) return;
  std::string& original = *into.postfix;
  if (!from.postfix) {
    if (original.starts_with('|')) original.erase(0, 1);
    return;
  }
  const auto at = static_cast<long>(replaces), count = static_cast<long>(into.count);
  long events = 0;
  const auto insertion = rewritten(*from.postfix, [&](const std::string& token, std::optional<long> index) {
    events += index ? 1 : 0;
    return index ? native_token(*index + count) : token;
  });
  const auto moved = rewritten(original, [&](const std::string& token, std::optional<long> index) {
    return index && *index > at ? native_token(*index + events - 1) : token;
  });
  auto out = rewritten(moved, [&](const std::string& token, std::optional<long> index) {
    return index == at ? insertion : token;
  });
  if (insertion.size() >= from.postfix->size() + 20 || moved.size() >= original.size() + 20 ||
      out.size() >= original.size() + from.postfix->size() + 40)
    return report_overrun(into, "merges two formulas");
  original = std::move(out);
}

void add_nested(Slot& into, const Slot& from, std::size_t index, PapiVersion version) {
  if (into.preset.undefined.empty()) into.preset.undefined = from.preset.undefined;
  if (into.preset.type == Derived::postfix)
    merge(into, from, index);
  else if (into.preset.type == Derived::add || into.preset.type == Derived::sub)
    append(into, from, into.preset.type == Derived::add ? '+' : '-');
  std::size_t common = 0; // PAPI never resets this: after one common event, no further event is copied
  for (const int code : std::span(from.code).first(from.count)) {
    const auto own = std::span(into.code).first(into.count);
    const auto same = static_cast<std::size_t>(std::ranges::find(own, code) - own.begin());
    if (same < into.count) {
      if (into.postfix) {
        std::string out = renumber(*into.postfix, into.count + common, same);
        if (out.size() < into.postfix->size() + 20)
          into.postfix = std::move(out);
        else
          report_overrun(into, "renumbers a formula");
      }
      ++common;
    }
    if (common != 0) continue;
    if (into.count >= code_room) return report_overrun(into, "takes over native events");
    into.code[into.count] = code;
    if (version == PapiVersion::v7_0) ++into.count; // later releases count once for the whole term
  }
}

} // namespace
} // namespace recount::preset

namespace recount {
namespace {

constexpr std::string_view type_names[] = {"NOT_DERIVED",     "DERIVED_ADD",    "DERIVED_SUB",
                                           "DERIVED_PS",      "DERIVED_ADD_PS", "DERIVED_CMPD",
                                           "DERIVED_POSTFIX", "DERIVED_INFIX"};
constexpr auto name_a_table = "name a preset table such as /usr/share/papi/*/papi_events.csv";

} // namespace

std::string_view name_of(Derived type) noexcept {
  return type_names[static_cast<std::size_t>(type)];
}

std::optional<Derived> derived_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < std::size(type_names); ++i)
    if (preset::same_word(type_names[i], name)) return static_cast<Derived>(i);
  return {};
}

const Preset* LoadedTable::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find_if(
      presets, [&](const Preset& preset) { return preset::same_word(preset.name, name); });
  return at == presets.end() ? nullptr : &*at;
}

void preset::require_rows(const PresetTable& table) {
  const auto is_row = [](const Line& line) {
    return (line.kind == Kind::cpu && line.fields.size() > 1) ||
           (line.kind == Kind::preset && line.fields.size() > 2);
  };
  if (std::ranges::none_of(table.document().lines, is_row))
    throw bad_input(table.name(), "not a preset table: no CPU and PRESET rows", name_a_table);
}

PresetTable PresetTable::read(const std::string& path) {
  return of(base::require_file(path, name_a_table), path);
}

PresetTable PresetTable::of(std::string text, std::string name) {
  PresetTable table;
  table.name_ = std::move(name);
  table.document_ = std::make_shared<const preset::Document>(preset::parse(text));
  return table;
}

LoadedTable PresetTable::load(std::string_view cpu, int type, const NativeLookup& known, PapiVersion version,
                              const PresetTable* user) const {
  return preset::load(*document_, {cpu, type, &known, version, user ? user->document_.get() : nullptr, {}});
}

std::vector<std::string> PresetTable::cpus() const {
  std::vector<std::size_t> firsts;
  for (const auto& [name, rows] : document_->cpu_rows)
    firsts.push_back(rows.front());
  std::ranges::sort(firsts);
  return base::mapped(firsts, [&](std::size_t row) { return document_->lines[row].fields[1].text; });
}

} // namespace recount
