// A machine description from JSON: recount-machines(5).
#include "base/format.hpp"
#include "base/names.hpp"
#include "base/nearest.hpp"
#include "model/machine.hpp"
#include "model/metrics.hpp"
#include "model/sets.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace recount::model {

using nlohmann::json;

namespace {

constexpr const char* see_page = "see recount-machines(5)";

/// One object of a description. Every field that is read becomes known; done() refuses the others.
class Fields {
public:
  Fields(const json& value, std::string file, std::string path)
      : value_(value), file_(std::move(file)), path_(std::move(path)) {
    if (!value_.is_object())
      throw bad_input(file_, (path_.empty() ? "the description" : path_) + " is not an object {...}",
                      see_page);
  }

  /// The field itself, null when it is absent.
  [[nodiscard]] const json& any(const std::string& name) {
    static const json none;
    if (std::ranges::find(known_, name) == known_.end()) known_.push_back(name);
    const auto found = value_.find(name);
    return found == value_.end() ? none : *found;
  }
  [[nodiscard]] const json& required(const std::string& name) {
    const json& field = any(name);
    if (field.is_null()) throw error(name, "missing");
    return field;
  }
  [[nodiscard]] std::string text(const std::string& name) {
    const json& field = required(name);
    if (!field.is_string()) throw error(name, "is not text");
    return field.get<std::string>();
  }
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback) {
    return any(name).is_null() ? fallback : text(name);
  }
  /// At least 1. Required without a fallback.
  [[nodiscard]] std::int64_t count(const std::string& name, std::optional<std::int64_t> fallback = {}) {
    if (any(name).is_null() && fallback) return *fallback;
    const json& field = required(name);
    if (!field.is_number_integer()) throw error(name, "is not an integer, but " + field.dump());
    if (field.is_number_unsigned() &&
        field.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      throw error(name, "is too large: " + field.dump());
    const auto value = field.get<std::int64_t>();
    if (value < 1) throw error(name, "must be at least 1, but is " + field.dump());
    return value;
  }
  /// An integer, or text with K, M or G.
  [[nodiscard]] std::int64_t bytes(const std::string& name, std::optional<std::int64_t> fallback = {}) {
    const json& field = any(name);
    if (!field.is_string()) return count(name, fallback);
    const auto value = base::parse_size(field.get<std::string>());
    if (!value || *value < 1)
      throw error(name, "is not a size, but " + field.dump(), "bytes, or text such as \"32K\" or \"12M\"");
    return *value;
  }
  [[nodiscard]] bool flag(const std::string& name, bool fallback) {
    const json& field = any(name);
    if (!field.is_null() && !field.is_boolean())
      throw error(name, "must be true or false, but is " + field.dump());
    return field.is_null() ? fallback : field.get<bool>();
  }
  [[nodiscard]] std::optional<double> number(const std::string& name) {
    const json& field = any(name);
    if (field.is_null()) return {};
    if (!field.is_number() || field.get<double>() < 0)
      throw error(name, "must be a number, 0 or more, but is " + field.dump());
    return field.get<double>();
  }
  /// The position of the field's text in `words`; 0 when the field is absent.
  [[nodiscard]] std::size_t choice(const std::string& name, const std::vector<std::string>& words) {
    const json& field = any(name);
    if (field.is_null()) return 0;
    const std::string word = field.is_string() ? field.get<std::string>() : "";
    const auto found = std::ranges::find(words, word);
    if (found == words.end())
      throw error(name, "unknown value " + field.dump(), base::did_you_mean_or_all(word, words));
    return static_cast<std::size_t>(found - words.begin());
  }
  /// read(fields) for an object, if the field is there; all of its fields must be read.
  template <class Read>
  void object(const std::string& name, Read&& read) {
    if (const json& field = any(name); !field.is_null()) read_object(field, name, read);
  }
  /// The same for each object of a list, which must be there and hold at least one.
  template <class Read>
  void list(const std::string& name, Read&& read) {
    const json& field = required(name);
    if (!field.is_array() || field.empty()) throw error(name, "is not a list [...] of at least one");
    std::size_t i = 0;
    for (const json& element : field)
      read_object(element, fmt::format("{}[{}]", name, i++), read);
  }

  void done() const {
    for (const auto& item : value_.items())
      if (std::ranges::find(known_, item.key()) == known_.end())
        throw error(item.key(), "unknown field", base::did_you_mean_or_all(item.key(), known_));
  }
  [[nodiscard]] Error error(const std::string& name, const std::string& cause,
                            const std::string& fix = see_page) const {
    return bad_input(file_, path(name) + ": " + cause, fix);
  }

private:
  [[nodiscard]] std::string path(const std::string& name) const {
    return path_.empty() ? name : path_ + "." + name;
  }
  template <class Read>
  void read_object(const json& value, const std::string& name, Read& read) const {
    Fields fields(value, file_, path(name));
    read(fields);
    fields.done();
  }

  const json& value_;
  std::string file_, path_;
  std::vector<std::string> known_;
};

/// The library keeps the last of two fields of one name; a description with a duplicate field is refused.
json read_json(std::string_view text, const std::string& file) {
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
  } catch (const json::parse_error& error) { // "[json.exception...] parse error at line 3, column 14: ..."
    const std::string_view what = error.what();
    const auto at = what.find("line ");
    throw bad_input(file, fmt::format("not JSON at {}", at == what.npos ? what : what.substr(at)), see_page);
  }
}

