// A machine description from JSON: recount-machines(5).
#include "base/format.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/set_index.hpp"
#include "recount/error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <set>

namespace recount::model {

using nlohmann::json;

namespace {

/// One object of a description. Every field read becomes known; done() refuses the others.
class Fields {
public:
  Fields(const nlohmann::json& value, std::string file, std::string path);

  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback);
  [[nodiscard]] std::string text(const std::string& name); ///< must be there
  /// Bytes: an integer, or text with K, M or G (powers of 1024). Must be there without a fallback.
  [[nodiscard]] std::int64_t bytes(const std::string& name, std::optional<std::int64_t> fallback = {});
  [[nodiscard]] std::int64_t count(const std::string& name, std::optional<std::int64_t> fallback = {});
  [[nodiscard]] bool flag(const std::string& name, bool fallback);
  [[nodiscard]] std::optional<double> number(const std::string& name);
  /// The position of the field's text in `words`; 0 when the field is not there.
  [[nodiscard]] std::size_t choice(const std::string& name, const std::vector<std::string>& words);
  /// The field itself, null when it is not there.
  [[nodiscard]] const nlohmann::json& any(const std::string& name);
  /// Its elements; must be there and hold at least one.
  [[nodiscard]] const nlohmann::json& list(const std::string& name);

  void done() const; ///< throws for a field never read
  [[nodiscard]] std::string path(const std::string& name) const;
  [[nodiscard]] Error error(const std::string& name, const std::string& cause,
                            const std::string& remedy = {}) const;

private:
  [[nodiscard]] const nlohmann::json& needed(const std::string& name);

  const nlohmann::json& value_;
  std::string file_, path_;
  std::vector<std::string> known_;
};

/// "32K" in bytes; no value when it is not a size or does not fit.
std::optional<std::int64_t> size_of(const std::string& text) {
  std::size_t digits = 0;
  std::int64_t value = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (value > std::numeric_limits<std::int64_t>::max() / 16) return {};
    value = 10 * value + (text[digits] - '0');
  }
  const std::string unit = text.substr(digits);
  const int power = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (digits == 0 || power < 0 || value > std::numeric_limits<std::int64_t>::max() >> power) return {};
  return value << power;
}

Fields::Fields(const json& value, std::string file, std::string path)
    : value_(value), file_(std::move(file)), path_(std::move(path)) {
  if (!value_.is_object())
    throw bad_input(file_, (path_.empty() ? "the description" : path_) + " is not an object {...}",
                    "see recount-machines(5)");
}

std::string Fields::path(const std::string& name) const {
  return path_.empty() ? name : path_ + "." + name;
}

Error Fields::error(const std::string& name, const std::string& cause, const std::string& remedy) const {
  return bad_input(file_, path(name) + ": " + cause, remedy.empty() ? "see recount-machines(5)" : remedy);
}

const json& Fields::any(const std::string& name) {
  static const json none;
  known_.push_back(name);
  const auto found = value_.find(name);
  return found == value_.end() ? none : *found;
}

const json& Fields::needed(const std::string& name) {
  const json& field = any(name);
  if (field.is_null()) throw error(name, "missing");
  return field;
}

std::string Fields::text(const std::string& name) {
  const json& field = needed(name);
  if (!field.is_string()) throw error(name, "is not text");
  return field.get<std::string>();
}

std::string Fields::text(const std::string& name, const std::string& fallback) {
  return any(name).is_null() ? fallback : text(name);
}

std::int64_t Fields::count(const std::string& name, std::optional<std::int64_t> fallback) {
  const json& field = any(name);
  if (field.is_null() && fallback) return *fallback;
  if (field.is_null()) throw error(name, "missing");
  if (!field.is_number_integer()) throw error(name, "is not an integer, but " + field.dump());
  if (field.is_number_unsigned() &&
      field.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    throw error(name, "is too large: " + field.dump());
  const auto value = field.get<std::int64_t>();
  if (value < 1) throw error(name, "must be at least 1, but is " + field.dump());
  return value;
}

std::int64_t Fields::bytes(const std::string& name, std::optional<std::int64_t> fallback) {
  const json& field = any(name);
  if (!field.is_string()) return count(name, fallback);
  const auto value = size_of(field.get<std::string>());
  if (!value || *value < 1)
    throw error(name, "is not a size, but " + field.dump(), "bytes, or text such as \"32K\" or \"12M\"");
  return *value;
}

bool Fields::flag(const std::string& name, bool fallback) {
  const json& field = any(name);
  if (field.is_null()) return fallback;
  if (!field.is_boolean()) throw error(name, "must be true or false, but is " + field.dump());
  return field.get<bool>();
}

std::optional<double> Fields::number(const std::string& name) {
  const json& field = any(name);
  if (field.is_null()) return {};
  if (!field.is_number() || field.get<double>() < 0)
    throw error(name, "must be a number, 0 or more, but is " + field.dump());
  return field.get<double>();
}

std::size_t Fields::choice(const std::string& name, const std::vector<std::string>& words) {
  const json& field = any(name);
  if (field.is_null()) return 0;
  if (field.is_string())
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == field.get<std::string>()) return i;
  throw error(name, "unknown value " + field.dump(),
              base::did_you_mean_or_all(field.is_string() ? field.get<std::string>() : "", words));
}

