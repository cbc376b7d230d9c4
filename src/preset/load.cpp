#include "preset/load.hpp"

#include "formula/rpn.hpp"
#include "preset/slot.hpp"
#include "preset/standard.hpp"

#include <cstdio>
#include <set>

namespace recount::preset {
namespace {
using Reported = DiagnosticKind;
constexpr std::size_t most_presets = 128, most_user_events = 50;

/// The state of PAPI between two rows.
class Reader {
public:
  explicit Reader(const Reading& reading) : r_(reading), most_(most_terms(reading.version)) {
    for (const Standard& standard : standard_presets().first(r_.version == PapiVersion::v7_0 ? 108 : 110)) {
      Slot& slot = presets_.emplace_back();
      slot.symbol = std::string(standard.name);
      slot.fixed = true;
    }
    presets_.resize(most_presets);
    user_.resize(most_user_events);
  }

  void read(const Document& document, bool user);
  LoadedTable result() &&;

private:
  enum class Go { on, stop };
  Go cpu_row(const Line& line);
  Go preset_row(const Line& line, bool user);
  bool terms(const Line& line, std::size_t at, Slot& slot, bool user);
  bool term(const Field& field, Slot& slot, int index);
  bool native(const Field& field, Slot& slot);
  void describe(const Line& line, std::size_t at, Slot& slot);
  Slot* place_for(std::vector<Slot>& slots, const std::string& name);
  Slot* nested(const std::string& name);
  Go rejected_row(Slot& slot, Reported kind, const Field& field, const Line& line);
  void report(Reported kind, Place place, std::string preset, std::string text, Place other = {}) {
    if (r_.on_diagnostic) r_.on_diagnostic({kind, place, std::move(preset), std::move(text), other});
  }

