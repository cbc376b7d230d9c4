#include "count/preset/catalogue.hpp"

#include "base/format.hpp"
#include "base/nearest.hpp"
#include "base/text.hpp"
#include "count/preset/preset_table.hpp"

#include <recount/error.hpp>

#include <fmt/core.h>
#include <linux/perf_event.h>
#define ZLIB_CONST // its input is constant
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

// The file as bytes of the program: 2 MB of text are too long for a string literal.
__asm__(".pushsection .rodata\n"
        ".global recount_catalogue, recount_catalogue_end\n"
        "recount_catalogue: .incbin \"" RECOUNT_CATALOGUE "\"\n"
        "recount_catalogue_end: .byte 0\n"
        ".popsection\n");
extern "C" {
__attribute__((visibility("hidden"))) extern const unsigned char recount_catalogue[], recount_catalogue_end[];
}

namespace recount::preset {
namespace {

using event::pfm::Table;

/// The text of the built-in catalogue, which gzip has compressed.
std::string expanded() {
  z_stream stream{};
  constexpr int gzip_only = 16;
  int result = inflateInit2(&stream, MAX_WBITS + gzip_only);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = recount_catalogue;
  stream.avail_in = static_cast<uInt>(recount_catalogue_end - recount_catalogue);
  std::string text;
  std::vector<char> piece(1 << 18);
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    text.append(piece.data(), piece.size() - stream.avail_out);
  }
  if (result != Z_STREAM_END) throw bad_input("built-in event catalogue", "damaged");
  return text;
}

/// "P", id, counters, fixed counters, name, description.
Table parse_pmu(std::string_view line) {
  const auto fields = base::split(line, '\t');
  Table pmu;
  pmu.kind = Table::Kind::core;
  pmu.id = base::parse<int>(fields.at(1)).value();
  pmu.counters = base::parse<int>(fields.at(2)).value();
  pmu.fixed_counters = base::parse<int>(fields.at(3)).value();
  pmu.name = fields.at(4);
  pmu.prose = fields.at(5);
  return pmu;
}

} // namespace

Catalogue Catalogue::of(std::string text) {
  Catalogue catalogue;
  catalogue.text_ = std::move(text);
  const std::string_view all = catalogue.text_;
  for (std::size_t at = all.find("\nP\t"); at != all.npos; at = all.find("\nP\t", at + 1)) {
    catalogue.pmus_.push_back(parse_pmu(all.substr(at + 1, all.find('\n', at + 1) - at - 1)));
    catalogue.begins_.push_back(at + 1);
  }
  return catalogue;
}

const Catalogue& Catalogue::built_in() {
  static const Catalogue catalogue = of(expanded());
  return catalogue;
}

const Table* Catalogue::find(std::string_view name) const noexcept {
  const auto at = std::ranges::find_if(pmus_, [&](const Table& pmu) { return same_word(pmu.name, name); });
  return at == pmus_.end() ? nullptr : &*at;
}

CatalogueEvents Catalogue::events(const Table& pmu) const {
  CatalogueEvents out;
  const auto which = static_cast<std::size_t>(&pmu - pmus_.data());
  const std::size_t end = which + 1 < begins_.size() ? begins_[which + 1] : text_.size();
  auto lines = base::split(std::string_view(text_).substr(begins_[which], end - begins_[which]), '\n');
  lines.erase(lines.begin());
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    const auto fields = base::split(line, '\t');
    if (fields[0] == "M" && fields.size() == 2) {
      for (const std::string_view modifier : base::split(fields[1], ' '))
        out.modifiers.emplace_back(modifier);
      continue;
    }
    const auto code = fields.size() == 5 ? base::parse<std::uint64_t>(fields[1], 16) : std::nullopt;
    if (code && fields[0] == "E")
      out.events.push_back({{std::string(fields[2]), std::string(fields[4]), std::string(fields[3]),
                             static_cast<int>(out.events.size()), 0},
                            *code,
                            {}});
    else if (code && fields[0] == "U" && !out.events.empty())
      out.events.back().masks.push_back(
          {{std::string(fields[2]), std::string(fields[4]), false, fields[3] == "default", 0}, *code});
  }
  return out;
}

