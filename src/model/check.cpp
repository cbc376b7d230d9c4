// What a description must satisfy to be simulated.
#include "base/format.hpp"
#include "model/machine.hpp"
#include "model/set_index.hpp"
#include "recount/error.hpp"

#include <algorithm>
#include <bit>

namespace recount::model {

namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 36; // 64 GiB: its entries would take 8 GiB
constexpr std::int64_t most_lines = std::int64_t{1} << 28;

bool power_of_two(std::int64_t n) {
  return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

struct Checker {
  const std::string& file;
  std::string path;
  void need(bool holds, const std::string& field, const std::string& cause) const {
    if (!holds) throw bad_input(file, path + "." + field + ": " + cause, "see recount-machines(5)");
  }
};

constexpr int most_line_bits = 60; // of a line number: an address has 64 bits, a line 4 bytes at least

/// One mask per bit of the set, and none the XOR of others: each set then gets as many lines as any other.
void check_index(const Checker& c, std::int64_t sets, const std::vector<std::uint64_t>& masks) {
  if (masks.empty()) return;
  c.need(masks.size() < 28 && sets == std::int64_t{1} << masks.size(), "index",
         "needs as many masks as the number of sets, " + std::to_string(sets) +
             ", has bits, and a power of two of sets, but has " + std::to_string(masks.size()));
  std::vector<std::uint64_t> reduced;
  for (std::uint64_t mask : masks) {
    c.need(mask != 0 && std::bit_width(mask) <= most_line_bits, "index",
           "a mask selects no or too high bits");
    for (const std::uint64_t other : reduced)
      mask = std::min(mask, mask ^ other);
    c.need(mask != 0, "index", "a mask is the XOR of others, so some sets would never be used");
    reduced.push_back(mask);
  }
}

/// Of a LevelDescription or a TlbLevel.
void check_policy(const Checker& c, const auto& level) {
  c.need(level.ways <= policy_ways(level.policy), "policy",
         "is for at most " + std::to_string(policy_ways(level.policy)) + " ways, not " +
             std::to_string(level.ways));
  c.need(level.policy != Policy::lru_plru4 || level.ways % 4 == 0, "policy",
         "lru-plru4 needs a multiple of 4 ways, not " + std::to_string(level.ways));
}
constexpr const char* first_qlru =
    "QLRU and srrip are for levels below the first, whose repeated hits are counted at once";

void check_shape(const Checker& c, const LevelDescription& level) {
  c.need(power_of_two(level.line) && level.line >= 4 && level.line <= 1 << 20, "line",
         "must be a power of two from 4 to 1 MiB, but is " + std::to_string(level.line));
  c.need(level.size > 0 && level.size <= most_size, "size", "must be from one line to 64 GiB");
  c.need(level.size / level.line <= most_lines, "size", "more than 2^28 lines");
  const std::int64_t lines = level.size / level.line;
  c.need(level.ways >= 1 && level.ways <= lines, "ways",
         "must be from 1 to the number of lines, " + std::to_string(lines) + ", but is " +
             std::to_string(level.ways));
  c.need(level.size % (level.line * level.ways) == 0, "size",
         std::to_string(level.size) +
             " is not a multiple of line x ways = " + std::to_string(level.line * level.ways));
  check_index(c, level.sets(), level.index);
  for (std::size_t i = 0; i < level.prefetch.size(); ++i) {
    const Prefetcher& one = level.prefetch[i];
    c.need(std::ranges::count(level.prefetch, one.kind, &Prefetcher::kind) == 1, "prefetch",
           "has two prefetchers of one type");
    const auto within = [](std::int64_t n, std::int64_t low, std::int64_t high) {
      return low <= n && n <= high;
    };
    c.need(within(one.streams, 1, 4096) && within(one.trigger, 2, 64) && within(one.distance, 1, 1024) &&
               within(one.degree, 1, 64),
           "prefetch", "streams must be from 1 to 4096, trigger 2 to 64, distance 1 to 1024, degree 1 to 64");
  }
  check_policy(c, level);
  if (level.sector == 0) return;
  c.need(power_of_two(level.sector) && level.sector < level.line && level.line / level.sector <= 64, "sector",
         "must be a power of two, at least a 64th of the line, but is " + std::to_string(level.sector));
  c.need(level.prefetch.empty(), "prefetch", "a level with sectors has no prefetcher");
}

void check_neighbours(const Checker& c, const LevelDescription& above, const LevelDescription& level) {
  c.need(level.line >= above.line, "line",
         "is shorter than that of " + above.name + ", " + std::to_string(above.line));
  c.need(level.shared || !above.shared, "shared", "must be true below " + above.name + ", which is shared");
  c.need(level.sector == 0 || level.sector >= above.line, "sector",
         "is shorter than a line of " + above.name + ", " + std::to_string(above.line));
  if (level.inclusion != Inclusion::exclusive) return;
  c.need(level.sector == 0 && above.sector == 0, "inclusion",
         "an exclusive level, and the level above it, have no sectors");
  c.need(level.line == above.line, "line",
         "an exclusive level has the line of the level above, " + above.name);
  c.need(above.write == Write::back, "inclusion",
         "an exclusive level hands dirty lines up, so " + above.name + " cannot write through");
  c.need(level.allocate, "allocate", "has no meaning in an exclusive level, which stores never fill");
  c.need(level.prefetch.empty(), "prefetch", "an exclusive level is filled from above only");
}

void check_tlb_level(const Checker& at, const TlbLevel& level) {
  at.need(level.entries > 0 && level.entries <= most_lines, "entries", "must be from 1 to 2^28");
  at.need(level.ways > 0 && level.entries % level.ways == 0, "ways",
          base::format_count(level.entries, "entry does", "entries do") + " not divide into sets of " +
              std::to_string(level.ways));
  check_index(at, level.sets(), level.index);
  check_policy(at, level);
}

void check_tlb(const std::string& file, const std::string& path, std::int64_t page,
               const std::vector<TlbLevel>& levels, std::int64_t least_page) {
  const Checker c{file, path};
  c.need(power_of_two(page) && page >= least_page, "page",
         "must be a power of two and not shorter than a line");
  c.need(!levels.empty(), "levels", "at least one is required");
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Checker at{file, path + ".levels[" + std::to_string(i) + "]"};
    check_tlb_level(at, levels[i]);
    at.need(i > 0 || levels[i].policy != Policy::qlru, "policy", first_qlru);
  }
}

void check_shared(const std::string& file, const TlbDescription& tlb) {
  for (std::size_t i = 0; i < tlb.huge.size(); ++i) {
    if (!tlb.huge[i].shared) continue;
    const Checker at{file, "tlb.huge.levels[" + std::to_string(i) + "]"};
    at.need(i < tlb.levels.size(), "shared", "there is no such level of small pages");
    const TlbLevel& small = tlb.levels[i];
    at.need(small.entries == tlb.huge[i].entries && small.ways == tlb.huge[i].ways, "shared",
            "the entries are not those of small pages");
    at.need(small.index == tlb.huge[i].index ||
                SetIndex(static_cast<std::uint64_t>(small.sets()), small.index).invertible(),
            "index",
            "of a shared level can differ from that of small pages only if mask i there selects bit i");
  }
}

void check_instructions(const std::string& file, const MachineDescription& machine) {
  const LevelDescription& cache = machine.instructions->cache;
  const std::vector<TlbLevel>& tlb = machine.instructions->tlb;
  const Checker c{file, "instructions"};
  check_shape(c, cache);
  if (machine.levels.size() > 1) {
    const LevelDescription& next = machine.levels[1];
    c.need(next.line >= cache.line && (next.sector == 0 || next.sector >= cache.line), "line",
           "is longer than that of " + next.name + ", or its sectors");
    c.need(next.inclusion != Inclusion::exclusive, "size",
           next.name + ", which is filled by the level above only, takes no instructions");
  }
  c.need(tlb.empty() || machine.tlb, "tlb", "the machine has no TLB for data, which states the page size");
  for (std::size_t i = 0; i < tlb.size(); ++i) {
    const Checker at{file, "instructions.tlb[" + std::to_string(i) + "]"};
    check_tlb_level(at, tlb[i]);
    if (!tlb[i].shared) continue;
    at.need(i > 0, "shared", "the first level is one of its own");
    at.need(i < machine.tlb->levels.size() && tlb[i].entries == machine.tlb->levels[i].entries &&
                tlb[i].index == machine.tlb->levels[i].index,
            "shared", "the entries are not those of data");
  }
}

} // namespace

