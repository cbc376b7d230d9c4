#include "base/text.hpp"
#include "preset/load.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

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

} // namespace recount
