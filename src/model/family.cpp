#include "model/family.hpp"

#include "base/format.hpp"
#include "recount/error.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace recount::model {

namespace {

constexpr std::string_view resize_mark = "~l1=";
constexpr std::int64_t most_bytes = std::int64_t{1} << 30, most_ways = 1 << 16;
constexpr std::size_t most_members = 10'000;

using Range = std::pair<std::int64_t, std::int64_t>;

/// A number from 1, with K, M or G where it is a size.
std::optional<std::int64_t> number(std::string_view text, bool size) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error != std::errc() || value < 1 || value > most_bytes) return {};
  if (unit.empty()) return value;
  const auto power = std::string_view("KMG").find(unit.front());
  if (!size || unit.size() > 1 || power == std::string_view::npos) return {};
  value <<= 10 * (power + 1);
  return value;
}

std::optional<Range> range(std::string_view text, bool size, std::int64_t most) {
  const auto colon = text.find(':');
  const auto from = number(text.substr(0, colon), size);
  const auto to = colon == text.npos ? from : number(text.substr(colon + 1), size);
  if (!from || !to || *from > *to || *to > most) return {};
  return Range{*from, *to};
}

} // namespace

std::string to_text(const FamilyMember& member) {
  return base::format_size(member.size) + "/" + std::to_string(member.ways);
}

MachineDescription resized(MachineDescription machine, std::string_view text) {
  const auto slash = text.find('/');
  const auto sizes = range(text.substr(0, slash), true, most_bytes),
             ways = slash == text.npos ? std::nullopt : range(text.substr(slash + 1), false, most_ways);
  const auto refuse = [&](const std::string& cause) {
    return bad_input(machine.name, cause, "sizes and ways are written as 8K:64K/1:16 or 32K/8");
  };
  if (!sizes || !ways) throw refuse("\"" + std::string(text) + "\" is not SIZES/WAYS");
  LevelDescription level = machine.levels.front();
  std::vector<FamilyMember> members;
  for (std::int64_t size = sizes->first; size <= sizes->second; size *= 2)
    for (std::int64_t w = ways->first; w <= ways->second && w * level.line <= size; ++w)
      if (size % (w * level.line) == 0) members.push_back({size, w});
  if (members.empty()) throw refuse("no size in the range divides into sets of that number of ways");
  if (members.size() > most_members)
    throw refuse(std::to_string(members.size()) + " caches are more than " + std::to_string(most_members));
  level.size = members.back().size;
  level.ways = members.back().ways;
  level.policy = Policy::lru;
  level.write = Write::back;
  level.allocate = true;
  level.prefetch.clear();
  level.index.clear();
  machine.levels = {level};
  machine.presets.clear();
  machine.tlb.reset();
  machine.instructions.reset();
  machine.cores = 1;
  machine.family.clear();
  if (members.size() > 1) machine.family = std::move(members);
  return machine;
}

std::string_view before_sizes(std::string_view name) {
  const auto at = name.rfind(resize_mark);
  return at == name.npos ? std::string_view() : name.substr(0, at + resize_mark.size());
}

std::vector<std::string> member_names(const std::string& name) {
  std::vector<std::string> names;
  const std::string_view before = before_sizes(name);
  if (!before.empty())
    for (const FamilyMember& member : machine(name).family)
      names.push_back(std::string(before) + to_text(member));
  if (names.empty()) names.push_back(name);
  return names;
}

} // namespace recount::model