/// A number of ways or "full": as many as there are lines.
std::int64_t read_ways(Fields& fields, std::int64_t lines) {
  const json& field = fields.any("ways");
  if (!field.is_string()) return fields.count("ways");
  if (field != "full") throw fields.error("ways", "must be a number or \"full\", but is " + field.dump());
  return std::max<std::int64_t>(1, lines);
}

/// Masks of an index function; none for "modulo".
std::vector<std::uint64_t> read_index(Fields& fields, std::int64_t lines, std::int64_t ways) {
  const json& field = fields.any("index");
  if (field.is_null() || field == "modulo") return {};
  const std::int64_t sets = ways > 0 && ways <= lines ? lines / ways : 1;
  if (field == "xor") {
    if (sets < 2 || !std::has_single_bit(static_cast<std::uint64_t>(sets)))
      throw fields.error("index",
                         fmt::format("\"xor\" needs a power of two of sets, 2 at least, not {}", sets));
    return xor_masks(sets);
  }
  if (!field.is_array())
    throw fields.error("index", "must be \"modulo\", \"xor\" or a list of masks, but is " + field.dump());
  std::vector<std::uint64_t> masks;
  for (const json& element : field) {
    const std::string text = element.is_string() ? element.get<std::string>() : "";
    const auto mask = base::parse_number(text);
    if (!text.starts_with("0x") || mask.value_or(0) == 0)
      throw fields.error("index", "a mask is text such as \"0x81\", not " + element.dump());
    masks.push_back(*mask);
  }
  return masks;
}

/// Of a LevelDescription or a TlbLevel.
void read_policy(Fields& fields, auto& level) {
  const json& field = fields.any("policy");
  const std::string name = field.is_string() ? field.get<std::string>() : "";
  if (const auto qlru = parse_qlru(name)) {
    level.policy = Policy::qlru;
    level.qlru = *qlru;
    return;
  }
  if (name.starts_with("QLRU"))
    throw fields.error("policy", "is no variant of QLRU, but " + field.dump(),
                       "QLRU_H00_M1_R2_U1; H is 00, 10, 11, 20 or 21, M 0 to 3, R 0 to 2, U 0 to 3; "
                       "U2 and U3 need R1; see recount-machines(5)");
  level.policy =
      static_cast<Policy>(fields.choice("policy", {"lru", "plru", "fifo", "random", "lru-plru4", "srrip"}));
}

