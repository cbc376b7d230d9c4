#include "count/preset/view.hpp"

#include "base/text.hpp"
#include <algorithm>

namespace recount::preset {
namespace {

using formula::Op;
using formula::Quotient;

bool starts(std::string_view text, std::initializer_list<std::string_view> any) {
  return std::ranges::any_of(any, [&](std::string_view with) {
    return text.size() >= with.size() && same_word(text.substr(0, with.size()), with);
  });
}

CpuKind find_kind(const std::string& cpu, const event::pfm::Table* core) {
  if (starts(cpu,
             {"arm", "riscv", "power", "ppc", "bgp", "bgq", "mips", "ultra", "niagara", "cell", "sicortex"}))
    return CpuKind::load_store;
  if (core && (starts(core->prose, {"Intel", "AMD"}) || starts(core->name, {"amd64"}))) return CpuKind::cisc;
  return starts(cpu, {"amd64", "intel", "pentium", "atom"}) ? CpuKind::cisc : CpuKind::any;
}

void name_variables(CpuView& v) {
  const std::string own = v.cpu + "::"; // the same for all events of the CPU
  for (const Preset& preset : v.loaded.presets)
    for (const PresetNative& native : preset.natives) {
      if (native.code <= 0 || v.by_code.contains(native.code)) continue;
      const Native code = v.natives ? v.natives->of(native.name) : Native{};
      std::size_t at = 0; // two spellings of one encoding are one variable
      while (at < v.codes.size() && !(code.ok() && v.codes[at].ok() && v.codes[at].same_as(code)))
        ++at;
      if (at == v.codes.size()) {
        v.codes.push_back(code);
        v.names.push_back(native.name.substr(native.name.starts_with(own) ? own.size() : 0));
      }
      v.by_code.emplace(native.code, static_cast<formula::Variable>(at));
    }
}

} // namespace

std::vector<formula::Variable> CpuView::variables(const Preset& preset) const {
  std::vector<formula::Variable> out;
  for (const PresetNative& native : preset.natives) {
    const auto at = by_code.find(native.code);
    if (at != by_code.end()) out.push_back(at->second);
  }
  return out;
}

std::string CpuView::written(const Preset& preset, formula::Variable variable) const {
  std::string least; // of several spellings: it does not depend on their order
  for (const PresetNative& native : preset.natives)
    if (const auto at = by_code.find(native.code); at != by_code.end() && at->second == variable)
      least = least.empty() ? native.name : std::min(least, native.name);
  return least;
}

std::optional<Quotient> CpuView::sum(const std::vector<std::string>& presets) const {
  std::optional<Quotient> total = formula::number(0);
  for (const std::string& name : presets) {
    const auto at = meanings.find(name);
    if (at == meanings.end() || !total) return {};
    total = formula::combine(*total, at->second, Op::add);
  }
  return total;
}

std::optional<Quotient> meaning(Derived type, const std::string& postfix,
                                const std::vector<Quotient>& operands) {
  const auto chain = [&](std::size_t from, Op op) {
    std::optional<Quotient> total = from < operands.size() ? operands[from] : formula::number(0);
    for (std::size_t i = from + 1; i < operands.size() && total; ++i)
      total = formula::combine(*total, operands[i], op);
    return total;
  };
  const auto per_second = [&](const std::optional<Quotient>& units) -> std::optional<Quotient> {
    if (!units) return {};
    const auto scaled = formula::combine(*units, formula::variable(formula::clock_variable), Op::mul);
    return scaled ? formula::combine(*scaled, operands[0], Op::div) : std::nullopt;
  };
  if (operands.empty()) return {};
  switch (type) {
  case Derived::add: return chain(0, Op::add);
  case Derived::sub: return chain(0, Op::sub);
  case Derived::ps: return operands.size() < 2 ? std::nullopt : per_second(operands[1]);
  case Derived::add_ps: return per_second(chain(1, Op::add));
  case Derived::postfix:
  case Derived::infix: return formula::meaning(formula::parse_rpn(postfix), operands);
  default: return operands.front();
  }
}

std::optional<Quotient> meaning(const Preset& preset, const std::vector<formula::Variable>& variables) {
  if (variables.size() != preset.natives.size() || !preset.undefined.empty()) return {};
  return meaning(preset.type, preset.postfix, base::mapped(variables, formula::variable));
}

CpuView view(const Document& table, const std::string& cpu, const event::pfm::Table* core,
             PapiVersion version, const Document* user, const Catalogue* catalogue,
             const std::string& component) {
  CpuView v;
  v.cpu = core ? core->name : cpu;
  v.component = component;
  v.core = core;
  v.kind = find_kind(v.cpu, core);
  v.version = version;
  if (core) v.natives = std::make_shared<Natives>(*core, version, catalogue);
  const NativeLookup trust = [&](const std::string& name) {
    return component.empty() || name.starts_with(component + "::") ? Known::yes : Known::no;
  };
  const NativeLookup lookup = core ? v.natives->lookup() : trust;
  v.loaded = load(table, {cpu, core ? core->id : -1, &lookup, version, user, component,
                          [&](const Diagnostic& diagnostic) { v.diagnostics.push_back(diagnostic); }});
  name_variables(v);
  for (const Preset& preset : v.loaded.presets) {
    if (preset.half_read) continue;
    if (auto means = meaning(preset, v.variables(preset))) v.meanings.emplace(preset.name, std::move(*means));
  }
  return v;
}

} // namespace recount::preset
