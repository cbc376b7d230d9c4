#include "model/machine.hpp"

#include "base/format.hpp"
#include "base/host/machine.hpp"
#include "base/nearest.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "model/level.hpp"
#include "model/sets.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace recount::model {

namespace {

constexpr std::string_view resize_mark = "~l1=";
constexpr std::int64_t max_bytes = std::int64_t{1} << 30, max_ways = 1 << 16;
constexpr std::size_t max_members = 10'000;

struct Range {
  std::int64_t least = 0, most = 0;
};

/// FROM:TO or one number, each read by `parse`.
template <class Parse>
std::optional<Range> parse_range(std::string_view text, Parse&& parse, std::int64_t most) {
  const auto colon = text.find(':');
  const auto from = parse(text.substr(0, colon)),
             to = colon == text.npos ? from : parse(text.substr(colon + 1));
  if (!from || !to || *from < 1 || *from > *to || *to > most) return {};
  return Range{*from, *to};
}

/// Makes a cache fully associative.
void make_full(LevelDescription& level) {
  level.ways = level.size / level.line;
  level.index.clear();
}

} // namespace

std::string to_text(const FamilyMember& member) {
  return base::format_size(member.size) + "/" + std::to_string(member.ways);
}

MachineDescription resized(MachineDescription machine, std::string_view text) {
  const auto slash = text.find('/');
  const auto parse_ways = [](std::string_view number) { return base::parse<std::int64_t>(number); };
  const auto sizes = parse_range(text.substr(0, slash), base::parse_size, max_bytes),
             ways = parse_range(slash == text.npos ? "" : text.substr(slash + 1), parse_ways, max_ways);
  const auto refuse = [&](const std::string& cause) {
    return bad_input(machine.name, cause, "sizes and ways are written as 8K:64K/1:16 or 32K/8");
  };
  if (!sizes || !ways) throw refuse("\"" + std::string(text) + "\" is not SIZES/WAYS");
  const LevelDescription& level = machine.levels.front();
  std::vector<FamilyMember> members;
  for (std::int64_t size = sizes->least; size <= sizes->most; size *= 2)
    for (std::int64_t w = ways->least; w <= ways->most && w * level.line <= size; ++w)
      if (size % (w * level.line) == 0) members.push_back({size, w});
  if (members.empty()) throw refuse("no size in the range divides into sets of that number of ways");
  if (members.size() > max_members)
    throw refuse(std::to_string(members.size()) + " caches are more than " + std::to_string(max_members));
  machine.levels = {{.name = level.name,
                     .size = members.back().size,
                     .line = level.line,
                     .ways = members.back().ways,
                     .latency = level.latency}};
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

namespace {

/// "ENTRIES:WAYS" or "ENTRIES:WAYS:xor" in place of the last level of the TLB.
void change_last_tlb(MachineDescription& machine, std::string_view text) {
  constexpr std::int64_t max_entries = 1 << 20;
  if (!machine.tlb) throw bad_input(machine.name, "the machine has no TLB to change", "a machine with one");
  const auto fields = base::split(text, ':');
  const auto number = [&](std::size_t at) {
    return at < fields.size() ? base::parse<std::int64_t>(fields[at]).value_or(0) : 0;
  };
  TlbLevel level{.entries = number(0), .ways = number(1)};
  const bool hashed = fields.size() == 3 && fields[2] == "xor";
  const bool whole = level.entries >= 1 && level.entries <= max_entries && level.ways >= 1 &&
                     level.ways <= level.entries && level.entries % level.ways == 0 &&
                     std::has_single_bit(static_cast<std::uint64_t>(level.sets()));
  if (!whole || fields.size() > 3 || (fields.size() == 3 && !hashed) || (hashed && level.sets() < 2))
    throw bad_input(machine.name, "no such level of a TLB",
                    "ENTRIES:WAYS with a power of two of sets, as in ~stlb=1536:12 or ~stlb=2048:16:xor");
  if (hashed) level.index = xor_masks(level.sets());
  auto& tlb = *machine.tlb;
  const std::size_t last = tlb.levels.size() - 1;
  tlb.levels[last] = level;
  const auto share = [&](std::vector<TlbLevel>& others, const std::vector<std::uint64_t>& index) {
    if (last >= others.size() || !others[last].shared) return;
    others[last] = level;
    others[last].shared = true;
    others[last].index = index;
  };
  share(tlb.huge, {}); // hashes of page numbers are those of small pages
  if (machine.instructions) share(machine.instructions->tlb, level.index);
}

} // namespace

MachineDescription altered(MachineDescription machine, const std::string& part) {
  constexpr std::string_view placement = "placement=", cores_option = "cores=", last_tlb = "stlb=";
  machine.name += "~" + part;
  if (part.starts_with("l1=")) {
    machine = resized(std::move(machine), part.substr(3));
  } else if (part == "sample") {
    machine.sampled = true;
  } else if (part.starts_with(placement)) {
    machine.placement = parse_placement(std::string_view(part).substr(placement.size()));
    if (!machine.placement)
      throw bad_input(machine.name, "unknown placement of pages",
                      "one of any, contiguous, random, mixed, or a power of two from 1 to 512");
    if (machine.tlb) machine.placement->page = std::max(machine.placement->page, machine.tlb->page);
    machine.placement->huge_page = (machine.tlb ? *machine.tlb : TlbDescription{}).huge_page;
    if (machine.tlb && machine.placement->mixed && machine.tlb->huge.size() > machine.tlb->levels.size())
      throw bad_input(machine.name, "has more TLB levels for huge pages than for small ones",
                      "another placement than mixed");
  } else if (part == "no-tlb") {
    machine.tlb.reset();
    if (machine.instructions) machine.instructions->tlb.clear();
  } else if (part.starts_with(cores_option)) {
    machine.cores = base::parse<std::int64_t>(std::string_view(part).substr(cores_option.size())).value_or(0);
    if (machine.cores < 1 || machine.cores > max_cores)
      throw bad_input(machine.name, "the number of cores must be between 1 and " + std::to_string(max_cores),
                      "as in ~cores=4");
  } else if (part == "huge") {
    machine = with_huge_pages(std::move(machine));
  } else if (part.starts_with(last_tlb)) {
    change_last_tlb(machine, std::string_view(part).substr(last_tlb.size()));
  } else if (part == "full") {
    std::ranges::for_each(machine.levels, make_full);
    if (machine.instructions) make_full(machine.instructions->cache);
  } else {
    throw bad_input(machine.name, "unknown part of a machine \"" + part + "\"",
                    base::did_you_mean_or_all(part, {"no-tlb", "full", "huge", "cores=N", "l1=SIZES/WAYS",
                                                     "stlb=ENTRIES:WAYS", "sample", "placement=any"}));
  }
  if (!machine.family.empty() && (machine.sampled || machine.placement || machine.cores > 1))
    throw bad_input(machine.name,
                    "a family of caches is simulated completely, on one core and with one placement",
                    "one size: ~l1=32K/8");
  return machine;
}

std::string without_modes(const std::string& name) {
  std::string kept;
  for (std::size_t from = 0; from < name.size();) {
    const std::size_t next = std::min(name.find('~', from + 1), name.size());
    const std::string_view part = std::string_view(name).substr(from, next - from);
    if (part != "~sample" && !part.starts_with("~placement=")) kept += part;
    from = next;
  }
  return kept;
}

bool depends_on_placement(const MachineDescription& machine) {
  return machine.tlb || std::ranges::any_of(machine.levels, [](const LevelDescription& level) {
           return !level.index.empty() || level.line * level.sets() > Placement{}.page ||
                  !level.prefetch.empty();
         });
}

MachineDescription with_huge_pages(MachineDescription machine) {
  if (machine.placement) {
    machine.placement->mixed = false;
    machine.placement->page = machine.tlb ? machine.tlb->huge_page : TlbDescription{}.huge_page;
  }
  machine.instructions.reset(); // no kernel has its code in huge pages
  if (!machine.tlb) return machine;
  TlbDescription& tlb = *machine.tlb;
  constexpr int level_bits = 9; // of the address, that a level of the page table translates
  for (std::int64_t page = tlb.page; !tlb.walk.empty() && page << level_bits <= tlb.huge_page;
       page <<= level_bits)
    tlb.walk.erase(tlb.walk.begin());
  tlb.page = tlb.huge_page;
  if (!tlb.huge.empty()) tlb.levels = std::exchange(tlb.huge, {});
  return machine;
}

MachineDescription machine(const std::string& name) {
  const std::string_view before = before_sizes(name); // a slash after it is not part of a path
  const std::size_t slash = before.empty() ? name.rfind('/') : before.rfind('/');
  if (const auto tilde = name.rfind('~'); tilde != std::string::npos && tilde > slash + 1)
    return altered(machine(name.substr(0, tilde)), name.substr(tilde + 1));
  if (name == "host") return host_machine();
  if (name.find('/') != std::string::npos || name.ends_with(".json"))
    return parse_machine(base::require_file(name), name);
  std::vector<std::string> known{"host"};
  for (const Shipped& shipped : shipped_machines()) {
    if (shipped.name == name) return parse_machine(shipped.json, name + ".json");
    known.emplace_back(shipped.name);
  }
  throw bad_input(name, "no such machine",
                  base::did_you_mean_or_all(name, known) + " (a file name has a slash or .json)");
}

std::optional<MachineDescription> shipped_machine(const std::string& name) {
  if (std::ranges::count(machine_names(), name.substr(0, name.find('~'))) == 0) return {};
  try {
    return machine(name);
  } catch (const Error&) { // a part of a machine that this recount does not know
    return {};
  }
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const Shipped& shipped : shipped_machines())
    names.emplace_back(shipped.name);
  return names;
}