/// One type, or a list of prefetchers.
std::vector<Prefetcher> read_prefetchers(Fields& fields) {
  const std::vector<std::string> kinds{"none", "next-line", "adjacent-line", "streamer"};
  std::vector<Prefetcher> all;
  const auto add = [&](std::size_t choice) -> Prefetcher& {
    return all.emplace_back(Prefetcher{static_cast<Prefetch>(choice - 1)});
  };
  const json& field = fields.any("prefetch");
  if (!field.is_array()) {
    if (const std::size_t choice = fields.choice("prefetch", kinds); choice > 0) add(choice);
    return all;
  }
  if (field.empty()) return all;
  fields.list("prefetch", [&](Fields& one) {
    (void)one.text("type");
    const std::size_t choice = one.choice("type", kinds);
    if (choice == 0) throw one.error("type", "\"none\" is no prefetcher");
    Prefetcher& prefetcher = add(choice);
    if (prefetcher.kind != Prefetch::streamer) return;
    prefetcher.streams = one.count("streams", prefetcher.streams);
    prefetcher.trigger = one.count("trigger", prefetcher.trigger);
    prefetcher.distance = one.count("distance", prefetcher.distance);
    prefetcher.degree = one.count("degree", prefetcher.degree);
  });
  return all;
}

/// The fields that caches of data and of instructions have.
LevelDescription read_cache(Fields& fields) {
  LevelDescription level;
  level.name = fields.text("name");
  level.size = fields.bytes("size");
  level.line = fields.bytes("line");
  level.ways = read_ways(fields, level.size / level.line);
  level.index = read_index(fields, level.size / level.line, level.ways);
  read_policy(fields, level);
  level.latency = fields.number("latency");
  return level;
}

LevelDescription read_level(Fields& fields) {
  LevelDescription level = read_cache(fields);
  level.inclusion =
      static_cast<Inclusion>(fields.choice("inclusion", {"non-inclusive", "inclusive", "exclusive"}));
  level.write = static_cast<Write>(fields.choice("write", {"back", "through"}));
  level.allocate = fields.flag("allocate", true);
  level.prefetch = read_prefetchers(fields);
  level.shared = fields.flag("shared", false);
  return level;
}

/// Shared entries: those of the same level in `small`.
std::vector<TlbLevel> read_tlb_levels(Fields& fields, const std::string& name,
                                      const std::vector<TlbLevel>& small = {}) {
  std::vector<TlbLevel> levels;
  fields.list(name, [&](Fields& one) {
    TlbLevel level;
    if (!small.empty() && one.flag("shared", false)) {
      if (levels.size() >= small.size()) throw one.error("shared", "there is no such level of small pages");
      level = small[levels.size()];
      level.shared = true;
    } else {
      level.entries = one.count("entries");
      level.ways = read_ways(one, level.entries);
      read_policy(one, level);
    }
    level.index = read_index(one, level.entries, level.ways);
    levels.push_back(level);
  });
  return levels;
}

void read_tlb(Fields& fields, MachineDescription& machine) {
  TlbDescription& tlb = machine.tlb.emplace();
  tlb.page = fields.bytes("page", tlb.page);
  tlb.levels = read_tlb_levels(fields, "levels");
  if (!fields.any("walk").is_null()) tlb.walk = read_tlb_levels(fields, "walk");
  fields.object("huge", [&](Fields& huge) {
    tlb.huge_page = huge.bytes("page", tlb.huge_page);
    tlb.huge = read_tlb_levels(huge, "levels", tlb.levels);
  });
}

void read_instructions(Fields& fields, MachineDescription& machine) {
  InstructionDescription& all = machine.instructions.emplace();
  all.cache = read_cache(fields);
  if (fields.any("tlb").is_null()) return;
  all.tlb = read_tlb_levels(fields, "tlb", machine.tlb ? machine.tlb->levels : std::vector<TlbLevel>{});
  for (std::size_t i = 0; i < all.tlb.size(); ++i)
    if (all.tlb[i].shared && all.tlb[i].index.empty()) all.tlb[i].index = machine.tlb->levels[i].index;
}