const json& Fields::list(const std::string& name) {
  const json& field = needed(name);
  if (!field.is_array() || field.empty()) throw error(name, "is not a list [...] of at least one");
  return field;
}

void Fields::done() const {
  for (const auto& item : value_.items())
    if (std::ranges::find(known_, item.key()) == known_.end())
      throw error(item.key(), "unknown field", base::did_you_mean_or_all(item.key(), known_));
}

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

/// Masks of an index function; none for "modulo".
std::vector<std::uint64_t> index(Fields& fields, std::int64_t lines, std::int64_t ways) {
  const json& field = fields.any("index");
  if (field.is_null() || field == "modulo") return {};
  const std::int64_t sets = ways > 0 && ways <= lines ? lines / ways : 1;
  if (field == "xor") {
    if (sets < 2 || !std::has_single_bit(static_cast<std::uint64_t>(sets)))
      throw fields.error("index",
                         "\"xor\" needs a power of two of sets, 2 at least, not " + std::to_string(sets));
    return xor_masks(sets);
  }
  if (!field.is_array())
    throw fields.error("index", "must be \"modulo\", \"xor\" or a list of masks, but is " + field.dump());
  std::vector<std::uint64_t> masks;
  for (const json& element : field) {
    const std::string text = element.is_string() ? element.get<std::string>() : "";
    const auto mask = text.starts_with("0x") ? base::parse_number(text).value_or(0) : 0;
    if (mask == 0) throw fields.error("index", "a mask is text such as \"0x81\", not " + element.dump());
    masks.push_back(mask);
  }
  return masks;
}

/// Of a LevelDescription or a TlbLevel.
void read_policy(Fields& fields, auto& level) {
  const json& field = fields.any("policy");
  if (const auto qlru = field.is_string() ? parse_qlru(field.get<std::string>()) : std::nullopt) {
    level.policy = Policy::qlru;
    level.qlru = *qlru;
    return;
  }
  if (field.is_string() && field.get<std::string>().starts_with("QLRU"))
    throw fields.error("policy", "is no variant of QLRU, but " + field.dump(),
                       "QLRU_H00_M1_R2_U1; H is 00, 10, 11, 20 or 21, M 0 to 3, R 0 to 2, U 0 to 3; "
                       "U2 and U3 need R1; see recount-machines(5)");
  level.policy =
      static_cast<Policy>(fields.choice("policy", {"lru", "plru", "fifo", "random", "lru-plru4", "srrip"}));
}

/// One type, or a list of prefetchers.
std::vector<Prefetcher> prefetchers(Fields& fields, const std::string& file) {
  const std::vector<std::string> kinds{"none", "next-line", "adjacent-line", "streamer"};
  const auto of = [](std::size_t choice) { return Prefetcher{static_cast<Prefetch>(choice - 1)}; };
  std::vector<Prefetcher> all;
  const json& field = fields.any("prefetch");
  if (!field.is_array()) {
    if (const std::size_t choice = fields.choice("prefetch", kinds); choice > 0) all.push_back(of(choice));
    return all;
  }
  for (const json& element : field) {
    Fields one(element, file, fields.path("prefetch") + "[" + std::to_string(all.size()) + "]");
    (void)one.text("type");
    const std::size_t choice = one.choice("type", kinds);
    if (choice == 0) throw one.error("type", "\"none\" is no prefetcher");
    Prefetcher& prefetcher = all.emplace_back(of(choice));
    if (prefetcher.kind == Prefetch::streamer) {
      prefetcher.streams = one.count("streams", prefetcher.streams);
      prefetcher.trigger = one.count("trigger", prefetcher.trigger);
      prefetcher.distance = one.count("distance", prefetcher.distance);
      prefetcher.degree = one.count("degree", prefetcher.degree);
    }
    one.done();
  }
  return all;
}