namespace {

const std::vector<Table>& all_tables() {
  static const std::vector<Table> tables = event::pfm::tables();
  return tables;
}

// Intel's Software Developer's Manual, volume 3, "Predefined Architectural Performance Events". libpfm4 fills
// its table of them from CPUID, so on other CPUs the table is empty.
constexpr std::pair<const char*, std::uint64_t> architectural[] = {{"UNHALTED_CORE_CYCLES", 0x3c},
                                                                   {"INSTRUCTION_RETIRED", 0xc0},
                                                                   {"UNHALTED_REFERENCE_CYCLES", 0x13c},
                                                                   {"LLC_REFERENCES", 0x4f2e},
                                                                   {"LLC_MISSES", 0x412e},
                                                                   {"BRANCH_INSTRUCTIONS_RETIRED", 0xc4},
                                                                   {"MISPREDICTED_BRANCH_RETIRED", 0xc5}};

/// The PMUs other than the core's own that PAPI's first component supports there.
std::vector<std::string> further_pmus(const Table& core) {
  if (core.name.starts_with("adl_")) return {core.name == "adl_glc" ? "adl_grt" : "adl_glc", "ix86arch"};
  if (core.prose.starts_with("Intel")) return {"ix86arch"};
  return {};
}

/// Adds the encoding of an event with unit masks and modifiers, whose names are known to be right.
Native encode_listed(const Table& pmu, const CatalogueEvent& event, const std::vector<std::string>& parts,
                     Native native) {
  std::uint64_t mask = 0;
  bool masked = false;
  // The masks of netburst are numbers of bits.
  const bool numbered = pmu.name.starts_with("netburst");
  const auto bits = [&](std::uint64_t code) { return numbered ? std::uint64_t{1} << (code & 63) : code; };
  std::vector<std::string> modifiers;
  for (const std::string& name : parts) {
    const auto at = std::ranges::find(event.masks, name, [](const auto& m) { return m.attribute.name; });
    if (at == event.masks.end()) {
      modifiers.push_back(name);
    } else {
      mask |= bits(at->code);
      masked = true;
    }
  }
  for (const CatalogueMask& one : event.masks)
    if (!masked && one.attribute.is_default) mask |= bits(one.code);
  // On these a code names another event on each counter.
  if (pmu.name.starts_with("ultra") || pmu.name.starts_with("niagara") || pmu.name.starts_with("mips"))
    modifiers.push_back(event.entry.name);
  native.status = Native::Status::ok;
  native.type = PERF_TYPE_RAW;
  // perf's raw format of x86: event select in bits 0 to 7, of AMD also in 32 to 35, unit mask in 8 to 15
  const bool intel = pmu.prose.starts_with("Intel"), amd = pmu.prose.starts_with("AMD");
  if ((intel || amd) && pmu.id == described_pmu) {
    native.config = event.code | mask;
    if (!masked && event.code == 0 && !event.masks.empty()) {
      native.status = Native::Status::refused;
      native.failure = "a unit mask is missing";
    }
  } else if (intel) {
    native.config = event.code | mask << 8;
  } else if (amd) {
    native.config = (event.code & 0xff) | mask << 8 | (event.code >> 8) << 32;
  } else {
    native.type = 0x7fffffff; // none of the kernel's
    native.config = event.code | mask << 32;
  }
  std::ranges::sort(modifiers);
  for (const std::string& modifier : modifiers)
    native.config1 = native.config1 * 31 + std::hash<std::string>{}(modifier) + 1;
  return native;
}

} // namespace

/// The events of one PMU by name, with the masks of those that were looked up.
struct Natives::EventTable {
  Table table;
  std::unordered_map<std::string, event::pfm::Entry> entries; ///< by name in lower case
  std::unordered_map<int, std::vector<event::pfm::Attribute>> masks;
  std::unordered_map<std::string, std::uint64_t> fixed; ///< codes that libpfm4 has only on an Intel CPU
  std::optional<CatalogueEvents> listed;                ///< of a PMU that libpfm4 does not have

