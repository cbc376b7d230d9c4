// A machine description from JSON: recount-machines(5).
#include "model/fields.hpp"
#include "model/machine.hpp"

#include <algorithm>
#include <set>

namespace recount::model {

using nlohmann::json;

namespace {

/// Line and column, from 1, of a byte of the text.
std::string place(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = 1 + before.size() - (start == std::string_view::npos ? 0 : start + 1);
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// The library keeps the last of two fields of one name; a description with a duplicate field is refused.
json read(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> open;
  const auto refuse_twice = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second)
      throw bad_input(file, "the field \"" + value.get<std::string>() + "\" occurs twice");
    return true;
  };
  try {
    return json::parse(text, refuse_twice);
  } catch (const json::parse_error& e) {
    std::string why = e.what();
    if (const auto colon = why.find("column"); colon != std::string::npos)
      if (const auto start = why.find(": ", colon); start != std::string::npos) why = why.substr(start + 2);
    throw bad_input(file, "not JSON at " + place(text, e.byte) + ": " + why, "see recount-machines(5)");
  }
}

/// A number of ways or "full": as many as there are lines.
std::int64_t ways(Fields& fields, std::int64_t lines) {
  const json& field = fields.any("ways");
  if (!field.is_string()) return fields.count("ways");
  if (field.get<std::string>() != "full")
    throw fields.error("ways", "must be a number or \"full\", but is " + field.dump());
  return std::max<std::int64_t>(1, lines);
}

LevelDescription level(const json& value, const std::string& file, const std::string& path) {
  Fields fields(value, file, path);
  LevelDescription level;
  level.name = fields.text("name");
  level.size = fields.bytes("size");
  level.line = fields.bytes("line");
  level.ways = ways(fields, level.size / level.line);
  level.policy = static_cast<Policy>(fields.choice("policy", {"lru", "plru", "fifo", "random"}));
  level.inclusion =
      static_cast<Inclusion>(fields.choice("inclusion", {"non-inclusive", "inclusive", "exclusive"}));
  level.write = static_cast<Write>(fields.choice("write", {"back", "through"}));
  level.allocate = fields.flag("allocate", true);
  level.prefetch = static_cast<Prefetch>(fields.choice("prefetch", {"none", "next-line"}));
  level.latency = fields.number("latency");
  fields.done();
  return level;
}

std::vector<TlbLevel> tlb_levels(Fields& fields, const std::string& file, const std::string& path) {
  std::vector<TlbLevel> levels;
  for (const json& element : fields.list("levels")) {
    Fields one(element, file, path + ".levels[" + std::to_string(levels.size()) + "]");
    TlbLevel level;
    level.entries = one.count("entries");
    level.ways = ways(one, level.entries);
    one.done();
    levels.push_back(level);
  }
  return levels;
}

TlbDescription tlb(const json& value, const std::string& file) {
  Fields fields(value, file, "tlb");
  TlbDescription tlb;
  tlb.page = fields.bytes("page", tlb.page);
  tlb.levels = tlb_levels(fields, file, "tlb");
  if (const json& field = fields.any("huge"); !field.is_null()) {
    Fields huge(field, file, "tlb.huge");
    tlb.huge_page = huge.bytes("page", tlb.huge_page);
    tlb.huge = tlb_levels(huge, file, "tlb.huge");
    huge.done();
  }
  fields.done();
  return tlb;
}

} // namespace

MachineDescription parse_machine(std::string_view text, const std::string& file) {
  const json value = read(text, file);
  Fields fields(value, file, "");
  MachineDescription machine;
  machine.name = fields.text("name");
  machine.source = fields.text("source", "");
  machine.pmu = fields.text("pmu", "");
  std::size_t i = 0;
  for (const json& element : fields.list("levels"))
    machine.levels.push_back(level(element, file, "levels[" + std::to_string(i++) + "]"));
  if (const json& field = fields.any("tlb"); !field.is_null()) machine.tlb = tlb(field, file);
  machine.seed = static_cast<std::uint64_t>(fields.count("seed", 1));
  fields.done();
  check(machine, file);
  return machine;
}

} // namespace recount::model