/// What caches of data and of instructions have.
LevelDescription cache(Fields& fields) {
  LevelDescription level;
  level.name = fields.text("name");
  level.size = fields.bytes("size");
  level.line = fields.bytes("line");
  level.ways = ways(fields, level.size / level.line);
  level.index = index(fields, level.size / level.line, level.ways);
  read_policy(fields, level);
  level.latency = fields.number("latency");
  return level;
}

LevelDescription level(const json& value, const std::string& file, const std::string& path) {
  Fields fields(value, file, path);
  LevelDescription level = cache(fields);
  level.inclusion =
      static_cast<Inclusion>(fields.choice("inclusion", {"non-inclusive", "inclusive", "exclusive"}));
  level.write = static_cast<Write>(fields.choice("write", {"back", "through"}));
  level.allocate = fields.flag("allocate", true);
  level.prefetch = prefetchers(fields, file);
  level.shared = fields.flag("shared", false);
  level.sector = fields.bytes("sector", level.line);
  if (level.sector == level.line) level.sector = 0;
  fields.done();
  return level;
}

/// Shared entries: those of the same level in `small`.
std::vector<TlbLevel> tlb_levels(Fields& fields, const std::string& file, const std::string& path,
                                 const std::string& name = "levels",
                                 const std::vector<TlbLevel>& small = {}) {
  std::vector<TlbLevel> levels;
  for (const json& element : fields.list(name)) {
    Fields one(element, file, path + "." + name + "[" + std::to_string(levels.size()) + "]");
    TlbLevel level;
    if (!small.empty() && one.flag("shared", false)) {
      if (levels.size() >= small.size()) throw one.error("shared", "there is no such level of small pages");
      level = small[levels.size()];
      level.shared = true;
    } else {
      level.entries = one.count("entries");
      level.ways = ways(one, level.entries);
      read_policy(one, level);
    }
    level.index = index(one, level.entries, level.ways);
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
  if (!fields.any("walk").is_null()) tlb.walk = tlb_levels(fields, file, "tlb", "walk");
  if (const json& field = fields.any("huge"); !field.is_null()) {
    Fields huge(field, file, "tlb.huge");
    tlb.huge_page = huge.bytes("page", tlb.huge_page);
    tlb.huge = tlb_levels(huge, file, "tlb.huge", "levels", tlb.levels);
    huge.done();
  }
  fields.done();
  return tlb;
}

InstructionDescription instructions(const json& value, const std::string& file,
                                    const MachineDescription& machine) {
  Fields fields(value, file, "instructions");
  InstructionDescription all{.cache = cache(fields), .tlb = {}};
  if (!fields.any("tlb").is_null())
    all.tlb = tlb_levels(fields, file, "instructions", "tlb",
                         machine.tlb ? machine.tlb->levels : std::vector<TlbLevel>{});
  for (std::size_t i = 0; i < all.tlb.size(); ++i)
    if (all.tlb[i].shared && all.tlb[i].index.empty()) all.tlb[i].index = machine.tlb->levels[i].index;
  fields.done();
  return all;
}

/// Presets as sums of the machine's own metrics.
void presets(Fields& fields, const std::string& file, MachineDescription& machine) {
  const json& field = fields.any("presets");
  if (field.is_null()) return;
  if (!field.is_object()) throw fields.error("presets", "is not an object {...}");
  const std::vector<std::string> known = metric_names(machine, true);
  for (const auto& [preset, sum] : field.items()) {
    const std::string path = "presets." + preset;
    if (!is_preset(preset) || std::ranges::find(known, preset) == known.end())
      throw fields.error(path, "the machine has no such preset", base::did_you_mean_or_all(preset, known));
    if (!sum.is_object() || sum.empty()) throw fields.error(path, "is not an object {METRIC: FACTOR, ...}");
    Fields terms(sum, file, path);
    for (const auto& [metric, factor] : sum.items()) {
      if (!metric.starts_with("MODEL_") || std::ranges::find(known, metric) == known.end())
        throw terms.error(metric, "the machine has no such metric", base::did_you_mean_or_all(metric, known));
      machine.presets[preset][metric] = terms.count(metric);
      if (machine.presets[preset][metric] > 1000) throw terms.error(metric, "must be from 1 to 1000");
    }
  }
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
  if (const json& field = fields.any("instructions"); !field.is_null())
    machine.instructions = instructions(field, file, machine);
  machine.seed = static_cast<std::uint64_t>(fields.count("seed", 1));
  machine.cores = fields.count("cores", 1);
  check(machine, file);
  presets(fields, file, machine);
  fields.done();
  return machine;
}

} // namespace recount::model