namespace {

std::optional<TlbDescription> describe(const std::vector<host::Tlb>& tlbs) {
  TlbDescription tlb;
  for (const host::Tlb& stated : tlbs) {
    auto& levels = stated.page == tlb.page ? tlb.levels : tlb.huge;
    levels.push_back({.entries = stated.entries, .ways = stated.ways});
  }
  return tlb.levels.empty() ? std::nullopt : std::optional(tlb);
}

LevelDescription describe(const host::Cache& cache) {
  LevelDescription level;
  level.name = cache.name();
  level.size = cache.size;
  if (cache.line > 0) level.line = cache.line;
  level.ways = cache.ways > 0 ? cache.ways : level.size / level.line;
  return level;
}

/// Adds the first-level instruction cache to a machine that is valid without it; or says why it has none.
std::string add_instructions(MachineDescription& machine, const std::vector<host::Cache>& caches) {
  const auto stated =
      std::ranges::find_if(caches, [](const host::Cache& c) { return c.type == 'i' && c.level == 1; });
  if (stated == caches.end()) return "; no instruction cache: hwloc states none";
  machine.instructions = InstructionDescription{.cache = describe(*stated), .tlb = {}};
  try {
    check(machine, "host");
    return {};
  } catch (const Error& error) {
    machine.instructions.reset();
    return "; no instruction cache: as stated by hwloc it cannot be simulated: " + error.problem().cause;
  }
}

} // namespace

