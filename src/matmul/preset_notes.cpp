#include "matmul/preset_notes.hpp"

#include "preset/here.hpp"

#include <recount/error.hpp>

#include <filesystem>
#include <fmt/format.h>

namespace recount::matmul {

std::map<std::string, std::string> preset_notes(const std::vector<std::string>& presets,
                                                const std::string& cpu) {
  std::map<std::string, std::string> notes;
  const event::pfm::Table* const core = cpu.empty() ? preset::default_pmu() : preset::core_pmu(cpu);
  if (!core) return notes;
  try {
    const std::string path = preset::papi_table();
    const PresetTable table = PresetTable::read(path);
    const auto view = preset::view(table.document(), core->name, core, PapiVersion::v7_0);
    const std::string file = std::filesystem::path(path).filename().string();
    for (const auto& name : presets)
      if (const Preset* const found = view.loaded.find(name))
        notes[name] = fmt::format("{} ({}, {}:{})", preset::formula_text(*found), name_of(found->type), file,
                                  found->place.line);
  } catch (const Error&) { // no table, or one that PAPI dies on: then nothing is counted by it either
  }
  return notes;
}

} // namespace recount::matmul
