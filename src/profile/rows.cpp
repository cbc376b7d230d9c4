#include "profile/rows.hpp"
#include "base/nearest.hpp"

#include <recount/error.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace recount::profile {
namespace {
struct ByName {
  const char* name;
  By by;
};
constexpr ByName by_names[] = {
    {"module", By::module},   {"symbol", By::symbol}, {"function", By::function},      {"line", By::line},
    {"address", By::address}, {"object", By::object}, {"line+object", By::line_object}};

/// The row of one place alone, with what `by` does not tell apart left empty.
ProfileRow row_of(const Located& at, By by) {
  ProfileRow row;
  if (by == By::object) return row;
  row.module = at.module;
  if (by == By::module) return row;
  const symbol::Frame& frame = by == By::symbol ? at.function() : at.frames.front();
  row.function = frame.function;
  row.inlined = frame.inlined;
  if (!row.inlined) {
    row.start = at.start;
    row.end = at.end;
  }
  if (by == By::symbol || by == By::function) {
    if (row.function.empty()) row.start = row.end = 0;
    return row;
  }
  row.source = at.source();
  row.file = frame.file;
  row.line = frame.line;
  // Without a line, use the address.
  if (by == By::address || row.line == 0) row.address = at.address;
  if (by == By::address) row.instruction = at.instruction;
  return row;
}
} // namespace

By parse_by(const std::string& name) {
  std::vector<std::string> all;
  for (const auto& known : by_names) {
    if (name == known.name) return known.by;
    all.emplace_back(known.name);
  }
  throw bad_input(
      "--by " + name, "is not a grouping of samples",
      base::did_you_mean(name, all, "module, symbol, function, line, address, object or line+object"));
}

bool by_object(By by) {
  return by == By::object || by == By::line_object;
}

By figure_by(const std::vector<By>& ways) {
  const bool by_symbol = ways.empty() || ways.front() == By::address || by_object(ways.front()) ||
                         std::ranges::find(ways, By::symbol) != ways.end();
  return by_symbol ? By::symbol : ways.front();
}

std::string name_of(By by) {
  return by_names[static_cast<std::size_t>(by)].name;
}

namespace {
void add_object(ProfileRow& row, const NamedObject& object) {
  row.object->bytes += object.bytes;
  row.object->blocks += object.blocks;
  row.object->low = std::min(row.object->low, object.low);
  row.object->high = std::max(row.object->high, object.high);
}
} // namespace

std::vector<ProfileRow> gather(const Places& places, const Naming& naming, By by) {
  using Key =
      std::tuple<std::string, std::string, std::string, int, std::uint64_t, std::uint64_t, std::string>;
  std::map<Key, ProfileRow> rows;
  std::set<std::pair<const ProfileRow*, std::uint32_t>> added; // objects of a row
  for (std::size_t i = 0; i < naming.places.size(); ++i) {
    const auto tally = places.tally(i);
    if (std::ranges::all_of(tally, [](const Tally& t) { return t.samples == 0; })) continue; // only in chains
    ProfileRow one = row_of(naming.places[i], by);
    const std::uint32_t object = by_object(by) ? places.places()[i].object : 0;
    const NamedObject* const data = object > 0 ? &naming.objects.at(object - 1) : nullptr;
    if (data)
      one.object = NamedObject{data->name, data->kind, data->module, 0, 0, ~0ULL, 0, data->row, data->calls};
    Key key(one.module, one.function, one.file, one.line, one.address, one.start,
            data ? data->name + '\n' + data->module : std::string());
    ProfileRow& row = rows.try_emplace(std::move(key), std::move(one)).first->second;
    if (data && added.emplace(&row, object).second) add_object(row, *data);
    row.tallies.resize(places.events());
    for (std::size_t e = 0; e < tally.size(); ++e) {
      row.tallies[e].samples += tally[e].samples;
      row.tallies[e].weight += tally[e].weight;
    }
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows)
    sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const ProfileRow& a, const ProfileRow& b) {
    for (std::size_t e = 0; e < a.tallies.size(); ++e)
      if (a.tallies[e].weight != b.tallies[e].weight) return a.tallies[e].weight > b.tallies[e].weight;
    return false;
  });
  return sorted;
}

} // namespace recount::profile
