// A preset as the term of a preset, with the formula surgery of PAPI (papi_preset.c), including its errors:
// renumbering moves indices it has just set, a third term is lost, operands beyond the second are dropped.
#include "preset/slot.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace recount::preset {
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