  Reading r_;
  int most_;
  std::vector<Slot> presets_, user_;
  std::size_t user_count_ = 0;
  Codes codes_;
  std::set<std::string> refused_; // libpfm4 said no, but PAPI kept the name in its table
  bool getting_ = false, found_ = false, matched_ = false;
  LoadedTable out_;
};

void Reader::read(const Document& document, bool user) {
  getting_ = found_ = matched_ = false;
  if (out_.crashes) return;
  for (const Line& line : document.lines) {
    Go go = Go::on;
    if (line.kind == Kind::cpu) {
      go = cpu_row(line);
    } else if (line.kind == Kind::preset) {
      if (getting_) go = preset_row(line, user);
    } else if (line.kind == Kind::other && r_.version != PapiVersion::v7_0 && matched_) {
      report(Reported::table_ended, line.fields.front().place, {}, line.fields.front().text);
      return;
    }
    if (go == Go::stop) return;
  }
}

Reader::Go Reader::cpu_row(const Line& line) {
  if (getting_ && found_) getting_ = found_ = false;
  if (line.fields.size() < 2 || line.fields[1].text.empty()) return Go::on;
  if (!same_word(line.fields[1].text, r_.cpu)) return Go::on;
  matched_ = true;
  if (line.fields.size() < 3 || line.fields[2].text.empty()) {
    getting_ = true;
    return Go::on;
  }
  int type = 0;
  if (std::sscanf(line.fields[2].text.c_str(), "%d", &type) == 1 && type == r_.type)
    getting_ = true;
  else
    report(Reported::wrong_type, line.fields[2].place, {}, line.fields[2].text);
  return Go::on;
}

Slot* Reader::place_for(std::vector<Slot>& slots, const std::string& name) {
  for (Slot& slot : slots) {
    if (!slot.symbol) {
      slot.symbol = name;
      return &slot;
    }
    if (same_word(*slot.symbol, name)) return &slot;
  }
  return nullptr;
}

/// A rejected row: PAPI frees the name, which crashes the process for PAPI's own, static names.
Reader::Go Reader::rejected_row(Slot& slot, Reported kind, const Field& field, const Line& line) {
  report(kind, field.place, slot.symbol.value_or(""), field.text);
  if (slot.fixed) {
    out_.crashes = true;
    out_.crash = "PAPI frees the name " + slot.symbol.value_or("") + ", which it did not allocate";
    out_.crash_place = {line.number, line.fields.front().place.column};
    return Go::stop;
  }
  slot.symbol.reset();
  return Go::on;
}

Reader::Go Reader::preset_row(const Line& line, bool user) {
  found_ = true;
  const auto& f = line.fields;
  if (f.size() < 2 || f[1].text.empty()) return Go::on;
  Slot* const place = place_for(user ? user_ : presets_, f[1].text);
  if (!place) {
    report(Reported::no_room, f[1].place, f[1].text, f[1].text);
    return Go::on;
  }
  Slot& slot = *place;
  if (!slot.fixed && slot.count == 0 && !user) report(Reported::new_name, f[1].place, f[1].text, f[1].text);
  if (f.size() < 3 || f[2].text.empty()) return rejected_row(slot, Reported::no_type, f[1], line);
  const auto type = derived_named(f[2].text);
  if (!type) return rejected_row(slot, Reported::unknown_type, f[2], line);
  if (slot.count > 0) report(Reported::redefined, f[1].place, f[1].text, f[1].text, slot.place);
  slot.type = *type;
  slot.place = f[0].place;
  slot.half_read = false;
  slot.undefined.clear();
  slot.written.clear();
  std::size_t at = 3;
  if (*type == Derived::postfix || *type == Derived::infix) {
    if (f.size() < 4 || f[3].text.empty()) return rejected_row(slot, Reported::no_formula, f[2], line);
    slot.written = f[3].text;
    slot.postfix = f[3].text;
    if (*type == Derived::infix) {
      auto conversion = formula::infix_to_postfix(f[3].text);
      slot.type = Derived::postfix;
      slot.postfix = std::move(conversion.postfix);
      if (conversion.crashes || conversion.too_long) {
        report(Reported::bad_infix, f[3].place, f[1].text, f[3].text);
        out_.crashes = conversion.crashes;
        out_.crash = "an unmatched ) makes PAPI underflow its stack";
        if (conversion.too_long) out_.undefined = "the formula exceeds PAPI's buffer of 2048 bytes";
        out_.crash_place = f[3].place;
        return Go::stop;
      }
    }
    at = 4;
  }
  if (terms(line, at, slot, user) && user) ++user_count_;
  return Go::on;
}

/// The terms of a row; false when the row ends up undefined.
bool Reader::terms(const Line& line, std::size_t at, Slot& slot, bool user) {
  slot.count = 0;
  int index = 0;
  bool ended = false;
  const auto& f = line.fields;
  const std::string name = slot.symbol.value_or("");
  do {
    ended = at >= f.size() || f[at].text.empty() || is_description(f[at].text);
    if (ended) break;
    if (!term(f[at], slot, index)) {
      slot.half_read = slot.count > 0;
      report(slot.half_read ? Reported::half_read : Reported::unknown_term, f[at].place, name, f[at].text);
      if (index < most_) slot.code[static_cast<std::size_t>(slot.count)] = -1;
      if (user) slot.symbol.reset();
      return false;
    }
    ++index;
    ++at;
  } while (slot.count < most_);
  if (index < most_) slot.code[static_cast<std::size_t>(slot.count)] = -1;
  if (index == 0) {
    report(Reported::no_terms, f.back().place, name, f.back().text);
    if (user) slot.symbol.reset();
    return false;
  }
  if (index >= most_ && slot.count < most_ && slot.code[static_cast<std::size_t>(slot.count)] != -1)
    slot.undefined = "the list of native events has no end mark";
  if (slot.count > most_) slot.undefined = "more native events than PAPI can store";
  if (!slot.undefined.empty()) report(Reported::undefined, f[1].place, name, slot.undefined);
  // Stopped by the number of terms, PAPI takes the next field as the name of a description, whatever it is;
  // stopped by the number of natives that nested presets brought, it takes the last term for that.
  if (!ended && at < f.size() && !is_description(f[at].text) && !f[at].text.empty())
    report(Reported::dropped_terms, f[at].place, name, f[at].text);
  describe(line, !ended && index != most_ ? at - 1 : at, slot);
  return true;
}

bool Reader::term(const Field& field, Slot& slot, int index) {
  if (Slot* const from = nested(field.text)) {
    const std::string name = slot.symbol.value_or("");
    report(from->count > 0 ? Reported::nested : Reported::nested_unknown, field.place, name, field.text,
           from->place);
    const int before = slot.count;
    nest(slot, *from, index, r_.version);
    if (!slot.undefined.empty() && out_.undefined.empty()) out_.undefined = slot.undefined;
    if (r_.version == PapiVersion::v7_0) return true;
    if (slot.count >= code_room) {
      out_.undefined = slot.undefined = "PAPI writes beyond its list of native events";
      return true;
    }
    if (slot.code[static_cast<std::size_t>(before)] <= 0) slot.undefined = "a term without a native event";
    ++slot.count;
    return true;
  }
  return native(field, slot);
}

Slot* Reader::nested(const std::string& name) {
  const auto search = [&](std::vector<Slot>& slots, std::size_t size) -> Slot* {
    for (std::size_t i = 0; i < size && slots[i].symbol; ++i)
      if (same_word(*slots[i].symbol, name)) return &slots[i];
    return nullptr;
  };
  Slot* const found = search(presets_, presets_.size());
  return found ? found : search(user_, user_count_);
}

bool Reader::native(const Field& field, Slot& slot) {
  const std::size_t prefix = field.text.find(":::");
  const std::string bare = prefix == std::string::npos ? field.text : field.text.substr(prefix + 3);
  if (!refused_.contains(bare)) {
    const Known known = (*r_.known)(field.text);
    if (known == Known::refused) refused_.insert(bare);
    if (known != Known::yes) return false;
  } else {
    report(Reported::refused_twice, field.place, slot.symbol.value_or(""), field.text);
  }
  slot.code[static_cast<std::size_t>(slot.count)] = codes_.of(bare, field.text);
  ++slot.count;
  return true;
}

void Reader::describe(const Line& line, std::size_t at, Slot& slot) {
  const auto& f = line.fields;
  const std::string name = slot.symbol.value_or("");
  if (at < f.size() && f[at].text.empty()) {
    if (at + 1 < f.size()) report(Reported::blank_field, f[at].place, name, f[at + 1].text);
    return;
  }
  for (; at + 1 < f.size(); at += 2) {
    const std::string value = trim_note(f[at + 1].text);
    if (value.empty()) return;
    if (same_word(f[at].text, "SDESC"))
      slot.brief = value;
    else if (same_word(f[at].text, "LDESC"))
      slot.text = value;
    else if (same_word(f[at].text, "NOTE"))
      slot.note = value;
    if (at + 2 < f.size() && f[at + 2].text.empty()) return;
    if (at + 2 < f.size() && !is_description(f[at + 2].text))
      report(Reported::note_tail, f[at + 2].place, name, f[at + 2].text);
  }
}

Preset finished(const Slot& slot, int most, const Codes& codes) {
  Preset preset;
  preset.name = *slot.symbol;
  preset.type = slot.type;
  preset.written = slot.written;
  preset.postfix = slot.postfix.value_or("");
  for (int k = 0; k < slot.count && k < most; ++k) {
    const int code = slot.code[static_cast<std::size_t>(k)];
    preset.natives.push_back({codes.name(code), code});
  }
  preset.note = slot.note;
  preset.brief = slot.brief;
  preset.text = slot.text;
  preset.place = slot.place;
  preset.half_read = slot.half_read;
  preset.undefined = slot.undefined;
  return preset;
}

LoadedTable Reader::result() && {
  for (const auto* slots : {&presets_, &user_})
    for (const Slot& slot : *slots)
      if (slot.symbol && slot.count > 0) out_.presets.push_back(finished(slot, most_, codes_));
  return std::move(out_);
}

} // namespace

LoadedTable load(const Document& table, const Reading& reading) {
  Reader reader(reading);
  reader.read(table, false);
  if (reading.user) reader.read(*reading.user, true);
  return std::move(reader).result();
}

} // namespace recount::preset