MachineDescription host_machine(const host::Machine& here, const std::vector<host::Tlb>& tlbs) {
  MachineDescription machine;
  machine.name = "host";
  int sharers = here.cpus; // hardware threads of the first shared level
  for (const host::Cache& cache : here.caches) {
    if (cache.type == 'i') continue;
    LevelDescription level = describe(cache);
    level.shared =
        !machine.levels.empty() && (machine.levels.back().shared || cache.shared_by > here.threads_per_core);
    if (level.shared && !machine.levels.back().shared) sharers = cache.shared_by;
    machine.levels.push_back(level);
  }
  if (machine.levels.empty())
    throw unavailable("host", "no data cache is stated for this machine",
                      "hwloc: no L1 cache in the topology",
                      "describe it in a file (recount-machines(5)) or name a shipped machine");
  machine.cores = std::clamp<std::int64_t>(sharers / std::max(1, here.threads_per_core), 1, max_cores);
  if (!here.virtualised()) machine.tlb = describe(tlbs);
  machine.source = "hwloc on " + (here.cpu.name.empty() ? here.architecture : here.cpu.name) +
                   (machine.tlb          ? "; TLBs as CPUID states them, those of loads also for stores"
                    : here.virtualised() ? "; no TLBs: a virtual machine"
                                         : "; no TLBs: CPUID states none") +
                   "; LRU and write-back assumed, other programs ignored";
  check(machine, "host");
  machine.source += add_instructions(machine, here.caches);
  return machine;
}

MachineDescription host_machine() {
  const host::Machine& here = host::this_machine();
  const int cpu = here.allowed_cpus.empty() ? 0 : here.allowed_cpus.front();
  return host_machine(here, host::tlbs_by_cpuid(cpu));
}

namespace {

constexpr unsigned small_page_shift = 12;

/// The generator of a draw.
std::uint64_t generator(std::uint64_t draw) {
  return draw << 32;
}

unsigned run_shift(const Placement& placement) {
  std::uint64_t state = generator(placement.draw);
  const unsigned run = placement.run
                           ? *placement.run
                           : static_cast<unsigned>(base::random_below(state, Placement::max_run + 1));
  return std::max(small_page_shift + run,
                  static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(placement.page))));
}

} // namespace

std::optional<Placement> parse_placement(std::string_view text) {
  Placement placement;
  placement.mixed = text == "mixed";
  if (text == "any" || placement.mixed) return placement;
  placement.contiguous = text == "contiguous";
  placement.run = 0;
  if (placement.contiguous || text == "random") return placement;
  const auto pages = base::parse<std::uint64_t>(text).value_or(0);
  if (!std::has_single_bit(pages) || pages > std::uint64_t{1} << Placement::max_run) return {};
  placement.run = static_cast<unsigned>(std::countr_zero(pages));
  return placement;
}

PhysicalPages::PhysicalPages(const Placement& placement) : shift_(run_shift(placement)) {
  const unsigned bits = placement.mixed ? mixed_bits : address_bits;
  mask_ = (std::uint64_t{1} << (bits - shift_)) - 1;
  std::uint64_t state = generator(placement.draw);
  base::next_random(state); // the length of a run
  key_ = base::next_random(state);
  if (!placement.mixed) return;
  arrays_ = base::next_random(state);
  huge_shift_ = static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(placement.huge_page)));
  huge_mask_ = (std::uint64_t{1} << (bits - huge_shift_)) - 1;
}

std::uint64_t array_base(const std::optional<Placement>& placement, std::uint64_t assumed, unsigned array) {
  if (!placement) return assumed;
  constexpr unsigned pages_shift = 32;
  std::uint64_t state = generator(placement->draw) + 2 + array;
  const std::uint64_t pages = (std::uint64_t{1} << pages_shift) / static_cast<std::uint64_t>(placement->page);
  return assumed + (std::uint64_t{array} << PhysicalPages::array_shift) +
         base::random_below(state, pages) * static_cast<std::uint64_t>(placement->page);
}

} // namespace recount::model