void check(const MachineDescription& machine, const std::string& file) {
  if (machine.levels.empty())
    throw bad_input(file, "levels: at least one is required", "see recount-machines(5)");
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const Checker c{file, "levels[" + std::to_string(i) + "]"};
    check_shape(c, machine.levels[i]);
    if (i > 0)
      check_neighbours(c, machine.levels[i - 1], machine.levels[i]);
    else
      c.need(machine.levels[0].policy != Policy::qlru, "policy", first_qlru);
    if (i > 0) continue;
    c.need(machine.levels[0].inclusion == Inclusion::non_inclusive, "inclusion",
           "the first level has none above it");
    c.need(machine.levels[0].sector == 0, "sector", "the first level has none");
    c.need(!machine.levels[0].shared, "shared", "the first level belongs to one core");
  }
  if (machine.cores < 1 || machine.cores > most_cores)
    throw bad_input(file, "cores: must be from 1 to " + std::to_string(most_cores),
                    "see recount-machines(5)");
  if (machine.instructions) check_instructions(file, machine);
  if (!machine.tlb) return;
  const TlbDescription& tlb = *machine.tlb;
  check_tlb(file, "tlb", tlb.page, tlb.levels, machine.levels[0].line);
  if (tlb.walk.size() > 4)
    throw bad_input(file, "tlb.walk: a page table has at most 4 levels above the last",
                    "see recount-machines(5)");
  for (std::size_t i = 0; i < tlb.walk.size(); ++i)
    check_tlb_level({file, "tlb.walk[" + std::to_string(i) + "]"}, tlb.walk[i]);
  if (tlb.huge.empty()) return;
  check_tlb(file, "tlb.huge", tlb.huge_page, tlb.huge, machine.levels[0].line);
  check_shared(file, tlb);
}

} // namespace recount::model
