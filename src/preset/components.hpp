// Presets of components (PAPI 7.3): "cuda,GH100" above rows whose terms are events of that component.
#pragma once

#include "preset/document.hpp"

#include <string>
#include <vector>

namespace recount::preset {

/// A run of rows "COMPONENT,DEVICE" and the rows of presets below it.
struct ComponentBlock {
  std::string component;            ///< "cuda"
  std::vector<std::string> devices; ///< "GH100"
  Place place;
  std::vector<Line> rows; ///< of presets
};

/// Whether a line begins the presets of a component: its first word may be a component's name, and a device
/// follows.
[[nodiscard]] bool names_component(const Line& line) noexcept;
[[nodiscard]] std::vector<ComponentBlock> component_blocks(const Document& document);
/// What is wrong with a row of a block; empty: nothing. Its events cannot be checked without the component.
[[nodiscard]] std::string structure_problem(const ComponentBlock& block, const Line& row);

/// The oldest reader that knows all constructs of a table.
struct NeededVersion {
  PapiVersion version = PapiVersion::v7_0;
  Place place;           ///< of the construct that an older one does not know
  std::string construct; ///< what it is; empty for v7_0
};
[[nodiscard]] NeededVersion needed_version(const Document& document);

} // namespace recount::preset
