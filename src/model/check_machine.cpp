// What a Hierarchy needs of a machine description, checked: recount-machines(5).

#include "base/format.hpp"
#include "model/machine.hpp"
#include "model/sets.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace recount::model {

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
