// Where the data of a sampled access came from, in words.
#include <recount/sampling.hpp>

#include <linux/perf_event.h>

#include <array>

namespace recount {
namespace {

struct Word {
  std::uint64_t bit;
  const char* text;
};

/// The words of the bits of a field, with spaces between.
template <std::size_t size>
std::string words(std::uint64_t field, const std::array<Word, size>& table) {
  std::string text;
  for (const auto& [bit, word] : table)
    if (field & bit) text += (text.empty() ? "" : " ") + std::string(word);
  return text;
}

constexpr std::array operations{Word{PERF_MEM_OP_LOAD, "load"}, Word{PERF_MEM_OP_STORE, "store"},
                                Word{PERF_MEM_OP_PFETCH, "prefetch"}, Word{PERF_MEM_OP_EXEC, "fetch"}};
/// The older field: bits of levels, then of what happened there.
constexpr std::array levels{Word{PERF_MEM_LVL_L1, "L1"},
                            Word{PERF_MEM_LVL_LFB, "line fill buffer"},
                            Word{PERF_MEM_LVL_L2, "L2"},
                            Word{PERF_MEM_LVL_L3, "L3"},
                            Word{PERF_MEM_LVL_LOC_RAM, "RAM"},
                            Word{PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2, "remote RAM"},
                            Word{PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2, "remote cache"},
                            Word{PERF_MEM_LVL_IO, "I/O"},
                            Word{PERF_MEM_LVL_UNC, "uncached"},
                            Word{PERF_MEM_LVL_HIT, "hit"},
                            Word{PERF_MEM_LVL_MISS, "miss"}};
constexpr std::array snoops{Word{PERF_MEM_SNOOP_NONE, "no snoop"}, Word{PERF_MEM_SNOOP_HIT, "snoop hit"},
                            Word{PERF_MEM_SNOOP_MISS, "snoop miss"},
                            Word{PERF_MEM_SNOOP_HITM, "snoop hit modified"}};
constexpr std::array tlbs{Word{PERF_MEM_TLB_L1, "L1"},        Word{PERF_MEM_TLB_L2, "L2"},
                          Word{PERF_MEM_TLB_WK, "page walk"}, Word{PERF_MEM_TLB_OS, "page fault"},
                          Word{PERF_MEM_TLB_HIT, "hit"},      Word{PERF_MEM_TLB_MISS, "miss"}};
/// The newer field, a number; "" where the CPU does not tell.
constexpr std::array level_numbers{"",
                                   "L1",
                                   "L2",
                                   "L3",
                                   "L4",
                                   "",
                                   "",
                                   "",
                                   "",
                                   "CXL",
                                   "I/O",
                                   "any cache",
                                   "line fill buffer",
                                   "RAM",
                                   "persistent memory",
                                   ""};

std::string level(const perf_mem_data_src& source) {
  const std::string number = level_numbers[source.mem_lvl_num];
  if (number.empty()) return words(source.mem_lvl, levels);
  const std::uint64_t of_level = source.mem_lvl;
  const std::string outcome = words(of_level & (PERF_MEM_LVL_HIT | PERF_MEM_LVL_MISS), levels);
  return (source.mem_remote ? "remote " : "") + number + (outcome.empty() ? "" : " " + outcome);
}

} // namespace

std::string describe_source(std::uint64_t source) {
  perf_mem_data_src fields{};
  fields.val = source;
  const std::string tlb = words(fields.mem_dtlb, tlbs);
  std::string text;
  for (const std::string& part :
       {words(fields.mem_op, operations), level(fields), words(fields.mem_snoop, snoops),
        std::string(fields.mem_lock & PERF_MEM_LOCK_LOCKED ? "locked" : ""),
        tlb.empty() ? tlb : "TLB " + tlb})
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  return text;
}

} // namespace recount
