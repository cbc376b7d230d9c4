#include "preset/written.hpp"

#include "formula/expression.hpp"
#include "preset/standard.hpp"
#include "preset/view.hpp"

#include <algorithm>

namespace recount::preset {
namespace {

constexpr int deepest_nesting = 8;

/// Builds a Written from a row and from the presets that it names.
class Transcript {
public:
  Transcript(const LoadedTable& loaded, const Document& table, const Document* user)
      : loaded_(loaded), table_(table), user_(user) {}

  Written of(const Preset& preset, int depth) const {
    Written out;
    out.name = preset.name;
    const Line* const line = row(preset);
    const auto type = line && line->fields.size() > 2 ? derived_named(line->fields[2].text) : std::nullopt;
    if (!type) {
      out.problem = "its row was not found";
      return out;
    }
    out.type = *type == Derived::infix ? Derived::postfix : *type;
    if (*type == Derived::infix) out.postfix = formula::infix_to_postfix_left(preset.written);
    if (*type == Derived::postfix) out.postfix = preset.written;
    const bool has_formula = out.type == Derived::postfix;
    for (std::size_t i = has_formula ? 4 : 3; i < line->fields.size(); ++i) {
      const std::string& term = line->fields[i].text;
      if (term.empty() || is_description(term)) break;
      out.operands.push_back(operand(term, depth, out.problem));
    }
    return out;
  }

private:
  const Line* row(const Preset& preset) const {
    for (const Document* document : {&table_, user_}) {
      const Line* const line = document ? line_at(*document, preset.place) : nullptr;
      if (line && line->fields.size() > 1 && same_word(line->fields[1].text, preset.name)) return line;
    }
    return nullptr;
  }
  Written::Operand operand(const std::string& term, int depth, std::string& problem) const {
    const Preset* const inner = loaded_.find(term);
    if (!inner && !standard_preset(term)) return {term, nullptr};
    if (!inner || depth >= deepest_nesting) {
      problem = inner ? "its presets refer to each other" : "its term " + term + " is an undefined preset";
      return {term, nullptr};
    }
    auto made = std::make_shared<const Written>(of(*inner, depth + 1));
    if (problem.empty()) problem = made->problem;
    return {{}, std::move(made)};
  }

  const LoadedTable& loaded_;
  const Document& table_;
  const Document* user_;
};

void gather(const Written& written, std::vector<std::string>& names) {
  for (const Written::Operand& operand : written.operands) {
    if (operand.preset)
      gather(*operand.preset, names);
    else if (std::ranges::find(names, operand.native) == names.end())
      names.push_back(operand.native);
  }
}

/// As a polynomial in which each occurrence of a native event is a separate variable.
std::optional<formula::Quotient> meaning_of(const Written& written, int& next) {
  std::vector<formula::Quotient> operands;
  for (const Written::Operand& operand : written.operands) {
    const auto means = operand.preset ? meaning_of(*operand.preset, next) : formula::variable(next++);
    if (!means) return {};
    operands.push_back(*means);
  }
  return meaning(written.type, written.postfix, operands);
}

PresetValue no_value(std::string why) {
  PresetValue value;
  value.ending = PresetValue::Ending::dies;
  value.why = std::move(why);
  return value;
}

} // namespace

Written written(const Preset& preset, const LoadedTable& loaded, const Document& table,
                const Document* user) {
  return Transcript(loaded, table, user).of(preset, 0);
}

std::vector<std::string> natives(const Written& written) {
  std::vector<std::string> names;
  gather(written, names);
  return names;
}

bool linear(const Written& written) {
  int next = 0;
  const auto means = meaning_of(written, next);
  if (!means) return false;
  const auto& [over, under] = *means;
  const bool undivided = under.size() == 1 && under.begin()->first.empty();
  return undivided && std::ranges::all_of(over, [](const auto& term) {
           const formula::Monomial& powers = term.first;
           return powers.size() == 1 && powers[0].second == 1 && powers[0].first != formula::clock_variable;
         });
}

PresetValue evaluate(const Written& written, const std::function<long long(const std::string& native)>& count,
                     int max_mhz) {
  if (!written.problem.empty()) return no_value(written.problem);
  std::vector<long long> counts;
  for (const Written::Operand& operand : written.operands) {
    if (!operand.preset) {
      counts.push_back(count(operand.native));
      continue;
    }
    PresetValue inner = evaluate(*operand.preset, count, max_mhz);
    if (inner.ending != PresetValue::Ending::value) return inner;
    counts.push_back(inner.value);
  }
  Preset plain;
  plain.type = written.type;
  plain.postfix = written.postfix;
  PresetValue value = recount::evaluate(plain, counts, max_mhz, PapiVersion::v7_3); // with the larger stack
  if (value.divided_by_zero) return no_value("division by a count of 0");
  if (value.out_of_range) return no_value("the value exceeds 64 bits");
  if (value.unreadable) return no_value("a character of its formula " + written.postfix + " is not valid");
  if (value.ending != PresetValue::Ending::value) return no_value(value.why);
  return value;
}

} // namespace recount::preset