/// What others measured on machines of this description.
void read_validation(Fields& fields, MachineDescription& machine) {
  Validation& validation = machine.validated.emplace();
  validation.groups = fields.count("groups");
  const json& cpus = fields.required("cpus");
  if (!cpus.is_array() || !std::ranges::all_of(cpus, [](const json& cpu) { return cpu.is_string(); }))
    throw fields.error("cpus", "is not a list of names");
  validation.cpus = cpus.get<std::vector<std::string>>();
  fields.object("l1_deviation_percent", [&](Fields& loops) {
    for (const char* name : {"simple", "line", "block"})
      if (const auto percent = loops.number(name)) validation.deviations[name] = *percent;
  });
}

/// Presets as sums of the machine's own metrics.
void read_presets(Fields& presets, const json& value, MachineDescription& machine) {
  constexpr std::int64_t max_factor = 1000;
  const std::vector<std::string> known = metric_names(machine, true);
  const auto check_known = [&](Fields& fields, const std::string& name, bool kind, const char* what) {
    if (!kind || std::ranges::find(known, name) == known.end())
      throw fields.error(name, fmt::format("the machine has no such {}", what),
                         base::did_you_mean_or_all(name, known));
  };
  for (const auto& [preset, sum] : value.items()) {
    check_known(presets, preset, is_preset(preset), "preset");
    if (!sum.is_object() || sum.empty())
      throw presets.error(preset, "is not an object {METRIC: FACTOR, ...}");
    presets.object(preset, [&, &preset = preset, &sum = sum](Fields& terms) {
      for (const auto& [metric, number] : sum.items()) {
        check_known(terms, metric, metric.starts_with("MODEL_"), "metric");
        const std::int64_t factor = terms.count(metric);
        if (factor > max_factor)
          throw terms.error(metric, fmt::format("must be between 1 and {}", max_factor));
        machine.presets[preset][metric] = factor;
      }
    });
  }
}

} // namespace

MachineDescription parse_machine(std::string_view text, const std::string& file) {
  const json value = read_json(text, file);
  Fields fields(value, file, "");
  MachineDescription machine;
  machine.name = fields.text("name");
  machine.source = fields.text("source", "");
  machine.pmu = fields.text("pmu", "");
  machine.microarchitecture = fields.text("microarchitecture", "");
  fields.object("validated", [&](Fields& one) { read_validation(one, machine); });
  fields.list("levels", [&](Fields& one) { machine.levels.push_back(read_level(one)); });
  fields.object("tlb", [&](Fields& one) { read_tlb(one, machine); });
  fields.object("instructions", [&](Fields& one) { read_instructions(one, machine); });
  machine.seed = static_cast<std::uint64_t>(fields.count("seed", 1));
  machine.cores = fields.count("cores", 1);
  check(machine, file);
  fields.object("presets", [&](Fields& one) { read_presets(one, fields.any("presets"), machine); });
  fields.done();
  return machine;
}

// What a Hierarchy needs of a machine description, checked: recount-machines(5).

