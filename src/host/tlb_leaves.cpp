// The CPUID leaves that state TLBs: Intel's leaf 0x18 (Intel SDM volume 2A, CPUID) and AMD's 0x80000005 and
// 0x80000006 (AMD APM volume 3, appendix E).
#include "host/machine.hpp"

#include <algorithm>
#include <bit>

namespace recount::host {

namespace {

using Registers = std::array<std::uint32_t, 4>; // EAX, EBX, ECX, EDX

constexpr std::int64_t small_page = 4096, huge_page = std::int64_t{2} << 20;
constexpr std::int64_t most_entries = 1 << 20; ///< what no TLB has: the registers say nothing
constexpr std::int64_t unknown = 0;            ///< entries or ways that cannot be told

/// Structures of one level and page size are searched together. If they have the same sets, they are one with
/// the sum of their ways.
void add(std::vector<Tlb>& tlbs, Tlb more) {
  const auto same =
      std::ranges::find_if(tlbs, [&](const Tlb& t) { return t.level == more.level && t.page == more.page; });
  if (same == tlbs.end()) return tlbs.push_back(more);
  const bool alike =
      same->ways != unknown && more.ways != unknown && same->entries / same->ways == more.entries / more.ways;
  same->entries += more.entries;
  same->ways = alike ? same->ways + more.ways : unknown;
}

std::vector<Tlb> deterministic(const CpuidReader& read) {
  constexpr std::uint32_t leaf = 0x18, most_indexes = 64, data = 1, unified = 3, loads = 4;
  std::vector<Tlb> tlbs;
  const auto first = read(leaf, 0);
  for (std::uint32_t index = 0; first && index <= (*first)[0] && index < most_indexes; ++index) {
    const auto r = read(leaf, index);
    if (!r) break;
    const auto [a, b, c, d] = *r;
    const std::uint32_t type = d & 0x1f;
    const int level = static_cast<int>(d >> 5 & 7);
    if (level == 0 || (type != data && type != unified && type != loads)) continue;
    const std::int64_t ways = b >> 16, entries = ways * c;
    if ((b & 1) != 0) add(tlbs, {level, small_page, entries, ways});
    if ((b & 2) != 0) add(tlbs, {level, huge_page, entries, ways});
  }
  return tlbs;
}

/// The ways of an encoded range. Sets are selected by bits of the address, so there are 2^k of them.
std::int64_t ways_of(std::uint32_t code, std::int64_t entries) {
  struct Range {
    std::int64_t least, end;
  };
  constexpr std::array<Range, 15> ranges = {{{0, 0},
                                             {1, 2},
                                             {2, 3},
                                             {3, 4},
                                             {4, 6},
                                             {6, 8},
                                             {8, 16},
                                             {0, 0},
                                             {16, 32},
                                             {0, 0},
                                             {32, 48},
                                             {48, 64},
                                             {64, 96},
                                             {96, 128},
                                             {128, most_entries}}};
  if (code >= ranges.size()) return entries; // fully associative
  for (std::int64_t ways = ranges.at(code).least; ways < std::min(ranges.at(code).end, entries + 1); ++ways)
    if (ways > 0 && entries % ways == 0 && std::has_single_bit(static_cast<std::uint64_t>(entries / ways)))
      return ways;
  return unknown;
}

std::vector<Tlb> extended(const CpuidReader& read) {
  std::vector<Tlb> tlbs;
  const auto first = read(0x80000005, 0), second = read(0x80000006, 0), features = read(0x80000021, 0);
  constexpr std::uint32_t sizes_times_32 = 1U << 14; // L2TlbSizeX32
  const std::int64_t factor = features && ((*features)[0] & sizes_times_32) != 0 ? 32 : 1;
  for (const auto& [page, at] : {std::pair(small_page, 1U), std::pair(huge_page, 0U)}) {
    const std::uint32_t one = first ? first->at(at) >> 16 : 0, two = second ? second->at(at) >> 16 : 0;
    if (const std::int64_t entries = one & 0xff, ways = one >> 8; entries > 0)
      tlbs.push_back({1, page, entries, ways == 0xff ? entries : ways});
    if (const std::int64_t entries = factor * (two & 0xfff); entries > 0 && two >> 12 != 0)
      tlbs.push_back({2, page, entries, ways_of(two >> 12, entries)});
  }
  return tlbs;
}

} // namespace

std::vector<Tlb> decode_tlbs(const CpuidReader& read) {
  std::vector<Tlb> tlbs = deterministic(read);
  if (tlbs.empty()) tlbs = extended(read);
  std::erase_if(tlbs, [all = tlbs](const Tlb& tlb) {
    return std::ranges::any_of(all, [&](const Tlb& t) {
      return t.page == tlb.page &&
             (t.ways <= 0 || t.entries > most_entries || t.entries <= 0 || t.entries % t.ways != 0);
    });
  });
  std::ranges::sort(tlbs, {}, [](const Tlb& t) { return std::pair(t.page, t.level); });
  return tlbs;
}

} // namespace recount::host