  EventTable(const Table& of, const Catalogue& catalogue) : table(of), listed(catalogue.events(of)) {
    for (const auto& event : listed->events) {
      entries.emplace(base::lower_case(event.entry.name), event.entry);
      auto& all = masks[event.entry.index];
      for (const CatalogueMask& mask : event.masks)
        all.push_back(mask.attribute);
      for (const std::string& modifier : listed->modifiers)
        all.push_back({modifier, {}, true, false, 0});
    }
  }
  explicit EventTable(const Table& of) : table(of) {
    for (auto& entry : event::pfm::entries(of))
      entries.emplace(base::lower_case(entry.name), std::move(entry));
    if (of.name != "ix86arch" || !entries.empty()) return;
    for (const auto& [name, code] : architectural) {
      entries.emplace(base::lower_case(name),
                      event::pfm::Entry{name, "Intel's architectural event", "", -1, 0});
      fixed.emplace(name, code);
    }
  }
  const event::pfm::Entry* find(const std::string& name) const {
    const auto at = entries.find(base::lower_case(name));
    return at == entries.end() ? nullptr : &at->second;
  }
  const std::vector<event::pfm::Attribute>& attributes(const event::pfm::Entry& entry) {
    const auto at = masks.find(entry.index);
    return at != masks.end() ? at->second
                             : masks.emplace(entry.index, event::pfm::attributes(entry)).first->second;
  }
};

Natives::Natives(const Table& core, PapiVersion version, const Catalogue* catalogue) : core_(core) {
  const auto open = [&](std::string_view name) {
    if (const Table* const table = catalogue ? catalogue->find(name) : nullptr) {
      tables_.push_back(std::make_unique<EventTable>(*table, *catalogue));
      return;
    }
    for (const Table& table : all_tables())
      if (table.name == name) tables_.push_back(std::make_unique<EventTable>(table));
  };
  open(core.name);
  unprefixed_ = tables_.size(); // from 7.3 on a bare name reaches the default PMU only (pe_libpfm4_events.c)
  for (const auto& name : further_pmus(core))
    open(name);
  open("perf");
  open("perf_raw");
  if (version == PapiVersion::v7_0) unprefixed_ = tables_.size();
}

Natives::~Natives() = default;

const Native& Natives::of(const std::string& name) {
  const auto at = known_.find(name);
  return at != known_.end() ? at->second : known_.emplace(name, find(name)).first->second;
}

NativeLookup Natives::lookup() {
  return [this](const std::string& name) {
    const Native& native = of(name);
    return native.ok() ? Known::yes : native.status == Native::Status::refused ? Known::refused : Known::no;
  };
}

Native Natives::find(const std::string& name) {
  Native native;
  std::string rest = name;
  /// Cuts the part before a separator off the rest.
  const auto take = [&](std::string_view separator) -> std::optional<std::string> {
    const auto at = rest.find(separator);
    if (at == std::string::npos) return {};
    const std::string part = rest.substr(0, at);
    rest.erase(0, at + separator.size());
    return part;
  };
  if (const auto component = take(":::"); component && component != "perf_event") {
    native.status = Native::Status::elsewhere;
    native.part = *component;
    return native;
  }
  std::size_t first = 0, last = unprefixed_;
  if (const auto pmu = take("::")) {
    while (first < tables_.size() && tables_[first]->table.name != *pmu) // PAPI's comparison respects case
      ++first;
    last = first + 1;
    if (first == tables_.size()) {
      native.status = Native::Status::elsewhere;
      native.part = *pmu;
      return native;
    }
  }
  const auto before_masks = take(":");
  const std::string event = before_masks ? *before_masks : rest;
  for (; first < last; ++first)
    if (const event::pfm::Entry* const entry = tables_[first]->find(event))
      return find_in(*tables_[first], *entry, event, before_masks ? rest : std::string());
  native.event = native.part = event;
  return native;
}