namespace {

constexpr std::int64_t max_size = std::int64_t{1} << 36; // 64 GiB: its entries would take 8 GiB
constexpr std::int64_t max_lines = std::int64_t{1} << 28;
constexpr int max_line_bits = 60; // of a line number: an address has 64 bits, a line 4 bytes at least
constexpr const char* first_qlru =
    "QLRU and srrip are for levels below the first, whose repeated hits are counted at once";

bool power_of_two(std::int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}
bool within(std::int64_t n, std::int64_t least, std::int64_t most) {
  return least <= n && n <= most;
}

/// Reports fields of an object; `path` precedes their names: "levels[0].".
struct Checker {
  const std::string& file;
  std::string path;
  void need(bool holds, const std::string& field, const std::string& cause) const {
    if (!holds) throw bad_input(file, path + field + ": " + cause, "see recount-machines(5)");
  }
  [[nodiscard]] Checker element(const std::string& list, std::size_t i) const {
    return {file, fmt::format("{}{}[{}].", path, list, i)};
  }
};

/// One mask per bit of the set, and none the XOR of others: each set then gets as many lines as any other.
void check_index(const Checker& c, std::int64_t sets, const std::vector<std::uint64_t>& masks) {
  if (masks.empty()) return;
  c.need(
      power_of_two(sets) && std::countr_zero(static_cast<std::uint64_t>(sets)) == std::ssize(masks), "index",
      fmt::format("{} for {} sets: one mask per bit of the set number and a power of two of sets are needed",
                  base::format_count(masks.size(), "mask", "masks"), sets));
  std::vector<std::uint64_t> reduced;
  for (std::uint64_t mask : masks) {
    c.need(mask != 0 && std::bit_width(mask) <= max_line_bits, "index", "a mask selects no or too high bits");
    for (const std::uint64_t other : reduced)
      mask = std::min(mask, mask ^ other);
    c.need(mask != 0, "index", "a mask is the XOR of others, so some sets would never be used");
    reduced.push_back(mask);
  }
}

/// The sets of a LevelDescription or a TlbLevel.
void check_sets(const Checker& c, const auto& level) {
  check_index(c, level.sets(), level.index);
  const std::int64_t most = policy_ways(level.policy);
  c.need(level.ways <= most, "policy", fmt::format("is for at most {} ways, not {}", most, level.ways));
  c.need(level.policy != Policy::lru_plru4 || level.ways % 4 == 0, "policy",
         fmt::format("lru-plru4 needs a multiple of 4 ways, not {}", level.ways));
}

void check_cache(const Checker& c, const LevelDescription& level) {
  c.need(power_of_two(level.line) && within(level.line, 4, 1 << 20), "line",
         fmt::format("must be a power of two from 4 to 1 MiB, but is {}", level.line));
  c.need(within(level.size, 1, max_size), "size", "must be from one line to 64 GiB");
  const std::int64_t lines = level.size / level.line, row = level.line * level.ways;
  c.need(lines <= max_lines, "size", "more than 2^28 lines");
  c.need(within(level.ways, 1, lines), "ways",
         fmt::format("must be from 1 to the number of lines, {}, but is {}", lines, level.ways));
  c.need(level.size % row == 0, "size",
         fmt::format("{} is not a multiple of line x ways = {}", level.size, row));
  check_sets(c, level);
  for (const Prefetcher& one : level.prefetch) {
    c.need(std::ranges::count(level.prefetch, one.kind, &Prefetcher::kind) == 1, "prefetch",
           "has two prefetchers of one type");
    c.need(within(one.streams, 1, 4096) && within(one.trigger, 2, 64) && within(one.distance, 1, 1024) &&
               within(one.degree, 1, 64),
           "prefetch", "streams must be from 1 to 4096, trigger 2 to 64, distance 1 to 1024, degree 1 to 64");
  }
}

void check_first(const Checker& c, const LevelDescription& level) {
  c.need(level.policy != Policy::qlru, "policy", first_qlru);
  c.need(level.inclusion == Inclusion::non_inclusive, "inclusion", "the first level has none above it");
  c.need(!level.shared, "shared", "the first level belongs to one core");
}

void check_neighbours(const Checker& c, const LevelDescription& above, const LevelDescription& level) {
  c.need(level.line >= above.line, "line",
         fmt::format("is shorter than that of {}, {}", above.name, above.line));
  c.need(level.shared || !above.shared, "shared",
         fmt::format("must be true below {}, which is shared", above.name));
  if (level.inclusion != Inclusion::exclusive) return;
  c.need(level.line == above.line, "line",
         "an exclusive level has the line of the level above, " + above.name);
  c.need(above.write == Write::back, "inclusion",
         fmt::format("an exclusive level forwards dirty lines, so {} cannot write through", above.name));
  c.need(level.allocate, "allocate", "has no meaning in an exclusive level, which stores never fill");
  c.need(level.prefetch.empty(), "prefetch", "an exclusive level is filled from above only");
}

void check_tlb_level(const Checker& c, const TlbLevel& level) {
  c.need(within(level.entries, 1, max_lines), "entries", "must be from 1 to 2^28");
  c.need(level.ways > 0 && level.entries % level.ways == 0, "ways",
         fmt::format("{} not divide into sets of {}",
                     base::format_count(level.entries, "entry does", "entries do"), level.ways));
  check_sets(c, level);
}

void check_pages(const Checker& c, std::int64_t page, const std::vector<TlbLevel>& levels,
                 std::int64_t line) {
  c.need(power_of_two(page) && page >= line, "page", "must be a power of two and not shorter than a line");
  c.need(!levels.empty(), "levels", "at least one is required");
  for (std::size_t i = 0; i < levels.size(); ++i)
    check_tlb_level(c.element("levels", i), levels[i]);
  c.element("levels", 0).need(levels[0].policy != Policy::qlru, "policy", first_qlru);
}

void check_tlb(const std::string& file, const TlbDescription& tlb, std::int64_t line) {
  const Checker c{file, "tlb."}, huge{file, "tlb.huge."};
  check_pages(c, tlb.page, tlb.levels, line);
  c.need(tlb.walk.size() <= 4, "walk", "a page table has at most 4 levels above the last");
  for (std::size_t i = 0; i < tlb.walk.size(); ++i)
    check_tlb_level(c.element("walk", i), tlb.walk[i]);
  if (!tlb.huge.empty()) check_pages(huge, tlb.huge_page, tlb.huge, line);
  for (std::size_t i = 0; i < tlb.huge.size(); ++i) {
    const TlbLevel& level = tlb.huge[i];
    if (!level.shared) continue;
    const Checker at = huge.element("levels", i);
    at.need(i < tlb.levels.size(), "shared", "there is no such level of small pages");
    const TlbLevel& small = tlb.levels[i];
    at.need(small.entries == level.entries && small.ways == level.ways, "shared",
            "the entries are not those of small pages");
    at.need(small.index == level.index ||
                SetIndex(static_cast<std::uint64_t>(small.sets()), small.index).invertible(),
            "index",
            "of a shared level can differ from that of small pages only if mask i there selects bit i");
  }
}

void check_instructions(const std::string& file, const MachineDescription& machine) {
  const auto& [cache, tlb] = *machine.instructions;
  const Checker c{file, "instructions."};
  check_cache(c, cache);
  if (machine.levels.size() > 1) {
    const LevelDescription& next = machine.levels[1];
    c.need(next.line >= cache.line, "line", fmt::format("is longer than that of {}", next.name));
    c.need(next.inclusion != Inclusion::exclusive, "size",
           next.name + ", which is filled by the level above only, is not filled with instructions");
  }
  c.need(tlb.empty() || machine.tlb, "tlb", "the machine has no TLB for data, which states the page size");
  for (std::size_t i = 0; i < tlb.size(); ++i) {
    const Checker at = c.element("tlb", i);
    check_tlb_level(at, tlb[i]);
    if (!tlb[i].shared) continue;
    at.need(i > 0, "shared", "the first level belongs to instructions alone");
    at.need(i < machine.tlb->levels.size() && tlb[i].entries == machine.tlb->levels[i].entries &&
                tlb[i].index == machine.tlb->levels[i].index,
            "shared", "the entries are not those of data");
  }
}

} // namespace

void check(const MachineDescription& machine, const std::string& file) {
  const Checker c{file, ""};
  c.need(!machine.levels.empty(), "levels", "at least one is required");
  c.need(within(machine.cores, 1, max_cores), "cores", fmt::format("must be from 1 to {}", max_cores));
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Checker at = c.element("levels", i);
    check_cache(at, machine.levels[i]);
    if (i == 0)
      check_first(at, machine.levels[i]);
    else
      check_neighbours(at, machine.levels[i - 1], machine.levels[i]);
  }
  if (machine.instructions) check_instructions(file, machine);
  if (machine.tlb) check_tlb(file, *machine.tlb, machine.levels[0].line);
}

} // namespace recount::model
