#include "preset/load.hpp"

#include "base/text.hpp"
#include "formula/expression.hpp"
#include "preset/standard.hpp"

#include <recount/error.hpp>
#include <recount/preset.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// One entry of PAPI's array of presets while a table is being read, with the state that remains in it.
namespace recount::preset {

inline constexpr int code_room = 12; ///< PAPI_MAX_INFO_TERMS: what the arrays hold, in 7.0 and after

struct Slot {
  std::optional<std::string> symbol;
  bool fixed = false; ///< a name of PAPI itself: freeing it crashes the process
  Derived type = Derived::none;
  std::string written;
  std::optional<std::string> postfix; ///< kept when the preset is redefined
  std::array<int, code_room + 1> code{};
  int count = 0;
  std::string note, brief, text;
  Place place;
  bool half_read = false;
  std::string undefined;
};

/// Gives each spelling of a native event its code, from 1.
class Codes {
public:
  int of(const std::string& bare, const std::string& spelling) {
    const auto [at, fresh] = codes_.try_emplace(bare, static_cast<int>(names_.size()) + 1);
    if (fresh) names_.push_back(spelling);
    return at->second;
  }
  /// The first spelling; empty for what is no code.
  [[nodiscard]] std::string name(int code) const {
    return code > 0 ? names_.at(static_cast<std::size_t>(code) - 1) : std::string{};
  }

private:
  std::map<std::string, int> codes_;
  std::vector<std::string> names_;
};

/// Puts the natives of the preset `from` into `into`, and reworks its formula, as PAPI does for a term that
/// names a preset. `index` is the number of that term. PAPI's own reworking goes wrong in many cases; this
/// reproduces these errors, and reports in `into.undefined` where PAPI would write beyond its buffers.
void nest(Slot& into, const Slot& from, int index, PapiVersion version);

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
  int type = 0; // as PAPI reads it: what follows the number is ignored
  const std::string_view text = line.fields[2].text;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  if (std::from_chars(begin, text.data() + text.size(), type).ec == std::errc{} && type == r_.type)
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

// A preset as the term of a preset, with the formula surgery of PAPI (papi_preset.c), including its errors:
// renumbering moves indices it has just set, a third term is lost, operands beyond the second are dropped.
namespace {

constexpr std::size_t append_buffer = 64; // PAPI_MIN_STR_LEN, terminator included

std::vector<std::string> tokens(const std::string& formula) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < formula.size();) {
    const std::size_t end = std::min(formula.find('|', at), formula.size());
    if (end > at) out.push_back(formula.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// The number of a token N<i>; what follows the digits does not count.
std::optional<int> native_of(const std::string& token) {
  if (token.size() < 2 || token[0] != 'N' || token[1] < '0' || token[1] > '9') return {};
  return static_cast<int>(static_cast<unsigned long>(std::strtol(token.c_str() + 1, nullptr, 10)));
}

std::string native(int index) {
  return "N" + std::to_string(index);
}

void overrun(Slot& into, const char* which) {
  if (into.undefined.empty()) into.undefined = std::string("PAPI writes beyond its buffer while it ") + which;
}

/// Renames N<from> to N<to>, and closes the gap: every higher index moves down by one.
std::string renumber(const std::string& formula, int from, int to) {
  std::string out;
  for (const std::string& token : tokens(formula)) {
    const auto index = native_of(token);
    if (!index || *index < from)
      out += token;
    else
      out += *index == from ? native(to) : native(static_cast<int>(static_cast<unsigned>(*index) - 1U));
    out += '|';
  }
  return out;
}

void renumber(Slot& into, int from, int to) {
  if (!into.postfix) return;
  std::string out = renumber(*into.postfix, from, to);
  if (out.size() >= into.postfix->size() + 20) return overrun(into, "renumbers a formula");
  into.postfix = std::move(out);
}

/// For DERIVED_ADD and DERIVED_SUB: appends the formula of the nested preset.
void append(Slot& into, const Slot& from, char op) {
  const bool second = into.postfix.has_value();
  std::string formula = into.postfix.value_or("").substr(0, append_buffer - 1);
  const auto pair = [&](char how) {
    formula += native(into.count) + "|" + native(into.count + 1) + "|" + how + "|";
  };
  switch (from.type) {
  case Derived::postfix: {
    if (!from.postfix) return;
    std::string inner = *from.postfix;
    if (second)
      for (int i = from.count - 1; i >= 0; --i)
        inner = renumber(inner, i, into.count + i);
    formula += inner.substr(0, append_buffer - 1);
    break;
  }
  case Derived::add: pair('+'); break;
  case Derived::sub: pair('-'); break;
  case Derived::none: formula += native(into.count) + "|"; break;
  default: return; // PAPI returns without an error
  }
  if (second) {
    formula += std::string(1, op) + "|";
    into.type = Derived::postfix;
  }
  if (formula.size() >= append_buffer) return overrun(into, "appends a formula (64 bytes)");
  into.postfix = std::move(formula);
}

/// For DERIVED_POSTFIX: puts the formula of the nested preset in the place of N<replaces>.
void merge(Slot& into, const Slot& from, int replaces) {
  if (!into.postfix) return;
  std::string& original = *into.postfix;
  if (!from.postfix) {
    if (!original.empty() && original.front() == '|') original.erase(0, 1);
    return;
  }
  const std::size_t available = original.size() + from.postfix->size() + 40;
  std::string insertion;
  int events = 0;
  for (const std::string& token : tokens(*from.postfix)) {
    const auto index = native_of(token);
    events += index ? 1 : 0;
    insertion +=
        (index ? native(static_cast<int>(static_cast<unsigned>(*index) + static_cast<unsigned>(into.count)))
               : token) +
        "|";
  }
  std::string moved;
  std::string out;
  for (const std::string& token : tokens(original)) {
    const auto index = native_of(token);
    const std::string now =
        index && *index > replaces
            ? native(static_cast<int>(static_cast<unsigned>(*index) + static_cast<unsigned>(events) - 1U))
            : token;
    moved += now + "|";
  }
  for (const std::string& token : tokens(moved))
    out += native_of(token) == replaces ? insertion : token + "|";
  if (insertion.size() >= from.postfix->size() + 20 || moved.size() >= original.size() + 20 ||
      out.size() >= available)
    return overrun(into, "merges two formulas");
  original = std::move(out);
}

} // namespace

void nest(Slot& into, const Slot& from, int index, PapiVersion version) {
  if (into.undefined.empty() && !from.undefined.empty()) into.undefined = from.undefined;
  if (into.type == Derived::postfix)
    merge(into, from, index);
  else if (into.type == Derived::add)
    append(into, from, '+');
  else if (into.type == Derived::sub)
    append(into, from, '-');
  int found = 0;
  for (int k = 0; k < from.count; ++k) {
    const auto at = static_cast<std::size_t>(k);
    const int code = from.code[at];
    int same = 0;
    while (same < into.count && into.code[static_cast<std::size_t>(same)] != code)
      ++same;
    if (same < into.count) {
      renumber(into, into.count + found, same);
      ++found; // PAPI never resets this: after one common event, no further event is copied
    }
    if (found != 0) continue;
    if (into.count >= code_room) return overrun(into, "takes over native events");
    const auto here = static_cast<std::size_t>(into.count);
    into.code[here] = code;
    if (version == PapiVersion::v7_0) ++into.count; // later releases count once for the whole term
  }
}

} // namespace recount::preset

namespace recount {
namespace {
constexpr std::string_view type_names[] = {"NOT_DERIVED",     "DERIVED_ADD",    "DERIVED_SUB",
                                           "DERIVED_PS",      "DERIVED_ADD_PS", "DERIVED_CMPD",
                                           "DERIVED_POSTFIX", "DERIVED_INFIX"};
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

namespace {

constexpr auto name_a_table = "name a preset table such as /usr/share/papi/*/papi_events.csv";

} // namespace

std::string preset::read_file(const std::string& path, const std::string& remedy) {
  if (auto text = base::read_file(path)) return *std::move(text);
  throw bad_input(path, std::string("cannot be read: ") + std::strerror(errno), remedy);
}

void preset::demand_rows(const PresetTable& table) {
  const auto is_row = [](const Line& line) {
    return (line.kind == Kind::cpu && line.fields.size() > 1) ||
           (line.kind == Kind::preset && line.fields.size() > 2);
  };
  if (std::ranges::none_of(table.document().lines, is_row))
    throw bad_input(table.name(), "not a preset table: no CPU and PRESET rows", name_a_table);
}

PresetTable PresetTable::read(const std::string& path) {
  return of(preset::read_file(path, name_a_table), path);
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
  std::vector<std::string> names;
  for (const preset::Line& line : document_->lines) {
    if (line.kind != preset::Kind::cpu || line.fields.size() < 2 || line.fields[1].text.empty()) continue;
    const auto same = [&](const std::string& name) { return preset::same_word(name, line.fields[1].text); };
    if (std::ranges::none_of(names, same)) names.push_back(line.fields[1].text);
  }
  return names;
}

// The value of a preset from the counts of its natives.
namespace {

using Counts = std::vector<long long>;

// PAPI adds signed numbers without overflow checks; they wrap, as on every CPU that it runs on.
long long add(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
long long subtract(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
long long multiply(long long a, long long b) {
  return static_cast<long long>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

PresetValue ending(PresetValue::Ending how, std::string why) {
  PresetValue value;
  value.ending = how;
  value.why = std::move(why);
  return value;
}

PresetValue plain(long long n) {
  PresetValue value;
  value.value = n;
  return value;
}

/// units * max_mhz * 10^6 / cycles in whole numbers.
PresetValue per_second(long long units, long long cycles, int max_mhz) {
  const long long over = multiply(multiply(units, max_mhz), 1000000);
  if (cycles == 0 || (cycles == -1 && over == INT64_MIN)) {
#if defined(__aarch64__)
    PresetValue value = plain(cycles == 0 ? 0 : over); // this CPU divides without a trap
    value.divided_by_zero = cycles == 0;
    return value;
#else
    PresetValue value = ending(PresetValue::Ending::dies, "an integer division by zero cycles (SIGFPE)");
    value.divided_by_zero = true;
    return value;
#endif
  }
  return plain(over / cycles);
}

PresetValue postfix(const Preset& preset, const Counts& counts, int max_mhz, int slots) {
  auto outcome = formula::evaluate(formula::parse_rpn(preset.postfix), counts, {slots, max_mhz});
  PresetValue value;
  value.ending = static_cast<PresetValue::Ending>(outcome.ending);
  value.value = outcome.value;
  value.divided_by_zero = outcome.divided_by_zero;
  value.out_of_range = outcome.out_of_range;
  value.unreadable = outcome.unreadable;
  value.why = std::move(outcome.why);
  return value;
}

} // namespace

PresetValue evaluate(const Preset& preset, const std::vector<long long>& counts, int max_mhz,
                     PapiVersion version) {
  using enum PresetValue::Ending;
  const auto slots = static_cast<std::size_t>(most_terms(version));
  if (!preset.undefined.empty()) return ending(undefined, preset.undefined);
  if (counts.empty()) return ending(undefined, "no native events");
  long long total = 0;
  switch (preset.type) {
  case Derived::add:
    for (const long long n : counts)
      total = add(total, n);
    return plain(total);
  case Derived::sub:
    total = counts.front();
    for (std::size_t i = 1; i < counts.size(); ++i)
      total = subtract(total, counts[i]);
    return plain(total);
  case Derived::ps:
    if (counts.size() < 2) return ending(undefined, "DERIVED_PS has no second term");
    return per_second(counts[1], counts[0], max_mhz);
  case Derived::add_ps:
    if (counts.size() >= slots) return ending(undefined, "DERIVED_ADD_PS reads beyond its terms");
    for (std::size_t i = 1; i < counts.size(); ++i)
      total = add(total, counts[i]);
    return per_second(total, counts[0], max_mhz);
  case Derived::postfix:
  case Derived::infix: return postfix(preset, counts, max_mhz, static_cast<int>(slots));
  default: return plain(counts.front());
  }
}

} // namespace recount