Native Natives::find_in(EventTable& table, const event::pfm::Entry& entry, const std::string& event,
                        const std::string& masks) {
  Native native;
  native.pmu = table.table.name;
  native.event = entry.name;
  native.prose = entry.prose;
  if (const auto code = table.fixed.find(entry.name); code != table.fixed.end() && masks.empty()) {
    native.status = Native::Status::ok;
    native.type = PERF_TYPE_RAW;
    native.config = code->second;
    return native;
  }
  std::vector<std::string> parts;
  if (!masks.empty())
    for (const auto part : base::split(masks, ':'))
      parts.emplace_back(part);
  for (const std::string& part : parts) {
    const auto& attributes = table.attributes(entry);
    const auto at =
        std::ranges::find(attributes, part.substr(0, part.find('=')), &event::pfm::Attribute::name);
    if (at == attributes.end()) {
      native.status = Native::Status::unknown_mask;
      native.part = part;
      return native;
    }
    if (!at->modifier) native.prose += (native.prose.empty() ? "" : "; ") + at->prose;
  }
  if (table.listed)
    return encode_listed(table.table, table.listed->events[static_cast<std::size_t>(entry.index)], parts,
                         std::move(native));
  const auto encoded =
      event::pfm::encode(table.table.name + "::" + event + (masks.empty() ? "" : ":" + masks), Domain::all);
  // libpfm4 encodes some Arm and s390 PMUs on their own machines only, and still has their codes.
  if (!encoded.ok && (encoded.unsupported || !encoded.known)) {
    CatalogueEvent listed{entry, entry.code, {}};
    for (const auto& one : table.attributes(entry))
      if (!one.modifier) listed.masks.push_back({one, one.code});
    return encode_listed(table.table, listed, parts, std::move(native));
  }
  native.status = encoded.ok ? Native::Status::ok : Native::Status::refused;
  native.failure = encoded.failure;
  native.type = encoded.attr.type;
  native.config = encoded.attr.config;
  native.config1 = encoded.attr.config1;
  native.config2 = encoded.attr.config2;
  return native;
}

std::set<std::string> Natives::core_names() {
  std::set<std::string> names;
  for (const auto& [key, entry] : tables_.front()->entries) {
    names.insert(entry.name);
    for (const auto& mask : tables_.front()->attributes(entry))
      if (!mask.modifier) names.insert(entry.name + ":" + mask.name);
  }
  return names;
}

std::vector<std::string> Natives::suggest(const std::string& name) {
  const Native native = of(name);
  std::vector<std::string> candidates;
  if (native.status == Native::Status::unknown_mask) {
    for (const auto& table : tables_)
      if (const event::pfm::Entry* entry = table->find(native.event);
          entry && table->table.name == native.pmu)
        for (const auto& mask : table->attributes(*entry))
          if (!mask.modifier) candidates.push_back(mask.name);
    return base::nearest(native.part, candidates, 3);
  }
  if (native.status != Native::Status::unknown_event) return {};
  for (std::size_t i = 0; i < unprefixed_; ++i)
    for (const auto& [key, entry] : tables_[i]->entries)
      candidates.push_back(entry.name);
  std::ranges::sort(candidates);
  return base::nearest(native.event, candidates, 3);
}

const std::vector<Table>& core_pmus() {
  static const std::vector<Table> cores = [] {
    std::vector<Table> found = all_tables();
    std::erase_if(found, [](const Table& t) { return t.kind != Table::Kind::core || t.name == "ix86arch"; });
    return found;
  }();
  return cores;
}

const Table* core_pmu(std::string_view name) {
  const auto at = std::ranges::find_if(core_pmus(), [&](const Table& t) { return same_word(t.name, name); });
  return at == core_pmus().end() ? nullptr : &*at;
}

const Table* architectural_pmu() {
  const auto at = std::ranges::find(all_tables(), "ix86arch", &Table::name);
  return at == all_tables().end() ? nullptr : &*at;
}

const Table* default_pmu() {
  const Table* last = nullptr; // PAPI takes the last that is present
  for (const Table& table : core_pmus())
    if (table.present && !(table.name == "amd64_fam17h" && last && last->name == "amd64_fam17h_zen1"))
      last = &table;
  return last;
}

} // namespace recount::preset
