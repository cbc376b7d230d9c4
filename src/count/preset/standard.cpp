#include "count/preset/standard.hpp"

#include "base/text.hpp"
#include "count/preset/identities_data.hpp" // made from data/identities.txt by the build
#include "count/preset/preset_table.hpp"
#include "count/preset/standard_data.hpp" // made from data/standard.txt by the build

#include <algorithm>
#include <map>
#include <recount/error.hpp>
#include <vector>

namespace recount::preset {
std::span<const StandardPreset> standard_presets(std::string_view component) {
  static const auto all = [] {
    std::map<std::string_view, std::vector<StandardPreset>> presets; // by component
    for (const auto& row : base::data_rows(standard_data, "standard.txt"))
      presets[row.cells.size() > 2 ? row.cells[2] : ""].push_back({row.cells.at(0), row.cells.at(1)});
    return presets;
  }();
  return base::value_at(all, component);
}

const StandardPreset* standard_preset(std::string_view name, std::string_view component) {
  const auto all = standard_presets(component);
  const auto found =
      std::ranges::find_if(all, [&](const StandardPreset& one) { return same_word(one.name, name); });
  return found == all.end() ? nullptr : &*found;
}

namespace {

constexpr std::pair<std::string_view, CpuKind> kinds[] = {
    {"any", CpuKind::any}, {"load-store", CpuKind::load_store}, {"cisc", CpuKind::cisc}};

Identity parse_identity(const base::DataRow& row) {
  const auto fail = [&](const std::string& why) {
    return bad_input(row.where, why, "write RELATION | any, load-store or cisc | WHY");
  };
  const auto sum = [&](std::string_view text) {
    std::vector<std::string> presets;
    for (const auto term : base::split(text, '+')) {
      presets.push_back("PAPI_" + std::string(base::trim(term)));
      if (!standard_preset(presets.back())) throw fail("no such preset: '" + presets.back() + "'");
    }
    return presets;
  };
  if (row.cells.size() != 3) throw fail("three columns, separated by |, are required");
  const std::string_view relation = row.cells[0];
  const std::size_t equals = relation.find('=');
  if (equals == relation.npos) throw fail("neither = nor <= in '" + std::string(relation) + "'");
  const auto kind = std::ranges::find(kinds, row.cells[1], [](const auto& one) { return one.first; });
  if (kind == std::end(kinds)) throw fail("unknown kind of CPU: '" + std::string(row.cells[1]) + "'");
  if (row.cells[2].empty()) throw fail("the reason is missing");
  const bool at_most = equals > 0 && relation[equals - 1] == '<';
  return {std::string(relation),
          sum(relation.substr(0, equals - (at_most ? 1 : 0))),
          sum(relation.substr(equals + 1)),
          at_most,
          kind->second,
          std::string(row.cells[2])};
}

} // namespace

std::vector<Identity> parse_identities(std::string_view text, const std::string& file) {
  return base::mapped(base::data_rows(text, file), parse_identity);
}

const std::vector<Identity>& identities() {
  static const std::vector<Identity> built_in = parse_identities(identities_data, "identities.txt");
  return built_in;
}

} // namespace recount::preset
