// A table for one kind of CPU: the presets that PAPI loads, and each preset as a polynomial.
#pragma once

#include "base/formula/algebra.hpp"
#include "count/preset/catalogue.hpp"
#include "count/preset/preset_table.hpp"
#include "count/preset/standard.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recount::preset {

struct CpuView {
  std::string cpu;                         ///< libpfm4's name, or the table's where libpfm4 has none
  std::string component = {};              ///< whose presets these are; empty: those of a CPU
  const event::pfm::Table* core = nullptr; ///< null: this build of libpfm4 does not know the CPU
  std::shared_ptr<Natives> natives;        ///< null likewise: every name counts as known
  CpuKind kind = CpuKind::any;
  PapiVersion version = PapiVersion::v7_0;
  LoadedTable loaded;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> names; ///< of each variable, without the CPU's own prefix
  std::vector<Native> codes;      ///< of each variable, in step with names; empty when not known
  std::map<std::string, formula::Quotient> meanings; ///< by preset name; missing when it has none
  std::map<int, formula::Variable> by_code;          ///< variables by PresetNative::code

  /// The variables behind N0, N1 … of a preset.
  [[nodiscard]] std::vector<formula::Variable> variables(const Preset& preset) const;
  /// A variable as the row of the preset writes it, which `names` need not have.
  [[nodiscard]] std::string written(const Preset& preset, formula::Variable variable) const;
  /// The sum of presets; no value when one of them is not there or has no meaning.
  [[nodiscard]] std::optional<formula::Quotient> sum(const std::vector<std::string>& presets) const;
};

/// Loads the table for one CPU. `core` may be null: then all names are accepted. `user`: the table of user
/// events, or null. `catalogue`: has the events of `core`; null: libpfm4 has them. `component`: the table is
/// from select_component(), and names of its events are accepted.
[[nodiscard]] CpuView view(const Document& table, const std::string& cpu, const event::pfm::Table* core,
                           PapiVersion version, const Document* user = nullptr,
                           const Catalogue* catalogue = nullptr, const std::string& component = {});

/// The expression of a derived type over operands; none when it is not defined.
[[nodiscard]] std::optional<formula::Quotient> meaning(Derived type, const std::string& postfix,
                                                       const std::vector<formula::Quotient>& operands);
/// The expression of a preset by its type and formula; none when it is not defined.
[[nodiscard]] std::optional<formula::Quotient> meaning(const Preset& preset,
                                                       const std::vector<formula::Variable>& variables);

} // namespace recount::preset
