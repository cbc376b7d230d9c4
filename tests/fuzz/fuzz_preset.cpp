// libFuzzer: any bytes as a preset table, as a formula, and through algebra. Nothing may crash or hang.
#include "base/formula/algebra.hpp"
#include "base/formula/expression.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/view.hpp"

#include <recount/error.hpp>
#include <recount/preset.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace recount;

namespace {

/// What a CPU knows: one letter is an event, two are refused by libpfm4, the rest is unknown.
const NativeLookup known = [](const std::string& name) {
  return name.size() == 1 ? Known::yes : name.size() == 2 ? Known::refused : Known::no;
};

void formulas(const std::string& text) {
  std::vector<formula::Quotient> operands;
  for (formula::Variable v = 0; v < 8; ++v)
    operands.push_back(formula::variable(v));
  const std::vector<long long> counts = {0, 1, -1, 7, INT64_MAX, INT64_MIN, 3, 100};
  const auto converted = formula::infix_to_postfix(text);
  for (const std::string& one : {text, converted.postfix, formula::infix_to_postfix_left(text)}) {
    const auto rpn = formula::parse_rpn(one);
    Preset preset;
    preset.type = Derived::postfix;
    preset.postfix = one;
    (void)evaluate(preset, counts, 2000);
    (void)formula::to_infix(rpn, {"a", "b"});
    const auto means = formula::meaning(rpn, operands);
    if (!means) continue;
    if (const auto form = formula::linear(*means))
      if (formula::difference(*form, *form) != formula::Linear{}) std::abort();
    if (!formula::equal(*means, *means).value_or(true)) std::abort();
  }
}

void tables(const std::string& text) {
  const auto table = PresetTable::of(text);
  (void)preset::needed_version(table.document());
  for (const preset::ComponentBlock& block : preset::component_blocks(table.document()))
    (void)preset::select_component(table.document(), block.component);
  for (const PapiVersion version : {PapiVersion::v7_0, PapiVersion::v7_3}) {
    const auto loaded = table.load("cpu", 7, known, version, &table);
    for (const Preset& preset : loaded.presets) {
      if (preset.natives.empty()) std::abort(); // what PAPI calls available counts something
      (void)evaluate(preset, std::vector<long long>(preset.natives.size(), 3), 2000, version);
    }
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tables(text);
  if (size < 512) formulas(text);
  try {
    (void)preset::parse_identities(text, "fuzz");
  } catch (const Error&) {
  }
  return 0;
}
